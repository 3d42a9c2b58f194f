/* SPDX-License-Identifier: MIT */
/* api/group.c - groups of locks: made, ordered, asked without a word sent.
 *
 * A group makes lock objects of its own, so it does not matter what becomes of
 * those it was made of.  Its members stand in an order that every process finds
 * for itself: by server, name and kind.
 */
#include "api/group.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "sync/kinds/kind.h"
#include "sync/mutations.h"

/* ---- the order ---- */

static int compare_names(const hf_lock *a, const hf_lock *b)
{
    size_t shorter = a->name_bytes < b->name_bytes ? a->name_bytes
                                                   : b->name_bytes;
    int order = memcmp(a->name, b->name, shorter);

    return order != 0 ? order
                      : (a->name_bytes > b->name_bytes) -
                            (a->name_bytes < b->name_bytes);
}

/* Values locks of one name are as many locks as they have values. */
static int compare_values(const struct hfi_kind_options *a,
                          const struct hfi_kind_options *b)
{
    size_t a_bytes = a == NULL ? 0 : a->values_bytes;
    size_t b_bytes = b == NULL ? 0 : b->values_bytes;
    size_t shorter = a_bytes < b_bytes ? a_bytes : b_bytes;
    int order = shorter == 0 ? 0 : memcmp(a->values, b->values, shorter);

    return order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static int compare_locks(const hf_lock *a, const hf_lock *b)
{
    int order = strcmp(a->client->server, b->client->server);

    order = order != 0 ? order : compare_names(a, b);
    return order != 0 ? order : compare_values(a->options, b->options);
}

static int compare_entries(const void *a, const void *b)
{
    return compare_locks(*(hf_lock *const *)a, *(hf_lock *const *)b);
}

/* ---- made ---- */

static hf_status check_locks(hf_lock *const *locks, size_t count,
                             hf_error *reterr)
{
    if (locks == NULL || count == 0) {
        return hfi_fail(reterr, HF_INVALID, "a group needs members");
    }
    if (count > HF_GROUP_MAX) {
        return hfi_fail(reterr, HF_INVALID,
                        "a group of %zu locks; %zu are the most", count,
                        HF_GROUP_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        hf_status status;

        if (locks[i] == NULL) {
            return hfi_fail(reterr, HF_INVALID, "lock %zu of the group is NULL",
                            i);
        }
        status = hfi_client_enter(locks[i]->client, false, reterr);
        if (status != HF_OK) {
            return status;
        }
        hfi_client_leave(locks[i]->client);
    }
    return HF_OK;
}

/* Neighbours in the order that are one lock. */
static hf_status check_twins(const hf_group *group, const hf_lock *a,
                             const hf_lock *b, hf_error *reterr)
{
    char name[96];

    hfi_printable(name, sizeof(name), a->name, a->name_bytes);
    if (a->kind != b->kind) {
        return hfi_fail(reterr, HF_INVALID,
                        "%s is in the group as two kinds of lock, %s and %s",
                        name, a->kind->word, b->kind->word);
    }
    if (a->client != b->client) {
        return hfi_fail(reterr, HF_INVALID,
                        "%s is in the group twice, through two clients of %s",
                        name, a->client->server);
    }
    if (group->is_red) {
        return hfi_fail(reterr, HF_INVALID,
                        "%s of %s is in the red lock twice, and has one vote",
                        name, a->client->server);
    }
    return HF_OK;
}

/* The members, sorted, each once. */
static hf_status take_members(hf_group *group, hf_lock *const *locks,
                              hf_error *reterr)
{
    hf_lock **sorted = group->members;
    hf_status status = HF_OK;

    memcpy(sorted, locks, group->given * sizeof(hf_lock *));
    qsort(sorted, group->given, sizeof(hf_lock *), compare_entries);
    for (size_t i = 0; i < group->given && status == HF_OK; i++) {
        if (group->count > 0 &&
            compare_locks(sorted[group->count - 1], sorted[i]) == 0) {
            status = check_twins(group, sorted[group->count - 1], sorted[i],
                                 reterr);
        } else {
            sorted[group->count++] = sorted[i];
        }
    }
    for (size_t i = 0; i < group->given; i++) {
        for (size_t m = 0; m < group->count; m++) {
            if (compare_locks(locks[i], sorted[m]) == 0) {
                group->place[i] = m;
            }
        }
    }
    return status;
}

static void note_client(hf_group *group, struct hf_client *client)
{
    for (size_t i = 0; i < group->client_count; i++) {
        if (group->clients[i] == client) {
            return;
        }
    }
    group->clients[group->client_count++] = client;
}

/* From now on the members are ours. */
static bool own_members(hf_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        hf_lock *own = hfi_lock_copy(group->members[i]);

        if (own == NULL) {
            while (i-- > 0) {
                hf_lock_free(group->members[i]);
            }
            group->count = 0;
            return false;
        }
        group->members[i] = own;
        note_client(group, own->client);
    }
    return true;
}

static void free_group(hf_group *group)
{
    pthread_mutex_destroy(&group->mutex);
    free(group->place);
    free(group->members);
    free(group->sick);
    free(group->clients);
    free(group);
}

static hf_group *make_group(size_t count)
{
    hf_group *group = calloc(1, sizeof(*group));

    if (group == NULL) {
        return NULL;
    }
    if (pthread_mutex_init(&group->mutex, NULL) != 0) {
        free(group);
        return NULL;
    }
    atomic_init(&group->refs, 1);
    group->given = count;
    group->place = calloc(count, sizeof(*group->place));
    group->members = calloc(count, sizeof(hf_lock *));
    group->sick = calloc(count, sizeof(*group->sick));
    group->clients = calloc(count, sizeof(struct hf_client *));
    if (group->place == NULL || group->members == NULL || group->sick == NULL ||
        group->clients == NULL) {
        free_group(group);
        return NULL;
    }
    return group;
}

static hf_status new_group(hf_lock *const *locks, size_t count,
                           const hf_red_options *red, hf_group **ret_group,
                           hf_error *reterr)
{
    hf_group *group;
    hf_status status = check_locks(locks, count, reterr);

    if (status == HF_OK && ret_group == NULL) {
        status = hfi_fail(reterr, HF_INVALID, "ret_group is NULL");
    }
    if (status != HF_OK || ret_group == NULL) {
        return status;
    }
    group = make_group(count);
    if (group == NULL) {
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    group->is_red = red != NULL;
    status = take_members(group, locks, reterr);
    if (status == HF_OK && red != NULL && group->count <= red->absent) {
        status = hfi_fail(reterr, HF_UNREACHABLE,
                          "%zu of %zu members have a server here, which is no "
                          "quorum",
                          group->count, group->count + red->absent);
    }
    if (status == HF_OK && !own_members(group)) {
        status = hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    if (status != HF_OK) {
        free_group(group);
        return status;
    }
    group->quorum = red != NULL ? (group->count + red->absent) / 2 + 1
                                : group->count;
    if (HFI_MUTATION(half_is_enough) && red != NULL) {
        group->quorum = (group->count + 1) / 2 - 1;
    }
    group->absent = red != NULL ? red->absent : 0;
    group->member_limit_ms = red != NULL ? red->member_limit_ms : 0;
    group->retry_ms = red != NULL && red->retry_ms > 0 ? red->retry_ms : 1000;
    *ret_group = group;
    return HF_OK;
}

hf_status hf_multi_lock_new(hf_lock *const *locks, size_t count,
                            hf_group **ret_group, hf_error *reterr)
{
    return new_group(locks, count, NULL, ret_group, reterr);
}

hf_status hf_red_lock_new(hf_lock *const *locks, size_t count,
                          const hf_red_options *options, hf_group **ret_group,
                          hf_error *reterr)
{
    hf_red_options read = HF_RED_INIT;

    if (options != NULL &&
        !hfi_options_read(options, options->size, &read, sizeof(read))) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_red_options: begin with HF_RED_INIT");
    }
    if (read.absent > HF_GROUP_MAX) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_red_options: absent: %zu at most", HF_GROUP_MAX);
    }
    if (read.member_limit_ms < 0 || read.member_limit_ms > 3600000 ||
        read.retry_ms < 0 || read.retry_ms > 3600000) {
        return hfi_fail(reterr, HF_INVALID, "hf_red_options: up to an hour");
    }
    return new_group(locks, count, &read, ret_group, reterr);
}

size_t hf_group_count(const hf_group *group)
{
    return group == NULL ? 0 : group->given;
}

/* ---- freed ---- */

void hfi_group_ref(hf_group *group)
{
    atomic_fetch_add(&group->refs, 1);
}

void hfi_group_unref(hf_group *group)
{
    struct group_hold *hold, *next;

    if (atomic_fetch_sub(&group->refs, 1) != 1) {
        return;
    }
    HASH_ITER (hh, group->holds, hold, next) {
        HASH_DEL(group->holds, hold);
        hfi_group_hold_unref(hold);
    }
    for (size_t i = 0; i < group->count; i++) {
        hf_lock_free(group->members[i]);
    }
    free_group(group);
}

/* Something is held that was taken with it.  A client that is closed, or is of
 * before a fork, holds nothing. */
static bool member_is_used(hf_lock *lock)
{
    struct hf_client *client = lock->client;
    struct hfi_object object = hfi_lock_object(lock);
    bool used;

    if (client->generation != hfi_fork_generation()) {
        return false;
    }
    hfi_client_lock(client);
    used = !client->closing &&
           hfi_core_holds_of_lock(client->core, lock, &object) > 0;
    hfi_client_unlock(client);
    return used;
}

/* The next call that may have members to come, referenced; it hears that they are
 * not wanted. */
static struct group_call *next_maker(hf_group *group)
{
    struct group_hold *hold, *next;
    struct group_call *maker = NULL;

    pthread_mutex_lock(&group->mutex);
    HASH_ITER (hh, group->holds, hold, next) {
        for (struct group_level *level = hold->level;
             level != NULL && maker == NULL; level = level->outer) {
            if (level->call != NULL) {
                maker = hfi_group_call_try_ref(level->call) ? level->call
                                                            : NULL;
                level->call->gone = true;
                level->call->level = NULL;
                level->call = NULL;
            }
        }
    }
    pthread_mutex_unlock(&group->mutex);
    return maker;
}

/* What was lost is forgotten, and no member joins it any more. */
static void forget_makers(hf_group *group)
{
    struct group_call *maker;

    while ((maker = next_maker(group)) != NULL) {
        hfi_group_call_step(maker);
        hfi_group_call_unref(maker);
    }
}

hf_status hf_group_free(hf_group *group)
{
    bool used;

    if (group == NULL) {
        return HF_OK;
    }
    if (group->clients[0]->generation != hfi_fork_generation()) {
        /* In a child nothing is held; who held the mutex is not there. */
        hfi_group_unref(group);
        return HF_OK;
    }
    pthread_mutex_lock(&group->mutex);
    used = group->calls > 0;
    pthread_mutex_unlock(&group->mutex);
    for (size_t i = 0; i < group->count && !used; i++) {
        used = member_is_used(group->members[i]);
    }
    if (used) {
        return HF_STILL_HELD;
    }
    forget_makers(group);
    hfi_group_unref(group);
    return HF_OK;
}

/* ---- local answers ---- */

size_t hfi_group_taken(hf_group *group, uint64_t owner, bool *ret_taken)
{
    const struct group_hold *hold;
    const struct group_level *level;
    size_t depth = 0;

    memset(ret_taken, 0, group->count * sizeof(*ret_taken));
    pthread_mutex_lock(&group->mutex);
    HASH_FIND(hh, group->holds, &owner, sizeof(owner), hold);
    for (level = hold == NULL ? NULL : hold->level; level != NULL;
         level = level->outer) {
        for (size_t i = 0; i < group->count; i++) {
            ret_taken[i] = ret_taken[i] || level->taken[i];
        }
        depth++;
    }
    pthread_mutex_unlock(&group->mutex);
    return depth;
}

size_t hfi_group_counted(hf_group *group, uint64_t owner, bool *ret_counted)
{
    size_t depth = hfi_group_taken(group, owner, ret_counted);
    const struct group_hold *hold;

    pthread_mutex_lock(&group->mutex);
    HASH_FIND(hh, group->holds, &owner, sizeof(owner), hold);
    for (size_t i = 0; hold != NULL && i < group->count; i++) {
        ret_counted[i] = ret_counted[i] && !hold->members[i].on_trial;
    }
    pthread_mutex_unlock(&group->mutex);
    return depth;
}

void hfi_group_view_member(const hf_lock *lock, uint64_t owner,
                           struct hfi_hold_view *ret_view)
{
    struct hf_client *client = lock->client;
    struct hfi_object object = hfi_lock_object(lock);
    struct hfi_owner *found;
    int64_t now = hfi_clock_ms();

    memset(ret_view, 0, sizeof(*ret_view));
    ret_view->state = HF_STATE_LOST;
    ret_view->reason = HF_LOST_CLOSED;
    if (hfi_client_enter(client, false, NULL) != HF_OK) {
        return;
    }
    found = hfi_owner_get(client->core, owner, false);
    ret_view->reason = HF_LOST_GONE;
    ret_view->state = HF_NOT_HELD;
    if (found != NULL) {
        hfi_core_view(client->core, found, &object, now, ret_view);
        hfi_settle(client, now);
    }
    hfi_client_leave(client);
}

static int compare_longest_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x < y) - (x > y);
}

void hfi_group_view(hf_group *group, uint64_t owner, const bool *taken,
                    struct group_view *ret_view)
{
    int64_t left[HF_GROUP_MAX];
    size_t alive = 0, suspect = 0;

    memset(ret_view, 0, sizeof(*ret_view));
    for (size_t i = 0; i < group->count; i++) {
        struct hfi_hold_view seen;

        if (!taken[i]) {
            continue;
        }
        hfi_group_view_member(group->members[i], owner, &seen);
        if (seen.count > 0) {
            suspect += seen.state == HF_SUSPECT;
            left[alive++] = seen.remaining_ms;
        } else if (ret_view->loss.reason == HF_NOT_LOST) {
            ret_view->loss.member = i;
            ret_view->loss.reason = seen.reason;
            memcpy(ret_view->loss.owner, seen.owner, sizeof(seen.owner));
        }
    }
    if (alive < group->quorum) {
        ret_view->state = HF_STATE_LOST;
        ret_view->reason = ret_view->loss.reason;
        return;
    }
    ret_view->state = alive - suspect < group->quorum ? HF_SUSPECT : HF_HELD;
    qsort(left, alive, sizeof(left[0]), compare_longest_first);
    ret_view->remaining_ms = left[group->quorum - 1];
}

size_t hfi_group_view_hold(hf_group *group, uint64_t owner,
                           struct group_view *ret_view)
{
    bool counted[HF_GROUP_MAX];
    size_t depth = hfi_group_counted(group, owner, counted);
    hf_lost_reason told;

    memset(ret_view, 0, sizeof(*ret_view));
    if (depth == 0) {
        return 0;
    }
    hfi_group_view(group, owner, counted, ret_view);
    told = hfi_group_hold_told(group, owner);
    if (told != HF_NOT_LOST) {
        ret_view->state = HF_STATE_LOST;
        ret_view->remaining_ms = 0;
        if (ret_view->reason == HF_NOT_LOST) {
            ret_view->reason = told;
        }
    }
    return depth;
}

static uint64_t owner_id(hf_owner *owner)
{
    return owner != NULL ? owner->id : hfi_thread_owner_id();
}

/* How often it is held, and how that stands. */
static size_t view_group(hf_group *group, hf_owner *owner,
                         struct group_view *ret_view)
{
    memset(ret_view, 0, sizeof(*ret_view));
    if (group == NULL ||
        group->clients[0]->generation != hfi_fork_generation()) {
        return 0;
    }
    return hfi_group_view_hold(group, owner_id(owner), ret_view);
}

bool hf_group_is_held(hf_group *group, hf_owner *owner)
{
    return hf_group_hold_count(group, owner) > 0;
}

hf_lock_state hf_group_state_of(hf_group *group, hf_owner *owner,
                                hf_lost_reason *ret_reason)
{
    struct group_view seen;

    (void)view_group(group, owner, &seen);
    if (ret_reason != NULL) {
        *ret_reason = seen.reason;
    }
    return seen.state;
}

int64_t hf_group_hold_count(hf_group *group, hf_owner *owner)
{
    struct group_view seen;
    size_t depth = view_group(group, owner, &seen);

    return seen.state == HF_STATE_LOST ? 0 : (int64_t)depth;
}

int64_t hf_group_remaining_ms(hf_group *group, hf_owner *owner)
{
    struct group_view seen;

    (void)view_group(group, owner, &seen);
    return seen.remaining_ms;
}

hf_status hf_group_owner_text(hf_group *group, hf_owner *owner, size_t member,
                              char *buf, size_t size)
{
    struct hfi_hold_view seen;
    size_t len;

    if (group == NULL || member >= group->given) {
        return HF_INVALID;
    }
    hfi_group_view_member(group->members[group->place[member]], owner_id(owner),
                          &seen);
    if (seen.count == 0) {
        return HF_NOT_OWNER;
    }
    len = strlen(seen.owner);
    if (buf == NULL || len >= size) {
        return HF_INVALID;
    }
    memcpy(buf, seen.owner, len + 1);
    return HF_OK;
}

hf_status hf_group_token(hf_group *group, hf_owner *owner, size_t member,
                         int64_t *ret_token, hf_error *reterr)
{
    struct hfi_hold_view seen;
    const hf_lock *lock;

    if (group == NULL || member >= group->given || ret_token == NULL) {
        return hfi_fail(reterr, HF_INVALID, "hf_group_token: %s",
                        group == NULL       ? "group is NULL"
                        : ret_token == NULL ? "ret_token is NULL"
                                            : "there is no such member");
    }
    lock = group->members[group->place[member]];
    hfi_group_view_member(lock, owner_id(owner), &seen);
    return hfi_token_of_view(lock, &seen, ret_token, reterr);
}
