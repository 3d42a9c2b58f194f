/* SPDX-License-Identifier: MIT */
/* invariants.c - what must hold of groups; docs/design/simulation.md tells it.
 *
 * Nothing here changes anything: what somebody believes is read out of his
 * cores, not asked, for to ask is to look at the clock, and that is an event.
 */
#include <string.h>

#include "sim/groups/world.h"

/* A member that answers after its group's call has ended may be there so long
 * before it is left again: its client's limits, and what undoing takes. */
#define UNWANTED_MS 6000

/* Between the deadline of a hold and the callback lies a turn of the keeper. */
#define TOLD_MS 5

#define SLACK_MS 60

static const struct gw_def *def_of(const struct gw_user *user)
{
    return &gw->defs[user->of];
}

/* Where a member of the definition stands in the group's own order. */
static size_t place_of(const struct gw_user *user, size_t member)
{
    return user->group->place[member];
}

static struct hfi_number *number_of(const struct gw_user *user, size_t member)
{
    const hf_lock *lock = user->group->members[place_of(user, member)];
    struct hfi_owner *owner;
    struct hfi_number *number;

    if (lock->client->core == NULL) {
        return NULL;
    }
    owner = hfi_owner_get(lock->client->core, user->owner->id, false);
    for (number = owner == NULL ? NULL : owner->numbers; number != NULL;
         number = number->owner_next) {
        if (number->state == NUMBER_HELD &&
            number->name->bytes == lock->name_bytes &&
            memcmp(number->name->text, lock->name, lock->name_bytes) == 0 &&
            hfi_hold_deadline(number) > gw_process_ms(user->process)) {
            return number;
        }
    }
    return NULL;
}

/* Of the members that the group has taken, those that are held, and the levels
 * of each by the group. */
static size_t levels_of(const struct gw_user *user, size_t ret_levels[])
{
    const struct group_hold *hold;
    const struct group_level *level;
    uint64_t id = user->owner->id;
    size_t depth = 0;

    memset(ret_levels, 0, GW_MEMBERS * sizeof(ret_levels[0]));
    HASH_FIND(hh, user->group->holds, &id, sizeof(id), hold);
    for (level = hold == NULL ? NULL : hold->level; level != NULL;
         level = level->outer) {
        for (size_t i = 0; i < def_of(user)->count; i++) {
            ret_levels[i] += level->taken[place_of(user, i)];
        }
        depth++;
    }
    return depth;
}

/* It joined again, and has no vote yet. */
static bool is_on_trial(const struct gw_user *user, size_t member)
{
    const struct group_hold *hold;
    uint64_t id = user->owner->id;

    HASH_FIND(hh, user->group->holds, &id, sizeof(id), hold);
    return hold != NULL && hold->members[place_of(user, member)].on_trial;
}

size_t gw_alive(const struct gw_user *user, uint64_t *ret_bits)
{
    const struct gw_def *def = def_of(user);
    size_t levels[GW_MEMBERS];
    size_t alive = 0;

    *ret_bits = 0;
    if (levels_of(user, levels) == 0) {
        return 0;
    }
    for (size_t i = 0; i < def->count; i++) {
        if (levels[i] > 0 && !is_on_trial(user, i) &&
            number_of(user, i) != NULL) {
            *ret_bits |= UINT64_C(1)
                         << (def->server[i] * GW_NAMES + def->name[i]);
            alive++;
        }
    }
    return alive;
}

/* Since when he has the first of his members. */
static int64_t since(const struct gw_user *user)
{
    int64_t first = gw_process_ms(user->process);

    for (size_t i = 0; i < def_of(user)->count; i++) {
        const struct hfi_number *number = number_of(user, i);

        if (number != NULL && number->held_since_ms < first) {
            first = number->held_since_ms;
        }
    }
    return gw_shows_us(user->process, first);
}

/* ---- who holds ---- */

/* A member in common that neither may have lost by a server that forgot. */
static bool have_in_common(const struct gw_user *a, const struct gw_user *b,
                           uint64_t bits)
{
    int64_t first_us = a->since_us < b->since_us ? a->since_us : b->since_us;

    for (size_t s = 0; s < gw->options.servers; s++) {
        uint64_t of_server = ((UINT64_C(1) << GW_NAMES) - 1) << (s * GW_NAMES);

        if ((bits & of_server) != 0 && gw->servers[s].forgot_us < first_us) {
            return true;
        }
    }
    return false;
}

static void check_pair(const struct gw_user *a, const struct gw_user *b)
{
    if ((def_of(a)->bits & def_of(b)->bits) == 0) {
        return;
    }
    if ((a->alive & b->alive) == 0 ||
        have_in_common(a, b, a->alive & b->alive)) {
        gw_break("exclusive", "P%zu.%zu and P%zu.%zu believe that they hold",
                 a->process->index, a->index, b->process->index, b->index);
    }
}

static bool can_be_told(const struct gw_user *user)
{
    const struct gw_process *process = user->process;

    return process->alive && !gw_is_stopped(process) &&
           gw->now_us > process->resumed_us + 1000 * INT64_C(20);
}

static bool lost_untold(const struct gw_user *user)
{
    return user->levels > 0 && !user->believes && user->told == 0 &&
           !user->queued_release && can_be_told(user);
}

/* Somebody holds it from now on: who held it before knows that he does not. */
static void check_former(const struct gw_user *now, const struct gw_user *user)
{
    if (user != now && lost_untold(user) &&
        (def_of(user)->bits & def_of(now)->bits) != 0 &&
        have_in_common(user, now, def_of(user)->bits & def_of(now)->bits) &&
        gw->now_us > user->doubted_us + 1000) {
        gw_break("told_in_time",
                 "P%zu.%zu has it, and P%zu.%zu was not told of its loss",
                 now->process->index, now->index, user->process->index,
                 user->index);
    }
}

static void each_user(void (*fn)(struct gw_user *user, struct gw_user *other),
                      struct gw_user *other)
{
    struct gw_process *process;

    for (process = gw->processes; process != NULL; process = process->next) {
        for (size_t i = 0; process->alive && i < gw->options.users; i++) {
            fn(&process->users[i], other);
        }
    }
}

static void compare(struct gw_user *user, struct gw_user *other)
{
    if (user != other && user->believes) {
        check_pair(user, other);
    }
    check_former(other, user);
}

static void look_at(struct gw_user *user, struct gw_user *other)
{
    bool believed = user->believes;

    (void)other;
    user->believes = gw_alive(user, &user->alive) >= user->group->quorum;
    if (user->believes && !believed) {
        user->since_us = since(user);
    } else if (!user->believes && believed) {
        user->doubted_us = gw->now_us;
    }
    if (user->believes && (!believed || gw->options.red)) {
        each_user(compare, user);
    }
}

void gw_look(void)
{
    each_user(look_at, NULL);
}

/* ---- calls that end ---- */

static void check_outcomes(const struct gw_call *call)
{
    const struct gw_user *user = call->user;
    bool was_had = call->status == HF_OK;

    if (call->what != GW_ACQUIRE) {
        return;
    }
    if (was_had ? call->answered < user->group->quorum : call->answered > 0) {
        gw_break("outcomes_true", "P%zu.%zu is told %s, with %zu members",
                 user->process->index, user->index,
                 hf_status_text(call->status), call->answered);
    }
}

/* All of a fixed lease is there when the last member was taken. */
static void check_lease(const struct gw_call *call)
{
    const struct gw_user *user = call->user;
    int64_t now = gw_process_ms(user->process);

    for (size_t i = 0; i < def_of(user)->count; i++) {
        const struct hfi_number *number = number_of(user, i);

        if (number != NULL &&
            hfi_hold_deadline(number) - now <
                call->lease_ms - hfi_margin_ms(call->lease_ms) - SLACK_MS) {
            gw_break("lease_whole", "P%zu.%zu has %lld ms left of %lld",
                     user->process->index, user->index,
                     (long long)(hfi_hold_deadline(number) - now),
                     (long long)call->lease_ms);
        }
    }
}

static void was_granted(struct gw_call *call)
{
    struct gw_user *user = call->user;
    uint64_t bits;
    bool believes = gw_alive(user, &bits) >= user->group->quorum;

    gw->figures.grants++;
    if (user->levels++ == 0) {
        user->lease_ms = call->lease_ms;
        user->fixed = call->fixed;
        user->extended = false;
        user->reentered = false;
        user->granted_ms = gw_process_ms(user->process);
    } else {
        user->reentered = true;
    }
    if (!believes && user->told == 0 && !user->queued_release &&
        !call->disturbed) {
        gw_break("held_truly", "P%zu.%zu is told that it holds, and does not",
                 user->process->index, user->index);
    }
    if (believes && call->fixed && call->outermost && gw->fair_us == 0 &&
        !gw->options.red && !user->queued_release && !call->disturbed) {
        check_lease(call);
    }
}

static void check_bound(const struct gw_call *call)
{
    const struct gw_process *process = call->user->process;
    int64_t took = gw_process_ms(process) - call->begun_ms;

    if (call->disturbed || took <= call->bound_ms) {
        return;
    }
    gw_break(call->short_bound ? "in_its_limit" : "calls_end",
             "a call of P%zu.%zu takes %lld ms, not %lld", process->index,
             call->user->index, (long long)took, (long long)call->bound_ms);
}

/* Only who gives up before his turn comes ends before who came before him. */
static void check_order(const struct gw_call *call)
{
    const struct gw_call *before;

    if (call->ended || (call->what == GW_ACQUIRE && call->times > 1)) {
        gw_break("in_order", "a call of P%zu.%zu ends twice",
                 call->user->process->index, call->user->index);
    }
    if (call->status == HF_NOT_DONE || call->status == HF_TIMEOUT ||
        call->status == HF_CANCELLED) {
        return;
    }
    for (before = call->next; before != NULL; before = before->next) {
        if (!before->ended) {
            gw_break("in_order", "a call of P%zu.%zu ends before its turn",
                     call->user->process->index, call->user->index);
        }
    }
}

void gw_call_ended(struct gw_call *call)
{
    static const char *const words[] = {"acquisition", "release", "extension"};
    struct gw_user *user = call->user;
    size_t levels[GW_MEMBERS];

    gw_say("P%zu.%zu  %s ends: %s", user->process->index, user->index,
           words[call->what], hf_status_text(call->status));
    check_order(call);
    if (call->ended) {
        return;
    }
    check_bound(call);
    call->ended = true;
    user->running--;
    user->quiet_us = gw->now_us;
    check_outcomes(call);
    if (call->what == GW_ACQUIRE && call->status == HF_OK) {
        was_granted(call);
    } else if (call->what == GW_RELEASE) {
        user->queued_release = false;
    }
    if (call->what == GW_RELEASE || call->status != HF_OK) {
        user->levels = levels_of(user, levels);
    }
    if (user->levels == 0) {
        user->told = 0;
        user->lost = false;
    }
}

/* ---- now and then ---- */

/* What a group does not know of, and what nobody asks for, is not held. */
static void check_wanted(struct gw_user *user)
{
    size_t levels[GW_MEMBERS];

    (void)levels_of(user, levels);
    for (size_t i = 0; i < def_of(user)->count; i++) {
        const struct hfi_number *number = number_of(user, i);
        int64_t *since = &user->unwanted_us[i];

        if (number == NULL || number->level_count <= levels[i] ||
            user->running > 0) {
            *since = GW_NEVER;
        } else if (*since == GW_NEVER) {
            *since = gw->now_us;
        } else if (gw->now_us - *since > UNWANTED_MS * INT64_C(1000)) {
            gw_break("wanted", "P%zu.%zu holds member %zu for no group",
                     user->process->index, user->index, i);
        }
    }
}

static void check_fixed(const struct gw_user *user)
{
    int64_t now = gw_process_ms(user->process);

    /* A re-entry that is under way may have made it longer already. */
    if (user->believes && user->levels > 0 && user->fixed && !user->extended &&
        !user->reentered && user->running == 0 &&
        now > user->granted_ms + user->lease_ms + SLACK_MS) {
        gw_break("fixed_ends", "P%zu.%zu holds a fixed lease of %lld ms yet",
                 user->process->index, user->index, (long long)user->lease_ms);
    }
}

static void check_user(struct gw_user *user, struct gw_user *other)
{
    struct gw_call *call;

    (void)other;
    if (!can_be_told(user)) {
        for (size_t i = 0; i < GW_MEMBERS; i++) {
            user->unwanted_us[i] = GW_NEVER;
        }
        return;
    }
    for (call = user->calls; call != NULL; call = call->next) {
        if (!call->ended) {
            check_bound(call);
        }
    }
    check_wanted(user);
    check_fixed(user);
    if (lost_untold(user) && user->running == 0 &&
        gw->now_us > user->doubted_us + TOLD_MS * 1000) {
        gw_break("told_in_time", "P%zu.%zu was not told of its loss",
                 user->process->index, user->index);
    }
}

void gw_look_around(void)
{
    each_user(check_user, NULL);
}

/* ---- when all is over ---- */

static void check_server(struct gw_server *server)
{
    struct sim_db *db = sim_server_db(server->model, 0);
    struct sim_key *key = NULL;
    size_t len;

    while ((key = sim_key_next(db, key, gw_server_ms(server))) != NULL) {
        const char *name = sim_key_name(key, &len);

        if (name[0] == 'L' || !(gw->killed || server->rolled_back)) {
            gw_break("nothing_remains", "S%zu has %s yet", server->index, name);
        }
    }
}

/* What was lost is his too until he leaves it, and his group knows of it. */
static void check_numbers(const struct gw_user *user)
{
    for (size_t i = 0; i < gw->options.servers; i++) {
        struct hfi_core *core = user->process->clients[i].client->core;
        const struct hfi_owner *owner = hfi_owner_get(core, user->owner->id,
                                                      false);

        if (owner != NULL && owner->numbers != NULL) {
            gw_break("wanted", "P%zu.%zu has a member at S%zu for no group",
                     user->process->index, user->index, i);
        }
    }
}

static void check_process(struct gw_process *process)
{
    for (size_t i = 0; i < gw->options.users; i++) {
        check_numbers(&process->users[i]);
    }
    for (size_t i = 0; i < gw->options.servers; i++) {
        if (!hfi_core_idle(process->clients[i].client->core)) {
            gw_break("nothing_remains", "P%zu has something to do at S%zu",
                     process->index, i);
        }
    }
    for (size_t i = 0; i < gw->options.users; i++) {
        if (hfi_owner_busy(process->users[i].owner->owner)) {
            gw_break("nothing_remains", "P%zu.%zu is busy with nothing",
                     process->index, i);
        }
    }
    for (size_t i = 0; i < gw->def_count; i++) {
        if (process->groups[i]->holds != NULL ||
            process->groups[i]->calls > 0) {
            gw_break("nothing_remains", "P%zu: group %zu is in use",
                     process->index, i);
        }
    }
}

void gw_look_at_the_end(void)
{
    struct gw_process *process;

    for (size_t i = 0; i < gw->options.servers; i++) {
        check_server(&gw->servers[i]);
    }
    for (process = gw->processes; process != NULL; process = process->next) {
        if (process->alive) {
            check_process(process);
        }
    }
}
