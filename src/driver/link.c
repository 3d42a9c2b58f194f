/* SPDX-License-Identifier: MIT */
/* driver/link.c - one connection: what goes out, what comes in, and its end.
 *
 * Commands are appended by anybody under the client's mutex; one driver at a
 * time takes what was appended, writes it, reads and parses what comes, all
 * without the mutex, and hands the replies to the core with it.  Replies come
 * in the order of the calls, so a queue of calls says whose each one is.
 *
 * A link ends when reading or writing fails, when what is read is not the
 * protocol, or when it owes answers and sent no byte for the response limit:
 * then the keeper shuts its socket down, and its driver finds the end of file.
 * Its calls are given back to the core: as never written, if none of their
 * bytes reached the kernel.
 */
#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utlist.h>

#include "base/clock.h"
#include "base/fail.h"
#include "driver/client.h"
#include "scripts_data.h"

#define CALLS_AT_FIRST 16
#define READ_BYTES 16384

/* An idle pub/sub link is asked for a sign of life so often: its other end may
 * have gone without a word, and then no message would ever come. */
#define PING_AFTER_MS 5000

/* A link with more than this to send takes no more requests until its driver has
 * taken that: they wait in the core, as if there were no link.  (A buffer can
 * hold twice as much, so the last request always finds room.) */
#define FULL_BYTES (HFI_BUFFER_MAX / 2)

void hfi_link_init(struct hf_client *client, size_t id)
{
    struct hfi_link *link = &client->links[id];

    link->client = client;
    link->id = id;
    link->fd = -1;
    link->wake.fd = -1;
    link->driver = HFI_KEEPER;
}

#define TO(state) (1U << (state))

/* Row: where a link is.  Bits: where it may go. */
static const unsigned legal_moves[HFI_LINK_STATES] = {
    [HFI_LINK_DOWN] = TO(HFI_LINK_DOWN) | TO(HFI_LINK_CONNECTING),
    [HFI_LINK_CONNECTING] = TO(HFI_LINK_DOWN) | TO(HFI_LINK_GREETING),
    [HFI_LINK_GREETING] = TO(HFI_LINK_DOWN) | TO(HFI_LINK_UP),
    [HFI_LINK_UP] = TO(HFI_LINK_DOWN),
};

void hfi_link_move_to(struct hfi_link *link, enum hfi_link_state next)
{
    bool legal = (legal_moves[link->state] & TO(next)) != 0;

    assert(legal);
    (void)legal;
    link->state = next;
}

static void close_socket(struct hfi_link *link)
{
    if (link->fd >= 0) {
        close(link->fd);
        link->fd = -1;
    }
}

void hfi_link_fini(struct hfi_link *link)
{
    close_socket(link);
    hfi_reader_free(link->reader);
    hfi_buffer_free(&link->out);
    hfi_buffer_free(&link->sending);
    hfi_wake_close(&link->wake);
    free(link->calls);
}

/* ---- the queue of calls ---- */

static bool push_call(struct hfi_link *link, struct hfi_copy *copy)
{
    size_t at;

    if (link->call_count == link->call_capacity) {
        size_t capacity = link->call_capacity == 0 ? CALLS_AT_FIRST
                                                   : 2 * link->call_capacity;
        struct hfi_call *calls = malloc(capacity * sizeof(*calls));

        if (calls == NULL) {
            return false;
        }
        for (size_t i = 0; i < link->call_count; i++) {
            calls[i] =
                link->calls[(link->call_first + i) & (link->call_capacity - 1)];
        }
        free(link->calls);
        link->calls = calls;
        link->call_first = 0;
        link->call_capacity = capacity;
    }
    at = (link->call_first + link->call_count++) & (link->call_capacity - 1);
    link->calls[at].copy = copy;
    link->calls[at].start = link->appended;
    return true;
}

static struct hfi_call pop_call(struct hfi_link *link)
{
    struct hfi_call call = link->calls[link->call_first];

    link->call_first = (link->call_first + 1) & (link->call_capacity - 1);
    link->call_count--;
    return call;
}

bool hfi_link_owes(const struct hfi_link *link)
{
    if (link->state != HFI_LINK_UP) {
        return false;
    }
    if (link->id == HFI_LINK_PUBSUB) {
        return hfi_channels_owed(link->client->channels) > 0;
    }
    return link->call_count > 0;
}

int64_t hfi_link_dead_at(const struct hfi_link *link)
{
    if (!hfi_link_owes(link)) {
        return INT64_MAX;
    }
    return link->heard_ms + link->client->options.response_limit_ms;
}

/* ---- out ---- */

/* What the core hands over goes into a command, word by word. */
struct sink {
    struct hfi_command_sink base;
    struct hfi_command *command;
};

static void sink_arg(struct hfi_command_sink *base, const void *bytes,
                     size_t len)
{
    hfi_command_add(((struct sink *)base)->command, bytes, len);
}

static void sink_number(struct hfi_command_sink *base, int64_t value)
{
    hfi_command_add_number(((struct sink *)base)->command, value);
}

static void sink_piece(struct hfi_command_sink *base, const void *bytes,
                       size_t len)
{
    hfi_command_add_piece(((struct sink *)base)->command, bytes, len);
}

/* NULL: it is a bare command. */
static const struct hfi_script *script_of(const struct hfi_copy *copy)
{
    int script = hfi_copy_script(copy);

    return script < 0 ? NULL : &hfi_scripts[script];
}

static bool format(struct hfi_link *link, const struct hfi_copy *copy)
{
    struct hf_client *client = link->client;
    struct hfi_command *command = &client->scratch;
    const struct hfi_script *script = script_of(copy);
    struct sink sink = {{sink_arg, sink_number, sink_piece}, command};

    hfi_command_begin(command);
    if (copy->native) {
        hfi_copy_write(client->core, copy, &sink.base);
        return hfi_command_end(command, &link->out);
    }
    if (copy->with_text) {
        hfi_command_add(command, "EVAL", 4);
        hfi_command_add(command, script->text, script->len_bytes);
    } else {
        hfi_command_add(command, "EVALSHA", 7);
        hfi_command_add(command, script->sha1, 40);
    }
    hfi_command_add_number(command, (int64_t)hfi_copy_keys(copy));
    hfi_copy_write(client->core, copy, &sink.base);
    return hfi_command_end(command, &link->out);
}

static void append(struct hfi_link *link, struct hfi_copy *copy, int64_t now)
{
    size_t before = link->out.len;

    if (!push_call(link, copy)) {
        DL_APPEND(link->refused, copy);
        shutdown(link->fd, SHUT_RDWR);
        return;
    }
    if (!format(link, copy)) {
        link->call_count--;
        DL_APPEND(link->refused, copy);
        shutdown(link->fd, SHUT_RDWR);
        return;
    }
    if (link->call_count == 1) {
        link->heard_ms = now;
    }
    link->appended += link->out.len - before;
    if (link->out.len > FULL_BYTES) {
        link->full = true;
        hfi_core_link_down(link->client->core, (enum hfi_link_id)link->id);
    }
}

/* Those that waited for company leave: as one, or alone. */
static void append_joining(struct hfi_link *link, int64_t now)
{
    struct hfi_copy *joined = NULL;
    struct hfi_copy *copy;

    if (link->joining_count > 1) {
        joined = hfi_copy_join(link->client->core, link->joining);
    }
    if (joined != NULL) {
        link->joining = NULL;
        append(link, joined, now);
    }
    while ((copy = link->joining) != NULL) {
        DL_DELETE(link->joining, copy);
        append(link, copy, now);
    }
    link->joining_count = 0;
}

void hfi_link_append(struct hfi_link *link, struct hfi_copy *copy, int64_t now)
{
    link->gathered++;
    if (!hfi_copy_joins(copy)) {
        append(link, copy, now);
        return;
    }
    DL_APPEND(link->joining, copy);
    if (++link->joining_count == HFI_JOIN_MAX) {
        append_joining(link, now);
    }
}

void hfi_link_nudge(struct hfi_link *link)
{
    /* A waiter that drives polls everything that it drives at once. */
    struct hfi_link *polled = &link->client->links[HFI_LINK_MAIN];

    if (link->driver == HFI_KEEPER) {
        hfi_keeper_nudge(link->client);
    } else if (link->driver == HFI_WAITER && polled->asleep && !polled->woken) {
        polled->woken = true;
        link->client->fire_main = true;
    }
}

bool hfi_link_has_output(const struct hfi_link *link)
{
    return link->out.len > 0 || link->joining != NULL ||
           (!link->writing && link->sent < link->sending.len);
}

bool hfi_link_take_output(struct hfi_link *link)
{
    struct hfi_buffer empty;

    if (link->joining != NULL) {
        append_joining(link, hfi_clock_ms());
    }
    if (link->sent < link->sending.len) {
        /* What came since goes along, or nobody would think of it when the
         * rest is written: its wake-up may have been served already. */
        if (link->out.len > 0 &&
            hfi_buffer_append(&link->sending, link->out.bytes, link->out.len)) {
            hfi_buffer_clear(&link->out);
        }
        return true;
    }
    link->room = hfi_room_next();
    link->sleepers = 0;
    link->gathered = 0;
    hfi_buffer_clear(&link->sending);
    link->sent = 0;
    empty = link->sending;
    link->sending = link->out;
    link->out = empty;
    return link->sending.len > 0;
}

bool hfi_link_write(struct hfi_link *link)
{
    while (link->sent < link->sending.len) {
        ssize_t n = hfi_socket_write(link->fd, link->sending.bytes + link->sent,
                                     link->sending.len - link->sent);

        if (n < 0) {
            return false;
        }
        if (n == 0) {
            return true; /* the socket is full; poll says when it is not */
        }
        link->sent += (size_t)n;
    }
    return true;
}

void hfi_link_wrote(struct hfi_link *link, int64_t now)
{
    uint64_t left = link->out.len + (link->sending.len - link->sent);

    if (link->written != link->appended - left) {
        link->written = link->appended - left;
        link->client->writes++;
    }
    if (link->full && link->out.len <= FULL_BYTES / 2) {
        link->full = false;
        hfi_core_link_ready(link->client->core, (enum hfi_link_id)link->id,
                            now);
    }
}

/* ---- in ---- */

static void break_input(struct hfi_input *input, hf_status why, int sys_errno)
{
    input->broken = true;
    input->why = why;
    input->sys_errno = sys_errno;
}

/* Take whole replies out of the reader; false: stop reading for now. */
static bool parse(struct hfi_link *link, struct hfi_input *input)
{
    while (input->count < HFI_BATCH_OF_VALUES) {
        switch (hfi_reader_next(link->reader, &input->values[input->count])) {
        case HFI_READ_VALUE:
            input->count++;
            break;
        case HFI_READ_MORE:
            return true;
        case HFI_READ_BROKEN:
            break_input(input, HF_PROTOCOL, 0);
            return false;
        }
    }
    link->more = true;
    return false;
}

void hfi_link_read(struct hfi_link *link, struct hfi_input *input)
{
    char bytes[READ_BYTES];
    ssize_t n;

    input->count = 0;
    link->more = false;
    input->broken = false;
    input->bytes = 0;
    if (!parse(link, input)) {
        return;
    }
    n = hfi_socket_read(link->fd, bytes, sizeof(bytes));
    if (n < 0) {
        break_input(input, HF_UNREACHABLE, errno);
        return;
    }
    if (n == 0) {
        return;
    }
    input->bytes = (size_t)n;
    if (!hfi_reader_feed(link->reader, bytes, (size_t)n)) {
        break_input(input, HF_NOMEM, ENOMEM);
        return;
    }
    if (parse(link, input)) {
        link->more = (size_t)n == sizeof(bytes);
    }
}

/* ---- looking before sleeping ---- */

/* A server that answers within the time to look is looked at; one that did not
 * so often in a row is left alone for a while: it is far away, or busy. */
#define SPIN_MISSES_MAX 4
#define SPIN_SKIPS 64

/* Only for one call alone: where there are more, their threads have better use
 * for the processor.  The mutex is held. */
bool hfi_link_may_spin(struct hfi_link *link)
{
    if (link->client->options.spin_us <= 0 || link->state != HFI_LINK_UP ||
        link->call_count != 1 || link->company > 1) {
        return false;
    }
    if (link->spin_skips > 0) {
        link->spin_skips--;
        return false;
    }
    return true;
}

/* Without the mutex, by the driver.  Others go first on this processor: the
 * server may be among them. */
bool hfi_link_spin(struct hfi_link *link, struct hfi_input *input)
{
    int64_t until = hfi_clock_us() + link->client->options.spin_us;

    do {
        hfi_link_read(link, input);
        if (input->count > 0 || input->broken) {
            return true;
        }
        sched_yield();
    } while (hfi_clock_us() < until);
    return false;
}

void hfi_link_spun(struct hfi_link *link, bool found)
{
    link->spin_misses = found ? 0 : link->spin_misses + 1;
    if (link->spin_misses >= SPIN_MISSES_MAX) {
        link->spin_misses = 0;
        link->spin_skips = SPIN_SKIPS;
    }
}

static void deliver_message(struct hfi_link *link,
                            const struct hfi_value *value, int64_t now,
                            struct hfi_input *input)
{
    struct hf_client *client = link->client;
    void *user;

    hfi_core_news_link(client->core, link->driver == HFI_WAITER
                                         ? HFI_LINK_MAIN
                                         : HFI_LINK_KEEPER);
    switch (hfi_channels_reply(client->channels, value, &user)) {
    case HFI_CHANNEL_NOTHING:
        return;
    case HFI_CHANNEL_HEARD:
        hfi_core_subscribed(client->core, user, now);
        return;
    case HFI_CHANNEL_REFUSED:
        hfi_core_subscribe_refused(client->core, user, now);
        return;
    case HFI_CHANNEL_MESSAGE:
        hfi_core_message(client->core, user, now);
        return;
    case HFI_CHANNEL_BROKEN:
        break_input(input, HF_PROTOCOL, 0);
        return;
    }
}

static void deliver_reply(struct hfi_link *link, struct hfi_value *value,
                          int64_t now, struct hfi_input *input)
{
    struct hfi_call call;

    if (link->call_count == 0) {
        break_input(input, HF_PROTOCOL, 0);
        return;
    }
    call = pop_call(link);
    hfi_core_answer(link->client->core, call.copy, value,
                    (enum hfi_link_id)link->id, now);
}

static void deliver_greeting(struct hfi_link *link,
                             const struct hfi_value *value, int64_t now,
                             struct hfi_input *input)
{
    hf_error *error = &link->client->open_error;
    hf_status status = HF_PROTOCOL;

    if (hfi_handshake_done(&link->handshake)) {
        break_input(input, HF_PROTOCOL, 0);
        return;
    }
    status = hfi_handshake_answer(&link->handshake, value, error);
    if (status != HF_OK) {
        break_input(input, status, 0);
    } else if (hfi_handshake_done(&link->handshake)) {
        hfi_connect_greeted(link, now);
    }
}

void hfi_link_deliver(struct hfi_link *link, struct hfi_input *input,
                      int64_t now)
{
    if (input->bytes > 0) {
        link->heard_ms = now;
    }
    if (input->count > 0) {
        link->company = input->count;
    }
    for (size_t i = 0; i < input->count; i++) {
        struct hfi_value *value = &input->values[i];

        if (!input->broken || input->why == HF_UNREACHABLE) {
            if (link->state == HFI_LINK_GREETING) {
                deliver_greeting(link, value, now, input);
            } else if (link->id == HFI_LINK_PUBSUB) {
                deliver_message(link, value, now, input);
            } else {
                deliver_reply(link, value, now, input);
            }
        }
        hfi_value_clear(value);
    }
    input->count = 0;
}

/* ---- the end ---- */

static void forget_subscription(void *user, void *context)
{
    hfi_core_unsubscribed(context, user);
}

static void give_back(struct hfi_link *link, int64_t now)
{
    struct hfi_core *core = link->client->core;
    struct hfi_copy *copy;

    /* Calls that are sent again meanwhile go to other links. */
    for (size_t left = link->call_count; left > 0; left--) {
        struct hfi_call call = pop_call(link);

        hfi_core_copy_gone(core, call.copy, call.start < link->written, now);
    }
    DL_CONCAT(link->refused, link->joining);
    link->joining = NULL;
    link->joining_count = 0;
    while ((copy = link->refused) != NULL) {
        DL_DELETE(link->refused, copy);
        hfi_core_copy_gone(core, copy, false, now);
    }
}

void hfi_link_tear_down(struct hfi_link *link, int64_t now)
{
    struct hf_client *client = link->client;
    bool was_up = link->state == HFI_LINK_UP;

    link->full = false;
    hfi_link_wrote(link, now);
    close_socket(link);
    hfi_reader_free(link->reader);
    link->reader = NULL;
    link->more = false;
    hfi_link_move_to(link, HFI_LINK_DOWN);
    link->driver = HFI_KEEPER;
    link->driving = NULL;
    link->left_ms = 0;
    if (link->id == HFI_LINK_PUBSUB) {
        hfi_channels_link_down(client->channels, forget_subscription,
                               client->core);
    } else {
        if (was_up) {
            hfi_core_link_down(client->core, (enum hfi_link_id)link->id);
        }
        give_back(link, now);
    }
    hfi_buffer_clear(&link->out);
    hfi_buffer_clear(&link->sending);
    link->sent = 0;
    link->appended = 0;
    link->written = 0;
    if (was_up) {
        hfi_connect_lost(link, now);
    }
    hfi_keeper_nudge(client);
}

/* Idle for a while, and somebody counts on hearing messages: ask. */
void hfi_link_ping(struct hfi_link *link, int64_t now)
{
    struct hf_client *client = link->client;
    int64_t since = link->pinged_ms > link->heard_ms ? link->pinged_ms
                                                     : link->heard_ms;
    size_t before;

    if (link->state != HFI_LINK_UP || hfi_link_owes(link) ||
        hfi_channels_wanted(client->channels) == 0 ||
        now - since < PING_AFTER_MS) {
        return;
    }
    link->pinged_ms = now;
    link->heard_ms = now;
    before = link->out.len;
    (void)hfi_channels_ping(client->channels, &client->scratch, &link->out);
    link->appended += link->out.len - before;
}
