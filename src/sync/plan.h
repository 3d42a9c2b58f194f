/* SPDX-License-Identifier: MIT */
/* sync/plan.h - taking several locks as one: what is decided, without I/O.
 *
 * A plan is one call on a group of members: to take them, to leave them, or to
 * extend them.  Its caller tells it how each member's own call ended, that time
 * has passed, or that it is cancelled; after each of these it carries out what
 * every member's `want` says.  Three ways to take them:
 *
 *   multi.c    all or nothing: by one request where that is possible, else one
 *              after the other in the group's order
 *   quorum.c   all at once, and more than half of them suffice
 *   adopt.c    those that are held already, by whoever wrote a handle
 *
 * Times are ms on the client's clock.  Not for several threads at once.
 */
#ifndef HFI_SYNC_PLAN_H
#define HFI_SYNC_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "holdfast/status.h"

#define HFI_PLAN_NEVER INT64_MAX

/* What undoing may take before the caller is told: after that it goes on behind
 * his back. */
#define HFI_PLAN_UNDO_MS 200

enum hfi_want {
    HFI_WANT_NOTHING,
    HFI_WANT_ASK,     /* acquire it, waiting `wait_ms` */
    HFI_WANT_DROP,    /* cancel that; it ends all the same */
    HFI_WANT_LEAVE,   /* release it */
    HFI_WANT_EXTEND,  /* prolong it */
    HFI_WANT_HAND_OUT /* forget it here: it is held on the server yet */
};

enum hfi_member_state {
    HFI_MEMBER_FREE,
    HFI_MEMBER_ASKED, /* an acquisition is under way */
    HFI_MEMBER_HELD,
    HFI_MEMBER_EXTENDING,
    HFI_MEMBER_LEAVING, /* a release is under way */
    HFI_MEMBER_STATES
};

struct hfi_plan_member {
    enum hfi_member_state state;
    enum hfi_want want;
    int64_t wait_ms;  /* of HFI_WANT_ASK */
    hf_status status; /* how its newest call ended */
    bool dropped;     /* what is under way was given up */
    bool skipped;     /* not asked in this round */
    bool sick;     /* in: it did not answer lately, and is asked if need be */
    bool late;     /* out: it did not answer within the limit */
    bool on_trial; /* of a plan to hand out: it is left, having no vote */
    bool part;     /* of a plan to leave, extend or adopt: it is concerned */
};

enum hfi_plan_state {
    HFI_PLAN_NEW,       /* not begun */
    HFI_PLAN_ASKING,    /* members are asked */
    HFI_PLAN_LISTENING, /* a quorum is waited for at one member */
    HFI_PLAN_EXTENDING, /* all are held; the first ones' leases catch up */
    HFI_PLAN_COMPLETE,  /* enough are held: hfi_plan_confirm() is due */
    HFI_PLAN_UNDOING,   /* what is held is given back */
    HFI_PLAN_PAUSED,    /* until another round */
    HFI_PLAN_LEAVING,   /* a plan to leave, extend or hand out */
    HFI_PLAN_DONE,
    HFI_PLAN_STATES
};

struct hfi_plan;

struct hfi_plan_way {
    void (*begin)(struct hfi_plan *plan, int64_t now);
    void (*ended)(struct hfi_plan *plan, size_t at, int64_t now);
    void (*pause)(struct hfi_plan *plan, int64_t now);
    void (*tick)(struct hfi_plan *plan, int64_t now);
};

extern const struct hfi_plan_way hfi_way_multi;
extern const struct hfi_plan_way hfi_way_quorum;
extern const struct hfi_plan_way hfi_way_adopt;

struct hfi_plan {
    /* Filled in by the caller: */
    const struct hfi_plan_way *way;
    struct hfi_plan_member *members;
    size_t count;
    size_t quorum;    /* of a multi lock: all */
    int64_t wait_ms;  /* 0: try once; -1: no limit */
    int64_t limit_ms; /* quorum: what a member's answer may take */
    int64_t retry_ms; /* quorum: the longest pause between two rounds */
    uint64_t random;
    int64_t rejoin_ms; /* quorum: once it is done, how often to look at the
                        * members; 0: never */
    bool catch_up;     /* multi: extend all once the last is held */
    bool may_together; /* multi: one request can take them all */
    /* Read by the caller: */
    enum hfi_plan_state state;
    int64_t due_ms; /* hfi_plan_tick() is due then */
    bool together;  /* in this round who is asked is asked by one request */
    int64_t patience_ms; /* ... which tries so long, or until its wait ends */
    bool looks;          /* hfi_plan_retake() is due */
    hf_status status;    /* once it is done */
    size_t blame;        /* the member whose status that is; count: none's */
    /* Its own: */
    int64_t give_up_ms;
    int64_t late_ms; /* done: who is asked yet is dropped then */
    int64_t look_ms; /* done: `looks` then */
    int64_t pause_ms;
    size_t at;
    enum hfi_want each; /* a plan to leave, extend or hand out */
    bool again;         /* once all is undone, another round */
    bool hands_back;    /* what is undone is handed out, not left */
    bool gone;          /* what was taken has been left again */
};

/** Begin to take the members. */
void hfi_plan_take(struct hfi_plan *plan, int64_t now);

/** Begin to leave, extend or hand out those that are marked as part. */
void hfi_plan_each(struct hfi_plan *plan, enum hfi_want want, int64_t now);

/** A member's call has ended, whichever it was. */
void hfi_plan_ended(struct hfi_plan *plan, size_t at, hf_status status,
                    int64_t now);

/** A complete plan was looked at: its leases still last, or do not. */
void hfi_plan_confirm(struct hfi_plan *plan, bool lasts, int64_t now);

/** Time has passed. */
void hfi_plan_tick(struct hfi_plan *plan, int64_t now);

/** End it early.  With HF_CLOSED it is done at once. */
void hfi_plan_cancel(struct hfi_plan *plan, hf_status why, int64_t now);

/** What was taken has been left: who comes late is not wanted any more. */
void hfi_plan_gone(struct hfi_plan *plan);

/** What is held was looked at: ask for these members, once. */
void hfi_plan_retake(struct hfi_plan *plan, const bool *wanted, int64_t now);

/** Those that were taken first have to wait for the others: until then they are
 *  renewed, and then they are extended. */
bool hfi_plan_catches_up(const struct hfi_plan *plan);

/** What the members' statuses come to, for a plan that could not take them. */
hf_status hfi_plan_verdict(const struct hfi_plan *plan, size_t *ret_blame);

/* ---- for multi.c, quorum.c and adopt.c ---- */
void hfi_plan_move_to(struct hfi_plan *plan, enum hfi_plan_state next);
void hfi_plan_ask(struct hfi_plan *plan, size_t at, int64_t wait_ms);
void hfi_plan_drop(struct hfi_plan *plan, size_t at);
size_t hfi_plan_in(const struct hfi_plan *plan, enum hfi_member_state state);
/* Give back what is held; then another round if `again`, else the end. */
void hfi_plan_undo(struct hfi_plan *plan, bool again, int64_t now);
void hfi_plan_complete(struct hfi_plan *plan, int64_t now);
void hfi_plan_finish(struct hfi_plan *plan, hf_status status, size_t blame);
/* It may be tried again, and there is time for it. */
bool hfi_plan_may_retry(const struct hfi_plan *plan, hf_status status,
                        int64_t now);
/* What is left to wait: -1 without limit, else at least 0. */
int64_t hfi_plan_left(const struct hfi_plan *plan, int64_t now);
/* Such a member is not held, and was not when it was asked. */
bool hfi_plan_is_gone(hf_status status);
/* A number from `least` to `most`. */
int64_t hfi_plan_jitter(struct hfi_plan *plan, int64_t least, int64_t most);

#endif
