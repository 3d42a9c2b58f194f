/* SPDX-License-Identifier: MIT */
/*
 * Whoever waits, drives: a model of the MAIN link of one client.
 *
 * The happy path: a thread makes a blocking call, appends it to the link,
 * finds no driver and becomes it: it takes the output, writes, polls, reads,
 * completes the calls of everybody, hands the role over and leaves.  Others
 * append meanwhile, wake a driver that sleeps, and park until their op is done
 * or the role is theirs.  With nobody parked and calls in flight, the role
 * goes to the keeper.
 *
 * What goes wrong here: callers leave early (deadline, cancellation) in any
 * state; the link dies at any moment, with replies on the way or without; the
 * server falls silent and the keeper shuts the link down after the response
 * limit; connecting fails.
 *
 * With GUEST, a thread that has appended may write what has gathered itself,
 * as a guest of the driver, who goes on reading.
 *
 * With LEAVE, a driver whose own call has ended may leave the link to nobody, as
 * far as nobody waits for what is in flight: the next who calls reads it, or the
 * keeper does when its time has come.
 *
 * With ATTEND, the calls without a thread end in callbacks, and the thread that
 * runs these drives while it has none to run.  While it runs one it is away: it
 * keeps the link, and any other thread may take it.  A callback may never
 * return; with CHAIN, the first asks for something more.
 *
 * The client's mutex is not a variable: each `atomic' block below that is
 * marked LOCKED is one critical section.  System calls (write, poll, read,
 * connect, shutdown) are steps of their own, between which everybody else can
 * run.  One call stands for one attempt of an op; a copy that died with its
 * link is appended again once, as the core does it, and then ends its op.
 *
 * Sizes (-D): USERS threads with ROUNDS blocking ops each, ASYNCS calls that
 * have no thread, DEATHS of the link, FAILS of connecting, CANCEL of a thread
 * by another, ROOM calls that fit into the socket before a write is short.
 * Mutations (-D): see tests/model/run and docs/design/models.md.
 */

#ifndef USERS
#define USERS 2
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef ASYNCS
#define ASYNCS 1
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef FAILS
#define FAILS 0
#endif
#ifndef CANCEL
#define CANCEL 0
#endif
#ifndef ROOM
#define ROOM 1
#endif
#ifndef ATTEND
#define ATTEND 0
#endif
#ifndef CHAIN
#define CHAIN 0
#endif

#define OPS     (USERS * ROUNDS + ASYNCS + CHAIN)
#define KEEPER  USERS           /* the keeper's number as a driver */
#define NONE    (USERS + 1)     /* nobody drives */
#define ATTENDANT (USERS + 2)   /* the thread of callbacks does */

/* How a call ends.  PENDING: not yet. */
#define PENDING       0
#define ANSWERED      1
#define LINK_GONE     2
#define NEVER_WRITTEN 3

/* The state of the link. */
#define DOWN       0
#define CONNECTING 1
#define UP         2

byte link = DOWN;
byte driver = NONE;
byte fifo[OPS];         /* the link's calls, in the order of their sending */
byte calls = 0;         /* so many are in it */
byte written = 0;       /* the first of them were written: in flight */
byte taken = 0;         /* the driver writes up to here without the mutex */
bool writing = false;   /* a user is in write(2), the driver or a guest */
bool sleeping = false;  /* the driver took the output and looks at it again
                           only after its poll */
bool wake = false;      /* the wake-up descriptor of the link's driver */
bool keeper_wake = false;
bool tick = false;      /* the keeper's sleep ends with the response limit */
chan reader = [OPS] of { byte };        /* read, not yet completed */

/* The socket.  dead: the peer closed it or we shut it down. */
chan to_server = [ROOM] of { byte };
chan from_server = [OPS] of { byte };
bool dead = false;
bool silent = false;    /* the server answers nothing any more */
byte deaths = 0;
byte fails = 0;

/* An op and its call. */
byte end[OPS];          /* PENDING or how it ended */
bool again[OPS];        /* its second copy is used up */
bool reached[OPS];      /* a byte of this copy went into write(2) */
bool abandoned[OPS];
byte undo_due = 0;      /* on the KEEPER link, not yet written */

/* A thread. */
byte op_of[USERS];
bool parked[USERS];
bool unparked[USERS];   /* its wake-up is pending */
bool cancelled[USERS];
byte left = 0;          /* threads that are through with their calls */

/* The thread of callbacks. */
bool away = false;      /* it runs one */
bool idle = false;      /* it sleeps, and does not drive */
bool called = false;    /* its wake-up from that is pending */
bool due = false;       /* there is something to run */
bool left_alone = false;        /* nobody drives, and nobody is to yet */
bool in_use = false;    /* the keeper writes or reads this moment */

/* Ghost: threads inside the driver's loop. */
byte driving = 0;

#define READABLE  (nempty(from_server) || dead)
#define WRITABLE  (written < taken && (nfull(to_server) || dead))

#define BY_A_THREAD  (driver < KEEPER || driver == ATTENDANT)
#define TO_BE_HAD    (driver == NONE || (driver == ATTENDANT && away))

/* No unsent output and no call in flight without somebody to see to it. */
#define SEEN_TO   (!(link == UP && calls > 0 && driver == NONE && \
                     !(left_alone && calls == written)))

#define MAY_TAKE(t)  (parked[t] && end[op_of[t]] == PENDING)
#if USERS == 1
#define SOMEBODY_PARKED  MAY_TAKE(0)
#elif USERS == 2
#define SOMEBODY_PARKED  (MAY_TAKE(0) || MAY_TAKE(1))
#else
#define SOMEBODY_PARKED  (MAY_TAKE(0) || MAY_TAKE(1) || MAY_TAKE(2))
#endif

/* A driver that has its own reply still completes what it read. */
#ifdef M_LEAVE_UNREAD
#define ENOUGH(t)  (t < USERS && end[op_of[t]] != PENDING)
#else
#define ENOUGH(t)  false
#endif

inline give_role(t)
{
    driver = t;
    unparked[t] = true
}

/* LOCKED.  The driver leaves: a parked thread with a call here, or the keeper,
 * or nobody if there is nothing to do.  Any of the parked may be picked. */
inline hand_over()
{
    left_alone = false;
    if
#ifdef LEAVE
    :: calls > 0 && calls == written && !SOMEBODY_PARKED ->
        driver = NONE;
        left_alone = true
#endif
    :: calls == 0 ->
        driver = NONE
#ifndef M_NO_HANDOVER
    :: calls > 0 && MAY_TAKE(0) -> give_role(0)
#if USERS > 1
    :: calls > 0 && MAY_TAKE(1) -> give_role(1)
#endif
#if USERS > 2
    :: calls > 0 && MAY_TAKE(2) -> give_role(2)
#endif
#if ATTEND
    :: calls > 0 && !SOMEBODY_PARKED ->
        driver = ATTENDANT;
        if
        :: idle ->
#ifndef M_ATTENDANT_NOT_CALLED
            called = true
#endif
        :: else
        fi
#endif
#if ATTEND
    :: calls > 0 && !SOMEBODY_PARKED && away ->    /* for too long */
#else
    :: calls > 0 && !SOMEBODY_PARKED ->
#endif
#ifdef M_NO_KEEPER
        driver = NONE
#else
        driver = KEEPER;
#ifndef M_KEEPER_NOT_WOKEN
        keeper_wake = true
#endif
#endif
#else
    :: calls > 0 ->
        driver = NONE
#endif
    fi
}

/* LOCKED.  One call ends, once.  A dead copy is sent again once if somebody
 * still wants it; it goes to the end of the output of a link that is DOWN. */
inline end_call(o, how)
{
    assert(end[o] == PENDING);
    assert(!(how == NEVER_WRITTEN && reached[o]));
    if
    :: how != ANSWERED && !abandoned[o] && !again[o] ->
        again[o] = true;
        reached[o] = false;
        fifo[calls] = o;
        calls++
    :: else ->
        end[o] = how;
        again[o] = false;
        reached[o] = false;
        if
        :: abandoned[o] && how != NEVER_WRITTEN ->
            /* Perhaps a grant that nobody waits for: the keeper undoes it. */
            undo_due++;
#ifndef M_UNDO_NO_WAKE
            keeper_wake = true
#endif
        :: else
        fi;
#ifndef M_NO_UNPARK
        if
        :: !abandoned[o] && o < USERS * ROUNDS ->
            unparked[o / ROUNDS] = true
#if ATTEND
        :: o >= USERS * ROUNDS ->
            due = true;
            if
            :: idle -> called = true
            :: !idle && driver == ATTENDANT && sleeping ->
                wake = true;
                sleeping = false
            :: else
            fi
#endif
        :: else
        fi
#endif
    fi
}

/* LOCKED.  Every reply that was read completes the oldest call in flight. */
inline complete(me)
{
    do
    :: len(reader) > 0 && !ENOUGH(me) ->
        reader ? id;
        assert(calls > 0 && written > 0);
        assert(fifo[0] == id);
        i = 1;
        do
        :: i < calls -> fifo[i - 1] = fifo[i]; i++
        :: else -> break
        od;
        i = 0;
        calls--;
        fifo[calls] = 0;
        written--;
        taken--;
        end_call(id, ANSWERED);
        id = 0
    :: len(reader) == 0 || ENOUGH(me) -> break
    od
}

/* LOCKED.  The driver saw the end of the link: every call of it ends, the
 * link is DOWN, and the keeper has it to close and to connect anew. */
inline tear_down()
{
    assert(!writing);
    link = DOWN;
    driver = NONE;
    sleeping = false;
    n = calls;
    calls = 0;
    i = 0;
    do
    :: i < n ->
        id = fifo[i];
        fifo[i] = 0;
        if
#ifdef M_NEVER_WRITTEN
        :: i < written && i == 0 -> end_call(id, LINK_GONE)
        :: i < written && i > 0 -> end_call(id, NEVER_WRITTEN)
#else
        :: i < written -> end_call(id, LINK_GONE)
#endif
        :: else -> end_call(id, NEVER_WRITTEN)
        fi;
        i++
    :: else -> break
    od;
    i = 0;
    n = 0;
    id = 0;
    written = 0;
    taken = 0;
#ifndef M_TEARDOWN_NO_WAKE
    keeper_wake = true
#endif
}

/* LOCKED.  There is output that somebody else has to see. */
inline wake_for_output()
{
    if
    :: link == UP && BY_A_THREAD ->
        if
        :: sleeping ->
#ifndef M_NO_WAKE
            wake = true;
#endif
            sleeping = false
        :: else         /* it takes the output before it sleeps */
        fi
    :: else ->
        keeper_wake = true
    fi
}

/* LOCKED.  A keeper that sleeps without limit, because no answer was owed, has
 * to hear of the first call: it watches the response limit. */
inline append(o)
{
    fifo[calls] = o;
    calls++;
#ifndef M_TICK_NOT_ARMED
    if
    :: link == UP && !tick -> keeper_wake = true
    :: else
    fi
#endif
}

/* LOCKED.  The driver takes what is to be written.  What the socket did not
 * take last time goes first, and what was appended since follows it. */
inline take_output()
{
#ifdef M_REMAINDER_ALONE
    if
    :: written < taken
    :: else -> taken = calls
    fi
#else
    taken = calls
#endif
}

/* write(2), until all is written, the socket is full, or it fails.  A write
 * into a socket that died may still seem to work. */
inline write_output()
{
    do
    :: atomic { written < taken && !dead && nfull(to_server) ->
            to_server ! fifo[written];
            reached[fifo[written]] = true;
            written++ }
    :: atomic { written < taken && dead ->
            reached[fifo[written]] = true;
            written++ }
    :: written < taken && dead -> break
    :: written < taken && !dead && full(to_server) -> break
    :: written >= taken -> break
    od
}

/* read(2): all there is, and whether the end was seen. */
inline read_replies()
{
    do
    :: nempty(from_server) -> from_server ? id; reader ! id
    :: empty(from_server) -> break
    od;
    id = 0;
    eof = dead
}

proctype user(byte me)
{
    byte o;
    byte id, i, n, r;
    bool deadline;      /* the caller has a deadline, which may pass any time */
    bool leaving;
    bool eof;
    bool rest;          /* the socket was full: it polls for room, too */

begin:
    atomic {            /* LOCKED: submit */
        o = me * ROUNDS + r;
        op_of[me] = o;
        if
        :: deadline = true
        :: deadline = false
        fi;
#ifndef M_CANCEL_NOT_LOOKED
        if
        :: cancelled[me] ->
            abandoned[o] = true;
            end[o] = NEVER_WRITTEN;     /* fired before there was a call */
            goto leave
        :: else
        fi;
#endif
        append(o);
        if
        :: link == UP && TO_BE_HAD ->
            driver = me;
            goto drive
        :: else ->
            wake_for_output();
            if
#ifdef GUEST
            :: link == UP && BY_A_THREAD && !writing && written == taken ->
                take_output();
                writing = true;
                goto guest
#endif
            :: parked[me] = true
            fi
        fi;
        assert(SEEN_TO)
    };

park:
    if
    :: atomic { unparked[me] -> unparked[me] = false }
    :: deadline -> leaving = true
    fi;
    atomic {            /* LOCKED: look why we woke */
        if
        :: end[o] != PENDING ->
            assert(driver != me);
            goto leave
        :: end[o] == PENDING && driver == me && (leaving || cancelled[me]) ->
            abandoned[o] = true;
            parked[me] = false;
#ifndef M_PICKED_SWALLOWS
            hand_over();
#endif
            goto leave
        :: end[o] == PENDING && driver == me && !(leaving || cancelled[me]) ->
            goto drive
        :: end[o] == PENDING && driver != me && (leaving || cancelled[me]) ->
            abandoned[o] = true;
            parked[me] = false;
            goto leave
        :: else ->
            goto park
        fi
    };

drive:
    atomic {
        parked[me] = false;
        driving++;
        assert(driving == 1)
    };
turn:
    atomic {            /* LOCKED: take the output, if nobody else has it */
        assert(driver == me && link == UP);
#ifndef M_SLEEPING_LATE
        sleeping = true;
#endif
        if
        :: writing ->
            rest = false;
            goto written_out
        :: else ->
            take_output();
            writing = true
        fi
    };
    write_output();
    atomic {            /* LOCKED */
        writing = false;
        rest = (written < taken)
    };
written_out:
#ifdef M_SLEEPING_LATE
    sleeping = true;
#endif
#ifdef M_DRAIN_LATE
    wake = false;
#endif
    if                  /* poll(2), until the deadline */
    :: wake || READABLE || (rest && WRITABLE)
    :: deadline -> leaving = true
    :: calls > taken && !wake && !writing ->
        assert(calls == taken || wake || writing)   /* it sleeps on output */
    :: written < taken && !rest && !wake && !writing ->
        assert(written == taken || wake || writing) /* or on a remainder */
    :: cancelled[me] && !wake ->
        assert(!cancelled[me] || wake)  /* it sleeps, cancelled */
    fi;
    atomic {            /* drain the descriptor, read */
        assert(link == UP);
#ifndef M_DRAIN_LATE
        wake = false;
#endif
        read_replies()
    };
    atomic {            /* LOCKED: complete, and go on or leave */
        assert(driver == me && link == UP);
        sleeping = false;
        complete(me);
        if
        :: eof ->
#ifndef M_GUEST_NOT_AWAITED
            !writing;   /* the mutex is free while it waits for its guest */
#endif
            tear_down()
        :: else
        fi;
        if
        :: end[o] != PENDING ->
            if
            :: driver == me -> hand_over()
            :: else
            fi;
            driving--;
            assert(SEEN_TO);
            goto leave
        :: end[o] == PENDING && (leaving || cancelled[me]) ->
            abandoned[o] = true;
#ifdef M_ABANDONED_NOT_CONSUMED
            /* Forgotten, as if its reply would not come any more. */
            n = 0;
            do
            :: n < calls && fifo[n] != o -> n++
            :: else -> break
            od;
            if
            :: n < written -> written--; taken--
            :: else
            fi;
            do
            :: n + 1 < calls -> fifo[n] = fifo[n + 1]; n++
            :: else -> break
            od;
            calls--;
            n = 0;
            end[o] = LINK_GONE;
#endif
            if
            :: driver == me -> hand_over()
            :: else
            fi;
            driving--;
            assert(SEEN_TO);
            goto leave
        :: end[o] == PENDING && !(leaving || cancelled[me]) && eof ->
            /* A new copy waits for the next connection. */
            eof = false;
            driving--;
            parked[me] = true;
            unparked[me] = false;
            goto park
        :: else ->
            goto turn
        fi
    };

#ifdef GUEST
guest:
    write_output();
    atomic {            /* LOCKED: what came meanwhile is somebody's */
        writing = false;
        if
        :: !BY_A_THREAD ->
            keeper_wake = true
        :: BY_A_THREAD && (calls > taken || written < taken) ->
#ifndef M_GUEST_SILENT
            wake_for_output()
#endif
        :: else
        fi;
        if
        :: link == UP && TO_BE_HAD && end[o] == PENDING ->
            driver = me;
            goto drive
        :: else ->
            parked[me] = true;
            goto park
        fi
    };
#endif

leave:
    atomic {
        parked[me] = false;
        assert(end[o] != PENDING || abandoned[o]);
        assert(driver != me);
        unparked[me] = false;
        leaving = false;
        eof = false;
        rest = false;
        o = 0;
        r++;
        if
        :: r < ROUNDS ->
            goto begin
        :: else ->
            deadline = false;
            left++
        fi
    }
}

/* Calls without a thread: an event loop's, or the core's own. */
proctype submitter()
{
    byte o = USERS * ROUNDS;

    do
    :: atomic { o < OPS - CHAIN ->      /* LOCKED: submit */
            append(o);
            if
            :: link == UP && driver == NONE ->
#if ATTEND
                hand_over()
#else
                driver = KEEPER;
                keeper_wake = true
#endif
            :: else ->
                wake_for_output()
            fi;
            assert(SEEN_TO);
            o++ }
    :: atomic { o == OPS - CHAIN -> o = 0; left++ } -> break
    od
}

/* A token that is fired in another thread: under the mutex it wakes whoever
 * waits with it, parked or driving. */
proctype canceller()
{
    atomic {            /* LOCKED */
        cancelled[0] = true;
        unparked[0] = true;
        if
        :: driver == 0 ->
#ifndef M_CANCEL_NO_WAKE
            wake = true
#endif
        :: else
        fi
    }
}

proctype keeper()
{
    byte id, i, n;
    bool mine, eof;
    bool watched;       /* the link was idle, and is polled for its end only */
    bool hung_up;

turn:
    atomic {            /* LOCKED: what is there to do */
        undo_due = 0;   /* taken, written, answered on the KEEPER link */
        tick = (link == UP && calls > 0);
        mine = false;
#ifdef LEAVE
        if
        :: link == UP && driver == NONE && calls > 0 -> /* long enough? */
            driver = KEEPER
        :: link == UP && driver == NONE && calls > 0
        :: else
        fi;
#endif
#if ATTEND
        if
        :: driver == ATTENDANT && away && calls > 0 ->  /* for too long? */
            if
            :: driver = KEEPER;
               keeper_wake = true
#ifndef LIVE
            :: true     /* not yet */
#endif
            fi
        :: else
        fi;
#endif
        if
        :: driver == KEEPER && calls == 0 ->
            driver = NONE
        :: driver == KEEPER && calls > 0 && SOMEBODY_PARKED ->
            hand_over()
#ifndef M_KEEPER_BESIDE_GUEST
        :: driver == KEEPER && calls > 0 && writing
            /* It keeps off, and is woken. */
        :: driver == KEEPER && calls > 0 && !writing ->
#else
        :: driver == KEEPER && calls > 0 ->
#endif
            /* Or it goes on until the link is idle. */
            mine = true;
            in_use = true;
            take_output()
        :: driver != KEEPER
        fi;
        if
        :: link == DOWN && calls > 0 ->
            /* close(2) of the old socket is the keeper's, and nobody is in a
             * system call on it: its driver tore the link down. */
            link = CONNECTING
        :: else
        fi;
        watched = (link == UP && driver == NONE && calls == 0 && !writing);
        assert(SEEN_TO)
    };
    if
    :: link == CONNECTING ->
        atomic {        /* close, connect(2) and its handshake */
            assert(driving == 0 && !writing);
            do
            :: nempty(to_server) -> to_server ? id
            :: nempty(from_server) -> from_server ? id
            :: nempty(reader) -> reader ? id
            :: empty(to_server) && empty(from_server) && empty(reader) -> break
            od;
            id = 0;
            dead = false;
            silent = false
        };
        atomic {        /* LOCKED: it is there, or it failed */
            if
            :: fails > 0 ->
                fails--;
                tear_down()
            :: else ->
                link = UP;
                hand_over()
            fi;
            assert(SEEN_TO)
        };
        goto turn
    :: else
    fi;
    if
    :: mine ->
        assert(!writing);       /* one thread writes at a time */
        write_output();
        in_use = false
    :: else
    fi;
end_poll:
    if                  /* poll(2), until the response limit at most */
    :: keeper_wake || (mine && (READABLE || WRITABLE))
#ifdef LEAVE
#ifndef M_LEFT_FOR_EVER
    :: driver == NONE && link == UP && calls > 0    /* its time has come */
#endif
#endif
#if ATTEND
#ifndef M_AWAY_FOR_EVER
    :: driver == ATTENDANT && away && calls > 0     /* its time has come */
#endif
#endif
    :: watched && dead ->
        hung_up = true
    :: tick && link == UP && silent && written > 0 && !dead ->
#ifdef M_KEEPER_CLOSES
        /* It tears the link down itself, under the driver's feet. */
        atomic { tear_down(); dead = true }
#else
        dead = true     /* the response limit passed: shutdown(2) */
#endif
    :: driver == KEEPER && calls > (mine -> taken : 0) && !keeper_wake &&
        !writing ->
        assert(driver != KEEPER || keeper_wake || writing) /* on output */
    fi;
    keeper_wake = false;
    atomic {            /* LOCKED: an idle link is nobody's, if it still is */
        if
#ifdef M_IDLE_NOT_LOOKED
        :: hung_up ->
#else
        :: hung_up && link == UP && driver == NONE && calls == 0 &&
            !writing ->
#endif
            assert(calls == 0);
            tear_down()
        :: else
        fi;
        hung_up = false;
        watched = false;
        /* A poll gives no right to read: it may have been taken away. */
        mine = (mine && driver == KEEPER && link == UP);
        in_use = mine
    };
    if
    :: mine ->
        atomic { read_replies() };
        atomic {        /* LOCKED: complete */
            assert(driver == KEEPER && link == UP);
            in_use = false;
            complete(KEEPER);
            if
            :: eof ->
                eof = false;
                tear_down()
            :: else
            fi
        }
    :: else
    fi;
    goto turn
}

/* The thread of callbacks: runs them, and drives while there are none. */
#if ATTEND
proctype attendant()
{
    byte id, i, n;
    bool eof, rest;
    bool chained;

around:
    atomic {            /* LOCKED */
        away = true;
        due = false
    };
    if                  /* a callback, or none: it runs without the mutex */
    :: true
    :: true -> end_stuck: false
    fi;
    atomic {            /* LOCKED: the callback asks for something */
        if
        :: CHAIN && !chained && end[USERS * ROUNDS] != PENDING ->
            chained = true;
            append(OPS - 1);
            if
            :: link == UP && driver == NONE -> hand_over()
            :: else -> wake_for_output()
            fi;
            assert(SEEN_TO)
        :: else
        fi
    };
    atomic {            /* LOCKED: what now */
        away = false;
        if
        :: due ->
            goto around
#ifdef M_TAKEN_IN_USE
        :: !due && link == UP && calls > 0 &&
            (driver == ATTENDANT || driver == NONE || driver == KEEPER) ->
#else
        :: !due && link == UP && calls > 0 &&
            (driver == ATTENDANT || driver == NONE ||
             (driver == KEEPER && !in_use)) ->
#endif
            driver = ATTENDANT;
            driving++;
            assert(driving == 1)
        :: else ->
            if
            :: driver == ATTENDANT -> hand_over()
            :: else
            fi;
            idle = true;
            goto end_idle
        fi
    };
turn:
    atomic {            /* LOCKED: as any driver */
        assert(driver == ATTENDANT && link == UP);
        sleeping = true;
        if
        :: writing ->
            rest = false;
            goto written_out
        :: else ->
            take_output();
            writing = true
        fi
    };
    write_output();
    atomic {            /* LOCKED */
        writing = false;
        rest = (written < taken)
    };
written_out:
    if                  /* poll(2) */
    :: wake || READABLE || (rest && WRITABLE)
    :: calls > taken && !wake && !writing ->
        assert(calls == taken || wake || writing)   /* it sleeps on output */
    :: written < taken && !rest && !wake && !writing ->
        assert(written == taken || wake || writing) /* or on a remainder */
    :: due && !wake ->
        assert(!due || wake)    /* or on something to run */
    fi;
    atomic {
        assert(link == UP);
        wake = false;
        read_replies()
    };
    atomic {            /* LOCKED: complete, and go on or leave */
        assert(driver == ATTENDANT && link == UP);
        sleeping = false;
        complete(ATTENDANT);
        if
        :: eof ->
            !writing;
            eof = false;
            tear_down()
        :: else
        fi;
        if
        :: driver == ATTENDANT && !due && calls > 0 ->
            goto turn
        :: else ->
            driving--;
            rest = false;
            if
            :: driver == ATTENDANT -> hand_over()
            :: else
            fi;
            assert(SEEN_TO);
            goto around
        fi
    };
end_idle:
    atomic {
        called -> called = false;
        idle = false;
        goto around
    }
}
#endif

/* The server and the network. */
proctype world()
{
    byte id;

end_world:
    do
    :: atomic { !dead && !silent && nempty(to_server) ->
            to_server ? id;
            from_server ! id;
            id = 0 }
    :: atomic { deaths > 0 && link == UP && !dead ->
            deaths--;
            dead = true;
            if
            :: true     /* what was answered still arrives */
            :: nempty(from_server) ->   /* or is lost with the link */
                do
                :: nempty(from_server) -> from_server ? id
                :: empty(from_server) -> break
                od;
                id = 0
            fi }
    :: atomic { deaths > 0 && link == UP && !dead && !silent ->
            deaths--;
            silent = true }
    od
}

#define ALL_LEFT  (left == USERS + (ASYNCS > 0))
#define AT_REST   (ALL_LEFT && calls == 0 && driver == NONE && undo_due == 0)

init
{
    byte i;

    atomic {
        if
        :: deaths = 0
#if DEATHS > 0
        :: deaths = DEATHS
#endif
        fi;
        if
        :: fails = 0
#if FAILS > 0
        :: fails = FAILS
#endif
        fi;
        run world();
        run keeper();
#if ATTEND
        run attendant();
#endif
        i = 0;
        do
        :: i < USERS -> run user(i); i++
        :: else -> break
        od;
        i = 0;
#if ASYNCS > 0
        run submitter();
#endif
#if CANCEL > 0
        if
        :: run canceller()
        :: true
        fi
#endif
    };
    /* Whatever happens, this comes.  If it cannot, SPIN reports an invalid
     * end state: somebody waits for ever, or a call or an undo is lost. */
    atomic {
        AT_REST -> i = 0;
        do
        :: i < OPS - CHAIN -> assert(end[i] != PENDING); i++
        :: else -> break
        od
    }
}

#ifdef LIVE
ltl everybody_leaves { <> (ALL_LEFT && AT_REST) }
#endif
