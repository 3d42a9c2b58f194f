/* SPDX-License-Identifier: MIT */
/* sync/kinds/read_write.c - the two halves of Redisson's RReadWriteLock.
 *
 * Key: the name itself, a hash of `mode`, a field "uuid:number" for each reader
 * and "uuid:number:write" for the writer, each -> hold count.  Each reader has
 * a hold key besides, {name}:uuid:number:rwlock_timeout:1, whose TTL is his
 * longest promise: the hash has one TTL for all.  Channel:
 * redisson_rwlock:{name}; messages: 0 from a reader, 1 from a writer.
 * docs/wire/read-write.md.
 *
 * What an owner reads and what he writes are two numbers.  A read ACQUIRE says
 * with which field its owner writes: that lets it in beside him.
 *
 * A Java reader's watchdog sets the TTL of the hash to its own period, so every
 * read hold is kept within a third of that, and believed no longer than it.
 *
 * The polite reader and the urgent writer are the same with one key more, in
 * which a writer who waits says so; such readers stay out while he does.
 */
#include "sync/kinds/pieces.h"

#include <string.h>

#define HOLD_KEY_END ":rwlock_timeout:"
#define WRITERS "holdfast_writers"

/* A writer's word is good for so many times the bound within which he asks
 * again: it outlasts one answer that is lost, and not much more. */
#define WORD_BOUNDS 3

/* ---- pieces ---- */

/* "{name}:", how all hold keys of a name begin; in pieces. */
static void begin_hold_key(struct hfi_command_sink *sink,
                           const struct hfi_name *name)
{
    bool brace = memchr(name->text, '{', name->bytes) != NULL;

    sink->piece(sink, "{", brace ? 0 : 1);
    sink->piece(sink, name->text, name->bytes);
    sink->piece(sink, "}", brace ? 0 : 1);
    sink->piece(sink, ":", 1);
}

static void put_hold_key(struct hfi_command_sink *sink,
                         const struct hfi_name *name, const char *field,
                         const char *hold)
{
    begin_hold_key(sink, name);
    sink->piece(sink, field, strlen(field));
    sink->piece(sink, HOLD_KEY_END, sizeof(HOLD_KEY_END) - 1);
    sink->arg(sink, hold, strlen(hold));
}

static void put_hold_key_of(struct hfi_core *core,
                            struct hfi_command_sink *sink,
                            const struct hfi_number *number)
{
    char field[128] = "";

    hfi_number_field(core, number, field, sizeof(field));
    put_hold_key(sink, number->name, field, "1");
}

/* The field with which the owner of a read number writes now, or nothing. */
static void put_writing_field(struct hfi_core *core,
                              struct hfi_command_sink *sink,
                              const struct hfi_number *reader)
{
    const struct hfi_number *writer = NULL;

    if (reader->owner != NULL) {
        writer = hfi_name_number_of(reader->name, &hfi_kind_write, NULL,
                                    reader->owner);
    }
    if (writer != NULL) {
        hfi_put_field(core, sink, writer);
    } else {
        sink->arg(sink, "", 0);
    }
}

static bool is_writer(const struct hfi_kind *kind)
{
    return !kind->shared;
}

static void put_message(struct hfi_command_sink *sink,
                        const struct hfi_kind *kind)
{
    sink->number(sink, is_writer(kind) ? 1 : 0);
}

/* ---- commands ---- */

/* Whether the script of this request gives out a fencing token. */
static bool brings_token(const struct hfi_kind *kind, enum hfi_request request)
{
    return kind->fenced && (request == HFI_ACQUIRE || request == HFI_ADOPT ||
                            (request == HFI_ENTER && kind->counts_entries));
}

static void put_keys(struct hfi_core *core, const struct hfi_copy *copy,
                     struct hfi_command_sink *sink)
{
    const struct hfi_number *number = copy->number;
    bool acquires = copy->request == HFI_ACQUIRE;
    bool ends = copy->request == HFI_RELEASE || copy->request == HFI_UNDO;

    hfi_put_key(sink, number->name);
    if (!is_writer(number->kind)) {
        put_hold_key_of(core, sink, number);
    }
    if (brings_token(number->kind, copy->request)) {
        hfi_put_token_key(sink, number->name);
    }
    if (number->kind == &hfi_kind_polite_read && acquires) {
        hfi_put_prefixed(sink, WRITERS, number->name);
    }
    if (number->kind->busy_leaves && (acquires || ends)) {
        hfi_put_prefixed(sink, WRITERS, number->name);
    }
    if (!is_writer(number->kind) && copy->rest_ms > 0) {
        char field[128] = "";

        hfi_stand_in_field(core, number, copy->stand_in, field, sizeof(field));
        put_hold_key(sink, number->name, field, "1");
    }
}

static void put_acquire(struct hfi_core *core, const struct hfi_copy *copy,
                        struct hfi_command_sink *sink)
{
    const struct hfi_number *number = copy->number;
    bool waits = copy->op != NULL && copy->op->ask.wait_ms != 0;

    hfi_put_field(core, sink, number);
    sink->number(sink, copy->lease_ms);
    sink->number(sink, copy->not_after_ms);
    if (!is_writer(number->kind)) {
        put_writing_field(core, sink, number);
    }
    if (number->kind->fenced) {
        hfi_put_token_life(sink, number);
    }
    if (number->kind->busy_leaves) {
        sink->number(sink,
                     waits ? WORD_BOUNDS * core->config.retry_bound_ms : 0);
    }
}

static void put_end(struct hfi_core *core, const struct hfi_copy *copy,
                    struct hfi_command_sink *sink)
{
    const struct hfi_number *number = copy->number;
    const char *what = copy->request == HFI_UNDO ? "undo" : "release";

    hfi_put_field(core, sink, number);
    hfi_put_channel(sink, number->name);
    put_message(sink, number->kind);
    begin_hold_key(sink, number->name);
    sink->arg(sink, "", 0);
    sink->arg(sink, what, strlen(what));
    if (copy->rest_ms > 0) {
        hfi_put_stand_in(core, sink, number, copy->stand_in);
        sink->number(sink, copy->rest_ms);
    }
}

static void put_for_number(struct hfi_core *core, const struct hfi_copy *copy,
                           struct hfi_command_sink *sink)
{
    put_keys(core, copy, sink);
    if (copy->request == HFI_ACQUIRE) {
        put_acquire(core, copy, sink);
    } else if (copy->request == HFI_RELEASE || copy->request == HFI_UNDO) {
        put_end(core, copy, sink);
    } else {
        hfi_put_field(core, sink, copy->number);
        sink->number(sink, copy->count);
        sink->number(sink, copy->lease_ms);
        if (brings_token(copy->number->kind, copy->request)) {
            hfi_put_token_life(sink, copy->number);
        }
    }
}

/* One reader's hold keys if he was named; readers are forced out all together
 * else, and so is a writer with what he reads. */
static void put_force(const struct hfi_copy *copy,
                      struct hfi_command_sink *sink)
{
    const struct hfi_op *op = copy->about;

    sink->arg(sink, op->seen, strlen(op->seen));
    sink->number(sink, copy->not_after_ms);
    hfi_put_channel(sink, op->name);
    put_message(sink, op->kind);
    if (op->ask.field != NULL && !is_writer(op->kind)) {
        put_hold_key(sink, op->name, op->seen, "");
    } else {
        sink->arg(sink, "", 0);
    }
}

static void put_for_op(const struct hfi_copy *copy,
                       struct hfi_command_sink *sink)
{
    const struct hfi_op *op = copy->about;
    const char *half = is_writer(op->kind) ? "write" : "read";

    hfi_put_key(sink, op->name);
    if (copy->request == HFI_SHOW && op->kind->fenced) {
        hfi_put_token_key(sink, op->name);
    }
    if (copy->request == HFI_FORCE) {
        put_force(copy, sink);
    } else if (copy->request == HFI_SHOW) {
        hfi_put_channel(sink, op->name);
        sink->arg(sink, half, strlen(half));
    }
}

static void put_batch_keys(struct hfi_core *core, const struct hfi_copy *copy,
                           struct hfi_command_sink *sink)
{
    for (size_t i = 0; i < copy->batch_count; i++) {
        hfi_put_key(sink, copy->batch[i].number->name);
        if (!is_writer(copy->batch[i].number->kind)) {
            put_hold_key_of(core, sink, copy->batch[i].number);
        }
    }
}

static void rw_write(struct hfi_core *core, const struct hfi_copy *copy,
                     struct hfi_command_sink *sink)
{
    if (copy->batch_count > 0) {
        put_batch_keys(core, copy, sink);
        hfi_put_batch_args(core, copy, sink);
    } else if (copy->about != NULL && copy->request != HFI_ADOPT) {
        put_for_op(copy, sink);
    } else {
        put_for_number(core, copy, sink);
    }
}

/* ---- records ---- */

/* What both halves have in common. */
#define BOTH                                                                   \
    .family = HFI_FAMILY_READ_WRITE, .channel_word = "redisson_rwlock",        \
    .reentrant = true, .write = rw_write

#define READ(acquire_keys)                                                     \
    BOTH, .word = "read", .queueing = HFI_QUEUE_EACH,                          \
          .renewals = HFI_RENEWALS_OF_READS, .field_end = "", .shared = true,  \
          .foreign_watchdog = true,                                            \
          .use =                                                               \
              {                                                                \
                  [HFI_ACQUIRE] = {HFI_SCRIPT_READ_ACQUIRE, acquire_keys, 4},  \
                  [HFI_ENTER] = {HFI_SCRIPT_READ_KEEP, 2, 3},                  \
                  [HFI_LEAVE] = {HFI_SCRIPT_READ_KEEP, 2, 3},                  \
                  [HFI_RENEW] = {HFI_SCRIPT_READ_KEEP, 2, 3},                  \
                  [HFI_EXTEND] = {HFI_SCRIPT_READ_KEEP, 2, 3},                 \
                  [HFI_RELEASE] = {HFI_SCRIPT_RW_RELEASE, 2, 5},               \
                  [HFI_UNDO] = {HFI_SCRIPT_RW_RELEASE, 2, 5},                  \
                  [HFI_FORCE] = {HFI_SCRIPT_RW_FORCE, 1, 5},                   \
                  [HFI_SHOW] = {HFI_SCRIPT_RW_SHOW, 1, 2},                     \
                  [HFI_SCAN] = {-1, 0, 0},                                     \
                  [HFI_TIME] = {HFI_SCRIPT_SERVER_TIME, 1, 0},                 \
                  [HFI_ADOPT] = {HFI_SCRIPT_READ_KEEP, 2, 3},                  \
    },                                                                         \
          .release_later = {HFI_SCRIPT_RW_RELEASE, 3, 7},                      \
          .renew_batch = {HFI_SCRIPT_READ_KEEP_GROUP, 2, 3}

/* `more`: 1 where there is a key in which a waiting writer says so. */
#define WRITE(more)                                                            \
    BOTH, .word = "write", .queueing = HFI_QUEUE_ONE_CONTENDER,                \
          .renewals = HFI_RENEWALS_OF_WRITES, .field_end = ":write",           \
          .busy_leaves = (more) > 0, .together = (more) > 0 ? NULL : "write",  \
          .release_later = {HFI_SCRIPT_RW_RELEASE, 1 + (more), 7},             \
          .renew_batch = {HFI_SCRIPT_WRITE_KEEP_GROUP, 1, 3}

#define USE_WRITE(more)                                                        \
    [HFI_LEAVE] = {HFI_SCRIPT_WRITE_KEEP, 1, 3},                               \
    [HFI_RENEW] = {HFI_SCRIPT_WRITE_KEEP, 1, 3},                               \
    [HFI_EXTEND] = {HFI_SCRIPT_WRITE_KEEP, 1, 3},                              \
    [HFI_RELEASE] = {HFI_SCRIPT_RW_RELEASE, 1 + (more), 5},                    \
    [HFI_UNDO] = {HFI_SCRIPT_RW_RELEASE, 1 + (more), 5},                       \
    [HFI_FORCE] = {HFI_SCRIPT_RW_FORCE, 1, 5}, [HFI_SCAN] = {-1, 0, 0},        \
    [HFI_TIME] = {HFI_SCRIPT_SERVER_TIME, 1, 0}

#define UNFENCED(more)                                                         \
    {                                                                          \
        WRITE(more), .use = {                                                  \
            USE_WRITE(more),                                                   \
            [HFI_ACQUIRE] = {HFI_SCRIPT_WRITE_ACQUIRE, 1 + (more),             \
                             3 + (more)},                                      \
            [HFI_ENTER] = {HFI_SCRIPT_WRITE_KEEP, 1, 3},                       \
            [HFI_SHOW] = {HFI_SCRIPT_RW_SHOW, 1, 2},                           \
            [HFI_ADOPT] = {HFI_SCRIPT_WRITE_KEEP, 1, 3},                       \
        }                                                                      \
    }

#define USE_FENCED(more)                                                       \
    USE_WRITE(more),                                                           \
        [HFI_ACQUIRE] = {HFI_SCRIPT_WRITE_ACQUIRE_FENCED, 2 + (more),          \
                         5 + (more)},                                          \
        [HFI_SHOW] = {HFI_SCRIPT_RW_SHOW, 2, 2},                               \
        [HFI_ADOPT] = {HFI_SCRIPT_LOCK_ADOPT_FENCED, 2, 5}

#define FENCED(more)                                                           \
    {                                                                          \
        WRITE(more), .fenced = true, .use = {                                  \
            USE_FENCED(more),                                                  \
            [HFI_ENTER] = {HFI_SCRIPT_WRITE_KEEP, 1, 3}                        \
        }                                                                      \
    }

#define COUNTING(more)                                                         \
    {                                                                          \
        WRITE(more), .fenced = true, .counts_entries = true, .use = {          \
            USE_FENCED(more),                                                  \
            [HFI_ENTER] = {HFI_SCRIPT_LOCK_ENTER_COUNTING, 2, 5}               \
        }                                                                      \
    }

const struct hfi_kind hfi_kind_read = {READ(2)};
const struct hfi_kind hfi_kind_polite_read = {READ(3)};

const struct hfi_kind hfi_kinds_write[HFI_FENCINGS] = {
    [HFI_UNFENCED] = UNFENCED(0),
    [HFI_FENCED] = FENCED(0),
    [HFI_FENCED_COUNTING] = COUNTING(0),
};

const struct hfi_kind hfi_kinds_urgent_write[HFI_FENCINGS] = {
    [HFI_UNFENCED] = UNFENCED(1),
    [HFI_FENCED] = FENCED(1),
    [HFI_FENCED_COUNTING] = COUNTING(1),
};
