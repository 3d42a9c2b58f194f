/* SPDX-License-Identifier: MIT */
/*
 * LockVerbs.java - what can be done with everything that is an RLock.
 *
 *     acquire KIND NAME [LEASE_MS]     wait without limit
 *     interruptibly KIND NAME          the same, and an interrupt ends it
 *     try KIND NAME [WAIT_MS [LEASE_MS]]
 *     release KIND NAME
 *     force KIND NAME
 *     delete KIND NAME                 as an object, not as a lock
 *     is-locked, is-held, count, ttl KIND NAME
 *     cycle KIND NAME ROUNDS KEY       add ROUNDS to KEY, each under the lock
 *     token fenced NAME, acquire-token, try-token   (Edition)
 *
 * KIND is lock, fair, spin, read, write, fenced, nonreentrant or
 * nonreentrant-fair with a NAME; multi or red with members instead,
 * "lock:a,fair:b", which may be another client's, "b@lock:a"; values with a
 * group, "group=one,two".
 */
package holdfast.interop;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RAtomicLong;
import org.redisson.api.RLock;
import org.redisson.api.RObject;
import org.redisson.api.RedissonClient;

final class LockVerbs {
    private final RedissonClient client;
    private final Map<String, Party> parties;

    /* One object for each kind and name, as most programs have it. */
    private final Map<String, RLock> locks = new ConcurrentHashMap<>();

    LockVerbs(RedissonClient client, Map<String, Party> parties) {
        this.client = client;
        this.parties = parties;
    }

    private RLock make(String kind, String name) {
        switch (kind) {
            case "lock":
                return client.getLock(name);
            case "fair":
                return client.getFairLock(name);
            case "spin":
                return client.getSpinLock(name);
            case "read":
                return client.getReadWriteLock(name).readLock();
            case "write":
                return client.getReadWriteLock(name).writeLock();
            case "multi":
                return client.getMultiLock(members(name));
            case "red":
                return client.getRedLock(members(name));
            case "values": {
                int equals = name.indexOf('=');

                return Edition.values(client, name.substring(0, equals),
                    Arrays.asList(name.substring(equals + 1).split(",")));
            }
            default:
                return Edition.lock(client, kind, name);
        }
    }

    private RLock[] members(String list) {
        List<RLock> members = new ArrayList<>();

        for (String member : list.split(",")) {
            int at = member.indexOf('@');
            int colon = member.indexOf(':');
            LockVerbs whose = at < 0 ? this
                : parties.get(member.substring(0, at)).locks();

            members.add(whose.make(member.substring(at + 1, colon),
                member.substring(colon + 1)));
        }
        return members.toArray(new RLock[0]);
    }

    Object command(Request request) throws Exception {
        String kind = request.text(0);
        String name = request.text(1);
        RLock lock = locks.computeIfAbsent(kind + " " + name,
            unused -> make(kind, name));

        switch (request.verb) {
            case "acquire":
                return acquire(lock, request);
            case "interruptibly":
                lock.lockInterruptibly();
                return null;
            case "try":
                return attempt(lock, request);
            case "release":
                lock.unlock();
                return null;
            case "force":
                return lock.forceUnlock();
            case "delete":
                return ((RObject) lock).delete();
            case "cycle":
                return cycle(lock, request.count(2), request.text(3));
            default:
                return question(lock, request);
        }
    }

    private static Object question(RLock lock, Request request)
        throws Exception {
        switch (request.verb) {
            case "is-locked":
                return lock.isLocked();
            case "is-held":
                return lock.isHeldByCurrentThread();
            case "count":
                return lock.getHoldCount();
            case "ttl":
                return lock.remainTimeToLive();
            default:
                return Edition.token(lock, request);
        }
    }

    private static Object acquire(RLock lock, Request request) {
        if (request.has(2)) {
            lock.lock(request.number(2), TimeUnit.MILLISECONDS);
        } else {
            lock.lock();
        }
        return null;
    }

    private static Object attempt(RLock lock, Request request)
        throws InterruptedException {
        if (request.has(3)) {
            return lock.tryLock(request.number(2), request.number(3),
                TimeUnit.MILLISECONDS);
        }
        if (request.has(2)) {
            return lock.tryLock(request.number(2), TimeUnit.MILLISECONDS);
        }
        return lock.tryLock();
    }

    /* Reads and writes are two commands: only the lock makes them one. */
    private Object cycle(RLock lock, int rounds, String key) {
        RAtomicLong counter = client.getAtomicLong(key);

        for (int round = 0; round < rounds; round++) {
            lock.lock();
            counter.set(counter.get() + 1);
            lock.unlock();
        }
        return rounds;
    }
}
