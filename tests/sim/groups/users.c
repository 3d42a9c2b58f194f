/* SPDX-License-Identifier: MIT */
/* users.c - owners and their calls, and what they do by themselves. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sim/groups/world.h"
#include "support/fatal.h"

/* A member's own call ends within the two limits of its client. */
#define MEMBER_MS 2500
#define SLACK_MS 60
#define LONGEST_MS 900000 /* of a history */
#define GETS_ON_MS 300000 /* when nothing goes wrong any more */
#define AFTERMATH_MS 30000

/* ---- calls ---- */

static void done(const hf_group_completion *done, void *context)
{
    struct gw_call *call = context;

    if (!call->user->process->alive) {
        return;
    }
    call->status = done->status;
    call->times++;
    call->answered = 0;
    for (size_t i = 0; i < done->outcome_count; i++) {
        call->outcomes[i] = done->outcomes[i].status;
        call->answered += done->outcomes[i].status == HF_OK;
    }
    gw_call_ended(call);
}

static void on_lost(const hf_lease_event *event, void *context)
{
    struct gw_user *user = context;
    uint64_t bits;

    (void)event;
    if (!user->process->alive) {
        return;
    }
    gw->figures.losses++;
    user->lost = true;
    gw_say("P%zu.%zu  is told of a loss", user->process->index, user->index);
    if (++user->told > 1) {
        gw_break("told_once", "P%zu.%zu is told twice of one loss",
                 user->process->index, user->index);
    }
    if (gw_alive(user, &bits) >= user->group->quorum) {
        gw_break("told_truly", "P%zu.%zu is told that what it holds is lost",
                 user->process->index, user->index);
    }
}

static struct gw_call *new_call(struct gw_user *user, enum gw_what what)
{
    struct gw_call *call = hft_alloc(sizeof(*call));

    call->user = user;
    call->what = what;
    call->begun_ms = gw_process_ms(user->process);
    call->bound_ms = 2 * MEMBER_MS + HFI_PLAN_UNDO_MS + SLACK_MS;
    call->disturbed = gw_is_stopped(user->process);
    call->next = user->calls;
    user->calls = call;
    user->running++;
    gw->figures.calls++;
    return call;
}

static int64_t member_limit(const struct gw_user *user, int64_t lease_ms)
{
    int64_t limit = user->group->member_limit_ms;

    if (limit == 0) {
        limit = lease_ms / 200;
        limit = limit < 5 ? 5 : limit > 50 ? 50 : limit;
    }
    return limit;
}

/* A red lock waits for nobody longer than for its limit, and for what was left
 * out at first once more; a multi lock tries one member after the other. */
static void bound(struct gw_call *call, bool behind)
{
    const struct gw_user *user = call->user;
    int64_t wait = call->wait_ms;

    if (wait < 0) {
        call->bound_ms = INT64_MAX / 2;
    } else if (gw->options.red) {
        call->bound_ms = wait + 2 * member_limit(user, call->lease_ms) +
                         HFI_PLAN_UNDO_MS + SLACK_MS;
        call->short_bound = !behind;
    } else if (wait == 0) {
        call->bound_ms += (int64_t)gw->defs[user->of].count * MEMBER_MS;
    } else {
        call->bound_ms += wait;
    }
    if (behind) {
        call->bound_ms += 4 * MEMBER_MS;
    }
}

struct gw_call *gw_acquire(struct gw_user *user, const struct gw_how *how)
{
    hf_acquire ask = HF_ACQUIRE_INIT;
    struct gw_call *call;
    bool behind = user->running > 0;
    hf_status status;

    gw->acting = user->process;
    call = new_call(user, GW_ACQUIRE);
    call->wait_ms = how->wait_ms;
    call->lease_ms = how->lease_ms;
    call->fixed = how->fixed;
    call->outermost = user->levels == 0;
    bound(call, behind);
    ask.wait_ms = how->wait_ms;
    ask.lease_ms = how->lease_ms;
    ask.renew = !how->fixed;
    ask.owner = user->owner;
    ask.cancel = user->cancel;
    ask.on_lost = on_lost;
    ask.context = user;
    hf_cancel_reset(user->cancel);
    gw_say("P%zu.%zu  acquires group %zu: wait %lld, lease %lld, %s",
           user->process->index, user->index, user->of, (long long)ask.wait_ms,
           (long long)ask.lease_ms, how->fixed ? "fixed" : "renewed");
    status = hf_group_acquire_async(user->group, &ask, done, call, NULL);
    if (status != HF_OK) {
        hft_die("a call is refused: %s", hf_status_text(status));
    }
    gw_after(user->process);
    return call;
}

struct gw_call *gw_release(struct gw_user *user)
{
    struct gw_call *call;
    bool behind = user->running > 0;
    hf_status status;

    gw->acting = user->process;
    call = new_call(user, GW_RELEASE);
    call->bound_ms += behind ? user->calls->next->bound_ms : 0;
    user->queued_release = true;
    gw_say("P%zu.%zu  releases", user->process->index, user->index);
    status = hf_group_release_async(user->group, user->owner, done, call, NULL);
    if (status != HF_OK) {
        hft_die("a release is refused: %s", hf_status_text(status));
    }
    gw_after(user->process);
    return call;
}

struct gw_call *gw_extend(struct gw_user *user, int64_t lease_ms)
{
    struct gw_call *call;
    hf_status status;

    gw->acting = user->process;
    call = new_call(user, GW_EXTEND);
    call->lease_ms = lease_ms;
    user->extended = true;
    gw_say("P%zu.%zu  extends", user->process->index, user->index);
    status = hf_group_extend_async(user->group, user->owner, lease_ms, done,
                                   call, NULL);
    if (status != HF_OK) {
        hft_die("an extension is refused: %s", hf_status_text(status));
    }
    gw_after(user->process);
    return call;
}

/* What was asked ends in a moment, whatever it waits for. */
void gw_cancel(struct gw_user *user)
{
    struct gw_call *call;
    int64_t now = gw_process_ms(user->process);

    gw->acting = user->process;
    gw_say("P%zu.%zu  cancels", user->process->index, user->index);
    hf_cancel_fire(user->cancel);
    for (call = user->calls; call != NULL; call = call->next) {
        int64_t soon = now - call->begun_ms + HFI_PLAN_UNDO_MS + SLACK_MS;

        if (!call->ended && call->what == GW_ACQUIRE && user->running == 1 &&
            soon < call->bound_ms) {
            call->bound_ms = soon;
        }
    }
    gw_after(user->process);
}

/* ---- what comes to their minds ---- */

static bool can_reenter(const struct gw_user *user)
{
    const struct gw_def *def = &gw->defs[user->of];

    for (size_t i = 0; i < def->count; i++) {
        if (gw->kind[def->name[i]] != HF_KIND_LOCK) {
            return false;
        }
    }
    return true;
}

static void take(struct gw_user *user)
{
    static const int64_t leases[] = {300, 1500, 4000, 10000};
    struct gw_how how = {.lease_ms = leases[gw_below(4)],
                         .fixed = gw_below(2) == 0};
    int64_t whim = gw_below(10);

    how.wait_ms = whim < 4 ? 0 : whim < 7 ? gw_between(5, 3000) : -1;
    user->waits_long = how.wait_ms < 0;
    (void)gw_acquire(user, &how);
    if (gw_below(8) == 0) {
        (void)gw_release(user); /* it comes behind that */
    }
}

static void use(struct gw_user *user)
{
    int64_t whim = gw_below(20);

    if (user->lost || gw->ending || whim < 8) {
        (void)gw_release(user);
    } else if (whim < 10) {
        (void)gw_extend(user, gw_between(100, 8000));
    } else if (whim < 12 && can_reenter(user)) {
        take(user);
    }
}

static void act(struct gw_event *event)
{
    struct gw_user *user = event->who;
    struct gw_process *process = user->process;

    if (!process->alive) {
        return;
    }
    if (gw_is_stopped(process)) {
        gw_again(event, process->stopped_us + 1);
        return;
    }
    if (user->running > 0) {
        if (user->waits_long && !gw->ending && gw_below(30) == 0) {
            gw_cancel(user);
        }
    } else if (user->levels > 0) {
        use(user);
    } else if (gw->ending) {
        return;
    } else {
        take(user);
    }
    gw_again(event, gw->now_us + gw_between(500, 150000));
}

void gw_user_lives(struct gw_user *user)
{
    (void)gw_at(gw->now_us + gw_below(20000), act, user, 0);
}

/* ---- a history ---- */

static bool all_are_idle(void)
{
    struct gw_process *process;

    for (process = gw->processes; process != NULL; process = process->next) {
        for (size_t i = 0; process->alive && i < gw->options.users; i++) {
            const struct gw_user *user = &process->users[i];

            if (user->running > 0 || user->levels > 0) {
                return false;
            }
        }
    }
    return true;
}

static void choose_kinds(void)
{
    static const hf_kind exclusive[] = {HF_KIND_LOCK, HF_KIND_LOCK,
                                        HF_KIND_TOKEN, HF_KIND_NONREENTRANT,
                                        HF_KIND_FAIR};

    for (size_t i = 0; i < GW_NAMES; i++) {
        gw->kind[i] = exclusive[gw_below(gw->options.red ? 3 : 5)];
    }
}

bool gw_history(void)
{
    int64_t until;

    choose_kinds();
    for (size_t p = 0; p < gw->options.processes; p++) {
        struct gw_process *process = gw_process_new();

        for (size_t i = 0; i < gw->options.users; i++) {
            gw_user_lives(&process->users[i]);
        }
    }
    if (gw->options.foul) {
        gw_trouble_begins();
    }
    until = gw->now_us + LONGEST_MS * INT64_C(1000);
    while (gw->figures.calls < gw->options.operations && gw->now_us < until) {
        if (!gw_pass_ms(50)) {
            return false;
        }
    }
    gw_say("the weather becomes fair");
    gw->ending = true;
    gw->weather = (struct gw_weather){.base_us = 60, .extra_us = 300};
    until = gw->now_us + GETS_ON_MS * INT64_C(1000);
    while (!all_are_idle()) {
        if (!gw_pass_ms(50)) {
            return false;
        }
        if (gw->now_us > until) {
            gw_break("gets_on", "somebody waits, and nobody gets on");
            return false;
        }
    }
    if (!gw_pass_ms(AFTERMATH_MS)) {
        return false;
    }
    gw_look_at_the_end();
    return gw->broken == NULL;
}
