/* SPDX-License-Identifier: MIT */
/* sync/core.c - events in, effects out.
 *
 * Every event that the driver tells comes in here, is handed to the file that
 * knows what it means, and leaves its effects in four lists.  What lives here
 * is what no single one of them owns: the lists, the pool of copies, the
 * estimate of the server's clock, the timers.
 *
 * All timers sit in heaps from the moment their owner is made (with the key
 * HFI_NEVER while nothing is due), so arming one cannot fail.
 */
#include "sync/core.h"

#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "sync/kinds/pieces.h"
#include "sync/mutations.h"

/* Some 30,000 years: far from what would overflow. */
#define SERVER_MS_MAX INT64_C(1000000000000000)

/* ---- numbers and times ---- */

int64_t hfi_margin_ms(int64_t lease_ms)
{
    return HFI_MUTATION(no_margin)
               ? 0
               : lease_ms / HFI_MARGIN_PARTS + HFI_MARGIN_MS;
}

int64_t hfi_add_ms(int64_t at, int64_t more)
{
    if (at == HFI_NEVER || more >= HFI_NEVER - at) {
        return HFI_NEVER;
    }
    return at + more;
}

int64_t hfi_earliest(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t hfi_server_now(const struct hfi_core *core, int64_t now)
{
    return now + core->server_offset_ms;
}

void hfi_server_seen(struct hfi_core *core, int64_t server_ms, int64_t now)
{
    if (server_ms < 0 || server_ms > SERVER_MS_MAX) {
        return; /* no clock shows that */
    }
    core->server_offset_ms = server_ms - now;
    core->server_known = true;
}

int64_t hfi_jitter(struct hfi_core *core, int64_t span_ms)
{
    if (span_ms <= 0) {
        return 0;
    }
    return (int64_t)(hfi_random_next(&core->random) % (uint64_t)span_ms);
}

enum hfi_link_id hfi_pick_link(const struct hfi_core *core,
                               enum hfi_link_id wish)
{
    enum hfi_link_id other = wish == HFI_LINK_MAIN ? HFI_LINK_KEEPER
                                                   : HFI_LINK_MAIN;

    if (core->link_up[wish]) {
        return wish;
    }
    return core->link_up[other] ? other : HFI_COMMAND_LINKS;
}

/* ---- copies ---- */

struct hfi_copy *hfi_copy_new(struct hfi_core *core, enum hfi_request request,
                              enum hfi_link_id link, int64_t now)
{
    struct hfi_copy *copy = core->free_copies;

    if (copy != NULL) {
        core->free_copies = copy->next;
        core->free_copy_count--;
        memset(copy, 0, sizeof(*copy));
    } else {
        copy = calloc(1, sizeof(*copy));
        if (copy == NULL) {
            return NULL;
        }
    }
    copy->request = request;
    copy->link = link;
    copy->sent_at_ms = now;
    return copy;
}

void hfi_script_unknown(struct hfi_core *core, const struct hfi_copy *copy)
{
    core->with_text[hfi_copy_script(copy)] = true;
}

void hfi_copy_send(struct hfi_core *core, struct hfi_copy *copy)
{
    if (copy->number != NULL) {
        copy->number->in_flight++;
        copy->number->quiet_since_ms = copy->sent_at_ms;
        if (copy->lease_ms > copy->number->longest_lease_ms) {
            copy->number->longest_lease_ms = copy->lease_ms;
        }
    }
    for (size_t i = 0; i < copy->batch_count; i++) {
        copy->batch[i].number->in_flight++;
        copy->batch[i].number->quiet_since_ms = copy->sent_at_ms;
    }
    if (!copy->native) {
        copy->with_text = core->with_text[hfi_copy_script(copy)];
        core->with_text[hfi_copy_script(copy)] = false;
    }
    copy->order = ++core->scripts_sent;
    DL_APPEND(core->copies, copy);
}

void hfi_copy_free(struct hfi_core *core, struct hfi_copy *copy)
{
    free(copy->batch);
    if (core->free_copy_count + 1 > HFI_COPY_POOL_MAX) {
        free(copy);
        return;
    }
    copy->next = core->free_copies;
    core->free_copies = copy;
    core->free_copy_count++;
}

struct hfi_copy *hfi_core_next_copy(struct hfi_core *core)
{
    struct hfi_copy *copy = core->copies;

    if (copy != NULL) {
        DL_DELETE(core->copies, copy);
    }
    return copy;
}

/* ---- what the driver reads of a copy ---- */

static const struct hfi_kind *kind_of(const struct hfi_copy *copy)
{
    if (copy->number != NULL) {
        return copy->number->kind;
    }
    if (copy->joined != NULL) {
        return copy->joined->number->kind;
    }
    return copy->batch_count > 0 ? copy->batch[0].number->kind
                                 : copy->about->kind;
}

/* It says something of each, in turn. */
static bool is_batch(const struct hfi_copy *copy)
{
    return copy->number == NULL && copy->batch_count > 0;
}

static const struct hfi_script_use *use_of(const struct hfi_copy *copy)
{
    static const struct hfi_script_use bare = {-1, 0, 0};
    const struct hfi_kind *kind = kind_of(copy);

    if (copy->native) {
        return &bare;
    }
    if (is_batch(copy)) {
        return copy->request == HFI_ACQUIRE ? &hfi_use_together
                                            : &kind->renew_batch;
    }
    if (copy->joined != NULL) {
        return &kind->release_joined;
    }
    if (copy->request == HFI_RELEASE && copy->rest_ms > 0) {
        return &kind->release_later;
    }
    return &kind->use[copy->request];
}

int hfi_copy_script(const struct hfi_copy *copy)
{
    return use_of(copy)->script;
}

static size_t items(const struct hfi_copy *copy)
{
    if (copy->joined != NULL) {
        return copy->joined_count;
    }
    return is_batch(copy) ? copy->batch_count : 1;
}

static bool takes_several(const struct hfi_copy *copy)
{
    return copy->request == HFI_ACQUIRE && is_batch(copy);
}

size_t hfi_copy_keys(const struct hfi_copy *copy)
{
    size_t more = takes_several(copy) ? hfi_together_tokens(copy)
                                      : copy->old_count;

    return use_of(copy)->keys * items(copy) + more;
}

size_t hfi_copy_args(const struct hfi_copy *copy)
{
    return use_of(copy)->args * items(copy) +
           (takes_several(copy) ? HFI_TOGETHER_ARGS : 0);
}

void hfi_copy_write(struct hfi_core *core, const struct hfi_copy *copy,
                    struct hfi_command_sink *sink)
{
    if (takes_several(copy)) {
        hfi_put_together(core, copy, sink);
    } else if (copy->joined != NULL) {
        hfi_put_joined(core, copy, sink);
    } else {
        kind_of(copy)->write(core, copy, sink);
    }
}

/* ---- answers ---- */

/* The driver has given a copy back: its numbers are one reference less. */
static void copy_landed(struct hfi_core *core, struct hfi_copy *copy)
{
    if (copy->number != NULL) {
        copy->number->in_flight--;
        hfi_number_tidy(core, copy->number);
    }
    for (size_t i = 0; i < copy->batch_count; i++) {
        copy->batch[i].number->in_flight--;
        hfi_number_tidy(core, copy->batch[i].number);
    }
    hfi_copy_free(core, copy);
}

typedef void (*answer_fn)(struct hfi_core *core, struct hfi_copy *copy,
                          struct hfi_value *value, int64_t now);

static const answer_fn answer_of[HFI_REQUESTS] = {
    [HFI_ACQUIRE] = hfi_attempt_answer, [HFI_ENTER] = hfi_keep_answer,
    [HFI_LEAVE] = hfi_keep_answer,      [HFI_RENEW] = hfi_renew_answer,
    [HFI_CUT] = hfi_keep_answer,        [HFI_EXTEND] = hfi_keep_answer,
    [HFI_RELEASE] = hfi_release_answer, [HFI_UNDO] = hfi_end_answer,
    [HFI_FORCE] = hfi_other_answer,     [HFI_SHOW] = hfi_other_answer,
    [HFI_SCAN] = hfi_other_answer,      [HFI_TIME] = hfi_other_answer,
    [HFI_ADOPT] = hfi_other_answer,     [HFI_PROBE] = hfi_native_answer,
    [HFI_WAKE] = hfi_native_answer,     [HFI_TAKE] = hfi_take_answer,
    [HFI_CHANGE] = hfi_change_answer,   [HFI_FENCE] = hfi_change_answer,
    [HFI_LOOK] = hfi_look_answer,       [HFI_TELL] = hfi_tell_answer,
};

void hfi_core_answer(struct hfi_core *core, struct hfi_copy *copy,
                     struct hfi_value *value, enum hfi_link_id here,
                     int64_t now)
{
    core->here = here;
    if (copy->op != NULL) {
        copy->op->copy = NULL;
    }
    if (copy->joined != NULL) {
        hfi_joined_answer(core, copy, value, now);
    } else {
        answer_of[copy->request](core, copy, value, now);
    }
    copy_landed(core, copy);
}

/* A copy will never be answered. */
static void copy_lost(struct hfi_core *core, struct hfi_copy *copy,
                      bool written, int64_t now)
{
    struct hfi_op *op = copy->op;

    if (copy->request == HFI_PROBE) {
        hfi_native_forget(core);
    }
    if (copy->request == HFI_ACQUIRE && !written) {
        hfi_attempt_landed(core, copy, now);
    }
    if (copy->request == HFI_TAKE || copy->request == HFI_CHANGE) {
        copy->number->unanswered -= written ? 0 : 1;
        hfi_records_put_back(core, copy);
    }
    if (copy->request == HFI_RENEW && copy->native && !written) {
        copy->number->bare--;
    }
    if (copy->request == HFI_CUT && !written) {
        hfi_cut_landed(core, copy->number);
    }
    if (copy->request == HFI_RENEW) {
        hfi_renew_copy_gone(core, copy, now);
        return;
    }
    if (copy->request == HFI_UNDO) {
        hfi_end_copy_gone(core, copy->number, now);
        return;
    }
    if (op == NULL) {
        return;
    }
    op->copy = NULL;
    op->earlier_unanswered |= written;
    hfi_op_send(core, op, now);
}

void hfi_core_copy_gone(struct hfi_core *core, struct hfi_copy *copy,
                        bool written, int64_t now)
{
    core->here = copy->link;
    if (copy->joined != NULL) {
        hfi_joined_gone(core, copy, written, now);
    } else {
        copy_lost(core, copy, written, now);
    }
    copy_landed(core, copy);
}

/* ---- links ---- */

/* What waited for a link, whatever it is, is due now. */
static void rearm_numbers_of(struct hfi_core *core, struct hfi_name *name,
                             int64_t now)
{
    struct hfi_number *number;

    DL_FOREACH2(name->numbers, number, name_next)
    {
        if (number->end == END_PENDING && number->linkless &&
            !HFI_MUTATION(undo_linkless)) {
            number->linkless = false;
            hfi_heap_set(&core->number_timers, &number->timer, now);
        }
        if (number->state == NUMBER_HELD && number->renewal.key == HFI_NEVER &&
            hfi_hold_pace(core, number) > 0) {
            hfi_hold_arm_renewal(core, number, now);
        }
    }
}

static void rearm_linkless(struct hfi_core *core, int64_t now)
{
    struct hfi_name *name = hfi_name_after(core, NULL);

    for (; name != NULL; name = hfi_name_after(core, name)) {
        rearm_numbers_of(core, name, now);
    }
}

void hfi_core_link_up(struct hfi_core *core, enum hfi_link_id link,
                      int64_t server_ms, int64_t now)
{
    hfi_server_seen(core, server_ms, now);
    hfi_native_forget(core);
    hfi_core_link_ready(core, link, now);
}

void hfi_core_link_ready(struct hfi_core *core, enum hfi_link_id link,
                         int64_t now)
{
    struct hfi_op *op;
    size_t count;

    core->here = link;
    core->link_up[link] = true;
    DL_COUNT2(core->linkless, op, count, link_next);
    while (count-- > 0 && (op = core->linkless) != NULL) {
        DL_DELETE2(core->linkless, op, link_prev, link_next);
        op->linkless = false;
        hfi_op_send(core, op, now);
    }
    rearm_linkless(core, now);
}

void hfi_core_link_down(struct hfi_core *core, enum hfi_link_id link)
{
    core->link_up[link] = false;
}

void hfi_core_link_failed(struct hfi_core *core, const hf_error *error,
                          int64_t now)
{
    struct hfi_op *op, *next;

    core->here = HFI_LINK_KEEPER;
    if (hfi_pick_link(core, HFI_LINK_MAIN) != HFI_COMMAND_LINKS) {
        return;
    }
    DL_FOREACH_SAFE2(core->linkless, op, next, link_next)
    {
        op->refusal = *error;
        if (op->ask.kind != HFI_OP_RELEASE && op->ask.wait_ms == 0 &&
            !(op->ask.kind == HFI_OP_CHANGE && hfi_count_unclean(op))) {
            hfi_op_give_up(core, op, error->status, now);
        }
    }
}

/* ---- time ---- */

#define OF_TIMER(type, member, node)                                           \
    ((type *)(void *)((char *)(node)-offsetof(type, member)))

void hfi_core_tick(struct hfi_core *core, int64_t now)
{
    struct hfi_heap_node *node;

    core->here = HFI_LINK_KEEPER;
    /* Deadlines first: what is past is lost before anything is renewed. */
    while ((node = hfi_heap_first(&core->number_timers)) != NULL &&
           node->key <= now) {
        struct hfi_number *number = OF_TIMER(struct hfi_number, timer, node);

        hfi_heap_set(&core->number_timers, node, HFI_NEVER);
        if (number->end != END_NONE) {
            hfi_end_timer(core, number, now);
        } else {
            hfi_hold_timer(core, number, now);
        }
    }
    hfi_renew_due(core, now);
    while ((node = hfi_heap_first(&core->op_timers)) != NULL &&
           node->key <= now) {
        hfi_heap_set(&core->op_timers, node, HFI_NEVER);
        hfi_op_timer(core, OF_TIMER(struct hfi_op, timer, node), now);
    }
}

static int64_t first_due(const struct hfi_heap *heap)
{
    const struct hfi_heap_node *node = hfi_heap_first(heap);

    return node == NULL ? HFI_NEVER : node->key;
}

int64_t hfi_core_next_due_ms(const struct hfi_core *core)
{
    int64_t due = first_due(&core->number_timers);
    int64_t op = first_due(&core->op_timers);

    for (size_t i = 0; i < HFI_RENEWAL_CLASSES; i++) {
        int64_t renewal = first_due(&core->renewals[i]);

        due = renewal < due ? renewal : due;
    }
    return op < due ? op : due;
}

/* ---- life ---- */

struct hfi_core *hfi_core_new(const struct hfi_core_config *config)
{
    struct hfi_core *core = calloc(1, sizeof(*core));

    if (core == NULL) {
        return NULL;
    }
    core->config = *config;
    core->random = config->seed;
    core->news_link = HFI_LINK_KEEPER;
    core->next_n = 1;
    return core;
}

static void free_name(struct hfi_core *core, struct hfi_name *name)
{
    struct hfi_number *number, *next;

    name->refs++; /* it goes here, not with the last of its numbers */
    DL_FOREACH_SAFE2(name->numbers, number, next, name_next)
    {
        hfi_number_disown(core, number);
        if (number->state != NUMBER_OVER) {
            hfi_number_move_to(core, number, NUMBER_OVER);
        }
        number->end = END_FINAL;
        number->in_flight = 0;
        hfi_number_tidy(core, number);
    }
    HASH_DEL(core->names[name->kind->family], name);
    hfi_counts_free(core, name);
    free(name->listener);
    free(name);
}

/* Called when no copy is with the driver and every op was freed. */
void hfi_core_free(struct hfi_core *core)
{
    struct hfi_name *name;
    struct hfi_owner *owner, *next_owner;
    struct hfi_copy *copy;
    struct hfi_terms *terms;

    if (core == NULL) {
        return;
    }
    hfi_listeners_free(core);
    while ((name = hfi_name_after(core, NULL)) != NULL) {
        free_name(core, name);
    }
    HASH_ITER (hh, core->owners, owner, next_owner) {
        HASH_DEL(core->owners, owner);
        free(owner);
    }
    while ((copy = hfi_core_next_copy(core)) != NULL) {
        free(copy->batch);
        free(copy);
    }
    while ((copy = core->free_copies) != NULL) {
        core->free_copies = copy->next;
        free(copy);
    }
    hfi_ops_free_pool(core);
    while ((terms = hfi_core_next_notice(core)) != NULL) {
        hfi_terms_unref(terms);
    }
    hfi_heap_free(&core->op_timers);
    hfi_heap_free(&core->number_timers);
    for (size_t i = 0; i < HFI_RENEWAL_CLASSES; i++) {
        hfi_heap_free(&core->renewals[i]);
    }
    free(core);
}

bool hfi_core_ended(const struct hfi_core *core)
{
    return core->ending == 0;
}

bool hfi_core_idle(const struct hfi_core *core)
{
    return core->number_count == 0 && core->op_count == 0;
}

void hfi_core_stats(const struct hfi_core *core, hf_stats *stats)
{
    stats->holds = (int64_t)core->holding;
    stats->waiters = (int64_t)(core->op_count - core->bundled);
    stats->names = (int64_t)core->name_count;
    stats->subscriptions = (int64_t)core->subscribed;
    stats->ending = (int64_t)core->ending;
    stats->scripts_sent = core->scripts_sent;
    stats->renewals_sent = core->renewals_sent;
    stats->retries = core->retries;
    stats->memory_bytes =
        (int64_t)(core->name_count * sizeof(struct hfi_name) +
                  core->name_bytes +
                  core->number_count * sizeof(struct hfi_number) +
                  core->owner_count * sizeof(struct hfi_owner) +
                  HASH_COUNT(core->permits) * sizeof(struct hfi_permit) +
                  core->op_count * sizeof(struct hfi_op));
}

/* ---- notices ---- */

struct hfi_terms *hfi_core_next_notice(struct hfi_core *core)
{
    struct hfi_terms *terms = core->notices;

    if (terms != NULL) {
        DL_DELETE(core->notices, terms);
    }
    return terms;
}

void hfi_kind_options_unref(struct hfi_kind_options *options)
{
    if (options != NULL && --options->refs == 0) {
        free(options);
    }
}

void hfi_terms_unref(struct hfi_terms *terms)
{
    if (terms != NULL && --terms->refs == 0) {
        if (terms->gone != NULL) {
            terms->gone(terms->context);
        }
        free(terms);
    }
}
