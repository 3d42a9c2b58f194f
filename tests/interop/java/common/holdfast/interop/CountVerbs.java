/* SPDX-License-Identifier: MIT */
/*
 * CountVerbs.java - semaphores, permits with a lease, and latches.
 *
 *     sem-acquire NAME K               wait without limit
 *     sem-try NAME K [WAIT_MS]
 *     sem-release NAME K
 *     sem-set NAME K, sem-add NAME K, sem-drain NAME, sem-available NAME
 *     sem-cycle NAME ROUNDS KEY        take and give back; KEY counts those
 *                                      inside, and its most is the answer
 *     sem-release-if-exists NAME K     (Edition)
 *
 *     permit-acquire NAME [LEASE_MS]   an id
 *     permit-try NAME WAIT_MS [LEASE_MS]
 *     permit-release NAME ID           an error if there is no such permit
 *     permit-try-release NAME ID
 *     permit-update NAME ID LEASE_MS
 *     permit-set NAME K, permit-add NAME K, permit-available NAME
 *     permit-cycle NAME ROUNDS KEY     as sem-cycle
 *     permit-acquire-many NAME K [LEASE_MS], permit-release-many NAME ID,...,
 *     permit-total, permit-acquired NAME, permit-resize NAME K,
 *     permit-lease NAME ID             (Edition)
 *
 *     latch-set NAME COUNT, latch-down NAME, latch-count NAME
 *     latch-await NAME [WAIT_MS], latch-delete NAME
 */
package holdfast.interop;

import java.util.concurrent.TimeUnit;
import org.redisson.api.RAtomicLong;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

final class CountVerbs {
    private static final TimeUnit MS = TimeUnit.MILLISECONDS;

    private final RedissonClient client;

    CountVerbs(RedissonClient client) {
        this.client = client;
    }

    static boolean knows(String verb) {
        return verb.startsWith("sem-") || verb.startsWith("permit-")
            || verb.startsWith("latch-");
    }

    Object command(Request request) throws Exception {
        String name = request.text(0);

        if (request.verb.equals("sem-cycle")) {
            return cycle(client.getSemaphore(name), request.count(1),
                client.getAtomicLong(request.text(2)));
        }
        if (request.verb.equals("permit-cycle")) {
            return cycle(client.getPermitExpirableSemaphore(name),
                request.count(1), client.getAtomicLong(request.text(2)));
        }
        if (request.verb.startsWith("sem-")) {
            return semaphore(client.getSemaphore(name), request);
        }
        if (request.verb.startsWith("permit-")) {
            return permits(client.getPermitExpirableSemaphore(name), request);
        }
        return latch(client.getCountDownLatch(name), request);
    }

    private static long cycle(RSemaphore semaphore, int rounds,
        RAtomicLong inside) throws InterruptedException {
        long most = 0;

        for (int round = 0; round < rounds; round++) {
            semaphore.acquire(1);
            most = Math.max(most, inside.incrementAndGet());
            inside.decrementAndGet();
            semaphore.release(1);
        }
        return most;
    }

    private static long cycle(RPermitExpirableSemaphore permits, int rounds,
        RAtomicLong inside) throws InterruptedException {
        long most = 0;

        for (int round = 0; round < rounds; round++) {
            String id = permits.acquire();

            most = Math.max(most, inside.incrementAndGet());
            inside.decrementAndGet();
            permits.release(id);
        }
        return most;
    }

    private static Object semaphore(RSemaphore semaphore, Request request)
        throws Exception {
        switch (request.verb) {
            case "sem-acquire":
                semaphore.acquire(request.count(1));
                return null;
            case "sem-try":
                return request.has(2)
                    ? semaphore.tryAcquire(request.count(1),
                        request.number(2), MS)
                    : semaphore.tryAcquire(request.count(1));
            case "sem-release":
                semaphore.release(request.count(1));
                return null;
            case "sem-set":
                return semaphore.trySetPermits(request.count(1));
            case "sem-add":
                semaphore.addPermits(request.count(1));
                return null;
            case "sem-drain":
                return semaphore.drainPermits();
            case "sem-available":
                return semaphore.availablePermits();
            default:
                return Edition.semaphore(semaphore, request);
        }
    }

    private static Object permits(RPermitExpirableSemaphore permits,
        Request request) throws Exception {
        switch (request.verb) {
            case "permit-acquire":
                return request.has(1)
                    ? permits.acquire(request.number(1), MS)
                    : permits.acquire();
            case "permit-try":
                return request.has(2)
                    ? permits.tryAcquire(request.number(1),
                        request.number(2), MS)
                    : permits.tryAcquire(request.number(1), MS);
            case "permit-release":
                permits.release(request.text(1));
                return null;
            case "permit-try-release":
                return permits.tryRelease(request.text(1));
            case "permit-update":
                return permits.updateLeaseTime(request.text(1),
                    request.number(2), MS);
            case "permit-set":
                return permits.trySetPermits(request.count(1));
            case "permit-add":
                permits.addPermits(request.count(1));
                return null;
            case "permit-available":
                return permits.availablePermits();
            default:
                return Edition.permits(permits, request);
        }
    }

    private static Object latch(RCountDownLatch latch, Request request)
        throws Exception {
        switch (request.verb) {
            case "latch-set":
                return latch.trySetCount(request.number(1));
            case "latch-down":
                latch.countDown();
                return null;
            case "latch-count":
                return latch.getCount();
            case "latch-await":
                if (request.has(1)) {
                    return latch.await(request.number(1), MS);
                }
                latch.await();
                return null;
            case "latch-delete":
                return latch.delete();
            default:
                throw request.unknown();
        }
    }
}
