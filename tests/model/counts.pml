/* SPDX-License-Identifier: MIT */
/*
 * Requests on a semaphore: a model of their records, undos and fences.
 *
 * The happy path: a user's TAKE finds a permit, and the server keeps a record
 * that it did; the user gives it back with a CHANGE, which leaves one too.  A
 * request whose link is gone is sent again under the same id, and the record
 * answers the copy that comes second.
 *
 * What goes wrong here: every copy may run at any later moment or never, and
 * its answer be lost; a user gives up at any moment; records end; copies run
 * when everything that concerned them is over.  A take that is given up with a
 * copy unanswered is undone; a change is fenced before its user is told.
 *
 * Each option of the loop below is one event: one critical section of a client,
 * or one run of a script.  Time is a small number; `now' is the server's.  With
 * SETS the change is a `set' of a semaphore that does not exist, which exactly
 * one user does.
 *
 * Sizes (-D): USERS, NUMBERS (ids, of all), COPIES (on their way at a time),
 * GONES (links), CAPACITY, LIFE (of a request), WINDOW (of its record),
 * ENDTIME, SETS, WAITS (a take asks again).
 * Mutations (-D): see tests/model/run and docs/design/models.md.
 */

#ifndef USERS
#define USERS 1
#endif
#ifndef NUMBERS
#define NUMBERS 3
#endif
#ifndef COPIES
#define COPIES 4
#endif
#ifndef GONES
#define GONES 2
#endif
#ifndef CAPACITY
#define CAPACITY 1
#endif
#ifndef LIFE
#define LIFE 1
#endif
#ifndef WINDOW
#define WINDOW 1
#endif
#ifndef ENDTIME
#define ENDTIME 3
#endif
#ifdef SETS
#define FIRST_STEP CHANGING
#else
#define FIRST_STEP TAKING
#endif

#define NONE 255

/* Requests, and what is kept of them. */
#define HFI_TAKE   0
#define HFI_CHANGE 1
#define HFI_UNDO   2
#define HFI_FENCE  3

#define REC_NONE   0
#define REC_TAKEN  1            /* of a take */
#define REC_DONE   2            /* of a change: its answer */
#define REC_UNDONE 3            /* tombstones */
#define REC_FENCED 4

/* Answers. */
#define DID     0
#define TOO_FEW 1               /* also of a set: there is one already */
#define REFUSED 2

/* Of a number: hfi_number's end. */
#define END_NONE    0
#define END_PENDING 1
#define END_SENT    2
#define END_FINAL   3

/* What a user is at. */
#define NEW      0
#define TAKING   1
#define HOLDING  2
#define CHANGING 3
#define FENCING  4
#define OVER     5

/* A copy. */
#define FREE     0
#define SENT     1              /* it may run, and be answered */
#define RUN      2              /* its answer is on the way */
#define GONE     3              /* its link is: it may run yet */

byte now = 0;
byte available = CAPACITY;
bool exists = true;

/* The server's records, by id. */
byte record[NUMBERS];
byte record_until[NUMBERS];

/* The clients' numbers. */
byte next_n = 0;
byte not_after[NUMBERS];
byte unanswered[NUMBERS];
byte end_of[NUMBERS];
/* Ghosts: what it did on the server, and that it must not do anything. */
byte did[NUMBERS];
bool settled[NUMBERS];

byte copy_state[COPIES];
byte copy_request[COPIES];
byte copy_n[COPIES];
byte copy_answer[COPIES];
byte copy_time[COPIES];         /* the server's, in a refusal */
byte copy_user[COPIES];
byte copy_old[COPIES];          /* an id whose record goes */

byte at[USERS];
byte op_n[USERS];
byte op_copy[USERS];            /* the one that is attended to */
bool looked[USERS];
byte held[USERS];               /* by which id */
byte old[USERS];                /* an id whose record nobody reads again */
byte gones = 0;
bool deleted = false;

byte i, n, c, u, found;

#define CLEAN(n)   (unanswered[n] == 0)
#ifdef M_SETTLES_ALWAYS
#define SETTLES_ALL(n, time) true
#else
#define SETTLES_ALL(n, time) \
    ((CLEAN(n) && HEARD) || time < not_after[n] + WINDOW)
#endif
#ifdef M_CLEAN_SETTLES_FENCE
#define HEARD true
#else
#define HEARD (copy_request[c] != HFI_FENCE)
#endif
#ifdef M_RECORD_SHORT
#define UNTIL(n)   (now + 1)
#else
#define UNTIL(n)   (not_after[n] + WINDOW)
#endif
#ifdef M_NO_NOT_AFTER
#define TOO_LATE(n) false
#else
#define TOO_LATE(n) (now >= not_after[n])
#endif

/* ---- the server: one run of a script ---- */

inline keep(what)
{
    if
    :: UNTIL(n) > now -> record[n] = what; record_until[n] = UNTIL(n)
    :: else -> record[n] = REC_NONE
    fi
}

/* semaphore_take.lua */
inline run_take()
{
    if
    :: record[n] == REC_TAKEN -> copy_answer[c] = DID
    :: record[n] != REC_TAKEN && (record[n] != REC_NONE || TOO_LATE(n)) ->
        copy_answer[c] = REFUSED
    :: record[n] == REC_NONE && !TOO_LATE(n) && available == 0 ->
        copy_answer[c] = TOO_FEW
    :: record[n] == REC_NONE && !TOO_LATE(n) && available > 0 ->
        assert(did[n] == 0);    /* once */
        assert(!settled[n]);    /* and not when nobody wants it any more */
        available--;
        did[n] = 1;
#ifndef M_NO_RECORD
        keep(REC_TAKEN);
#endif
        copy_answer[c] = DID
    fi
}

/* semaphore_change.lua: a release, or a set. */
inline run_change()
{
    if
    :: record[n] == REC_DONE -> copy_answer[c] = DID
    :: record[n] == REC_FENCED || (record[n] == REC_NONE && TOO_LATE(n)) ->
        copy_answer[c] = REFUSED
    :: record[n] == REC_NONE && !TOO_LATE(n) ->
#ifdef SETS
        if
        :: exists -> copy_answer[c] = TOO_FEW
        :: else ->
            assert(did[n] == 0 && !settled[n]);
            exists = true;
            did[n] = 1;
            keep(REC_DONE);
            copy_answer[c] = DID
        fi
#else
        assert(did[n] == 0);
        assert(!settled[n]);
        available++;
        assert(available <= CAPACITY);
        did[n] = 1;
        keep(REC_DONE);
        copy_answer[c] = DID
#endif
    fi
}

/* semaphore_undo.lua */
inline run_undo()
{
#ifdef M_UNDO_GIVES_ALWAYS
    found = 1;
#else
    found = (record[n] == REC_TAKEN -> 1 : 0);
#endif
#ifdef M_NO_TOMBSTONE
    record[n] = REC_NONE;
#else
    keep(REC_UNDONE);
#endif
    if
#ifndef M_UNDO_KEEPS
    :: found == 1 ->
        available++;
        assert(available <= CAPACITY);
        did[n] = 0
#endif
    :: found == 0 && now >= not_after[n] + WINDOW ->
        did[n] = 0                      /* lost: it came too late to know */
    :: else
    fi;
    copy_answer[c] = DID
}

/* count_fence.lua */
inline run_fence()
{
    if
    :: record[n] == REC_DONE -> copy_answer[c] = DID
    :: else ->
#ifndef M_FENCE_NO_TOMBSTONE
        if
        :: UNTIL(n) > now -> record[n] = REC_FENCED; record_until[n] = UNTIL(n)
        :: else
        fi;
#endif
        copy_answer[c] = REFUSED
    fi
}

inline run_copy()
{
    n = copy_n[c];
    if
    :: copy_old[c] != NONE -> record[copy_old[c]] = REC_NONE
    :: else
    fi;
    if
    :: copy_request[c] == HFI_TAKE -> run_take()
    :: copy_request[c] == HFI_CHANGE -> run_change()
    :: copy_request[c] == HFI_UNDO -> run_undo()
    :: copy_request[c] == HFI_FENCE -> run_fence()
    fi;
    copy_time[c] = now
}

/* ---- the client: counts.c, ending.c, records.c ---- */

inline free_copy(which)
{
    copy_state[which] = FREE;
    copy_n[which] = 0;
    copy_request[which] = 0;
    copy_answer[which] = 0;
    copy_time[which] = 0;
    copy_user[which] = 0;
    copy_old[which] = NONE
}

/* c: a copy that is free; NONE: there is none. */
inline find_copy()
{
    c = NONE;
    for (i : 0 .. COPIES - 1) {
        if
        :: copy_state[i] == FREE && c == NONE -> c = i
        :: else
        fi
    };
    i = 0
}

/* One that is free is left for others. */
inline send_copy(who, what, which)
{
    copy_state[c] = SENT;
    copy_request[c] = what;
    copy_n[c] = which;
    copy_user[c] = who;
    copy_old[c] = NONE;
    if
    :: what == HFI_TAKE || what == HFI_CHANGE ->
        unanswered[which]++;
        copy_old[c] = old[who]; /* hfi_records_send */
        old[who] = NONE
    :: else
    fi
}

/* drop_id: the request is over, or goes on with another id. */
inline drop_id(who, recorded, must_end)
{
    n = op_n[who];
    op_n[who] = NONE;
    op_copy[who] = NONE;
    if
#ifdef M_OLD_UNCLEAN
    :: recorded -> old[who] = n
#else
    :: recorded && CLEAN(n) -> old[who] = n     /* hfi_records_keep */
#endif
    :: else
    fi;
    if
#ifndef M_NO_END
    :: must_end -> end_of[n] = END_PENDING
#endif
    :: else -> settled[n] = true
    fi
}

/* It was told that nothing was done, and that nothing will be. */
inline told_not(who)
{
    assert(did[n] == 0);
    at[who] = OVER
}

inline give_up_take(who)
{
    found = (CLEAN(op_n[who]) -> 0 : 1);
    drop_id(who, false, found == 1);
    if
    :: end_of[n] == END_NONE -> told_not(who)
    :: else -> at[who] = OVER           /* HF_UNKNOWN: it is being undone */
    fi
}

inline give_up_change(who)
{
    if
    :: at[who] == CHANGING && !CLEAN(op_n[who]) ->
#ifdef M_NO_FENCE
        drop_id(who, false, false);
        told_not(who)
#else
        at[who] = FENCING;
        op_copy[who] = NONE
#endif
    :: at[who] == CHANGING && CLEAN(op_n[who]) ->
        drop_id(who, false, false);
        told_not(who)
    :: else                             /* a fence: HF_UNKNOWN */
        -> op_n[who] = NONE; op_copy[who] = NONE; at[who] = OVER
    fi
}

inline answer_take()
{
    if
    :: copy_answer[c] == DID ->
        held[u] = op_n[u];
        drop_id(u, true, false);
        at[u] = HOLDING
    :: copy_answer[c] == TOO_FEW ->
        op_copy[u] = NONE;
        if
#ifdef M_NO_ANSWERS_ALL
        :: true ->
#else
        :: CLEAN(op_n[u]) ->
#endif
            drop_id(u, false, false);
#ifdef WAITS
            assert(did[n] == 0);
            at[u] = NEW
#else
            told_not(u)
#endif
#ifndef M_NO_ANSWERS_ALL
        :: else                         /* it asks again under this id */
#endif
        fi
    :: copy_answer[c] == REFUSED ->
        found = (SETTLES_ALL(op_n[u], copy_time[c]) -> 1 : 0);
        drop_id(u, false, false);
        if
        :: found == 1 -> assert(did[n] == 0); at[u] = NEW
        :: else -> at[u] = OVER         /* HF_UNKNOWN */
        fi
    fi
}

inline answer_change()
{
    if
    :: copy_answer[c] == DID ->
        drop_id(u, copy_request[c] == HFI_CHANGE, false);
        assert(did[n] == 1);
        at[u] = OVER
    :: copy_answer[c] == TOO_FEW ->     /* a set, and there is one already */
        op_copy[u] = NONE;
        if
#ifdef M_NO_BELIEVED
        :: true ->
#else
        :: CLEAN(op_n[u]) ->
#endif
            drop_id(u, false, false);
            told_not(u)
#ifndef M_NO_BELIEVED
        :: else -> looked[u] = true; at[u] = FENCING
#endif
        fi
    :: copy_answer[c] == REFUSED ->
        found = (SETTLES_ALL(op_n[u], copy_time[c]) -> 1 : 0);
        drop_id(u, false, false);
        if
        :: found == 0 -> at[u] = OVER   /* HF_UNKNOWN */
        :: found == 1 && copy_request[c] == HFI_FENCE -> told_not(u)
        :: found == 1 && copy_request[c] == HFI_CHANGE ->
            assert(did[n] == 0);
            at[u] = (FIRST_STEP == CHANGING -> NEW : HOLDING)
        fi
    fi
}

inline read_answer()
{
    n = copy_n[c];
    u = copy_user[c];
    if
    :: copy_request[c] == HFI_TAKE || copy_request[c] == HFI_CHANGE ->
        unanswered[n]--
    :: else
    fi;
    if
    :: copy_request[c] == HFI_UNDO ->
        end_of[n] = END_FINAL;          /* it left a tombstone */
        settled[n] = true;
        assert(did[n] == 0)
    :: copy_request[c] != HFI_UNDO && op_copy[u] == c &&
       copy_request[c] == HFI_TAKE -> answer_take()
    :: copy_request[c] != HFI_UNDO && op_copy[u] == c &&
       copy_request[c] != HFI_TAKE -> answer_change()
    :: else                             /* given up meanwhile */
    fi;
    free_copy(c)
}

/* Its link is gone, with the copy, or with its answer only. */
inline copy_gone()
{
    n = copy_n[c];
    u = copy_user[c];
    if
    :: op_copy[u] == c && copy_request[c] != HFI_UNDO ->
        op_copy[u] = NONE;
#ifdef M_FRESH_AFTER_GONE
        if
        :: copy_request[c] == HFI_CHANGE ->
            op_n[u] = NONE;
            at[u] = (FIRST_STEP == CHANGING -> NEW : HOLDING)
        :: else
        fi
#endif
    :: else
    fi;
    if
    :: copy_request[c] == HFI_UNDO && end_of[n] == END_SENT ->
#ifdef M_UNDO_NOT_REPEATED
        end_of[n] = END_FINAL;
        settled[n] = true
#else
        end_of[n] = END_PENDING
#endif
    :: else
    fi;
    if
    :: copy_state[c] == SENT -> copy_state[c] = GONE
    :: else -> free_copy(c)
    fi;
    gones++
}

/* ---- the world ---- */

inline time_passes()
{
    now++;
    for (i : 0 .. NUMBERS - 1) {
        if
        :: record[i] != REC_NONE && record_until[i] <= now ->
            record[i] = REC_NONE; record_until[i] = 0
        :: else
        fi
    };
    i = 0
}

#define BUSY(u)  (at[u] == TAKING || at[u] == CHANGING || at[u] == FENCING)

/* What is held was taken, and not given back behind its user's back. */
inline check()
{
    for (i : 0 .. USERS - 1) {
        assert(at[i] != HOLDING || did[held[i]] == 1)
    };
    i = 0;
    n = 0; c = 0; u = 0; found = 0
}

inline quiet()
{
    found = 1;
    for (i : 0 .. USERS - 1) {
        if
        :: at[i] != OVER -> found = 0
        :: else
        fi
    };
    for (i : 0 .. NUMBERS - 1) {
        if
        :: end_of[i] == END_PENDING || end_of[i] == END_SENT -> found = 0
        :: else
        fi;
        assert(end_of[i] != END_FINAL || did[i] == 0)
    };
    i = 0
}

init
{
    atomic {
        for (i : 0 .. COPIES - 1) { free_copy(i) };
        for (i : 0 .. USERS - 1) {
            op_n[i] = NONE; op_copy[i] = NONE; old[i] = NONE; held[i] = 0
        };
#ifdef SETS
        exists = false;
#endif
        i = 0
    };
    do
    /* A user begins a request, or goes on with it. */
    :: atomic {
        select(u : 0 .. USERS - 1);
        find_copy();
        if
        :: c == NONE
        :: c != NONE && at[u] == NEW && next_n == NUMBERS -> at[u] = OVER
        :: c != NONE && at[u] == NEW && next_n < NUMBERS ->
            op_n[u] = next_n;
            not_after[next_n] = now + LIFE;
            next_n++;
            at[u] = FIRST_STEP;
            send_copy(u, (FIRST_STEP == TAKING -> HFI_TAKE : HFI_CHANGE),
                      op_n[u]);
            op_copy[u] = c
        :: c != NONE && at[u] == HOLDING && next_n < NUMBERS ->
            op_n[u] = next_n;           /* it is given back */
            not_after[next_n] = now + LIFE;
            next_n++;
            at[u] = CHANGING;
            send_copy(u, HFI_CHANGE, op_n[u]);
            op_copy[u] = c
        :: at[u] == HOLDING && next_n == NUMBERS -> at[u] = OVER
        :: c != NONE && at[u] == TAKING && op_copy[u] == NONE ->
            send_copy(u, HFI_TAKE, op_n[u]);    /* the same id */
            op_copy[u] = c
        :: c != NONE && at[u] == CHANGING && op_copy[u] == NONE ->
            send_copy(u, HFI_CHANGE, op_n[u]);
            op_copy[u] = c
        :: c != NONE && at[u] == FENCING && op_copy[u] == NONE ->
            send_copy(u, HFI_FENCE, op_n[u]);
            op_copy[u] = c
        :: BUSY(u) && at[u] == TAKING -> give_up_take(u)
        :: BUSY(u) && at[u] != TAKING -> give_up_change(u)
        :: at[u] == OVER
        fi;
        check()
    }
    /* An undo that is due. */
    :: atomic {
        select(n : 0 .. NUMBERS - 1);
        find_copy();
        if
        :: end_of[n] == END_PENDING && c != NONE ->
            end_of[n] = END_SENT;
            send_copy(0, HFI_UNDO, n)
        :: else
        fi;
        check()
    }
    /* A copy runs, its answer is read, or its link is gone. */
    :: atomic {
        select(c : 0 .. COPIES - 1);
        if
        :: copy_state[c] == SENT -> run_copy(); copy_state[c] = RUN
        :: copy_state[c] == RUN -> read_answer()
        :: (copy_state[c] == SENT || copy_state[c] == RUN) && gones < GONES ->
            copy_gone()
        :: copy_state[c] == GONE -> run_copy(); free_copy(c)
        :: copy_state[c] == FREE
        fi;
        check()
    }
    :: atomic { now < ENDTIME -> time_passes(); check() }
#ifdef SETS
    /* Somebody deletes it. */
    :: atomic { exists && !deleted -> exists = false; deleted = true; check() }
#endif
    :: atomic {
        quiet();
        if
        :: found == 1 -> found = 0; break
        :: else -> found = 0
        fi
    }
    od
}
