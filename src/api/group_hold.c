/* SPDX-License-Identifier: MIT */
/* api/group_hold.c - who holds a group, and what he is told.
 *
 * A hold is a nest of levels, one for each acquisition.  A level knows which
 * members it took: all of them, or of a red lock those that granted.  Each
 * member has terms of ours, so that its client tells us when it is lost or
 * suspect; the user is told when that makes a difference to the group.
 *
 * News come on the threads where the members' clients run callbacks, in
 * whatever order, perhaps long after what they are about was released: what is
 * not of the newest round of its member is old.
 */
#include "api/group.h"

#include <stdlib.h>
#include <string.h>

#include "sync/mutations.h"

/* What a member's terms have as their context. */
struct port {
    struct group_hold *hold;
    size_t member;
    unsigned round;
};

/* ---- made and forgotten ---- */

struct group_hold *hfi_group_hold_get(hf_group *group, uint64_t owner)
{
    struct group_hold *hold;

    HASH_FIND(hh, group->holds, &owner, sizeof(owner), hold);
    if (hold != NULL) {
        return hold;
    }
    hold = calloc(1, sizeof(*hold) + group->count * sizeof(hold->members[0]));
    if (hold == NULL) {
        return NULL;
    }
    if (pthread_mutex_init(&hold->mutex, NULL) != 0) {
        free(hold);
        return NULL;
    }
    atomic_init(&hold->refs, 1);
    hold->owner = owner;
    hold->count = group->count;
    hold->quorum = group->quorum;
    HASH_ADD(hh, group->holds, owner, sizeof(hold->owner), hold);
    if (hold->hh.tbl == NULL) {
        hfi_group_hold_unref(hold);
        return NULL;
    }
    return hold;
}

void hfi_group_hold_ref(struct group_hold *hold)
{
    atomic_fetch_add(&hold->refs, 1);
}

void hfi_group_hold_unref(struct group_hold *hold)
{
    if (atomic_fetch_sub(&hold->refs, 1) != 1) {
        return;
    }
    while (hold->level != NULL) {
        struct group_level *level = hold->level;

        hold->level = level->outer;
        free(level);
    }
    hfi_terms_unref(hold->news);
    pthread_mutex_destroy(&hold->mutex);
    free(hold);
}

struct hf_client *hfi_group_hold_tidy(hf_group *group, struct group_hold *hold)
{
    struct hf_client *pinned = hold->pinned;

    if (hold->level != NULL || hold->calls != NULL) {
        return NULL;
    }
    HASH_DEL(group->holds, hold);
    hfi_group_hold_unref(hold);
    return pinned;
}

/* ---- levels ---- */

static bool votes(const struct hold_member *member)
{
    return member->levels > 0 && !member->lost && !member->on_trial;
}

/* Members that are held, as far as the news go; the mutex is held. */
static size_t number_alive(const struct group_hold *hold)
{
    size_t alive = 0;

    for (size_t i = 0; i < hold->count; i++) {
        alive += votes(&hold->members[i]);
    }
    return alive;
}

static size_t number_suspect(const struct group_hold *hold)
{
    size_t suspect = 0;

    for (size_t i = 0; i < hold->count; i++) {
        suspect += votes(&hold->members[i]) && hold->members[i].suspect;
    }
    return suspect;
}

static void count_level(struct group_hold *hold,
                        const struct group_level *level, int change)
{
    for (size_t i = 0; i < hold->count; i++) {
        if (level->taken[i]) {
            hold->members[i].levels += (uint32_t)change;
        }
    }
}

/* The first level of a hold; the mutex is held. */
static void begin_nest(struct group_hold *hold, struct group_call *call,
                       const hf_acquire *how)
{
    hold->on_lost = how->on_lost;
    hold->on_warning = how->on_warning;
    hold->context = how->context;
    hold->nest++;
    hold->told_lost = false;
    hold->told_suspect = false;
    hold->told_max_hold = false;
    hold->reason = HF_NOT_LOST;
    hold->forgotten.reason = HF_NOT_LOST;
    hfi_terms_unref(hold->news);
    hold->news = call->news;
    call->news = NULL;
}

bool hfi_group_hold_push(struct group_hold *hold, struct group_level *level,
                         const hf_acquire *how)
{
    bool lasts;

    pthread_mutex_lock(&hold->mutex);
    count_level(hold, level, 1);
    lasts = (number_alive(hold) >= hold->quorum &&
             (hold->depth == 0 || !hold->told_lost)) ||
            HFI_MUTATION(lasts_unchecked);
    if (!lasts) {
        count_level(hold, level, -1);
    } else {
        if (hold->depth++ == 0) {
            begin_nest(hold, level->call, how);
        }
        level->outer = hold->level;
        hold->level = level;
    }
    pthread_mutex_unlock(&hold->mutex);
    return lasts;
}

struct group_level *hfi_group_hold_pop(struct group_hold *hold)
{
    struct group_level *level = hold->level;

    pthread_mutex_lock(&hold->mutex);
    count_level(hold, level, -1);
    hold->depth--;
    hold->level = level->outer;
    pthread_mutex_unlock(&hold->mutex);
    return level;
}

/* Why it is lost now; the mutex is held. */
static void put_loss(const struct group_hold *hold,
                     const struct group_view *below,
                     struct group_loss *ret_loss)
{
    *ret_loss = below->loss.reason != HF_NOT_LOST ? below->loss
                                                  : hold->forgotten;
    if (ret_loss->reason == HF_NOT_LOST) {
        ret_loss->reason = HF_LOST_GONE;
    }
}

struct hfi_terms *hfi_group_hold_judge(struct group_hold *hold,
                                       const struct group_view *below,
                                       struct group_loss *ret_loss)
{
    struct hfi_terms *news = NULL;
    struct port *port;

    pthread_mutex_lock(&hold->mutex);
    if (hold->depth > 0 && !hold->told_lost &&
        (below->state == HF_STATE_LOST || below->remaining_ms <= 0 ||
         number_alive(hold) < hold->quorum) &&
        !HFI_MUTATION(outer_unjudged)) {
        put_loss(hold, below, ret_loss);
        hold->told_lost = true;
        hold->reason = ret_loss->reason;
        news = hold->news;
        hold->news = NULL;
    }
    if (news != NULL) {
        port = news->context;
        port->round = hold->nest;
        port->hold = hold;
        hfi_group_hold_ref(hold);
    }
    pthread_mutex_unlock(&hold->mutex);
    return news;
}

bool hfi_group_hold_join(struct group_hold *hold, struct group_level *level,
                         size_t member)
{
    bool joins;

    pthread_mutex_lock(&hold->mutex);
    joins = !hold->told_lost;
    if (joins) {
        level->taken[member] = true;
        hold->members[member].levels++;
    }
    pthread_mutex_unlock(&hold->mutex);
    return joins;
}

void hfi_group_hold_try(struct group_hold *hold, size_t member, int64_t now)
{
    pthread_mutex_lock(&hold->mutex);
    hold->members[member].on_trial = true;
    hold->members[member].joined_ms = now;
    pthread_mutex_unlock(&hold->mutex);
}

void hfi_group_hold_end_trials(struct group_hold *hold,
                               const int64_t *proven_ms, size_t count)
{
    pthread_mutex_lock(&hold->mutex);
    for (size_t i = 0; i < hold->count && !hold->told_lost; i++) {
        struct hold_member *member = &hold->members[i];
        size_t since = 0;

        for (size_t k = 0; k < count; k++) {
            since += proven_ms[k] > member->joined_ms;
        }
        member->on_trial = member->on_trial && since < hold->quorum;
    }
    pthread_mutex_unlock(&hold->mutex);
}

uint32_t hfi_group_hold_levels(const struct group_hold *hold, size_t member)
{
    uint32_t levels = 0;

    for (const struct group_level *level = hold->level; level != NULL;
         level = level->outer) {
        levels += level->taken[member];
    }
    return levels;
}

void hfi_group_hold_drop(struct group_hold *hold, const struct group_loss *loss)
{
    size_t member = loss->member;

    pthread_mutex_lock(&hold->mutex);
    for (struct group_level *level = hold->level; level != NULL;
         level = level->outer) {
        level->taken[member] = false;
    }
    if (hold->members[member].levels > 0) {
        hold->forgotten = *loss;
    }
    hold->members[member].levels = 0;
    hold->members[member].lost = false;
    hold->members[member].on_trial = false;
    pthread_mutex_unlock(&hold->mutex);
}

/* ---- news ---- */

hf_lost_reason hfi_group_hold_told(hf_group *group, uint64_t owner)
{
    struct group_hold *hold;
    hf_lost_reason reason = HF_NOT_LOST;

    pthread_mutex_lock(&group->mutex);
    HASH_FIND(hh, group->holds, &owner, sizeof(owner), hold);
    if (hold != NULL) {
        pthread_mutex_lock(&hold->mutex);
        if (hold->depth > 0 && hold->told_lost) {
            reason = hold->reason;
        }
        pthread_mutex_unlock(&hold->mutex);
    }
    pthread_mutex_unlock(&group->mutex);
    return reason;
}

static bool is_new(const struct port *port)
{
    return port->hold->members[port->member].round == port->round;
}

static void member_lost(const hf_lease_event *event, void *context)
{
    const struct port *port = context;
    struct group_hold *hold = port->hold;
    hf_lease_fn tell = NULL;
    void *user = NULL;

    pthread_mutex_lock(&hold->mutex);
    if (is_new(port) && !HFI_MUTATION(member_loss_unheard)) {
        hold->members[port->member].lost = true;
    }
    if (hold->depth > 0 &&
        (!hold->told_lost || HFI_MUTATION(group_told_again)) &&
        number_alive(hold) <
            (HFI_MUTATION(one_loss_is_all) ? hold->count : hold->quorum)) {
        hold->told_lost = true;
        hold->reason = event->reason;
        tell = hold->on_lost;
        user = hold->context;
    }
    pthread_mutex_unlock(&hold->mutex);
    if (tell != NULL) {
        tell(event, user);
    }
}

/* What a release has found to be lost, unless that was left too meanwhile. */
static void outer_lost(const hf_lease_event *event, void *context)
{
    const struct port *port = context;
    struct group_hold *hold = port->hold;
    hf_lease_fn tell = NULL;
    void *user;

    pthread_mutex_lock(&hold->mutex);
    if (hold->depth > 0 && hold->nest == port->round) {
        tell = hold->on_lost;
    }
    user = hold->context;
    pthread_mutex_unlock(&hold->mutex);
    if (tell != NULL) {
        tell(event, user);
    }
}

/* Whether the group's holder is to hear of this; the mutex is held. */
static bool is_news_of_group(struct group_hold *hold,
                             const hf_lease_event *event, bool *ret_suspect)
{
    bool suspect = number_alive(hold) - number_suspect(hold) < hold->quorum;
    bool news = false;

    *ret_suspect = suspect;
    if (hold->depth == 0 || hold->told_lost) {
        return false;
    }
    if (event->reason == HF_LOST_MAX_HOLD) {
        news = !hold->told_max_hold;
        hold->told_max_hold = true;
    } else {
        news = suspect != hold->told_suspect;
    }
    hold->told_suspect = suspect;
    return news;
}

static void put_state(hf_lease_event *event, hf_lock_state group)
{
    event->state = group;
}

static void member_warning(const hf_lease_event *event, void *context)
{
    const struct port *port = context;
    struct group_hold *hold = port->hold;
    hf_lease_event told = *event;
    hf_lease_fn tell = NULL;
    void *user = NULL;
    bool suspect = false;

    pthread_mutex_lock(&hold->mutex);
    if (is_new(port)) {
        hold->members[port->member].suspect = event->state == HF_SUSPECT;
    }
    if (is_news_of_group(hold, event, &suspect)) {
        tell = hold->on_warning;
        user = hold->context;
    }
    pthread_mutex_unlock(&hold->mutex);
    if (tell != NULL) {
        put_state(&told, suspect ? HF_SUSPECT : HF_HELD);
        tell(&told, user);
    }
}

/* Called under a client's mutex. */
static void port_gone(void *context)
{
    struct port *port = context;

    if (port->hold != NULL) {
        hfi_group_hold_unref(port->hold);
    }
    free(port);
}

struct hfi_terms *hfi_group_news_new(const hf_group *group)
{
    struct port *port = calloc(1, sizeof(*port));
    struct hfi_terms *terms;
    size_t longest = 0;

    for (size_t i = 0; i < group->count; i++) {
        longest = group->members[i]->name_bytes > longest
                      ? group->members[i]->name_bytes
                      : longest;
    }
    terms = calloc(1, sizeof(*terms) + longest);
    if (terms == NULL || port == NULL) {
        free(terms);
        free(port);
        return NULL;
    }
    terms->refs = 1;
    terms->on_lost = outer_lost;
    terms->gone = port_gone;
    terms->context = port;
    return terms;
}

struct hfi_terms *hfi_group_terms(struct group_hold *hold, size_t member,
                                  const hf_lock *lock)
{
    struct hfi_terms *terms = calloc(1, sizeof(*terms) + lock->name_bytes);
    struct port *port = calloc(1, sizeof(*port));

    if (terms == NULL || port == NULL) {
        free(terms);
        free(port);
        return NULL;
    }
    pthread_mutex_lock(&hold->mutex);
    if (hold->members[member].levels == 0) {
        hold->members[member].round++;
        hold->members[member].lost = false;
        hold->members[member].suspect = false;
        hold->members[member].on_trial = false;
    }
    port->round = hold->members[member].round;
    pthread_mutex_unlock(&hold->mutex);
    port->hold = hold;
    port->member = member;
    hfi_group_hold_ref(hold);
    terms->refs = 1;
    terms->on_lost = member_lost;
    terms->on_warning = member_warning;
    terms->gone = port_gone;
    terms->context = port;
    terms->name_bytes = lock->name_bytes;
    memcpy(terms->name, lock->name, lock->name_bytes);
    return terms;
}
