/* SPDX-License-Identifier: MIT */
/*
 * Edition.java - what Redisson 3.16.8 has elsewhere, and a refusal for what it
 * has not: fenced and non-reentrant locks, locks of values, and more.
 */
package holdfast.interop;

import java.util.List;
import org.redisson.api.NameMapper;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.SingleServerConfig;

final class Edition {
    static final String REDISSON = "oldest";

    private Edition() {
    }

    static void putInFront(Config config, SingleServerConfig server,
        String prefix) {
        server.setNameMapper(new NameMapper() {
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
        throw new UnsupportedOperationException("always five minutes here");
    }

    static RLock lock(RedissonClient client, String kind, String name) {
        throw new UnsupportedOperationException("no such kind here: " + kind);
    }

    static RLock values(RedissonClient client, String group,
        List<String> values) {
        throw new UnsupportedOperationException("no locks of values here");
    }

    static Object token(RLock lock, Request request) {
        throw request.unknown();
    }

    static Object semaphore(RSemaphore semaphore, Request request) {
        throw request.unknown();
    }

    static Object permits(RPermitExpirableSemaphore permits, Request request) {
        throw request.unknown();
    }
}
