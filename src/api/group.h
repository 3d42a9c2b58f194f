/* SPDX-License-Identifier: MIT */
/* api/group.h - groups of locks from the inside; api/ only.
 *
 *   group.c        the group object, its order, what it answers by itself
 *   group_hold.c   who holds it, and what he is told
 *   group_call.c   one call on it, from its start to its end
 *   group_member.c a call's members: carrying out what its plan decides
 *   group_acquire.c how taking it begins, and ends
 *   group_leave.c  how it begins, if somebody holds it already
 *   group_entry.c  the entry points of calls
 *   group_handle.c groups that are written out, and continued elsewhere
 *
 * Locks, in this order: a client's mutex; then a call's, or the group's.  No
 * client is entered with a call's or a group's mutex in hand.
 */
#ifndef HFI_API_GROUP_H
#define HFI_API_GROUP_H

/* An allocation that fails leaves the element out of the table. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "api/handle.h"
#include "holdfast/multi.h"
#include "sync/plan.h"

struct group_call;
struct group_hold;

/* Members that keep silent are left alone for so long. */
#define SICK_MS 1000

struct hf_group {
    atomic_uint refs; /* the user's, its holds', its calls' */
    pthread_mutex_t mutex;
    bool is_red;
    int64_t member_limit_ms; /* 0: by the lease */
    int64_t retry_ms;
    size_t count; /* members */
    size_t quorum;
    size_t absent;              /* votes of a red lock that have no member */
    size_t given;               /* locks it was made of */
    size_t *place;              /* of each of these: which member it is */
    hf_lock **members;          /* our own objects, in the group's order */
    _Atomic int64_t *sick;      /* of each: not asked first until then */
    struct hf_client **clients; /* each once */
    size_t client_count;
    struct group_hold *holds; /* by owner; under the mutex */
    size_t calls;             /* under the mutex: not done yet */
};

/* One acquisition of a group; under the group's mutex once it is the hold's. */
struct group_level {
    struct group_level *outer;
    struct group_call *call; /* that made it, and may have members to come */
    bool taken[];            /* `count` of them: held by this level */
};

/* What a hold knows of one member; under the hold's mutex. */
struct hold_member {
    uint32_t levels; /* that have taken it */
    unsigned round;  /* news of an earlier one are old */
    bool lost;
    bool suspect;
    bool on_trial; /* it joined again and has no vote yet; to change it takes
                    * the group's mutex too */
    int64_t joined_ms;
};

/* How a member was lost. */
struct group_loss {
    size_t member;
    hf_lost_reason reason; /* HF_NOT_LOST: none was */
    char owner[64];        /* "uuid:number" */
};

/* An owner's holds of a group, and calls.  It does not keep the group: members'
 * terms refer to it, and may be the last that do, under a client's mutex. */
struct group_hold {
    UT_hash_handle hh;
    uint64_t owner;
    atomic_uint refs; /* in the table; calls; members' terms */
    /* Under the group's mutex: */
    struct hf_client *pinned;  /* an explicit owner's client; NULL: a thread */
    struct group_level *level; /* innermost; NULL: none */
    struct group_call *calls;  /* in order; the first runs */
    /* Under its own: */
    pthread_mutex_t mutex;
    size_t depth; /* levels; 0: nobody is told anything */
    size_t count, quorum;
    hf_lease_fn on_lost;
    hf_lease_fn on_warning;
    void *context;
    unsigned nest; /* outermost levels so far: news of an earlier one are old */
    bool told_lost;
    bool told_suspect;
    bool told_max_hold;
    hf_lost_reason reason;  /* of what was told */
    struct hfi_terms *news; /* to tell a loss that a release brings; or NULL */
    struct group_loss forgotten; /* the newest that was, to be had again */
    struct hold_member members[];
};

/* ---- group.c ---- */
void hfi_group_ref(hf_group *group);
void hfi_group_unref(hf_group *group);

/* What is known of the members marked, at this very moment. */
struct group_view {
    hf_lock_state state;
    hf_lost_reason reason;
    int64_t remaining_ms;
    struct group_loss loss; /* the first of them that is not held */
};
void hfi_group_view(hf_group *group, uint64_t owner, const bool *taken,
                    struct group_view *ret_view);
/** ... of those with a vote, and of what its holder was told.  Returns how often he
 *  holds it, or did until it was lost; 0: nothing is known. */
size_t hfi_group_view_hold(hf_group *group, uint64_t owner,
                           struct group_view *ret_view);
void hfi_group_view_member(const hf_lock *lock, uint64_t owner,
                           struct hfi_hold_view *ret_view);
/** Which members an owner holds by the group, and how often it holds that. */
size_t hfi_group_taken(hf_group *group, uint64_t owner, bool *ret_taken);
/** ... and which of these have a vote. */
size_t hfi_group_counted(hf_group *group, uint64_t owner, bool *ret_counted);

/* ---- group_hold.c ---- */

/** The hold of an owner, made if need be; the group's mutex is held.  NULL: out
 *  of memory. */
struct group_hold *hfi_group_hold_get(hf_group *group, uint64_t owner);
void hfi_group_hold_ref(struct group_hold *hold);
void hfi_group_hold_unref(struct group_hold *hold);
/** Out of the table if nothing is held and no call runs; the group's mutex is
 *  held.  Returns the client where its owner is to be unpinned, or NULL. */
struct hf_client *hfi_group_hold_tidy(hf_group *group, struct group_hold *hold);
/** The terms of a member, which tell the group's holder; NULL: no memory. */
struct hfi_terms *hfi_group_terms(struct group_hold *hold, size_t member,
                                  const hf_lock *lock);
/** What such a loss is told with that no member's client brings; NULL: no memory.
 *  To be let go with hfi_terms_unref(). */
struct hfi_terms *hfi_group_news_new(const hf_group *group);
/** A level is held from now on; with the group's mutex.  false: it is lost
 *  already, or what it was to be a level of, and nothing was done. */
bool hfi_group_hold_push(struct group_hold *hold, struct group_level *level,
                         const hf_acquire *how);
/** The innermost level is held no more; with the group's mutex. */
struct group_level *hfi_group_hold_pop(struct group_hold *hold);
/** Is what is left of it a hold?  If not, and nobody has said so, it is lost from
 *  now on; with the group's mutex.  @p below: what is known of its members.
 *  Returns the news for its holder, which are the caller's, or NULL. */
struct hfi_terms *hfi_group_hold_judge(struct group_hold *hold,
                                       const struct group_view *below,
                                       struct group_loss *ret_loss);
/** Why the group was lost, as its holder was told; it stays so until he has left it.
 *  HF_NOT_LOST: he was not. */
hf_lost_reason hfi_group_hold_told(hf_group *group, uint64_t owner);
/** A member joins a level that is held; with the group's mutex.  false: the
 *  group was lost. */
bool hfi_group_hold_join(struct group_hold *hold, struct group_level *level,
                         size_t member);
/** It has no vote until a quorum was renewed after now; the same. */
void hfi_group_hold_try(struct group_hold *hold, size_t member, int64_t now);
/** So many members with a vote were held when requests left at these times; the
 *  same. */
void hfi_group_hold_end_trials(struct group_hold *hold,
                               const int64_t *proven_ms, size_t count);
/** How many levels have taken a member, and: none has any more; the same. */
uint32_t hfi_group_hold_levels(const struct group_hold *hold, size_t member);
void hfi_group_hold_drop(struct group_hold *hold,
                         const struct group_loss *loss);

/* ---- group_call.c ---- */
enum group_aim {
    GROUP_ACQUIRE,
    GROUP_RELEASE,
    GROUP_EXTEND,
    GROUP_EXPORT,
    GROUP_IMPORT
};

/* A member as it was written out, or is to be continued. */
struct group_part {
    char owner[HFI_HANDLE_OWNER];
    int64_t count; /* 0: not held */
    int64_t lease_ms;
};

struct group_task {
    struct hfi_task task;
    struct group_call *call;
};

struct call_member {
    struct group_task task;
    struct hfi_user user;
    const void *port; /* its newest terms' context */
    /* Under the call's mutex: */
    unsigned refs; /* of calls that have ended, to be given back */
    bool ended;    /* news that the plan has not got */
    hf_status news;
    hf_error news_error; /* unless that is HF_OK */
    /* The stepper's: */
    bool again; /* asked once more, for a group that is held */
    hf_status status;
    const char *text; /* static; NULL: `error` says it */
    hf_error error;
};

struct group_call {
    struct group_call *prev, *next; /* of the hold's; the group's mutex */
    atomic_uint refs;
    pthread_mutex_t mutex;
    bool stepping, again;    /* under the mutex */
    hf_group *group;         /* referenced */
    struct group_hold *hold; /* referenced */
    struct hf_client *home;  /* whose timers and callbacks it uses; entered */
    enum group_aim aim;
    uint64_t owner;
    hf_acquire how;   /* of an acquisition, or an import */
    int64_t lease_ms; /* of an extension */
    int64_t give_up_ms;
    int64_t late_ms;          /* of an export: it waits for nobody after that */
    int64_t look_ms;          /* not begun: to look again then, at the latest */
    struct group_part *parts; /* of an import or an export, by member; what is
                               * exported, under the call's mutex; or NULL */
    /* Under the group's mutex: */
    bool my_turn;
    bool gone;                 /* what it took was left again */
    struct group_level *level; /* being made; then the hold's */
    struct hfi_terms *news;    /* until then; or NULL */
    /* The stepper's: */
    bool begun;
    bool done;
    bool closed; /* the home client closes */
    bool stays;  /* it has a reference to itself, and looks after members */
    atomic_bool coming; /* members are asked yet */
    struct hfi_plan plan;
    struct group_task task; /* of the timer and the token */
    struct hfi_timer timer;
    struct hfi_user token; /* waits for how.cancel */
    bool token_waits;
    hf_status status;
    hf_error error;
    bool tells_all;       /* outcomes are asked for */
    hf_outcome *outcomes; /* as they were given; `given` of them, or NULL */
    struct hfi_waiter *waiter; /* of a thread; NULL: a callback, or done */
    atomic_bool lingers; /* it is done, and its thread looks for late members */
    struct hfi_async async;
    hf_group_done_fn done_fn;
    void *context;
    hf_owner *owner_object;
    bool owner_is_new;
    struct call_member members[]; /* and then the plan's */
};

/** A call, of which its maker has the only reference.  NULL: out of memory. */
struct group_call *hfi_group_call_new(hf_group *group, enum group_aim aim,
                                      uint64_t owner);
void hfi_group_call_ref(struct group_call *call);
/** One that is being freed by another thread is not taken hold of any more. */
bool hfi_group_call_try_ref(struct group_call *call);
void hfi_group_call_unref(struct group_call *call);
/** Begin it.  Its home client has been entered, and is left at its end, which
 *  may come before this returns.  @p pinned: an explicit owner's client. */
hf_status hfi_group_call_start(struct group_call *call,
                               struct hf_client *pinned, hf_error *reterr);
/* ---- group_rejoin.c ---- */

/** It is the outermost level's: look after its members while that is held, if
 *  they are renewed. */
void hfi_group_stay(struct group_call *call);
void hfi_group_stay_no_more(struct group_call *call);
/** Look, if it is time to. */
void hfi_group_look_after(struct group_call *call);
/** Not held at this very moment by members that have votes. */
bool hfi_group_is_lost(struct group_call *call);

/* ---- group_leave.c ---- */
void hfi_group_begin_release(struct group_call *call, int64_t now);
void hfi_group_begin_extend(struct group_call *call, int64_t now);
void hfi_group_begin_export(struct group_call *call, int64_t now);
void hfi_group_begin_import(struct group_call *call, int64_t now);
/** Its turn has come, but a member may yet join what is to be handed out. */
bool hfi_group_export_is_early(struct group_call *call, int64_t now);

/* ---- group_entry.c ---- */

/** Check what all calls that block check, and make one. */
hf_status hfi_group_call_make(hf_group *group, enum group_aim aim,
                              hf_owner *owner, struct group_call **ret_call,
                              hf_error *reterr);
/** It is not started after all. */
void hfi_group_call_give_up(struct group_call *call);
/** Run it to its end; it is freed. */
hf_status hfi_group_call_run(struct group_call *call, hf_owner *owner,
                             hf_outcome *ret_outcomes, hf_error *reterr);

/* ---- group_call.c ---- */

/** Let it look around; no mutex is held. */
void hfi_group_call_step(struct group_call *call);
/** A task that makes it look around. */
void hfi_group_task_init(struct group_task *task, struct group_call *call);
/** It begins with what is not held here. */
bool hfi_group_call_takes(const struct group_call *call);

/* ---- group_acquire.c; for the stepper ---- */
void hfi_group_begin_acquire(struct group_call *call, int64_t now);
/** Enough members are held.  Do their leases last? */
void hfi_group_confirm(struct group_call *call, int64_t now);

/* ---- group_member.c; for the stepper ---- */
void hfi_group_member_init(struct group_call *call, size_t at);
/** What the plan wants of the members. */
void hfi_group_carry_out(struct group_call *call);
/** Tell the plan which members' calls have ended. */
void hfi_group_hear_members(struct group_call *call, int64_t now);
/** What it took was left again, so that nobody joins it any more. */
bool hfi_group_call_is_gone(struct group_call *call);
/** Put in words what became of a member; of all, if that is asked for. */
void hfi_group_tell_outcome(const struct group_call *call, size_t at,
                            hf_error *ret_error);
void hfi_group_put_outcomes(struct group_call *call);

#endif
