/* SPDX-License-Identifier: MIT */
/*
 * Late copies: a plain lock, its numbers, and requests that run late or twice.
 *
 * The happy path: an owner takes a fresh number, its ACQUIRE is answered
 * GRANTED, the number is HELD until RELEASE is sent, which is answered FREED.
 *
 * What goes wrong here: the link of any copy is gone at any moment, and what
 * was sent runs nevertheless, at any later moment or never; answers are read
 * late; owners give up, lose their hold to its deadline or otherwise, and take
 * the next number while copies of the former are still about; leases run out on
 * the server; the client's estimate of the server's clock is wrong (SKEW).
 *
 * Each step is one event of the core or one script on the server.  Copies are
 * kept in no order at all: more than real links allow, never less.  `now' is
 * the time of everybody, a small integer; a lease is alive while now < its end.
 * The margin of a lease (clocks that run at different rates) is left out.
 *
 * Sizes (-D): FIRST and SECOND: how many numbers each of the two owners uses,
 * one after the other; ENDTIME; LEASE; WINDOW: how long a copy of an ACQUIRE may
 * run; GONES: how many copies lose their link; RENEWS: RENEW is sent;
 * TWICE: the numbers (bits) whose requests are repeated; STRANGER: a third owner
 * whose requests are all answered at once takes and leaves the lock; NESTED:
 * the first number is also entered and left again, with a level whose
 * lease is INNER.
 * Mutations (-D): see tests/model/run and docs/design/models.md.
 */

#ifndef FIRST
#define FIRST 2
#endif
#ifndef SECOND
#define SECOND 1
#endif
#ifndef ENDTIME
#define ENDTIME 4
#endif
#ifndef LEASE
#define LEASE 2
#endif
#ifndef INNER
#define INNER 1
#endif
#ifndef WINDOW
#define WINDOW 2
#endif
#ifndef GONES
#define GONES 2
#endif
#ifndef SKEW
#define SKEW 0
#endif
#ifndef RENEWS
#define RENEWS 0
#endif
#ifndef NESTED
#define NESTED 0
#endif
#ifndef TWICE
#define TWICE 1         /* the numbers (bits) whose requests are repeated */
#endif

#ifndef STRANGER
#define STRANGER 0
#endif

#define NUMBERS  (FIRST + SECOND)
#define STRANGE  NUMBERS        /* the stranger's field */
#define NOBODY   (NUMBERS + 1)
#define ONE_COPY(k) (!((TWICE >> (k)) & 1))
#define OPENS(k) ((k) == 0 || (k) == FIRST)     /* its owner's first */

/* What stands in the field on the server. */
#ifdef M_NUMBER_REUSED
#define FIELD(k) ((k) < FIRST -> 0 : FIRST)
#else
#define FIELD(k) (k)
#endif

/* A number, as its owner sees it. */
#define NUMBER_FRESH     0
#define NUMBER_TRYING    1
#define NUMBER_HELD      2
#define NUMBER_RELEASING 3
#define NUMBER_OVER      4

/* End(n). */
#define END_NONE    0
#define END_PENDING 1   /* UNDOs are sent until one is final */
#define END_FINAL   2   /* or there was nothing to do */

/* A copy. */
#define UNSENT 0
#define SENT   1        /* it will run, and its answer will be read */
#define STRAY  2        /* its link is gone; it may run at any time */
#define RAN    3        /* its answer is on the way */
#define SPENT  4        /* answered, or it ran and its answer was lost */

/* Answers. */
#define GRANTED 1
#define BUSY    2
#define REFUSED 3
#define DONE    4
#define ABSENT  5
#define FREED   6

typedef copy {
    byte at;            /* UNSENT ... SPENT */
    byte sent;          /* when */
    byte carries;       /* not_after of an ACQUIRE; the count to be */
    byte answer;        /* of an UNDO: the server's time */
    bool mark           /* ACQUIRE: ghost, its field went after it ran;
                           UNDO: clean when sent;
                           the others: ghost, none was sent since, and
                           when it ran no older one could run any more */
};

copy acquire[NUMBERS * 2];
copy release[NUMBERS * 2];
copy undo[NUMBERS * 2];
#if RENEWS
copy renew[NUMBERS];
#endif
#if NESTED
copy enter[2];          /* of the first number */
copy leave[2];
#endif

byte now = 0;

/* The server's key: one field, its count, its TTL's end. */
byte field = NOBODY;
byte count = 0;
byte expiry = 0;
byte made_by = NOBODY;  /* ghost: the number whose ACQUIRE created it */

byte state[NUMBERS];
byte end[NUMBERS];
byte deadline[NUMBERS];         /* of the outermost level */
byte last[NUMBERS];             /* the largest not_after sent */
byte unanswered[NUMBERS];       /* copies of its ACQUIRE */
bool unclean[NUMBERS];          /* ... there were when RELEASE was sent */
bool undo_answered[NUMBERS];    /* one was, and was not final */
bool freed[NUMBERS];            /* ghost: its own RELEASE or UNDO deleted it */
bool gap[NUMBERS];              /* ghost: its field went while it was HELD */
byte gones = 0;
byte strange = 0;       /* the deadline of the stranger's hold; 0: none */

#if NESTED
byte inner = 0;         /* deadline of the inner level; 0: there is none */
byte levels = 1;        /* of the first number: the owner's own count */
byte entering = 0;      /* 0 not yet, 1 asked, 2 done or not done, */
                        /* 3 left and asked, 4 answered or given up */
#define OF_LEVELS(k)  ((k) == 0 && inner > deadline[k] -> inner : deadline[k])
#define LEVELS(k)     ((k) == 0 -> levels : 1)
#else
#define OF_LEVELS(k)  deadline[k]
#define LEVELS(k)     1
#endif

#ifdef M_LEVELS_UNTIL_ANSWERED
#define BELIEVED(k)  (state[k] == NUMBER_HELD || state[k] == NUMBER_RELEASING)
#else
#define BELIEVED(k)  (state[k] == NUMBER_HELD)
#endif

/* Live locally: what its owner is told is his. */
#define LIVES(k)  (BELIEVED(k) && now < OF_LEVELS(k))

/* Invariant 1: then its field is there, outlasts the deadline, and was there
 * without interruption. */
#define KEPT(k) (!LIVES(k) || (field == FIELD(k) && made_by == (k) && \
                               expiry >= OF_LEVELS(k) && !gap[k]))
#define STRANGE_KEPT (now >= strange || field == STRANGE && expiry >= strange)
#if NUMBERS == 1
#define ALL_KEPT (STRANGE_KEPT && KEPT(0))
#elif NUMBERS == 2
#define ALL_KEPT (STRANGE_KEPT && KEPT(0) && KEPT(1))
#elif NUMBERS == 3
#define ALL_KEPT (STRANGE_KEPT && KEPT(0) && KEPT(1) && KEPT(2))
#else
#define ALL_KEPT (STRANGE_KEPT && KEPT(0) && KEPT(1) && KEPT(2) && KEPT(3))
#endif

#define CAN_RUN(c) (c.at == SENT || c.at == STRAY)

#ifdef M_NO_NOT_AFTER
#define PAST(c) false
#else
#define PAST(c) (now >= c.carries)
#endif

inline spend(c)
{
    c.at = SPENT;
    c.sent = 0;
    c.carries = 0;
    c.answer = 0;
    c.mark = false
}

inline forget(c)
{
    spend(c);
    c.at = UNSENT
}

/* Nobody waits for this ACQUIRE any more; what it answers is not looked at. */
inline only_counts(c)
{
#if defined(M_BURNED_HELD) || defined(M_BUSY_ANSWERS_ALL)
    skip
#else
    c.sent = 0;
    c.answer = 0;
    c.mark = false
#endif
}

/* ---- on the server ---- */

/* The field is gone: by a script or by its TTL. */
inline field_goes()
{
    if
    :: made_by < NUMBERS ->
        if
        :: state[made_by] == NUMBER_HELD -> gap[made_by] = true
        :: else
        fi;
        if
        :: state[made_by] == NUMBER_TRYING &&
            acquire[2 * made_by].at == RAN ->
            acquire[2 * made_by].mark = true
        :: else
        fi;
        if
        :: state[made_by] == NUMBER_TRYING &&
            acquire[2 * made_by + 1].at == RAN ->
            acquire[2 * made_by + 1].mark = true
        :: else
        fi
    :: else
    fi;
    field = NOBODY;
    made_by = NOBODY;
    count = 0;
    expiry = 0
}

inline create(k)
{
    assert(end[k] != END_FINAL);        /* invariant 2 */
    field = FIELD(k);
    made_by = k;
    count = 1
}

inline extend(length)
{
#ifdef M_TTL_SET
    expiry = now + length
#else
    if
    :: expiry < now + length -> expiry = now + length
    :: else
    fi
#endif
}

inline ran(c, what)
{
    if
    :: c.at == SENT -> c.at = RAN; c.answer = what
    :: else -> spend(c)
    fi
}

/* An answer that will only be counted is the same whatever it says. */
inline acquire_ran(c, k, what)
{
    ran(c, what);
    c.carries = 0;
    if
    :: state[k] != NUMBER_TRYING && c.at == RAN -> only_counts(c)
    :: else
    fi
}

inline run_acquire(c, k)
{
    if
    :: field != NOBODY && field != FIELD(k) -> acquire_ran(c, k, BUSY)
    :: (field == NOBODY || field == FIELD(k)) && PAST(c) -> acquire_ran(c, k, REFUSED)
    :: else ->
        if
        :: field == NOBODY -> create(k)
        :: else ->
            /* Of a field that is there the count is left alone. */
#ifdef M_ACQUIRE_RESETS
            count = 1
#endif
        fi;
        extend(LEASE);
        acquire_ran(c, k, GRANTED)
    fi
}

/* RENEW, ENTER and LEAVE: they say what the count is to be and never create. */
inline run_keep(c, k, length, others_may_run)
{
#ifdef M_KEEP_CREATES
    if
    :: field == NOBODY -> create(k)
    :: else
    fi;
#endif
    if
    :: field == FIELD(k) ->
        assert(made_by == k);   /* invariant 3 */
        count = c.carries;
        if
        :: length > 0 -> extend(length)
        :: else
        fi;
        c.mark = c.mark && !(others_may_run);
        ran(c, DONE)
    :: else ->
        ran(c, ABSENT)
    fi
}

inline run_release(c, k)
{
    if
    :: field == FIELD(k) ->
        assert(made_by == k);   /* invariant 3 */
#ifdef M_RELEASE_DECREMENTS
        count--;
        if
        :: count == 0 -> field_goes()
        :: else
        fi;
#else
        field_goes();
#endif
        if
        :: state[k] == NUMBER_RELEASING -> freed[k] = true
        :: else
        fi;
        ran(c, FREED)
    :: else ->
        ran(c, ABSENT)
    fi
}

inline run_undo(c, k)
{
    if
    :: field == FIELD(k) ->
        assert(made_by == k);   /* invariant 3 */
        if
        :: state[k] == NUMBER_RELEASING -> freed[k] = true
        :: else
        fi;
        field_goes()
    :: else
    fi;
    ran(c, now)
}

#if NESTED
#define KEEPS_UNRUN(k) ((k) == 0 && (CAN_RUN(enter[0]) + CAN_RUN(enter[1]) + \
                        CAN_RUN(leave[0]) + CAN_RUN(leave[1]) + \
                        RENEW_UNRUN(k) > 1))
#if RENEWS
#define RENEW_UNRUN(k) CAN_RUN(renew[k])
#else
#define RENEW_UNRUN(k) 0
#endif
#else
#define KEEPS_UNRUN(k) false
#endif

#if STRANGER
proctype stranger()
{
end_stranger:
    do
    :: d_step { field == NOBODY && strange == 0 ->
            field = STRANGE;
            made_by = STRANGE;
            expiry = now + LEASE;
            strange = expiry;
            assert(ALL_KEPT) }
    :: d_step { strange > 0 ->
            strange = 0;
            if
            :: field == STRANGE -> field_goes()
            :: else
            fi }
    od
}
#endif

proctype clock()
{
end_clock:
    do
    :: d_step { now < ENDTIME ->
            now++;
            if
            :: field != NOBODY && now >= expiry -> field_goes()
            :: else
            fi;
            assert(ALL_KEPT) }
    od
}

/* ---- in the client ---- */

hidden byte granted, newest;    /* for the length of one step */

/* A request is sent again when its copy's link is gone; that copy may still
 * run, or its answer is lost.  (A link that goes without a repeat is one whose
 * answer is never read, which every run may choose.) */
#define HAS_LINK(c) (c.at == SENT || c.at == RAN)

#define MAY_REPEAT(c, before) (c.at == UNSENT && before.at != UNSENT && \
    (before.at == SPENT || gones > 0))

inline goes(c)
{
    if
    :: c.at == SENT -> c.at = STRAY; gones--
    :: c.at == RAN -> spend(c); gones--
    :: else
    fi
}

inline send_acquire(c, k, skew)
{
    c.at = SENT;
    c.sent = now;
    c.carries = now + WINDOW + skew;
#ifdef M_LAST_NEWEST
    last[k] = c.carries;
#else
    if
    :: last[k] < c.carries -> last[k] = c.carries
    :: else
    fi;
#endif
    unanswered[k]++
}

/* End(n), or nothing to do.  Either way it is burned. */
inline end_begin(k)
{
    only_counts(acquire[2 * k]);
    only_counts(acquire[2 * k + 1]);
    state[k] = NUMBER_OVER;
    end[k] = END_PENDING;
    deadline[k] = 0;
    unclean[k] = false;
    freed[k] = false;
    gap[k] = false
}

/* No copy of it can create a field any more; then none of them can do anything,
 * and to let them run (KEEP_ALL) only makes more states. */
inline drop(c, creates)
{
    assert(!(creates) || !CAN_RUN(c) || PAST(c));       /* invariant 2 */
#ifndef KEEP_ALL
    spend(c)
#endif
}

inline end_final(k)
{
    state[k] = NUMBER_OVER;
    end[k] = END_FINAL;
    assert(field == NOBODY || made_by != k);    /* invariant 2 */
    drop(acquire[2 * k], true);
    drop(acquire[2 * k + 1], true);
    drop(release[2 * k], false);
    drop(release[2 * k + 1], false);
    drop(undo[2 * k], false);
    drop(undo[2 * k + 1], false);
#if RENEWS
    drop(renew[k], false);
#endif
#if NESTED
    if
    :: k == 0 ->
        drop(enter[0], false);
        drop(enter[1], false);
        drop(leave[0], false);
        drop(leave[1], false);
        inner = 0;
        levels = 1;
        entering = 0
    :: else
    fi;
#endif
    deadline[k] = 0;
    unclean[k] = false;
    undo_answered[k] = false;
    freed[k] = false;
    gap[k] = false;
    last[k] = 0;
    unanswered[k] = 0
}

inline lose(k)
{
#ifdef M_NO_END_LOST
    end_final(k)
#else
    end_begin(k)
#endif
}

inline on_granted(c, k)
{
    if
    :: now < c.sent + LEASE ->
        assert(!c.mark);        /* invariant 1: without interruption */
        state[k] = NUMBER_HELD;
        granted = c.sent;
        newest = (acquire[2 * k + 1].at != UNSENT ->
                  acquire[2 * k + 1].sent : c.sent);
        only_counts(acquire[2 * k]);
        only_counts(acquire[2 * k + 1]);
#ifdef M_DEADLINE_FROM_READING
        deadline[k] = now + LEASE
#else
#ifdef M_DEADLINE_NEWEST
        deadline[k] = newest + LEASE
#else
        deadline[k] = granted + LEASE
#endif
#endif
    :: else ->
        /* Past its own deadline: undone, not returned. */
#ifdef M_NO_END_LATE_GRANT
        end_final(k)
#else
        end_begin(k)
#endif
    fi
}

inline answer_acquire(c, k)
{
    unanswered[k]--;
    if
#ifdef M_BURNED_HELD
    :: (state[k] == NUMBER_TRYING || state[k] == NUMBER_OVER) &&
       c.answer == GRANTED -> on_granted(c, k)
#else
    :: state[k] == NUMBER_TRYING && c.answer == GRANTED -> on_granted(c, k)
#endif
#ifdef M_BUSY_ANSWERS_ALL
    :: c.answer == BUSY -> unanswered[k] = 0
#endif
    :: else             /* it only answers its copy */
    fi;
    spend(c)
}

inline give_up(k)
{
    if
    :: unanswered[k] == 0 ->
        end_final(k)            /* told busy or timeout: nothing to do */
    :: else ->
#ifdef M_NO_END_GIVE_UP
        end_final(k)
#else
        end_begin(k)            /* told unknown */
#endif
    fi
}

inline start_release(k)
{
    state[k] = NUMBER_RELEASING;
    unclean[k] = (unanswered[k] > 0);
    release[2 * k].at = SENT
#ifdef M_UNDO_OVERTAKES
    ;
    if
    :: unclean[k] -> undo[2 * k].at = SENT
    :: else
    fi
#endif
}

inline released(k)
{
    if
#ifndef M_NO_END_UNCLEAN
    :: unclean[k] -> end_begin(k)
#endif
    :: else -> end_final(k)
    fi
}

/* The earlier copy of a RELEASE, sent and never answered. */
#define EARLIER_UNANSWERED(c, k) \
    (c.at == RAN && release[2 * k + 1].at != UNSENT && \
     release[2 * k].at != RAN)

inline answer_release(c, k, earlier_unanswered)
{
    if
    :: c.answer == FREED        /* told done */
    :: c.answer == ABSENT && (earlier_unanswered)       /* told done */
    :: else ->
        assert(!freed[k])       /* told gone: invariant 5 */
    fi;
    spend(c);
    released(k)
}

inline answer_undo(c, k)
{
    if
#ifdef M_ANY_UNDO_FINAL
    :: true -> forget(c); end_final(k)
#else
#ifdef M_CLEAN_WHEN_READ
    :: unanswered[k] == 0 || c.answer >= last[k] -> forget(c); end_final(k)
#else
    :: c.mark || c.answer >= last[k] -> forget(c); end_final(k)
#endif
    :: else -> forget(c); undo_answered[k] = true
#endif
    fi
}

#define UNDO_IN_FLIGHT(k) (HAS_LINK(undo[2 * k]) || HAS_LINK(undo[2 * k + 1]))

/* At once; after one was answered and was not final, when the number is clean
 * or no copy can run any more. */
#define UNDO_DUE(k) (end[k] == END_PENDING && !UNDO_IN_FLIGHT(k) && \
    (!undo_answered[k] || unanswered[k] == 0 || now >= last[k]))

/* Its link is gone; one slot is left for a copy that follows it. */
#define UNDO_MAY_GO(k, i, j) (end[k] == END_PENDING && gones > 0 && \
    !ONE_COPY(k) && HAS_LINK(undo[2 * k + i]) && undo[2 * k + j].at == UNSENT)

inline undo_goes(c, k)
{
    gones--;
#ifdef M_UNDO_NOT_REPEATED
    end[k] = END_NONE;
#endif
    if
    :: c.at == SENT -> c.at = STRAY
    :: else -> forget(c)
    fi
}

inline send_undo(c, k)
{
    c.at = SENT;
    c.mark = (unanswered[k] == 0)
}

/* While held, an answer that is read after the deadline is ignored. */
#ifdef M_AFTER_DEADLINE
#define IN_TIME(k) true
#else
#define IN_TIME(k) (now < OF_LEVELS(k))
#endif

inline renewed(c, k)
{
    if
    :: deadline[k] < c.sent + LEASE -> deadline[k] = c.sent + LEASE
    :: else
    fi
}

inline answer_renew(c, k)
{
    if
    :: state[k] == NUMBER_HELD && IN_TIME(k) ->
        if
        :: c.answer == DONE ->
            renewed(c, k);
            assert(ALL_KEPT);
            assert(!c.mark || !(k == 0) || count == LEVELS(k)); /* 4 */
            spend(c)
        :: else ->
            spend(c);
            lose(k)
        fi
    :: else -> spend(c)
    fi
}

#if NESTED
/* A copy that was sent later may change the count again. */
inline unmark_keeps()
{
#if RENEWS
    renew[0].mark = false;
#endif
    enter[0].mark = false;
    enter[1].mark = false;
    leave[0].mark = false;
    leave[1].mark = false
}

inline send_keep(c, what)
{
    unmark_keeps();
    c.mark = true;
    c.at = SENT;
    c.sent = now;
    c.carries = what
}

inline answer_enter(c)
{
    if
    :: state[0] == NUMBER_HELD && entering == 1 && IN_TIME(0) ->
        if
        :: c.answer == DONE && now < c.sent + INNER ->
            inner = c.sent + INNER;
            levels = 2;
            entering = 2;
            assert(!c.mark || count == levels); /* invariant 4 */
            spend(c)
        :: c.answer == DONE && now >= c.sent + INNER ->
            entering = 2;       /* told not done */
            spend(c)
        :: else ->
            spend(c);
            lose(0)
        fi
    :: else -> spend(c)
    fi
}

/* The level is gone when it is asked; what remains decides. */
inline start_leave()
{
    inner = 0;
    levels = 1;
    entering = 3;
    if
    :: now >= deadline[0] -> lose(0)
    :: else -> send_keep(leave[0], 1)
    fi
}

inline answer_leave(c)
{
    if
    :: state[0] == NUMBER_HELD && IN_TIME(0) ->
        if
        :: c.answer == DONE ->
            if
            :: RENEWS && entering == 3 -> renewed(c, 0)
            :: else
            fi;
            entering = 4;
            assert(!c.mark || count == levels); /* invariant 4 */
            spend(c)
        :: else ->
            spend(c);
            lose(0)
        fi
    :: else -> spend(c)
    fi
}

/* A RENEW that is sent now cannot know what the count will be: it may leave
 * the mirror wrong until the next one. */
#define ENTER_UNDER_WAY(k) ((k) == 0 && entering == 1)
#define BETWEEN_CALLS(k) ((k) > 0 || entering != 1 && entering != 3)
#else
#define ENTER_UNDER_WAY(k) false
#define BETWEEN_CALLS(k) true
#endif

proctype number(byte k)
{
    d_step { OPENS(k) || state[k - 1] == NUMBER_OVER ->
        if
        :: now + WINDOW < ENDTIME ->
            state[k] = NUMBER_TRYING;
            send_acquire(acquire[2 * k], k, 0)
        :: else ->
            end_final(k)        /* no time is left in this world */
        fi
    };

end_number:
    do
    /* On the server: it runs whatever arrives, whenever. */
    :: d_step { CAN_RUN(acquire[2 * k]) ->
            run_acquire(acquire[2 * k], k);
            assert(ALL_KEPT) }
    :: d_step { CAN_RUN(acquire[2 * k + 1]) ->
            run_acquire(acquire[2 * k + 1], k);
            assert(ALL_KEPT) }
    :: d_step { CAN_RUN(release[2 * k]) ->
            run_release(release[2 * k], k);
            assert(ALL_KEPT) }
    :: d_step { CAN_RUN(release[2 * k + 1]) ->
            run_release(release[2 * k + 1], k);
            assert(ALL_KEPT) }
    :: d_step { CAN_RUN(undo[2 * k]) ->
            run_undo(undo[2 * k], k);
            if
            :: undo[2 * k].at == SPENT -> forget(undo[2 * k])
            :: else
            fi;
            assert(ALL_KEPT) }
    :: d_step { CAN_RUN(undo[2 * k + 1]) ->
            run_undo(undo[2 * k + 1], k);
            if
            :: undo[2 * k + 1].at == SPENT -> forget(undo[2 * k + 1])
            :: else
            fi;
            assert(ALL_KEPT) }
#if RENEWS
    :: d_step { CAN_RUN(renew[k]) ->
            run_keep(renew[k], k, LEASE, KEEPS_UNRUN(k));
            assert(ALL_KEPT) }
#endif
#if NESTED
    :: d_step { k == 0 && CAN_RUN(enter[0]) ->
            run_keep(enter[0], 0, INNER, KEEPS_UNRUN(0));
            assert(ALL_KEPT) }
    :: d_step { k == 0 && CAN_RUN(enter[1]) ->
            run_keep(enter[1], 0, INNER, KEEPS_UNRUN(0));
            assert(ALL_KEPT) }
    :: d_step { k == 0 && CAN_RUN(leave[0]) ->
            run_keep(leave[0], 0, (RENEWS -> LEASE : 0), KEEPS_UNRUN(0));
            assert(ALL_KEPT) }
    :: d_step { k == 0 && CAN_RUN(leave[1]) ->
            run_keep(leave[1], 0, (RENEWS -> LEASE : 0), KEEPS_UNRUN(0));
            assert(ALL_KEPT) }
#endif
    /* Acquiring. */
    :: d_step { state[k] == NUMBER_TRYING && !ONE_COPY(k) &&
        now + WINDOW < ENDTIME &&
        MAY_REPEAT(acquire[2 * k + 1], acquire[2 * k]) ->
            goes(acquire[2 * k]);
            send_acquire(acquire[2 * k + 1], k, 0) }
    /* ... or because it takes so long: both may be answered. */
    :: d_step { state[k] == NUMBER_TRYING && !ONE_COPY(k) &&
        now + WINDOW < ENDTIME && HAS_LINK(acquire[2 * k]) &&
        acquire[2 * k + 1].at == UNSENT ->
            send_acquire(acquire[2 * k + 1], k, 0) }
#if SKEW
    /* The estimate of the server's clock was too small when this was sent. */
    :: d_step { state[k] == NUMBER_TRYING && !ONE_COPY(k) &&
        now + WINDOW - SKEW < ENDTIME &&
        MAY_REPEAT(acquire[2 * k + 1], acquire[2 * k]) ->
            goes(acquire[2 * k]);
            send_acquire(acquire[2 * k + 1], k, -SKEW) }
#endif
    :: d_step { end[k] != END_FINAL && acquire[2 * k].at == RAN ->
            answer_acquire(acquire[2 * k], k);
            assert(ALL_KEPT) }
    :: d_step { end[k] != END_FINAL && acquire[2 * k + 1].at == RAN ->
            answer_acquire(acquire[2 * k + 1], k);
            assert(ALL_KEPT) }
    :: d_step { state[k] == NUMBER_TRYING -> give_up(k) }

    /* Held. */
#if RENEWS
    :: d_step { state[k] == NUMBER_HELD && now < OF_LEVELS(k) &&
        renew[k].at == UNSENT ->
#if NESTED
            unmark_keeps();
#endif
            renew[k].mark = !ENTER_UNDER_WAY(k);
            renew[k].at = SENT;
            renew[k].sent = now;
            renew[k].carries = LEVELS(k) }
    :: d_step { renew[k].at == RAN ->
            answer_renew(renew[k], k);
            assert(ALL_KEPT) }
#endif
#if NESTED
    :: d_step { k == 0 && state[0] == NUMBER_HELD && IN_TIME(0) &&
        entering == 0 ->
            entering = 1;
            send_keep(enter[0], 2) }
    :: d_step { k == 0 && state[0] == NUMBER_HELD && IN_TIME(0) &&
        entering == 1 && MAY_REPEAT(enter[1], enter[0]) ->
            goes(enter[0]);
            send_keep(enter[1], 2) }
    :: d_step { k == 0 && enter[0].at == RAN ->
            answer_enter(enter[0]);
            assert(ALL_KEPT) }
    :: d_step { k == 0 && enter[1].at == RAN ->
            answer_enter(enter[1]);
            assert(ALL_KEPT) }
    :: d_step { k == 0 && state[0] == NUMBER_HELD && entering == 1 ->
            entering = 2 }      /* given up: not done */
    :: d_step { k == 0 && state[0] == NUMBER_HELD && IN_TIME(0) &&
        entering == 2 && levels == 2 ->
            start_leave();
            assert(ALL_KEPT) }
    :: d_step { k == 0 && state[0] == NUMBER_HELD && IN_TIME(0) &&
        entering == 3 && MAY_REPEAT(leave[1], leave[0]) ->
            goes(leave[0]);
            send_keep(leave[1], 1) }
    :: d_step { k == 0 && leave[0].at == RAN ->
            answer_leave(leave[0]);
            assert(ALL_KEPT) }
    :: d_step { k == 0 && leave[1].at == RAN ->
            answer_leave(leave[1]);
            assert(ALL_KEPT) }
    :: d_step { k == 0 && state[0] == NUMBER_HELD && entering == 3 ->
            entering = 4 }      /* given up: maybe, counts as done */
#endif
    :: d_step { state[k] == NUMBER_HELD && IN_TIME(k) && BETWEEN_CALLS(k) &&
        LEVELS(k) == 1 ->
            start_release(k) }
    :: d_step { state[k] == NUMBER_HELD -> lose(k) }    /* for any reason */

    /* Releasing. */
    :: d_step { state[k] == NUMBER_RELEASING &&
        !ONE_COPY(k) && release[2 * k].at != SPENT &&
        MAY_REPEAT(release[2 * k + 1], release[2 * k]) ->
            goes(release[2 * k]);
            release[2 * k + 1].at = SENT }
    :: d_step { state[k] == NUMBER_RELEASING && release[2 * k].at == RAN ->
            answer_release(release[2 * k], k, false);
            assert(ALL_KEPT) }
    :: d_step { state[k] == NUMBER_RELEASING && release[2 * k + 1].at == RAN ->
#ifdef M_ABSENT_GONE
            answer_release(release[2 * k + 1], k, false);
#else
            /* A second copy is sent only when the first went unanswered. */
            answer_release(release[2 * k + 1], k, true);
#endif
            assert(ALL_KEPT) }
    :: d_step { state[k] == NUMBER_RELEASING ->         /* told maybe */
#ifdef M_NO_END_MAYBE
            end_final(k)
#else
            end_begin(k)
#endif
        }

    /* Ending. */
    :: d_step { UNDO_DUE(k) && undo[2 * k].at == UNSENT ->
            send_undo(undo[2 * k], k) }
    :: d_step { UNDO_DUE(k) && undo[2 * k].at != UNSENT &&
        undo[2 * k + 1].at == UNSENT ->
            send_undo(undo[2 * k + 1], k) }
    :: d_step { UNDO_MAY_GO(k, 0, 1) -> undo_goes(undo[2 * k], k) }
    :: d_step { UNDO_MAY_GO(k, 1, 0) -> undo_goes(undo[2 * k + 1], k) }
    :: d_step { end[k] == END_PENDING && undo[2 * k].at == RAN ->
            answer_undo(undo[2 * k], k) }
    :: d_step { end[k] == END_PENDING && undo[2 * k + 1].at == RAN ->
            answer_undo(undo[2 * k + 1], k) }
    od
}

#define OVER(k) (end[k] == END_FINAL)
#if NUMBERS == 1
#define ALL_ENDED OVER(0)
#elif NUMBERS == 2
#define ALL_ENDED (OVER(0) && OVER(1))
#elif NUMBERS == 3
#define ALL_ENDED (OVER(0) && OVER(1) && OVER(2))
#else
#define ALL_ENDED (OVER(0) && OVER(1) && OVER(2) && OVER(3))
#endif

init
{
    byte i;

    atomic {
        gones = GONES;
        run clock();
#if STRANGER
        run stranger();
#endif
        i = 0;
        do
        :: i < NUMBERS ->
            run number(i);
            i++
        :: else -> break
        od;
        i = 0
    };
    /* Every End ends; else SPIN reports an invalid end state. */
    ALL_ENDED
}
