/* SPDX-License-Identifier: MIT */
/*
 * Edition.java - what Redisson 4 has and 3.16.8 has not, or has elsewhere; the
 * file of the same name in the other folder is for that one.
 *
 *     acquire-token fenced NAME        lockAndGetToken(): a token
 *     try-token fenced NAME WAIT_MS [LEASE_MS]
 *     token fenced NAME                the counter, whoever holds
 */
package holdfast.interop;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.NameMapper;
import org.redisson.config.SingleServerConfig;

final class Edition {
    static final String REDISSON = "newest";

    private static final TimeUnit MS = TimeUnit.MILLISECONDS;

    private Edition() {
    }

    static void putInFront(Config config, SingleServerConfig server,
        String prefix) {
        config.setNameMapper(new NameMapper() {
            @Override
            public String map(String name) {
                return prefix + name;
            }

            @Override
            public String unmap(String name) {
                return name.substring(prefix.length());
            }
        });
    }

    static void setFairWait(Config config, long waitMs) {
        config.setFairLockWaitTimeout(waitMs);
    }

    static RLock lock(RedissonClient client, String kind, String name) {
        switch (kind) {
            case "fenced":
                return client.getFencedLock(name);
            case "nonreentrant":
                return client.getNonReentrantLock(name);
            case "nonreentrant-fair":
                return client.getNonReentrantFairLock(name);
            default:
                throw new IllegalArgumentException("no such kind: " + kind);
        }
    }

    static RLock values(RedissonClient client, String group,
        List<String> values) {
        return client.getMultiLock(group, new ArrayList<Object>(values));
    }

    static Object token(RLock lock, Request request) {
        RFencedLock fenced = (RFencedLock) lock;

        switch (request.verb) {
            case "acquire-token":
                return fenced.lockAndGetToken();
            case "try-token":
                return request.has(3)
                    ? fenced.tryLockAndGetToken(request.number(2),
                        request.number(3), MS)
                    : fenced.tryLockAndGetToken(request.number(2), MS);
            case "token":
                return fenced.getToken();
            default:
                throw request.unknown();
        }
    }

    static Object semaphore(RSemaphore semaphore, Request request) {
        if (request.verb.equals("sem-release-if-exists")) {
            return semaphore.releaseIfExists(request.count(1));
        }
        throw request.unknown();
    }

    static Object permits(RPermitExpirableSemaphore permits, Request request)
        throws InterruptedException {
        switch (request.verb) {
            case "permit-acquire-many":
                return String.join(",", request.has(2)
                    ? permits.acquire(request.count(1), request.number(2), MS)
                    : permits.acquire(request.count(1)));
            case "permit-release-many":
                permits.release(Arrays.asList(request.text(1).split(",")));
                return null;
            case "permit-total":
                return permits.getPermits();
            case "permit-acquired":
                return permits.acquiredPermits();
            case "permit-resize":
                permits.setPermits(request.count(1));
                return null;
            case "permit-lease":
                return permits.getLeaseTime(request.text(1));
            default:
                throw request.unknown();
        }
    }
}
