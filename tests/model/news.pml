/* SPDX-License-Identifier: MIT */
/*
 * Who reads the messages: a model of the PUBSUB link of one client.
 *
 * The happy path: a thread drives the MAIN link and waits for a lock, and no
 * other call counts on messages.  It takes the PUBSUB link too, writes its
 * SUBSCRIBE, polls both, and reads the message itself.  When it leaves, or
 * another call begins to count on messages, the link goes back to the keeper,
 * also while the thread sleeps in poll.
 *
 * What goes wrong here: threads come and leave at any moment; the thread that
 * has the link is stopped in poll for ever (STOP), which must delay nobody
 * else; the link dies at any moment, with messages on the way.
 *
 * The client's mutex is not a variable: each `atomic' block below that is
 * marked LOCKED is one critical section.  Writing, polling and reading are
 * steps of their own, between which everybody else can run.  The MAIN link is
 * not modelled: thread 0 drives it while it waits, thread 1 never does.  A
 * message ends the wait that it concerns, as if its attempt were granted.
 *
 * Sizes (-D): ROUNDS waits of each thread, DEATHS of the link, ENDS of waits
 * for another reason than a message, STOP, LOOKS_AROUND (poll ends by itself).
 * Mutations (-D): see tests/model/run and docs/design/models.md.
 */

#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef STOP
#define STOP 0
#endif
#ifndef ENDS
#define ENDS 1
#endif

#define THREADS  2
#define MESSAGES 4
#define KEEPER   THREADS

bool up = true;
byte driver = KEEPER;           /* of the PUBSUB link */
bool in_use = false;            /* the driver writes or reads it, unlocked */
byte touching = 0;              /* ghost: so many are in a system call on it */

/* Thread 0, which drives MAIN, in poll; and what wakes it there. */
bool asleep = false;
bool wake = false;
bool keeper_wake = false;
bool keeper_asleep = false;
bool keeper_polls = false;

/* A thread waits for its name, and has heard. */
bool waits[THREADS];
bool heard[THREADS];
bool output[THREADS];           /* its SUBSCRIBE is not yet written */
bool subscribed[THREADS];       /* the server knows it */
bool ping = false;              /* not yet written */
bool pinged = false;

/* The socket. */
chan messages = [MESSAGES] of { byte };
bool dead = false;
byte deaths = 0;
byte ends = 0;
bool stopped = false;
byte left = 0;                  /* threads that are through with their waits */

#define READABLE  (nempty(messages) || dead)
#define OUTPUT    (output[0] || output[1] || ping)
#ifdef M_LEAVES_WITH_IT
#define ALONE     (waits[0] && !waits[1])
#else
#define ALONE     (waits[0] && !heard[0] && !waits[1])
#endif

#ifdef M_TAKEN_IN_USE
#define MAY_CHANGE true
#else
#define MAY_CHANGE !in_use
#endif

/* LOCKED.  hfi_news_choose_driver: who is to read the messages? */
inline choose()
{
    if
    :: up && ALONE && driver == KEEPER && !asleep && MAY_CHANGE ->
        driver = 0;
        if
        :: keeper_asleep && keeper_polls -> keeper_wake = true
        :: else
        fi
#ifdef M_TAKEN_ASLEEP
    :: up && ALONE && driver == KEEPER && asleep && MAY_CHANGE ->
        driver = 0
#endif
#ifndef M_NOT_GIVEN_BACK
    :: up && !ALONE && driver == 0 && MAY_CHANGE ->
        driver = KEEPER;
#ifndef M_KEEPER_NOT_TOLD
        keeper_wake = true
#endif
#endif
    :: else
    fi;
    if
    :: up && OUTPUT && driver == KEEPER -> keeper_wake = true
    :: up && OUTPUT && driver == 0 && asleep ->
#ifndef M_OUTPUT_NO_WAKE
        wake = true
#endif
    :: else
    fi
}

/* LOCKED.  Somebody's wait has its news. */
inline tell(t)
{
    if
    :: waits[t] && !heard[t] ->
        heard[t] = true;
        if
        :: t == 0 && asleep -> wake = true
        :: else
        fi
    :: else
    fi
}

/* LOCKED.  The driver saw the end of the link; the keeper makes a new one. */
inline tear_down()
{
    assert(touching == 0);
    up = false;
    driver = KEEPER;
    subscribed[0] = false;
    subscribed[1] = false;
    output[0] = false;
    output[1] = false;
    ping = false;
    do
    :: nempty(messages) -> messages ? m
    :: empty(messages) -> break
    od;
    m = 0;
    dead = false;
    keeper_wake = true
}

/* Without the mutex: write what there is, or read it. */
inline write_output()
{
    touching++;
    assert(touching == 1);
    subscribed[0] = subscribed[0] || output[0];
    subscribed[1] = subscribed[1] || output[1];
    output[0] = false;
    output[1] = false;
    ping = false
}

/* LOCKED, after reading. */
inline deliver()
{
    in_use = false;
    do
    :: nempty(messages) -> messages ? m; tell(m)
    :: empty(messages) -> break
    od;
    m = 0;
    if
    :: dead -> tear_down()
    :: else
    fi;
    choose()
}

/* LOCKED.  A wait begins, and counts on messages. */
inline begin(t)
{
    waits[t] = true;
    heard[t] = false;
    output[t] = up;
    choose()
}

/* LOCKED.  It ends: it has its lock, or its time is over. */
inline leave(t)
{
    waits[t] = false;
    heard[t] = false;
    output[t] = false;
    subscribed[t] = false
}

/* It drives MAIN while it waits. */
proctype driving_thread()
{
    byte m, r;
    bool polls, ready;

begin_wait:
    atomic { begin(0) };        /* LOCKED */
turn:
    atomic {                    /* LOCKED: write first */
        if
        :: driver == 0 && OUTPUT -> in_use = true; goto write
        :: else -> goto look
        fi
    };
write:
    atomic { write_output() };
    atomic { touching--; in_use = false; choose() };    /* LOCKED */
look:
    atomic {                    /* LOCKED: before it sleeps */
        if
        :: heard[0] -> goto out
        :: else
        fi;
        if
        :: driver == 0 && OUTPUT -> goto turn
        :: else
        fi;
        polls = (driver == 0);
        asleep = true
    };
    if                          /* poll(2) */
    :: atomic { wake || (polls && READABLE) ->
            wake = false;
            ready = polls && READABLE }
    :: atomic { STOP && !stopped && r + 1 == ROUNDS ->
            stopped = true;
            goto end_stopped }
    :: polls && driver == 0 && OUTPUT && !wake ->
        assert(driver != 0 || wake)     /* it sleeps on output */
#ifdef LOOKS_AROUND
    :: true -> ready = false    /* after POLL_MS */
#endif
    fi;
    atomic {                    /* LOCKED */
        asleep = false;
        choose();
        if
        :: heard[0] -> goto out
#ifdef M_NOT_LOOKED
        :: !heard[0] && ready -> in_use = true
#else
        :: !heard[0] && ready && driver == 0 -> in_use = true
        :: !heard[0] && ready && driver != 0 -> goto turn
#endif
        :: !heard[0] && !ready -> goto turn
        fi
    };
    atomic { touching++; assert(touching == 1) };       /* read(2) */
    atomic { touching--; deliver(); goto turn };        /* LOCKED */
out:
    atomic {                    /* LOCKED */
        polls = false;
        ready = false;
        leave(0);
        r++;
        if
        :: r < ROUNDS -> goto begin_wait
        :: else -> left++
        fi;
        goto end_over
    };
end_stopped:
    false;                      /* it never goes on */
end_over:
    skip
}

/* It is parked, because another thread drives MAIN. */
proctype parked_thread()
{
    byte r;

    do
    :: atomic { r < ROUNDS -> begin(1) };       /* LOCKED */
        atomic { heard[1] -> leave(1); choose(); r++ }    /* LOCKED */
    :: atomic { r == ROUNDS -> r = 0; left++ } -> break
    od
}

proctype keeper()
{
    byte m;
    bool ready;

turn:
    atomic {                    /* LOCKED */
        if
        :: up && !pinged && waits[0] ->         /* is the link alive? */
            pinged = true;
            ping = true;
            choose()
        :: true
        fi;
        if
        :: !up ->               /* a new link: everybody asks anew */
            up = true;
            output[0] = waits[0];
            output[1] = waits[1];
            tell(0);
            tell(1);
            choose()
        :: else
        fi;
        if
        :: driver == KEEPER && OUTPUT && !in_use -> in_use = true
        :: else -> goto look
        fi
    };
    atomic { write_output() };
    atomic { touching--; in_use = false; choose(); goto turn };  /* LOCKED */
look:
    atomic {                    /* LOCKED: before it sleeps */
        keeper_polls = (up && driver == KEEPER);
        keeper_asleep = true
    };
end_poll:
    atomic { keeper_wake || (keeper_polls && READABLE) ->
        ready = keeper_polls && READABLE;
        keeper_wake = false };
    atomic {                    /* LOCKED */
        keeper_asleep = false;
        if
        :: ready && up && driver == KEEPER ->
            ready = false;
            in_use = true
        :: else ->
            ready = false;
            goto turn
        fi
    };
    atomic { touching++; assert(touching == 1) };       /* read(2) */
    atomic { touching--; deliver(); goto turn }         /* LOCKED */
}

proctype world()
{
end_world:
    do
    :: atomic { up && !dead && subscribed[0] && nfull(messages) ->
            subscribed[0] = false;
            messages ! 0 }
    :: atomic { up && !dead && subscribed[1] && nfull(messages) ->
            subscribed[1] = false;
            messages ! 1 }
    :: atomic { up && !dead && deaths > 0 ->
            deaths--;
            dead = true }
    od
}

/* A wait ends for another reason: its time is over, or it was cancelled. */
proctype timers()
{
end_timers:
    do
    :: atomic { ends > 0 && waits[0] && !heard[0] ->
            ends--;
            tell(0);
            choose() }
    :: atomic { ends > 0 && waits[1] && !heard[1] ->
            ends--;
            tell(1);
            choose() }
    od
}

/* Whoever can go on is through; a thread that is stopped delays nobody. */
#define ALL_LEFT  (left + stopped == THREADS)

init
{
    atomic {
        if
        :: deaths = 0
#if DEATHS > 0
        :: deaths = DEATHS
#endif
        fi;
        if
        :: ends = 0
#if ENDS > 0
        :: ends = ENDS
#endif
        fi;
        run world();
        run timers();
        run keeper();
        run driving_thread();
        run parked_thread()
    };
    ALL_LEFT;
    assert(stopped || driver == KEEPER)
}

#ifdef LIVE
ltl everybody_is_served { <> (ALL_LEFT) }
#endif
