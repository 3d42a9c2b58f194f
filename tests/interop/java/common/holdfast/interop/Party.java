/* SPDX-License-Identifier: MIT */
/*
 * Party.java - one Redisson client, and the threads that use it.
 *
 * In Redisson a lock's owner is a thread, so each thread that a test names is a
 * real one that stays.  The first request of a thread starts it.
 */
package holdfast.interop;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.redisson.config.SingleServerConfig;

final class Party {
    private final RedissonClient client;
    private final LockVerbs locks;
    private final CountVerbs counts;
    private final Map<String, Worker> workers = new HashMap<>();

    /* A thread with its queue of things to do. */
    private static final class Worker extends Thread {
        final BlockingQueue<Runnable> queue = new LinkedBlockingQueue<>();

        @Override
        public void run() {
            while (true) {
                try {
                    queue.take().run();
                } catch (InterruptedException late) {
                    /* An interrupt that came when the call was over. */
                    continue;
                }
            }
        }
    }

    Party(List<String> arguments, Map<String, Party> parties) {
        client = Redisson.create(config(arguments));
        locks = new LockVerbs(client, parties);
        counts = new CountVerbs(client);
    }

    LockVerbs locks() {
        return locks;
    }

    /* Redisson's defaults but for its many threads and connections. */
    private static Config config(List<String> arguments) {
        Config config = new Config();
        SingleServerConfig server = config.useSingleServer()
            .setAddress(arguments.get(0))
            .setConnectionMinimumIdleSize(2)
            .setConnectionPoolSize(32);

        config.setThreads(4);
        config.setNettyThreads(4);
        config.setCodec(StringCodec.INSTANCE);
        for (String option : arguments.subList(1, arguments.size())) {
            int equals = option.indexOf('=');
            String value = option.substring(equals + 1);

            switch (option.substring(0, equals)) {
                case "watchdog":
                    config.setLockWatchdogTimeout(Long.parseLong(value));
                    break;
                case "timeout":
                    server.setTimeout(Integer.parseInt(value));
                    server.setConnectTimeout(Integer.parseInt(value));
                    server.setRetryAttempts(0);
                    break;
                case "mapper":
                    Edition.putInFront(config, server, value);
                    break;
                case "fair-wait":
                    Edition.setFairWait(config, Long.parseLong(value));
                    break;
                default:
                    throw new IllegalArgumentException(option);
            }
        }
        return config;
    }

    void run(String thread, Runnable work) {
        Worker worker = workers.computeIfAbsent(thread, name -> {
            Worker made = new Worker();
            made.setDaemon(true);
            made.start();
            return made;
        });

        worker.queue.add(work);
    }

    Object interrupt(String thread) {
        workers.get(thread).interrupt();
        return null;
    }

    /* Asleep where Redisson's synchronous waits sleep, and not for an answer of
     * the server: there is no other way to see that a message would wake it.  A
     * client counts its waiters when a message comes, so one that is only on its
     * way to sleep may miss it. */
    Object waits(String thread) {
        Worker worker = workers.get(thread);
        Thread.State state = worker.getState();

        if (state != Thread.State.WAITING
            && state != Thread.State.TIMED_WAITING) {
            return false;
        }
        for (StackTraceElement frame : worker.getStackTrace()) {
            switch (frame.getClassName()) {
                case "java.util.concurrent.Semaphore":
                case "org.redisson.RedissonSpinLock":
                case "org.redisson.misc.ReclosableLatch":
                    return true;
                case "org.redisson.command.CommandAsyncService":
                    return false;
                default:
                    break;
            }
        }
        return false;
    }

    Object command(Request request) throws Exception {
        switch (request.verb) {
            case "id":
                return client.getId();
            case "owner":
                return client.getId() + ":" + Thread.currentThread().getId();
            case "now":
                return System.currentTimeMillis();
            case "close":
                client.shutdown();
                return null;
            default:
                break;
        }
        return request.verb.contains("-")
            && CountVerbs.knows(request.verb)
            ? counts.command(request)
            : locks.command(request);
    }
}
