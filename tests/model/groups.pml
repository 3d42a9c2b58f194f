/* SPDX-License-Identifier: MIT */
/*
 * Calls on a group: a model of who looks around in them, and who drives the
 * main links of several clients.
 *
 * The happy path: a thread asks the members of its group, claims the links on
 * which it sends, writes to all, polls them together, and reads what comes.  A
 * member's end, told under its client's mutex, makes the call look around as
 * soon as that mutex is released; when enough members have answered the call is
 * done, and its thread hands the links on.
 *
 * What goes wrong here: two threads want the same links; answers come to the
 * other thread, or to a keeper, which then looks around in a call that is not
 * its own and enters the other client; links die; a call is cancelled by
 * somebody else at any moment, while others look around in it.
 *
 * A client's mutex is a variable, for what is done with it in hand matters
 * here; each block that is marked LOCKED is one critical section.  A call's
 * mutex is an `atomic' block.  Writing, polling and reading are steps of their
 * own.  A server answers whenever it likes.
 *
 * Sizes (-D): THREADS with a call each, on LINKS clients; RED: a quorum of one
 * answer is enough, and all are asked at once; else one after the other, all.
 * DEATHS, CANCELS; REVERSE: the threads disagree on the order.
 * Mutations (-D): see tests/model/run and docs/design/models.md.
 */

#ifndef THREADS
#define THREADS 2
#endif
#ifndef LINKS
#define LINKS 2
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifdef RED
#define QUORUM 1
#else
#define QUORUM LINKS
#endif

#ifdef REVERSE
#define REVERSED(t) ((t) == 1)
#else
#define REVERSED(t) false
#endif

#define HFI_KEEPER THREADS
#define HFI_NOBODY (THREADS + 1)
#define SOMEBODY   (THREADS + LINKS)    /* who cancels */

/* The clients. */
bool mutex[LINKS];
byte driver[LINKS];
bool asleep[LINKS];             /* the driver polls it, or is going to */
bool woken[LINKS];
bool wake[LINKS];               /* the link's own descriptor */
bool keeper_asleep[LINKS];
bool keeper_wake[LINKS];
bool dead[LINKS];

/* A thread's call on a link; the place is link * THREADS + thread. */
#define PLACES (LINKS * THREADS)
#define AT(l, t) ((l) * THREADS + (t))
bool out[PLACES];               /* appended */
bool flight[PLACES];            /* written */
bool answer[PLACES];            /* on its way back */
bool news[PLACES];              /* the member's call has ended: call->ended */
bool good[PLACES];              /* ... as it should */

/* Members, as the plan has them. */
#define HFI_MEMBER_FREE  0
#define HFI_MEMBER_ASKED 1
#define HFI_MEMBER_HELD  2
#define HFI_MEMBER_LOST  3      /* it ended, and not well */
byte member[PLACES];

/* The group calls, one of each thread. */
bool stepping[THREADS];
bool again[THREADS];
bool done[THREADS];
bool cancelled[THREADS];
bool waiter_wake[THREADS];      /* its own descriptor */

/* Ghosts. */
byte steppers[THREADS];
byte through = 0;
byte deaths = 0;
byte cancels = 0;

#if THREADS == 2
#define ANY(what, l) (what[AT(l, 0)] || what[AT(l, 1)])
#else
#define ANY(what, l) (what[AT(l, 0)])
#endif
#define OWES(l)     (ANY(out, l) || ANY(flight, l) || ANY(answer, l) || dead[l])
#define READABLE(l) (ANY(answer, l) || dead[l])

/* LOCKED: the link's driver has something to do. */
inline nudge(l)
{
    if
    :: driver[l] == HFI_KEEPER || driver[l] == HFI_NOBODY ->
#ifdef M_NO_NUDGE
        skip
#else
        keeper_wake[l] = true
#endif
    :: driver[l] < THREADS && asleep[l] && !woken[l] ->
        woken[l] = true;
        wake[l] = true
    :: else
    fi
}

/* LOCKED.  hfi_pass_main_link_on */
inline pass_on(l)
{
    if
    :: OWES(l) ->
#ifdef M_PASS_NO_KEEPER
        driver[l] = HFI_NOBODY
#else
        driver[l] = HFI_KEEPER;
        keeper_wake[l] = true
#endif
    :: else -> driver[l] = HFI_NOBODY
    fi
}

/* ---- a call looks around ---- */

/* member_start, start_op, hfi_claim_main_link: `me' asks a member for `t'. */
inline ask(t, l)
{
    atomic {
        !mutex[l];              /* LOCKED */
        out[AT(l, t)] = true;
        member[AT(l, t)] = HFI_MEMBER_ASKED;
        if
#ifdef M_CLAIM_FOR_OTHERS
        :: driver[l] == HFI_NOBODY -> driver[l] = t; asleep[l] = true
#else
        :: driver[l] == HFI_NOBODY && me == t -> driver[l] = t
#endif
        :: else -> nudge(l)
        fi
    }
}

/* What has ended is the plan's; then what that wants: `next' is a link to ask,
 * LINKS: nothing. */
inline look(t)
{
    atomic {
        held = 0; asked = 0; lost = 0; next = LINKS;
        for (k : 0 .. LINKS - 1) {
            if
            :: news[AT(k, t)] ->
                news[AT(k, t)] = false;
                member[AT(k, t)] = (good[AT(k, t)] -> HFI_MEMBER_HELD
                                                   : HFI_MEMBER_LOST)
            :: else
            fi;
            if
            :: member[AT(k, t)] == HFI_MEMBER_HELD -> held++
            :: member[AT(k, t)] == HFI_MEMBER_ASKED -> asked++
            :: member[AT(k, t)] == HFI_MEMBER_LOST -> lost++
            :: else -> next = (next == LINKS || REVERSED(t) -> k : next)
            fi
        };
        k = 0;
        if
        :: held >= QUORUM || lost > LINKS - QUORUM || cancelled[t] ->
            next = LINKS;
            if
            :: !done[t] ->
                done[t] = true;         /* finish, hfi_waiter_done */
#ifndef M_DONE_NO_WAKE
                waiter_wake[t] = (me != t -> true : waiter_wake[t])
#endif
            :: else
            fi
#ifndef RED
        :: else -> next = (asked > 0 -> LINKS : next)
#else
        :: else
#endif
        fi
    }
}

/* hfi_group_call_step */
inline step(t)
{
    atomic {
#ifdef M_NOT_AGAIN
        again[t] = (stepping[t] -> again[t] : true);
#else
        again[t] = true;
#endif
        mine_to_step = !stepping[t];
#ifdef M_TWO_STEPPERS
        mine_to_step = true;
#endif
        if
        :: mine_to_step ->
            stepping[t] = true;
            steppers[t]++;
            assert(steppers[t] == 1)
        :: else
        fi
    };
    do
    :: mine_to_step && again[t] ->
        again[t] = false;
        do
        :: look(t);
            if
            :: next < LINKS -> ask(t, next)
            :: else -> break
            fi
        od
#ifdef M_AGAIN_NOT_LOOKED
    :: atomic { !mine_to_step || !again[t] -> skip };
        atomic {
#else
    :: atomic {
            !mine_to_step || !again[t] ->
#endif
            if
            :: mine_to_step -> stepping[t] = false; steppers[t]--
            :: else
            fi;
            mine_to_step = false;
            break
        }
    od
}

/* ---- reading, and what follows ---- */

/* Tell the calls what came, under the mutex; `ended' of each to look around. */
inline deliver(l)
{
    atomic {
        !mutex[l];              /* LOCKED */
        mutex[l] = true;
        asleep[l] = false;
        for (k : 0 .. THREADS - 1) {
            if
            :: answer[AT(l, k)] ||
               (dead[l] && (out[AT(l, k)] || flight[AT(l, k)])) ->
                good[AT(l, k)] = answer[AT(l, k)];
                answer[AT(l, k)] = false;
                out[AT(l, k)] = false;
                flight[AT(l, k)] = false;
                news[AT(l, k)] = true;
                due = due | (1 << k)
            :: else
            fi
        };
        k = 0;
        dead[l] = false;        /* torn down, and made again at once */
#ifndef M_STEP_LOCKED
        mutex[l] = false
#endif
    };
    run_due();
#ifdef M_STEP_LOCKED
    mutex[l] = false
#endif
}

/* hfi_tasks_run, when the mutex is released. */
inline run_due()
{
    do
    :: atomic { due & 1 -> due = due & 2 }; step(0)
#if THREADS == 2
    :: atomic { due & 2 -> due = due & 1 }; step(1)
#endif
    :: due == 0 -> break
    od
}

/* Write what was appended. */
inline write(l)
{
    atomic {
        for (k : 0 .. THREADS - 1) {
            if
            :: out[AT(l, k)] && !dead[l] ->
                out[AT(l, k)] = false;
                flight[AT(l, k)] = true
            :: else
            fi
        };
        k = 0
    }
}

/* ---- drive_many.c ---- */

inline prepare(l)
{
    atomic {
        !mutex[l];              /* LOCKED */
        if
        :: driver[l] == me && !OWES(l) -> pass_on(l)    /* give_up */
        :: driver[l] == me && OWES(l) -> asleep[l] = true; woken[l] = false
        :: else
        fi
    };
    if
    :: driver[l] == me -> write(l)
    :: else
    fi
}

#define MINE_READABLE(l) (driver[l] == me && (READABLE(l) || wake[l]))

/* poll() says so of a link of mine: it was mine when it was prepared. */
inline look_at(l)
{
    if
    :: driver[l] == me ->
        wake[l] = false;
        deliver(l)
    :: else
    fi
}

proctype thread(byte me)
{
    byte k = 0, next = 0, held = 0, asked = 0, lost = 0, due = 0;
    bool mine_to_step = false;

    step(me);                           /* hfi_group_call_start */
    do
    :: done[me] -> break
    :: else ->
        prepare(0);
#if LINKS == 2
        prepare(1);
#endif
        if
        :: done[me]
        :: else ->
#ifdef M_DRAIN_LATE
            waiter_wake[me] = false;
#endif
            if
            :: waiter_wake[me] || MINE_READABLE(0)
#if LINKS == 2
            :: MINE_READABLE(1)
#endif
            fi;
            waiter_wake[me] = false;    /* hfi_wake_drain */
            look_at(0)
#if LINKS == 2
            ;
            look_at(1)
#endif
        fi
    od;
#ifndef M_NOT_PASSED_ON
    atomic { !mutex[0]; if :: driver[0] == me -> pass_on(0) :: else fi };
#if LINKS == 2
    atomic { !mutex[1]; if :: driver[1] == me -> pass_on(1) :: else fi };
#endif
#endif
    through++
}

proctype keeper(byte l)
{
    byte me = HFI_KEEPER;
    byte k = 0, next = 0, held = 0, asked = 0, lost = 0, due = 0;
    bool mine_to_step = false;

end:
    do
    :: atomic {
            !mutex[l] && (keeper_wake[l] ||
                          (driver[l] == HFI_KEEPER && READABLE(l))) ->
            keeper_wake[l] = false;
            if
            :: driver[l] == HFI_NOBODY && OWES(l) -> driver[l] = HFI_KEEPER
            :: driver[l] == HFI_KEEPER && !OWES(l) -> driver[l] = HFI_NOBODY
            :: else
            fi
        };
        if
        :: driver[l] == HFI_KEEPER ->
            write(l);
            if
            :: READABLE(l) ->
                deliver(l);
                keeper_wake[l] = true
            :: else
            fi
        :: else
        fi
    od
}

proctype server(byte l)
{
end:
    do
    :: atomic { flight[AT(l, 0)] && !dead[l] ->
            flight[AT(l, 0)] = false; answer[AT(l, 0)] = true }
#if THREADS == 2
    :: atomic { flight[AT(l, 1)] && !dead[l] ->
            flight[AT(l, 1)] = false; answer[AT(l, 1)] = true }
#endif
    :: atomic { deaths < DEATHS && !dead[l] -> deaths++; dead[l] = true }
    od
}

/* Somebody fires a token. */
proctype canceller(byte t)
{
    byte me = SOMEBODY;
    byte k = 0, next = 0, held = 0, asked = 0, lost = 0, due = 0;
    bool mine_to_step = false;

end:
    if
    :: cancels < CANCELS && !done[t] ->
        cancelled[t] = true;
        cancels++;
        step(t)
    fi
}

init
{
    byte k = 0;

    atomic {
        for (k : 0 .. LINKS - 1) {
            driver[k] = HFI_NOBODY;
            run keeper(k);
            run server(k)
        };
        for (k : 0 .. THREADS - 1) {
            run thread(k);
            run canceller(k)
        }
    }
}
