/* SPDX-License-Identifier: MIT */
/* sync/mutations.h - mistakes that can be planted in the core.
 *
 * A check that never fails proves nothing.  The simulated world (tests/sim)
 * builds the core with HFI_SIM and plants these one at a time, to see each
 * caught.  In every other build HFI_MUTATION() is false, and the compiler drops
 * what depends on it.
 */
#ifndef HFI_SYNC_MUTATIONS_H
#define HFI_SYNC_MUTATIONS_H

#define HFI_CORE_MUTATION_MAP(X)                                               \
    X(no_not_after, "an ACQUIRE may run at any time")                          \
    X(deadline_from_reading, "a lease counts from the reading of its grant")   \
    X(no_margin, "a lease is believed to its last millisecond")                \
    X(late_grant_held, "a grant that comes after its deadline is believed")    \
    X(late_grant_stays, "a grant that comes too late is not undone")           \
    X(busy_answers_all, "BUSY counts as the answer to all copies")             \
    X(newest_not_after, "last(n) is the newest not_after, not the largest")    \
    X(unclean_give_up_stays, "what is given up unanswered is not ended")       \
    X(number_used_twice, "a wait goes on with a number that was ended")        \
    X(any_undo_final, "the first answered UNDO is taken for final")            \
    X(clean_when_read, "clean is judged when the UNDO's answer is read")       \
    X(undo_not_repeated, "an UNDO that was lost is not sent again")            \
    X(unclean_release_stays, "no End after a release with copies unanswered")  \
    X(maybe_release_stays, "no End after a release that was not answered")     \
    X(loss_stays, "no End after a loss")                                       \
    X(undo_at_deadline, "a loss is undone while its head start runs")          \
    X(held_until_answered, "levels live until the RELEASE is answered")        \
    X(absent_is_gone, "ABSENT is told as gone despite an earlier copy")        \
    X(answer_after_deadline, "a renewal's answer is used after the deadline")  \
    X(absent_ignored, "a renewal that finds the field gone changes nothing")   \
    X(renewed_after_release, "a release leaves the renewal armed")             \
    X(fixed_renewed, "a renewal moves fixed levels too")                       \
    X(deadline_unarmed, "no alarm is set for a deadline")                      \
    X(loss_untold, "a holder is not told of a loss")                           \
    X(loss_told_again, "a loss is told whenever somebody looks at it")         \
    X(lost_held_again, "a renewal's answer brings a lost hold back")           \
    X(busy_believed, "BUSY is read as GRANTED")                                \
    X(undo_linkless, "an UNDO that found no link forgets to look for one")     \
    X(end_kept, "a call that has ended may stay among those that have")        \
    X(owner_let_in_again, "a lock that is not re-entrant is entered again")    \
    X(bare_overtakes, "a hold is extended while a bare renewal may run late")  \
    X(no_cap, "a read hold is believed beyond Java's watchdog")                \
    X(half_handed_on, "who reads and writes hands on one of the two")          \
    X(upgrade_waits, "who reads waits for himself to write")                   \
    X(spin_sleeps, "a back-off lasts until the wait is over")                  \
    X(name_kept, "the record of a name is never given back")                   \
    X(no_try_after_subscribing, "a wait sleeps once it is subscribed")         \
    X(wake_forgotten, "a message during an attempt is forgotten")              \
    X(turn_kept, "a head that leaves does not pass its turn on")               \
    X(no_retry, "a waiter relies on messages alone")                           \
    X(lifo, "a new waiter goes to the front")                                  \
    X(channel_kept, "nobody unsubscribes")                                     \
    X(no_time_limit, "a call without an answer never ends")                    \
    X(exported_at_once, "an export does not wait for copies on their way")     \
    X(enter_uncounted, "an ENTER carries the count before it")

/* Of groups: the plans, and what src/api does with them. */
#define HFI_GROUP_MUTATION_MAP(X)                                              \
    X(half_is_enough, "less than half of the members are a quorum")            \
    X(lasts_unchecked, "a group is held whatever became of its leases")        \
    X(late_member_stays, "who answers after a call that failed is not left")   \
    X(undo_forgets, "what a failed call holds is not given back")              \
    X(wait_ignored, "each member is waited for without limit")                 \
    X(limit_ignored, "a red lock waits for all who are asked")                 \
    X(patience_endless, "who holds a member waits for the next for ever")      \
    X(together_believed, "several are granted if the first is free")           \
    X(member_loss_unheard, "the loss of a member is nobody's news")            \
    X(outer_unjudged, "what a release loses to the outer levels is not told")  \
    X(group_told_again, "each member too few is told as a loss")               \
    X(one_loss_is_all, "a red lock counts as lost with its first member")      \
    X(never_caught_up, "the first member's lease began with its grant")        \
    X(settled_never, "what was renewed for a wait is renewed on")              \
    X(turn_ignored, "a call does not wait for those before it")                \
    X(outcome_kept, "a member that was given back is said to be held")         \
    X(pin_kept, "an owner counts as busy for ever")

#define HFI_MUTATION_MAP(X) HFI_CORE_MUTATION_MAP(X) HFI_GROUP_MUTATION_MAP(X)

enum hfi_mutation {
    HFI_MUTATION_none,
#define HFI_MUTATION_ENUM(name, text) HFI_MUTATION_##name,
    HFI_MUTATION_MAP(HFI_MUTATION_ENUM)
#undef HFI_MUTATION_ENUM
        HFI_MUTATIONS
};

#ifdef HFI_SIM
extern enum hfi_mutation hfi_mutation; /* the one that is planted */
#define HFI_MUTATION(name) (hfi_mutation == HFI_MUTATION_##name)
#else
#define HFI_MUTATION(name) false
#endif

#endif
