/* SPDX-License-Identifier: MIT */
/* hold.c - a lock that this process takes, and keeps or hands on.
 *
 * Everything happens on the main thread, in one loop: the acquisition is
 * asynchronous, its answer and the library's warnings come when the client's
 * descriptor is readable, and signals come through a pipe.  So a signal ends a
 * wait at once, whatever the server does.
 *
 * The owner is made here and not by the library, so that it can be asked about
 * (is it held? how long?) without a thread of its own.
 *
 * Ways to fail: the server cannot be reached (nothing was sent); the lock is
 * busy or the wait ends (nothing is held); a signal ends the wait (it is
 * cancelled; a grant that came at the same moment is given back); the answer
 * is lost (the library undoes the attempt).
 */
#include "hold.h"

#include "complain.h"
#include "duration.h"
#include "exit_status.h"
#include "lock_new.h"
#include "printable.h"
#include "progress.h"
#include "signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A cancelled wait answers at once; if it does not, something is wrong that
 * waiting does not mend, and closing the client undoes the rest. */
#define CANCEL_LIMIT_MS 1000

/* poll() does not count while the machine is suspended, deadlines do. */
#define SLEEP_LIMIT_MS 1000

const struct cli_option cli_take_options[] = {
    {"wait", 'w', "DUR", "wait at most so long (default: for ever)",
     cli_set_duration, offsetof(struct cli_take, wait_ms), NULL},
    {"nowait", 'n', NULL, "do not wait: fail if another holds it", cli_set_flag,
     offsetof(struct cli_take, nowait), NULL},
    {"busy-code", 0, "N", "exit status if it is not acquired (default 75)",
     cli_set_exit, offsetof(struct cli_take, busy_code), NULL},
    CLI_OPTIONS_GO_ON(cli_kind_take_options),
};

const struct cli_option cli_keep_options[] = {
    {"lease", 0, "DUR", "length of the lease, which is renewed (default 30s)",
     cli_set_lease, offsetof(struct cli_take, lease_ms), NULL},
    {"no-renew", 0, NULL, "do not renew it: the lock is lost at its end",
     cli_set_flag, offsetof(struct cli_take, no_renew), NULL},
    {"min-hold", 0, "DUR", "released earlier, nobody gets it before",
     cli_set_duration, offsetof(struct cli_take, min_hold_ms), NULL},
    {"max-hold", 0, "DUR", "held longer, it is lost", cli_set_positive,
     offsetof(struct cli_take, max_hold_ms), NULL},
    {"quorum", 0, NULL, "hold it on more than half of the servers given",
     cli_set_flag, offsetof(struct cli_take, quorum), NULL},
    CLI_OPTIONS_GO_ON(cli_take_options),
};

int64_t cli_now_ms(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_BOOTTIME, &now) != 0) {
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int cli_take_check(const char *command, const struct cli_take *take)
{
    if (take->nowait && take->wait_ms != HF_WAIT_FOREVER) {
        cli_complain("%s: --nowait and --wait exclude each other; give one",
                     command);
        return CLI_USAGE;
    }
    if (take->max_hold_ms != 0 && take->min_hold_ms > take->max_hold_ms) {
        cli_complain("%s: --min-hold is longer than --max-hold", command);
        return CLI_USAGE;
    }
    return take->permit ? CLI_GO_ON : cli_lock_kind_check(command, &take->what);
}

int cli_keep_check(const char *command, const struct cli_take *take,
                   const struct cli_context *ctx, int names)
{
    if (ctx->servers > 1 && !take->quorum) {
        cli_complain("%s: several --server need --quorum; give it, or one "
                     "server",
                     command);
        return CLI_USAGE;
    }
    if (take->quorum && ctx->servers < 2) {
        cli_complain("%s: --quorum is for several --server; give more than "
                     "one, best three or five",
                     command);
        return CLI_USAGE;
    }
    if (take->quorum && names > 1) {
        cli_complain("%s: --quorum is for one NAME", command);
        return CLI_USAGE;
    }
    if (take->quorum &&
        (take->what.fenced || take->what.kind == HF_KIND_FENCED)) {
        cli_complain("%s: --quorum has no fencing token: each server counts "
                     "its own",
                     command);
        return CLI_USAGE;
    }
    return cli_take_check(command, take);
}

/* ---- what the library tells us, from hf_client_dispatch() ----------------- */

static void note_done(struct cli_hold *hold, hf_status status,
                      const hf_error *error)
{
    hold->is_done = true;
    hold->status = status;
    if (error != NULL) {
        hold->error = *error;
    }
}

static void on_done(const hf_completion *done, void *context)
{
    note_done(context, done->status, done->error);
}

static void on_permit_done(const hf_permits_completion *done, void *context)
{
    struct cli_hold *hold = context;

    snprintf(hold->owner_text, sizeof(hold->owner_text), "%s", done->id);
    if (done->count > 0) {
        memcpy(hold->ids, done->ids, done->count * sizeof(hold->ids[0]));
    }
    note_done(hold, done->status, done->error);
}

static void on_group_done(const hf_group_completion *done, void *context)
{
    note_done(context, done->status, done->error);
}

static void on_warning(const hf_lease_event *event, void *context)
{
    struct cli_hold *hold = context;
    char left[32];

    hold->is_suspect = event->state == HF_SUSPECT;
    cli_duration_text(event->remaining_ms, left, sizeof(left));
    if (event->state == HF_SUSPECT) {
        cli_complain("%s: the lease is not being renewed; it lasts %s more",
                     hold->shown, left);
    } else if (event->reason == HF_LOST_MAX_HOLD) {
        cli_complain("%s: --max-hold comes near", hold->shown);
    } else {
        cli_complain("%s: the lease is renewed again", hold->shown);
    }
}

/* Of a lock being called is all that is needed: it ends cli_hold_sleep(), and
 * the hold's state is asked for after each sleep. */
static void on_lost(const hf_lease_event *event, void *context)
{
    struct cli_hold *hold = context;

    hold->lost = event->reason;
}

/* ---- taking ----------------------------------------------------------------- */

void cli_hold_sleep(struct cli_hold *hold, int64_t limit_ms)
{
    bool is_one = hold->group.group == NULL;
    hf_client *const *clients = is_one ? &hold->client : hold->group.clients;
    size_t count = is_one ? 1 : hold->group.client_count;
    struct pollfd fds[1 + CLI_SERVERS_MAX];

    fds[0] = (struct pollfd){.fd = cli_signals_fd(), .events = POLLIN};
    for (size_t i = 0; i < count; i++) {
        fds[1 + i] = (struct pollfd){.fd = hf_client_fd(clients[i]),
                                     .events = POLLIN};
    }
    if (limit_ms < 0 || limit_ms > SLEEP_LIMIT_MS) {
        limit_ms = limit_ms < 0 ? 0 : SLEEP_LIMIT_MS;
    }
    if (poll(fds, 1 + count, (int)limit_ms) <= 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (fds[1 + i].revents != 0) {
            hf_client_dispatch(clients[i]);
        }
    }
}

/* What it is to be, and who takes it. */
static hf_status make_lock(struct cli_hold *hold, hf_error *reterr)
{
    hf_status status = HF_OK;

    if (hold->take->permit) {
        status = hf_permits_new(hold->client, hold->name, &hold->permits,
                                reterr);
    } else if (hold->group.group == NULL) {
        status = cli_lock_new(hold->client, &hold->take->what, hold->name,
                              &hold->lock, reterr);
    }
    if (status == HF_OK) {
        status = hf_owner_new(hold->client, &hold->owner, reterr);
    }
    if (status == HF_OK) {
        status = hf_cancel_new(hold->client, &hold->cancel, reterr);
    }
    return status;
}

/* From the first call on, callbacks come only where we ask for them. */
static bool take_callbacks(struct cli_hold *hold)
{
    bool taken = hf_client_fd(hold->client) >= 0;

    for (size_t i = 0; i < hold->group.client_count; i++) {
        taken = taken && hf_client_fd(hold->group.clients[i]) >= 0;
    }
    return taken;
}

static hf_status start(struct cli_hold *hold, hf_error *reterr)
{
    hf_acquire how = HF_ACQUIRE_INIT;
    const struct cli_take *take = hold->take;
    hf_status status = make_lock(hold, reterr);

    if (status != HF_OK) {
        return status;
    }
    if (!take_callbacks(hold)) {
        return HF_INTERNAL;
    }
    how.wait_ms = take->nowait ? 0 : take->wait_ms;
    how.lease_ms = take->lease_ms;
    how.renew = !take->no_renew;
    how.owner = hold->owner;
    how.cancel = hold->cancel;
    how.on_lost = on_lost;
    how.on_warning = on_warning;
    how.context = hold;
    how.min_hold_ms = take->min_hold_ms;
    how.max_hold_ms = take->max_hold_ms;
    how.max_hold_warning_ms = take->max_hold_warning_ms;
    if (hold->permits != NULL) {
        how.owner = NULL; /* each permit is its own */
        hold->ids = calloc((size_t)take->permits, sizeof(hold->ids[0]));
        return hold->ids == NULL
                   ? HF_INTERNAL
                   : hf_permits_acquire_many_async(hold->permits, take->permits,
                                                   &how, on_permit_done, hold,
                                                   reterr);
    }
    return hold->lock != NULL
               ? hf_lock_acquire_async(hold->lock, &how, on_done, hold, reterr)
               : hf_group_acquire_async(hold->group.group, &how, on_group_done,
                                        hold, reterr);
}

static void wait_for_answer(struct cli_hold *hold)
{
    int64_t give_up_at = INT64_MAX;

    while (!hold->is_done && cli_now_ms() < give_up_at) {
        hold->taken_at_ms = cli_now_ms();
        cli_hold_sleep(hold, SLEEP_LIMIT_MS);
        int number = cli_signals_next();
        if (number != 0 && hold->ended_by == 0) {
            hold->ended_by = number;
            give_up_at = cli_now_ms() + CANCEL_LIMIT_MS;
            hf_cancel_fire(hold->cancel);
        }
    }
}

/* The acquisition has ended; what does it mean? */
static int conclude(struct cli_hold *hold)
{
    if (hold->ended_by != 0) {
        /* A grant that came at the same moment goes with the client. */
        return CLI_SIGNAL + hold->ended_by;
    }
    if (hold->status == HF_OK) {
        return CLI_GO_ON;
    }
    bool is_busy = hold->status == HF_BUSY || hold->status == HF_TIMEOUT;
    if (is_busy && hold->take->busy_code == CLI_OK && !hold->ctx->verbose) {
        return CLI_OK; /* no failure, so cron gets nothing to send by mail */
    }
    int result = cli_complain_error(&hold->error);
    return is_busy ? hold->take->busy_code : result;
}

/* "a b c"; NULL: no memory. */
static char *join_names(char *const *names, size_t count)
{
    size_t size = 1;
    char *text;
    char *end;

    for (size_t i = 0; i < count; i++) {
        size += strlen(names[i]) + 1;
    }
    text = end = malloc(size);
    for (size_t i = 0; text != NULL && i < count; i++) {
        end = stpcpy(end, i > 0 ? " " : "");
        end = stpcpy(end, names[i]);
    }
    return text;
}

static int connect_to(struct cli_hold *hold)
{
    int result;

    if (hold->name_count == 1 && !hold->take->quorum) {
        return cli_context_open(hold->ctx, &hold->client);
    }
    result = cli_group_open(&hold->group, hold->ctx, &hold->take->what,
                            hold->names, hold->name_count, hold->take->quorum);
    hold->client = hold->group.clients[0];
    return result;
}

/* The tokens of several names, in the order in which these were given. */
static void read_tokens(struct cli_hold *hold)
{
    if (!hold->take->what.fenced && hold->take->what.kind != HF_KIND_FENCED) {
        return;
    }
    hold->tokens = calloc(hold->name_count, sizeof(*hold->tokens));
    for (size_t i = 0; hold->tokens != NULL && i < hold->name_count; i++) {
        hf_group_token(hold->group.group, hold->owner, i, &hold->tokens[i],
                       NULL);
    }
}

/* It is held: what is to be said of it. */
static void read_hold(struct cli_hold *hold)
{
    if (hold->permits != NULL) {
        /* It came with the answer. */
    } else if (hold->lock == NULL) {
        cli_group_owner_text(&hold->group, hold->owner, hold->owner_text,
                             sizeof(hold->owner_text));
        read_tokens(hold);
    } else {
        hf_lock_owner_text(hold->lock, hold->owner, hold->owner_text,
                           sizeof(hold->owner_text));
        hf_lock_token(hold->lock, hold->owner, &hold->token, NULL);
    }
    if (hold->ctx->verbose) {
        cli_complain("%s: held by us, %s", hold->shown, hold->owner_text);
    }
}

int cli_hold_take(struct cli_hold *hold, const struct cli_context *ctx,
                  const struct cli_take *take, char *const *names, size_t count)
{
    memset(hold, 0, sizeof(*hold));
    hold->ctx = ctx;
    hold->take = take;
    hold->names = names;
    hold->name_count = count;
    hold->joined = count > 1 ? join_names(names, count) : NULL;
    hold->name = count > 1 ? hold->joined : names[0];
    if (hold->name == NULL) {
        cli_complain("out of memory");
        return CLI_INTERNAL;
    }
    cli_printable(hold->name, strlen(hold->name), hold->shown,
                  sizeof(hold->shown));
    int result = connect_to(hold);
    if (result != CLI_GO_ON) {
        return result;
    }
    if (cli_signals_queue() != 0) {
        cli_complain("a pipe for signals: %s", strerror(errno));
        return CLI_INTERNAL;
    }
    hold->error.status = HF_INTERNAL;
    if (start(hold, &hold->error) != HF_OK) {
        return cli_complain_error(&hold->error);
    }
    struct cli_subject subject = {
        .what = &take->what,
        .name = hold->name,
        .names = names,
        .name_count = count,
        .group = hold->lock == NULL ? &hold->group : NULL,
        .owner = hold->owner,
    };
    /* A permit is nobody's in particular. */
    struct cli_progress *progress = hold->permits != NULL
                                        ? NULL
                                        : cli_progress_start(ctx, &subject);
    wait_for_answer(hold);
    cli_progress_stop(progress);
    result = conclude(hold);
    if (result == CLI_GO_ON) {
        read_hold(hold);
    }
    return result;
}

hf_lock_state cli_hold_state(const struct cli_hold *hold,
                             hf_lost_reason *ret_reason)
{
    if (hold->permits != NULL) {
        bool held = hf_permits_is_held(hold->permits, hold->owner_text);

        if (ret_reason != NULL) {
            *ret_reason = held                        ? HF_NOT_LOST
                          : hold->lost != HF_NOT_LOST ? hold->lost
                                                      : HF_LOST_EXPIRED;
        }
        return !held ? HF_STATE_LOST : hold->is_suspect ? HF_SUSPECT : HF_HELD;
    }
    return hold->lock != NULL
               ? hf_lock_state_of(hold->lock, hold->owner, ret_reason)
               : hf_group_state_of(hold->group.group, hold->owner, ret_reason);
}

int64_t cli_hold_remaining_ms(const struct cli_hold *hold)
{
    if (hold->permits != NULL) {
        return hf_permits_remaining_ms(hold->permits, hold->owner_text);
    }
    return hold->lock != NULL
               ? hf_lock_remaining_ms(hold->lock, hold->owner)
               : hf_group_remaining_ms(hold->group.group, hold->owner);
}

bool cli_hold_is_lost(const struct cli_hold *hold, hf_lost_reason *ret_reason)
{
    hf_lost_reason reason = HF_NOT_LOST;
    hf_lock_state state = cli_hold_state(hold, &reason);

    if (state == HF_HELD || state == HF_SUSPECT) {
        return false;
    }
    *ret_reason = reason;
    return true;
}

void cli_hold_complain_lost(const struct cli_hold *hold, hf_lost_reason reason)
{
    cli_complain("%s: the %s is lost: %s", hold->shown,
                 hold->permits != NULL ? "permit" : "lock",
                 hf_lost_reason_text(reason));
}

const char *cli_hold_kind(const struct cli_hold *hold)
{
    return hold->take->permit ? "permits" : hf_kind_word(hold->take->what.kind);
}

/* ---- the end ------------------------------------------------------------------ */

int cli_hold_release(struct cli_hold *hold)
{
    hf_error err;
    hf_status status = hold->permits != NULL
                           ? hf_permits_release(hold->permits, hold->owner_text,
                                                &err)
                       : hold->lock != NULL
                           ? hf_lock_release(hold->lock, hold->owner, &err)
                           : hf_group_release(hold->group.group, hold->owner,
                                              NULL, &err);

    if (status == HF_OK) {
        if (hold->ctx->verbose) {
            cli_complain("%s: released", hold->shown);
        }
        return CLI_GO_ON;
    }
    int result = cli_complain_error(&err);
    /* No answer: it was held until now, and ends at the latest with its
     * lease. */
    return result == CLI_LOST ? CLI_LOST : CLI_GO_ON;
}

void cli_hold_describe(const struct cli_hold *hold, json_t *object)
{
    if (object == NULL) {
        return;
    }
    if (hold->token != 0) {
        json_object_set_new(object, "token", json_integer(hold->token));
    }
    if (hold->tokens != NULL) {
        json_t *tokens = json_array();

        for (size_t i = 0; i < hold->name_count; i++) {
            json_array_append_new(tokens, json_integer(hold->tokens[i]));
        }
        json_object_set_new(object, "tokens", tokens);
    }
    cli_json_set_name(object, hold->name, strlen(hold->name));
    if (hold->name_count > 1) {
        json_t *names = json_array();

        for (size_t i = 0; i < hold->name_count; i++) {
            json_array_append_new(names, json_string(hold->names[i]));
        }
        json_object_set_new(object, "names", names);
    }
    if (hold->take->what.values.count > 0) {
        json_t *values = json_array();

        for (size_t i = 0; i < hold->take->what.values.count; i++) {
            json_array_append_new(
                values, json_string(hold->take->what.values.words[i]));
        }
        json_object_set_new(object, "values", values);
    }
}

void cli_hold_close(struct cli_hold *hold)
{
    /* Releases what is held, ends what is waited for, runs the callbacks that
     * are due; afterwards everything may be freed. */
    if (hold->group.client_count > 0) {
        cli_group_close(&hold->group);
    } else if (hold->client != NULL) {
        hf_client_close(hold->client);
    }
    hf_lock_free(hold->lock);
    hf_permits_free(hold->permits);
    hf_owner_free(hold->owner);
    hf_cancel_free(hold->cancel);
    free(hold->joined);
    free(hold->tokens);
    hold->tokens = NULL;
    free(hold->ids);
    hold->ids = NULL;
    hold->lock = NULL;
    hold->permits = NULL;
    hold->owner = NULL;
    hold->cancel = NULL;
    hold->joined = NULL;
    hold->client = NULL;
    if (hold->ended_by == SIGINT) {
        cli_signals_interrupt_here(false);
    }
}
