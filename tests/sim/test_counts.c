/* SPDX-License-Identifier: MIT */
/* test_counts.c - random histories of semaphores and latches.
 *
 * Three clients' cores, the scripts as they ship in the model of a server, and
 * a network that loses requests and replies, repeats requests, and runs them
 * long after their senders have given up.  Users take permits, give them back,
 * count down and wait for each other, round after round; the latch is armed
 * again while the slower ones still wait for its last opening.
 *
 *   - Permits are never held by more than there are, at no moment (T40), and in
 *     the end all of them are there again.
 *   - Of several who set the semaphore, exactly one did.
 *   - Nobody passes the latch before all of a round have counted down, and
 *     everybody does (T41).
 *
 * A mistake in a script has to be found out: each of the table below is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <utlist.h>

#include "mutants.h"
#include "redis/command.h"
#include "redis/reply.h"
#include "scripts_data.h"
#include "server/sim_server.h"
#include "support/fatal.h"
#include "support/seed.h"
#include "sync/kinds/kind.h"
#include "sync/state.h"

#define CLIENTS 3
#define USERS 6
#define ROUNDS 4
#define CAPACITY 4
#define BEGIN_MS INT64_C(1000000)
#define SERVER_AHEAD_MS INT64_C(1700000000000)
#define LONGEST_MS INT64_C(3000000) /* of a history; else somebody hangs */
#define LATE_MS 20000 /* so late may a copy run; and, seldom, this late: */
#define VERY_LATE_MS (HFI_WINDOW_MS + 300000)
#define HISTORIES 150

struct world;

struct client {
    struct world *world;
    struct hfi_core *core;
    struct sim_conn *commands;
    struct sim_conn *messages;
    struct hfi_listener *listeners[4]; /* subscribed to */
    char channels[4][128];
    size_t listener_count;
};

enum what { RUN, ANSWER, GONE, HEARD, MESSAGE };

struct event {
    struct event *prev, *next;
    int64_t at_ms;
    enum what what;
    struct client *client;
    struct hfi_copy *copy; /* RUN: to be answered, or NULL */
    bool written;
    bool twice; /* RUN: as a proxy repeats it, at once */
    char *bytes;
    size_t len;
    struct hfi_value value;
    char channel[128];
};

enum doing {
    SETTING,
    ARMING,
    TAKING,
    HOLDING,
    GIVING,
    COUNTING,
    WAITING,
    DONE
};

struct user {
    struct client *client;
    size_t index;
    enum doing doing;
    struct hfi_op *op; /* what it waits for, or NULL */
    int round;
    int64_t permits;
    int64_t until_ms;
};

struct world {
    struct hft_random random;
    const struct sim_patch *mistake;
    struct sim_server *server;
    struct client clients[CLIENTS];
    struct user users[USERS];
    struct event *events;
    struct hfi_command scratch;
    int64_t now;
    bool calm; /* nothing goes wrong any more */
    int64_t held;
    int sets;
    int armed_round; /* rounds below it can be counted down */
    int downs[ROUNDS];
    int ambiguous; /* calls of which nobody knows */
    const char *broken;
};

static int64_t below(struct world *w, int64_t limit)
{
    return (int64_t)hft_random_below(&w->random, (uint64_t)limit);
}

static int64_t server_ms(const struct world *w)
{
    return w->now + SERVER_AHEAD_MS;
}

static void breach(struct world *w, const char *what)
{
    if (w->broken == NULL && w->ambiguous == 0) {
        w->broken = what;
    }
}

/* ---- events ---- */

static int earlier(const struct event *a, const struct event *b)
{
    return a->at_ms < b->at_ms ? -1 : a->at_ms > b->at_ms;
}

static struct event *plan(struct client *client, enum what what, int64_t in_ms)
{
    struct event *event = hft_alloc(sizeof(*event));

    event->client = client;
    event->what = what;
    event->at_ms = client->world->now + in_ms;
    DL_INSERT_INORDER(client->world->events, event, earlier);
    return event;
}

static void forget(struct event *event)
{
    hfi_value_clear(&event->value);
    free(event->bytes);
    free(event);
}

/* ---- copies on their way ---- */

struct sink {
    struct hfi_command_sink base;
    struct hfi_command *command;
};

static void on_arg(struct hfi_command_sink *sink, const void *bytes, size_t len)
{
    hfi_command_add(((struct sink *)(void *)sink)->command, bytes, len);
}

static void on_number(struct hfi_command_sink *sink, int64_t value)
{
    hfi_command_add_number(((struct sink *)(void *)sink)->command, value);
}

static void on_piece(struct hfi_command_sink *sink, const void *bytes,
                     size_t len)
{
    hfi_command_add_piece(((struct sink *)(void *)sink)->command, bytes, len);
}

/* The script's text, with the mistake in it. */
static void add_text(struct world *w, const struct hfi_script *script)
{
    const char *text = w->mistake == NULL ? NULL
                                          : sim_patched(script, w->mistake, 1);

    if (text == NULL) {
        hfi_command_add(&w->scratch, script->text, script->len_bytes);
    } else {
        hfi_command_add(&w->scratch, text, strlen(text));
    }
}

static void format(struct client *client, const struct hfi_copy *copy,
                   struct hfi_buffer *out)
{
    struct world *w = client->world;
    struct sink sink = {{on_arg, on_number, on_piece}, &w->scratch};

    hfi_command_begin(&w->scratch);
    hfi_command_add_text(&w->scratch, "EVAL");
    add_text(w, &hfi_scripts[hfi_copy_script(copy)]);
    hfi_command_add_number(&w->scratch, (int64_t)hfi_copy_keys(copy));
    hfi_copy_write(client->core, copy, &sink.base);
    assert_true(hfi_command_end(&w->scratch, out));
}

static struct event *plan_run(struct client *client, int64_t in_ms,
                              const struct hfi_buffer *request)
{
    struct event *event = plan(client, RUN, in_ms);

    event->bytes = hft_alloc(request->len);
    memcpy(event->bytes, request->bytes, request->len);
    event->len = request->len;
    return event;
}

static int64_t lateness(struct world *w)
{
    return 1 + below(w, below(w, 10) == 0 ? VERY_LATE_MS : LATE_MS);
}

static void plan_gone(struct client *client, struct hfi_copy *copy,
                      bool written)
{
    struct world *w = client->world;
    int64_t silence_ms = below(w, 8) == 0 ? 9000 : 300;
    struct event *event = plan(client, GONE, 5 + below(w, silence_ms));

    event->copy = copy;
    event->written = written;
}

/* What becomes of a copy. */
static void send_copy(struct client *client, struct hfi_copy *copy)
{
    struct world *w = client->world;
    struct hfi_buffer request = {0};
    struct event *event;
    int64_t fate = w->calm ? 0 : below(w, 100);

    format(client, copy, &request);
    if (fate < 65) { /* all is well */
        plan_run(client, 1 + below(w, 5), &request)->copy = copy;
    } else if (fate < 75) { /* the reply is lost */
        (void)plan_run(client, 1 + below(w, 5), &request);
        plan_gone(client, copy, true);
    } else if (fate < 82) { /* the request is lost */
        plan_gone(client, copy, true);
    } else if (fate < 86) { /* it never left */
        plan_gone(client, copy, false);
    } else if (fate < 95) { /* it runs when its sender has long gone on */
        (void)plan_run(client, lateness(w), &request);
        plan_gone(client, copy, true);
    } else { /* it runs twice */
        event = plan_run(client, 1 + below(w, 5), &request);
        event->copy = copy;
        event->twice = true;
    }
    hfi_buffer_free(&request);
}

static void run(struct world *w, struct event *event)
{
    struct hft_bytes out = {0};
    struct hfi_reader *reader = hfi_reader_new();
    struct event *answer;

    assert_true(sim_server_request(event->client->commands, event->bytes,
                                   event->len, server_ms(w), &out));
    if (event->copy != NULL) {
        answer = plan(event->client, ANSWER, 1 + below(w, 5));
        answer->copy = event->copy;
        assert_true(hfi_reader_feed(reader, out.data, out.length));
        assert_int_equal(hfi_reader_next(reader, &answer->value),
                         HFI_READ_VALUE);
    }
    if (event->twice) {
        assert_true(sim_server_request(event->client->commands, event->bytes,
                                       event->len, server_ms(w), &out));
    }
    hfi_reader_free(reader);
    hft_bytes_free(&out);
}

/* ---- messages ---- */

static void deliver(void *context, struct sim_conn *conn, const char *bytes,
                    size_t len)
{
    struct world *w = context;
    struct client *client = sim_conn_user(conn);
    size_t i;

    for (i = 0; i < client->listener_count; i++) {
        if (memmem(bytes, len, client->channels[i],
                   strlen(client->channels[i])) != NULL &&
            (w->calm || below(w, 5) > 0)) { /* some are lost */
            struct event *event = plan(client, MESSAGE, 1 + below(w, 10));

            snprintf(event->channel, sizeof(event->channel), "%s",
                     client->channels[i]);
        }
    }
}

static size_t find_channel(const struct client *client, const char *channel)
{
    size_t i = 0;

    while (i < client->listener_count &&
           strcmp(client->channels[i], channel) != 0) {
        i++;
    }
    return i;
}

static void tell_server(struct client *client, const char *word,
                        const char *channel)
{
    struct hft_bytes out = {0};
    struct hfi_buffer request = {0};

    hfi_command_begin(&client->world->scratch);
    hfi_command_add_text(&client->world->scratch, word);
    hfi_command_add_text(&client->world->scratch, channel);
    assert_true(hfi_command_end(&client->world->scratch, &request));
    assert_true(sim_server_request(client->messages, request.bytes, request.len,
                                   server_ms(client->world), &out));
    hfi_buffer_free(&request);
    hft_bytes_free(&out);
}

static void change_subscription(struct client *client,
                                struct hfi_listener *listener)
{
    char channel[128] = "";
    size_t i;

    (void)hfi_listener_channel(client->core, listener, channel,
                               sizeof(channel) - 1);
    i = find_channel(client, channel);
    if (!hfi_listener_wants(listener)) {
        if (i < client->listener_count) {
            tell_server(client, "UNSUBSCRIBE", channel);
            client->listener_count--;
            client->listeners[i] = client->listeners[client->listener_count];
            memmove(client->channels[i],
                    client->channels[client->listener_count], sizeof(channel));
        }
        return;
    }
    if (i == client->listener_count) {
        client->listener_count++;
    }
    client->listeners[i] = listener;
    memcpy(client->channels[i], channel, sizeof(channel));
    tell_server(client, "SUBSCRIBE", channel);
    memcpy(plan(client, HEARD, 2 + below(client->world, 20))->channel, channel,
           sizeof(channel));
}

/* ---- users ---- */

static void start(struct user *user, struct hfi_op_request ask)
{
    struct world *w = user->client->world;
    struct hfi_op *op = NULL;

    ask.name = ask.of == &hfi_kind_latch ? "gate" : "pool";
    ask.name_bytes = 4;
    ask.user = user;
    assert_int_equal(hfi_op_new(user->client->core, &ask, &op), HF_OK);
    user->op = op;
    hfi_core_start(user->client->core, op,
                   below(w, 2) == 0 ? HFI_LINK_MAIN : HFI_LINK_KEEPER, w->now);
}

static void start_change(struct user *user, const struct hfi_kind *kind,
                         const char *word, int64_t count)
{
    struct hfi_op_request ask = {
        .kind = HFI_OP_CHANGE, .of = kind, .word = word, .count = count};

    start(user, ask);
}

static void start_take(struct user *user)
{
    static const int64_t waits[] = {0, 100, 3000, HF_WAIT_FOREVER};
    struct world *w = user->client->world;
    struct hfi_op_request ask = {.kind = HFI_OP_TAKE,
                                 .of = &hfi_kind_semaphore,
                                 .wait_ms = waits[below(w, 4)]};

    user->permits = 1 + below(w, CAPACITY);
    ask.count = user->permits;
    start(user, ask);
}

/* Everybody has passed the latch as it is armed now, or waits for it and has
 * looked: who comes later would wait for the next opening, and is right to. */
static bool may_be_armed_again(const struct world *w)
{
    size_t i;

    for (i = 0; i < USERS; i++) {
        const struct user *user = &w->users[i];

        if (user->round < w->armed_round &&
            (user->doing != WAITING || user->op == NULL || !user->op->looked)) {
            return false;
        }
    }
    return true;
}

/* The next step of somebody who waits for nothing. */
static void act(struct user *user)
{
    struct world *w = user->client->world;
    struct hfi_op_request look = {.kind = HFI_OP_AWAIT,
                                  .of = &hfi_kind_latch,
                                  .wait_ms = HF_WAIT_FOREVER};

    switch (user->doing) {
    case SETTING:
        start_change(user, &hfi_kind_semaphore, HFI_WORD_SET, CAPACITY);
        return;
    case ARMING:
        if (may_be_armed_again(w)) {
            start_change(user, &hfi_kind_latch, HFI_WORD_SET, USERS);
        }
        return;
    case TAKING:
        start_take(user);
        return;
    case HOLDING:
        if (w->now >= user->until_ms) {
            user->doing = GIVING;
            w->held -= user->permits;
        }
        return;
    case GIVING:
        start_change(user, &hfi_kind_semaphore, HFI_WORD_RELEASE,
                     user->permits);
        return;
    case COUNTING:
        if (user->round < w->armed_round) {
            w->downs[user->round]++;
            start_change(user, &hfi_kind_latch, HFI_WORD_DOWN, 0);
        }
        return;
    case WAITING:
        start(user, look);
        return;
    case DONE:
        return;
    }
}

static void taken(struct world *w, struct user *user)
{
    w->held += user->permits;
    if (w->held > CAPACITY) {
        breach(w, "more permits are held than there are");
    }
    user->doing = HOLDING;
    user->until_ms = w->now + below(w, 500);
}

static void passed(struct world *w, struct user *user)
{
    if (w->downs[user->round] < USERS) {
        breach(w, "somebody passed the latch before all had counted down");
    }
    user->round++;
    if (user->round == ROUNDS) {
        user->doing = DONE;
    } else {
        user->doing = user->index == 0 ? ARMING : TAKING;
    }
}

/* What was done; what was not is tried again. */
static void succeeded(struct world *w, struct user *user,
                      const struct hfi_op_result *result)
{
    switch (user->doing) {
    case SETTING:
        w->sets += result->changed ? 1 : 0;
        user->doing = user->index == 0 ? ARMING : TAKING;
        return;
    case ARMING:
        if (!result->changed) {
            breach(w, "the latch was armed by somebody else");
        }
        w->armed_round++;
        user->doing = TAKING;
        return;
    case TAKING:
        taken(w, user);
        return;
    case GIVING:
        user->doing = COUNTING;
        return;
    case COUNTING:
        user->doing = WAITING;
        return;
    case WAITING:
        passed(w, user);
        return;
    case HOLDING:
    case DONE:
        return;
    }
}

static void ended(struct world *w, struct hfi_op *op)
{
    struct user *user = hfi_op_user(op);
    const struct hfi_op_result *result = hfi_op_result(op);

    user->op = NULL;
    if (result->status == HF_OK) {
        succeeded(w, user, result);
    } else if (user->doing == COUNTING) {
        w->downs[user->round]--;
    }
    if (result->status == HF_UNKNOWN && user->doing != TAKING) {
        w->ambiguous++;
    }
    if (result->status == HF_PROTOCOL || result->status == HF_WRONG_TYPE) {
        breach(w, "an answer was not understood");
    }
}

/* ---- the loop ---- */

static void settle(struct client *client)
{
    struct hfi_core *core = client->core;
    struct hfi_copy *copy;
    struct hfi_listener *listener;
    struct hfi_op *op;

    while ((copy = hfi_core_next_copy(core)) != NULL) {
        send_copy(client, copy);
    }
    while ((listener = hfi_core_next_subscription(core)) != NULL) {
        change_subscription(client, listener);
        hfi_core_subscription_done(core, listener);
    }
    while ((op = hfi_op_next_done(core)) != NULL) {
        ended(client->world, op);
        hfi_op_free(core, op);
    }
}

static void happen(struct world *w, struct event *event)
{
    struct client *client = event->client;
    size_t i = find_channel(client, event->channel);

    switch (event->what) {
    case RUN:
        run(w, event);
        return;
    case ANSWER:
        hfi_core_answer(client->core, event->copy, &event->value, HFI_LINK_MAIN,
                        w->now);
        return;
    case GONE:
        hfi_core_copy_gone(client->core, event->copy, event->written, w->now);
        return;
    case HEARD:
        if (i < client->listener_count) {
            hfi_core_subscribed(client->core, client->listeners[i], w->now);
        }
        return;
    case MESSAGE:
        if (i < client->listener_count) {
            hfi_core_message(client->core, client->listeners[i], w->now);
        }
        return;
    }
}

static void turn(struct world *w)
{
    struct event *event;
    size_t i;

    while ((event = w->events) != NULL && event->at_ms <= w->now) {
        DL_DELETE(w->events, event);
        happen(w, event);
        settle(event->client);
        forget(event);
    }
    for (i = 0; i < CLIENTS; i++) {
        if (hfi_core_next_due_ms(w->clients[i].core) <= w->now) {
            hfi_core_tick(w->clients[i].core, w->now);
        }
        settle(&w->clients[i]);
    }
    for (i = 0; i < USERS; i++) {
        if (w->users[i].op == NULL) {
            act(&w->users[i]);
            settle(w->users[i].client);
        }
    }
}

static bool all_are_done(const struct world *w)
{
    size_t i;

    for (i = 0; i < USERS; i++) {
        if (w->users[i].doing != DONE) {
            return false;
        }
    }
    return true;
}

/* To the next moment at which anything can happen. */
static void pass(struct world *w)
{
    int64_t next = w->events == NULL ? INT64_MAX : w->events->at_ms;
    size_t i;

    for (i = 0; i < CLIENTS; i++) {
        int64_t due = hfi_core_next_due_ms(w->clients[i].core);

        next = due < next ? due : next;
    }
    if (next > w->now + 50 && !all_are_done(w)) {
        next = w->now + 50; /* a holder may have held for long enough */
    }
    w->now = next > w->now ? next : w->now + 1;
}

static bool all_is_quiet(const struct world *w)
{
    size_t i;

    for (i = 0; i < CLIENTS; i++) {
        if (!hfi_core_ended(w->clients[i].core)) {
            return false;
        }
    }
    return w->events == NULL;
}

/* ---- a history ---- */

static void begin(struct world *w, uint64_t seed,
                  const struct sim_patch *mistake)
{
    struct sim_server_config config = {.deliver = deliver, .context = w};
    size_t i;

    memset(w, 0, sizeof(*w));
    w->random = (struct hft_random){seed};
    w->mistake = mistake;
    w->now = BEGIN_MS;
    w->server = sim_server_new(&config);
    for (i = 0; i < CLIENTS; i++) {
        struct client *client = &w->clients[i];
        struct hfi_core_config core = {.seed = seed + i,
                                       .response_limit_ms = 3000,
                                       .connect_limit_ms = 2000,
                                       .retry_bound_ms = 2000};
        int64_t wrong_ms = below(w, 30000) - 5000; /* a bad estimate */

        snprintf(core.uuid, sizeof(core.uuid),
                 "%08zx-89ab-4def-8123-456789abcdef", i);
        client->world = w;
        client->core = hfi_core_new(&core);
        client->commands = sim_conn_open(w->server, client);
        client->messages = sim_conn_open(w->server, client);
        hfi_core_link_up(client->core, HFI_LINK_MAIN, server_ms(w) + wrong_ms,
                         w->now);
        hfi_core_link_up(client->core, HFI_LINK_KEEPER, server_ms(w) + wrong_ms,
                         w->now);
    }
    for (i = 0; i < USERS; i++) {
        w->users[i].index = i;
        w->users[i].client = &w->clients[i % CLIENTS];
    }
}

static void end(struct world *w)
{
    size_t i;

    for (i = 0; i < CLIENTS; i++) {
        hfi_core_close(w->clients[i].core, w->now);
    }
    w->calm = true;
    for (i = 0; i < USERS; i++) {
        w->users[i].doing = DONE;
    }
    while (w->events != NULL) {
        pass(w);
        turn(w);
    }
    for (i = 0; i < CLIENTS; i++) {
        settle(&w->clients[i]);
        hfi_core_free(w->clients[i].core);
    }
    sim_server_free(w->server);
    hfi_command_free(&w->scratch);
}

static int64_t number_at(struct world *w, const char *name)
{
    struct sim_key *key = sim_key_find(sim_server_db(w->server, 0), name,
                                       server_ms(w));

    return key == NULL ? INT64_MIN
                       : strtoll(sim_key_entry(key, 0).value, NULL, 10);
}

static void judge(struct world *w)
{
    if (!all_are_done(w)) {
        breach(w, "somebody waits for ever");
        return;
    }
    if (w->sets != 1) {
        breach(w, "not exactly one set the semaphore");
    }
    if (number_at(w, "pool") != CAPACITY) {
        breach(w, "permits are lost or doubled");
    }
    if (number_at(w, "gate") != INT64_MIN) {
        breach(w, "counts are lost or doubled");
    }
}

/* NULL, or what went wrong; *ret_known: it could be judged. */
static const char *history(uint64_t seed, const struct sim_patch *mistake,
                           bool *ret_known)
{
    struct world w;

    begin(&w, seed, mistake);
    while (!all_are_done(&w) && w.now < BEGIN_MS + LONGEST_MS &&
           w.broken == NULL && w.ambiguous == 0) {
        pass(&w);
        turn(&w);
    }
    w.calm = true; /* now all that is late runs */
    while (w.broken == NULL && all_are_done(&w) && !all_is_quiet(&w)) {
        pass(&w);
        turn(&w);
    }
    judge(&w);
    *ret_known = w.ambiguous == 0;
    end(&w);
    return w.broken;
}

static uint64_t first_seed;

static void no_history_loses_or_doubles_anything(void **state)
{
    int known = 0;

    (void)state;
    for (uint64_t i = 0; i < HISTORIES; i++) {
        bool judged;
        const char *broken = history(first_seed + i * 7919, NULL, &judged);

        if (broken != NULL) {
            fail_msg("seed %llu: %s",
                     (unsigned long long)(first_seed + i * 7919), broken);
        }
        known += judged ? 1 : 0;
    }
    assert_true(known > HISTORIES * 3 / 4);
}

static const struct sim_patch mistakes[] = {
    {"semaphore_take", "record == 'taken'", "false"},
    {"semaphore_take", "available < tonumber(ARGV[1])", "available < 1"},
    {"semaphore_change", "if record then\nreturn tonumber(record)\nend", ""},
    {"semaphore_undo", "redis.call('set', KEYS[2], 'undone', 'px', kept)", ""},
    {"semaphore_undo", "taken and redis", "false and redis"},
    {"semaphore_undo", "taken and redis", "true and redis"},
    {"count_fence", "redis.call('set', KEYS[2], 'fenced', 'px', kept)", ""},
    {"count_fence", "record and record ~= 'fenced'", "false"},
    {"latch_change", "if record then\nreturn tonumber(record)\nend", ""},
    {"semaphore_change", "verb == 'set' and value", "false"},
    {"latch_change", "redis.call('set', KEYS[3], ARGV[6], 'px', ARGV[4])", ""},
};

/* Each breaks a history within so many. */
static void every_mistake_is_found_out(void **state)
{
    bool all = true;

    (void)state;
    for (size_t m = 0; m < sizeof(mistakes) / sizeof(mistakes[0]); m++) {
        bool found = false;
        bool judged;

        for (uint64_t i = 0; i < 20 * HISTORIES && !found; i++) {
            found = history(first_seed + i * 104729, &mistakes[m], &judged) !=
                    NULL;
        }
        if (!found) {
            print_error("nobody notices in %s: '%s' for '%s'\n",
                        mistakes[m].script, mistakes[m].wrong,
                        mistakes[m].right);
        }
        all &= found;
    }
    assert_true(all);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_history_loses_or_doubles_anything),
        cmocka_unit_test(every_mistake_is_found_out),
    };

    first_seed = hft_seed(argc, argv);
    return cmocka_run_group_tests_name("counts", tests, NULL, NULL);
}
