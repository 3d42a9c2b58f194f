/* SPDX-License-Identifier: MIT */
/*
 * The wait protocol: two clients (processes) and a foreign holder want one
 * name.
 *
 * The happy path: an op joins the FIFO of its client; the head alone asks the
 * server.  BUSY makes it SUBSCRIBE; when the subscription stands it asks once
 * more, and only if that is BUSY too it waits, until a message makes it ask
 * again.  While an op of the same client holds the lock the server is not
 * asked: the end of that hold is the news.
 *
 * What goes wrong here: messages are lost, the link of the subscriptions is
 * cut (and noticed late), holders die without a word, holds are lost to their
 * deadline, callers leave at any moment, also with an attempt unanswered, whose
 * grant is then undone.
 *
 * Each `atomic' block is one event of the core, which runs under the client's
 * mutex, or one script on the server.  Commands travel on two links of a client
 * (MAIN with the scripts, PUBSUB with the subscriptions), each in its order and
 * answered in its order, and in no order to each other.
 *
 * The bounded re-try (-DRETRY) is left out where the model has to show that
 * without a lost message nobody ever needs it.
 *
 * Sizes (-D): FIRST and SECOND: how many ops each client has; CUTS of a PUBSUB
 * link, LOSSES of messages; and which ops (bits) may leave early (LEAVERS), lose
 * their hold to its deadline (LOSERS), try once without queueing (ONCE).
 * Mutations (-D): see tests/model/run and docs/design/models.md.
 */

#ifndef FIRST
#define FIRST 2
#endif
#ifndef SECOND
#define SECOND 1
#endif
#ifndef CUTS
#define CUTS 0
#endif
#ifndef LOSSES
#define LOSSES 0
#endif

#ifndef LEAVERS
#define LEAVERS 1
#endif
#ifndef LOSERS
#define LOSERS 0
#endif
#ifndef ONCE
#define ONCE 0
#endif

#define MAY_LEAVE(o)  ((LEAVERS >> (o)) & 1)
#define MAY_LOSE(o)   ((LOSERS >> (o)) & 1)
#define TRIES_ONCE(o) ((ONCE >> (o)) & 1)

#define CLIENTS   2
#define OPS       (FIRST + SECOND)
#define CLIENT(o) ((o) >= FIRST)
#define FOREIGN   OPS           /* the number of the foreign holder */
#define FREE      (OPS + 1)     /* nobody has the lock */
#define NOBODY    (OPS + 1)

/* The states of an op; the last three are those of its number. */
#define OP_NEW         0
#define OP_QUEUED      1
#define OP_LOCAL       2        /* an op of this client has the lock */
#define OP_SENT        3        /* an ACQUIRE is unanswered */
#define OP_SUBSCRIBING 4
#define OP_WAITING     5
#define OP_HELD        6
#define OP_RELEASING   7
#define OP_DONE        8

mtype = { ACQUIRE, RELEASE, UNDO };
mtype = { GRANTED, BUSY, ANY };
mtype = { SUBSCRIBE, UNSUBSCRIBE, MESSAGE };

/* The server. */
byte lock = FOREIGN;            /* whose field is there */
bool subscribed[CLIENTS];
bool gone[OPS + 1];             /* this number's lease ran out on the server */
bool foreign_dead = false;

/* The links of a client.  No run fills them: the model would say so. */
#define SCRIPTS_MAX  OPS
#define COMMANDS_MAX (2 * OPS + 1)
#define HEARD_MAX    (3 * OPS + 2)
chan scripts_0 = [SCRIPTS_MAX] of { mtype, byte };
chan scripts_1 = [SCRIPTS_MAX] of { mtype, byte };
chan answers_0 = [SCRIPTS_MAX] of { mtype, byte, mtype, byte };
chan answers_1 = [SCRIPTS_MAX] of { mtype, byte, mtype, byte };
chan commands_0 = [COMMANDS_MAX] of { mtype };
chan commands_1 = [COMMANDS_MAX] of { mtype };
chan heard_0 = [HEARD_MAX] of { mtype };
chan heard_1 = [HEARD_MAX] of { mtype };
chan fifo_0 = [OPS] of { byte };
chan fifo_1 = [OPS] of { byte };
bool cut[CLIENTS];              /* PUBSUB is cut and nobody noticed yet */

/* What a client's core remembers of the name. */
byte state[OPS];                /* of each op */
byte head[CLIENTS] = NOBODY;
byte held_here[CLIENTS] = NOBODY;
bool being_released[CLIENTS];
bool sub_wanted[CLIENTS];
bool sub_active[CLIENTS];
byte sub_unanswered[CLIENTS];   /* (UN)SUBSCRIBEs whose answer is to come */
bool woken[CLIENTS];            /* a message came while an attempt was under way */
bool heard_when_sent[CLIENTS];  /* sub_active when the attempt was sent */
byte busy_with[CLIENTS] = NOBODY;       /* whose lease BUSY told of */

byte cuts = 0;
byte losses = 0;
byte holders = 0;               /* ops that believe in their hold */
bool lost_message[CLIENTS];     /* one that this client would have heard */
byte over = 0;                  /* callers that are through */

/* ---- what the core does ---- */

inline send(c, request, o)
{
    if
    :: c == 0 -> scripts_0 ! request, o
    :: else -> scripts_1 ! request, o
    fi
}

inline command(c, what)
{
    sub_unanswered[c]++;
    if
    :: cut[c]                   /* it goes nowhere */
    :: !cut[c] && c == 0 -> commands_0 ! what
    :: !cut[c] && c == 1 -> commands_1 ! what
    fi
}

inline subscribe(c, wanted)
{
    if
    :: sub_wanted[c] != wanted ->
        sub_wanted[c] = wanted;
        sub_active[c] = false;
        if
        :: wanted -> command(c, SUBSCRIBE)
#ifdef M_UNSUBSCRIBE_FORGOTTEN
        :: !wanted -> skip
#else
        :: !wanted -> command(c, UNSUBSCRIBE)
#endif
        fi
    :: else
    fi
}

inline attempt_try(c, o)
{
    if
    :: held_here[c] != NOBODY ->
        state[o] = OP_LOCAL
    :: else ->
        state[o] = OP_SENT;
        woken[c] = false;
        heard_when_sent[c] = sub_active[c];
        send(c, ACQUIRE, o)
    fi
}

/* It became the first of its FIFO. */
inline attempt_at_head(c, o)
{
    if
    :: being_released[c] -> state[o] = OP_LOCAL
    :: else -> attempt_try(c, o)
    fi
}

/* The name may be free: the head asks. */
inline news(c)
{
    if
    :: head[c] == NOBODY
    :: else ->
        if
        :: state[head[c]] == OP_LOCAL && !being_released[c] ->
            attempt_try(c, head[c])
        :: state[head[c]] == OP_SUBSCRIBING || state[head[c]] == OP_WAITING ->
            attempt_try(c, head[c])
        :: state[head[c]] == OP_SENT ->
#ifndef M_NOT_REMEMBERED
            woken[c] = true
#endif
        :: else
        fi
    fi
}

inline fifo_join(c, o)
{
    if
    :: c == 0 -> fifo_0 ! o
    :: else -> fifo_1 ! o
    fi;
    if
    :: head[c] == NOBODY ->
        head[c] = o;
        attempt_at_head(c, o)
    :: else ->
        state[o] = OP_QUEUED
    fi
}

inline fifo_leave(c, o)
{
    if
    :: c == 0 -> fifo_0 ?? eval(o)
    :: else -> fifo_1 ?? eval(o)
    fi;
    if
    :: head[c] != o
    :: head[c] == o ->
        head[c] = NOBODY;
        if
        :: c == 0 && len(fifo_0) > 0 -> fifo_0 ? < head[c] >
        :: c == 1 && len(fifo_1) > 0 -> fifo_1 ? < head[c] >
        :: else
        fi;
        if
        :: head[c] == NOBODY ->
            busy_with[c] = NOBODY;
            woken[c] = false;
            heard_when_sent[c] = false;
            subscribe(c, false)
        :: else ->
#ifdef M_WAKE_SWALLOWED
            /* It takes its predecessor's place as it is, without asking. */
            if
            :: state[o] != OP_HELD && sub_active[c] ->
                state[head[c]] = OP_WAITING
            :: else ->
                attempt_at_head(c, head[c])
            fi
#else
            attempt_at_head(c, head[c])
#endif
        fi
    fi
}

inline on_busy(c, o, whom)
{
    busy_with[c] = whom;
    subscribe(c, true);
    if
#ifdef M_NO_SECOND_TRY
    :: woken[c] ->
#else
    :: woken[c] || (sub_active[c] && !heard_when_sent[c]) ->
#endif
        attempt_try(c, o)
    :: else ->
        if
        :: sub_active[c] -> state[o] = OP_WAITING
        :: else -> state[o] = OP_SUBSCRIBING
        fi
    fi
}

inline on_granted(c, o)
{
    assert(holders == 0);       /* at most one believes that it holds */
    assert(lock == o);
    assert(head[c] == o);       /* in the order of their coming */
    assert(c == 0 -> fifo_0 ? [eval(o)] : fifo_1 ? [eval(o)]);
    holders++;
    held_here[c] = o;
    state[o] = OP_HELD;
    fifo_leave(c, o)
}

inline on_answer(c, request, o, result, whom)
{
    if
    :: request == ACQUIRE && state[o] == OP_DONE ->
        /* Given up meanwhile: a grant that nobody waits for. */
        if
#ifndef M_GRANT_KEPT
        :: result == GRANTED -> send(c, UNDO, o)
#endif
        :: else
        fi
    :: request == ACQUIRE && state[o] == OP_SENT && head[c] != o ->
        assert(TRIES_ONCE(o));
        if
        :: result == GRANTED ->
            assert(holders == 0 && lock == o);
            holders++;
            held_here[c] = o;
            state[o] = OP_HELD
        :: else ->
            state[o] = OP_DONE
        fi
    :: request == ACQUIRE && state[o] == OP_SENT && head[c] == o ->
        if
        :: result == GRANTED -> on_granted(c, o)
        :: else -> on_busy(c, o, whom)
        fi
    :: request == RELEASE ->
        being_released[c] = false;
        state[o] = OP_DONE;
#ifndef M_FREED_NO_NEWS
        news(c)
#endif
    :: request == UNDO
    fi
}

/* The answer to the last (UN)SUBSCRIBE is what counts: an older one speaks of
 * a subscription that was given up since. */
inline on_heard(c, what)
{
    if
    :: what == MESSAGE ->
        news(c)
    :: what == UNSUBSCRIBE ->
        sub_unanswered[c]--
    :: what == SUBSCRIBE ->
        sub_unanswered[c]--;
        if
#ifdef M_OLD_ANSWER
        :: sub_wanted[c] ->
#else
        :: sub_wanted[c] && sub_unanswered[c] == 0 ->
#endif
            sub_active[c] = true;
#ifdef M_NO_TRY_AFTER_CUT
            if
            :: head[c] != NOBODY && state[head[c]] == OP_WAITING
            :: else -> news(c)
            fi
#else
#ifdef M_NO_SECOND_TRY
            if
            :: head[c] != NOBODY && state[head[c]] == OP_SUBSCRIBING ->
                state[head[c]] = OP_WAITING
            :: else
            fi
#else
            news(c)
#endif
#endif
        :: else
        fi
    fi
}

inline on_cut(c)
{
    cut[c] = false;
    sub_active[c] = false;
    sub_unanswered[c] = 0;
#ifndef M_NO_RESUBSCRIBE
    if
    :: sub_wanted[c] -> command(c, SUBSCRIBE)
    :: else
    fi
#endif
}

#define WAITS(c)  (head[c] != NOBODY && (state[head[c]] == OP_WAITING || \
                   state[head[c]] == OP_SUBSCRIBING))

proctype client(byte c)
{
    mtype request, result, what;
    byte o, whom;

end_client:
    do
    :: d_step { c == 0 && nempty(answers_0) ->
            answers_0 ? request, o, result, whom;
            on_answer(c, request, o, result, whom);
            request = 0; result = 0; o = 0; whom = 0 }
    :: d_step { c == 1 && nempty(answers_1) ->
            answers_1 ? request, o, result, whom;
            on_answer(c, request, o, result, whom);
            request = 0; result = 0; o = 0; whom = 0 }
    :: d_step { c == 0 && nempty(heard_0) ->
            heard_0 ? what;
            on_heard(c, what);
            what = 0 }
    :: d_step { c == 1 && nempty(heard_1) ->
            heard_1 ? what;
            on_heard(c, what);
            what = 0 }
    :: d_step { cut[c] -> on_cut(c) }
#ifndef M_NO_LEASE_END
    :: d_step { WAITS(c) && busy_with[c] != NOBODY && gone[busy_with[c]] ->
            /* The end of the lease that BUSY told of. */
            attempt_try(c, head[c]) }
#endif
#if defined(RETRY) && !defined(M_NO_RETRY)
    :: d_step { WAITS(c) ->
            /* The bounded re-try. */
            attempt_try(c, head[c]) }
#endif
    od
}

/* A script's PUBLISH reaches whoever is subscribed at that moment. */
inline publish_to(c, channel)
{
    assert(len(channel) < HEARD_MAX);
    if
    :: subscribed[c] && !cut[c] -> channel ! MESSAGE
    :: subscribed[c] && !cut[c] && losses > 0 ->
        losses--;
        lost_message[c] = true
    :: else
    fi
}

inline publish()
{
    publish_to(0, heard_0);
    publish_to(1, heard_1)
}

/* ---- who calls ---- */

/* How a hold ends: it is let go; or its deadline passes, it is told LOST, and
 * its number is undone. */
inline let_go(c, o)
{
    assert(holders == 1);
    holders--;
    held_here[c] = NOBODY;
    state[o] = OP_RELEASING;
    being_released[c] = true;
    send(c, RELEASE, o)
}

inline lose(c, o)
{
    assert(holders == 1);
    holders--;
    held_here[c] = NOBODY;
    state[o] = OP_DONE;
    send(c, UNDO, o);
#ifndef M_LOST_NO_NEWS
    news(c)
#endif
}

inline call(c, o)
{
    if
    :: !TRIES_ONCE(o) ->
        fifo_join(c, o)
    :: TRIES_ONCE(o) && held_here[c] != NOBODY ->
        state[o] = OP_DONE
    :: TRIES_ONCE(o) && held_here[c] == NOBODY ->
        state[o] = OP_SENT;
        send(c, ACQUIRE, o)
    fi
}

/* Its time is over, or it was cancelled. */
inline give_up(c, o)
{
    state[o] = OP_DONE;
    if
    :: !TRIES_ONCE(o) -> fifo_leave(c, o)
    :: else
    fi
}

proctype caller(byte o)
{
    d_step { call(CLIENT(o), o) };
    if
    :: d_step { state[o] == OP_HELD -> let_go(CLIENT(o), o) }
    :: d_step { state[o] == OP_HELD && MAY_LOSE(o) -> lose(CLIENT(o), o) }
    :: d_step { state[o] < OP_HELD && MAY_LEAVE(o) -> give_up(CLIENT(o), o) }
    :: state[o] == OP_DONE
    fi;
    atomic { state[o] == OP_DONE -> over++ }
}

proctype foreign()
{
    if
    :: atomic { lock == FOREIGN -> lock = FREE; publish() }
    :: foreign_dead = true
    fi
}

/* ---- the server ---- */

inline run_script(request, o, replies)
{
    assert(len(replies) < SCRIPTS_MAX);
    if
    :: request == ACQUIRE ->
        if
        :: lock == FREE -> lock = o; replies ! ACQUIRE, o, GRANTED, NOBODY
        :: else -> replies ! ACQUIRE, o, BUSY, lock
        fi
    :: else ->
        if
        :: lock == o -> lock = FREE; publish()
        :: else
        fi;
        replies ! request, o, ANY, NOBODY
    fi
}

/* Whose lease can run out here: nobody renews it any more. */
#define UNATTENDED \
    (lock < FREE && (lock == FOREIGN -> foreign_dead : \
                     state[lock] == OP_RELEASING || \
                     (state[lock] == OP_DONE && MAY_LOSE(lock))))

proctype server(byte c)
{
    mtype request;
    byte o;

end_server:
    do
    :: atomic { c == 0 && nempty(scripts_0) ->
            scripts_0 ? request, o;
            run_script(request, o, answers_0);
            request = 0; o = 0 }
    :: atomic { c == 1 && nempty(scripts_1) ->
            scripts_1 ? request, o;
            run_script(request, o, answers_1);
            request = 0; o = 0 }
    od
}

proctype channels(byte c)
{
    mtype what;

end_channels:
    do
    :: d_step { c == 0 && nempty(commands_0) ->
            commands_0 ? what;
            subscribed[0] = (what == SUBSCRIBE);
            heard_0 ! what;
            what = 0 }
    :: d_step { c == 1 && nempty(commands_1) ->
            commands_1 ? what;
            subscribed[1] = (what == SUBSCRIBE);
            heard_1 ! what;
            what = 0 }
    od
}

proctype leases()
{
end_leases:
    do
    :: d_step { UNATTENDED ->
            gone[lock] = true;
            lock = FREE }
    od
}

/* The PUBSUB link of a client is cut: what was on its way is lost. */
inline cut_link(c, commands, heard)
{
    cuts--;
    cut[c] = true;
    subscribed[c] = false;
    do
    :: nempty(commands) -> commands ? what
    :: nempty(heard) -> heard ? what
    :: empty(commands) && empty(heard) -> break
    od;
    what = 0
}

#if CUTS > 0
proctype network()
{
    mtype what;

end_network:
    do
    :: d_step { cuts > 0 && !cut[0] -> cut_link(0, commands_0, heard_0) }
    :: d_step { cuts > 0 && !cut[1] -> cut_link(1, commands_1, heard_1) }
    od
}
#endif

/* ---- what must hold ---- */

/* A head for whom nothing will come any more. */
#define MISSED(c, heard) \
    (head[c] != NOBODY && \
     ((state[head[c]] == OP_WAITING && lock == FREE && !cut[c] && \
       len(heard) == 0 && !lost_message[c] && sub_active[c] && \
       (busy_with[c] == NOBODY || !gone[busy_with[c]])) || \
      (state[head[c]] == OP_WAITING && !cut[c] && !sub_wanted[c]) || \
      (state[head[c]] == OP_SUBSCRIBING && !cut[c] && \
       sub_unanswered[c] == 0) || \
      (state[head[c]] == OP_LOCAL && held_here[c] == NOBODY && \
       !being_released[c])))

bool missed_wake_up = false;

proctype monitor()
{
end_monitor:
    do
    :: atomic { MISSED(0, heard_0) || MISSED(1, heard_1) ->
            missed_wake_up = true;
            assert(!missed_wake_up) }
    od
}

#define AT_REST (over == OPS && lock == FREE && \
    len(scripts_0) == 0 && len(scripts_1) == 0 && \
    len(answers_0) == 0 && len(answers_1) == 0 && \
    len(commands_0) == 0 && len(commands_1) == 0 && \
    len(heard_0) == 0 && len(heard_1) == 0 && !cut[0] && !cut[1])

init
{
    byte i;

    atomic {
        if
        :: cuts = 0
#if CUTS > 0
        :: cuts = CUTS
#endif
        fi;
        losses = LOSSES;
        run server(0);
        run server(1);
        run channels(0);
        run channels(1);
        run leases();
        run foreign();
#if CUTS > 0
        run network();
#endif
        run client(0);
        run client(1);
        i = 0;
        do
        :: i < OPS -> run caller(i); i++
        :: else -> break
        od;
        i = 0;
#ifndef LIVE
        run monitor()
#endif
    };
    /* This comes, or somebody waits for ever: an invalid end state. */
    atomic {
        AT_REST ->
        assert(!sub_wanted[0] && !sub_wanted[1]);
        assert(!subscribed[0] && !subscribed[1]);
        assert(head[0] == NOBODY && head[1] == NOBODY);
        assert(len(fifo_0) == 0 && len(fifo_1) == 0)
    }
}

#ifdef LIVE
ltl everybody_is_served { <> (over == OPS && lock == FREE) }
#endif
