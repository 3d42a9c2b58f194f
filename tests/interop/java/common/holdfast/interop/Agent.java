/* SPDX-License-Identifier: MIT */
/*
 * Agent.java - a Java program that uses Redisson as it is told, line by line.
 *
 * One line of standard input is one request, and gets one line of answer:
 *
 *     ID WHO VERB [ARGUMENT...]      7 a/t1 acquire lock orders:42 30000
 *     ID ok [TEXT]                   7 ok
 *     ID error CLASS: MESSAGE        7 error IllegalMonitorStateException: ...
 *
 * WHO is a client, or a client and one of its threads ("a/t1"); a thread begins
 * with its first request.  Requests of one thread run one after the other, those
 * of several at once, so an answer may overtake another: ID tells which is
 * which.  Words are separated by single spaces, so no name has one.  The end of
 * the input ends the program without a release, as a crash would.
 *
 *     a open URL [watchdog=MS] [mapper=PREFIX] [fair-wait=MS] [timeout=MS]
 *     a id                 its UUID
 *     a now                its wall clock, ms since 1970
 *     a close
 *     a/t1 owner           who that thread is on the wire
 *     a/t1 interrupt       not queued behind what the thread is doing
 *     a/t1 waits           likewise: whether it waits for its turn now
 *
 * All other verbs are in LockVerbs and CountVerbs.
 */
package holdfast.interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

public final class Agent {
    private final Map<String, Party> parties = new ConcurrentHashMap<>();
    private final PrintStream out =
        new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private Agent() {
    }

    public static void main(String[] args) throws IOException {
        Agent agent = new Agent();

        agent.out.println("ready " + Edition.REDISSON);
        agent.serve();
        /* Threads of Redisson would keep the program alive. */
        Runtime.getRuntime().halt(0);
    }

    private void serve() throws IOException {
        BufferedReader in = new BufferedReader(
            new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;

        while ((line = in.readLine()) != null) {
            List<String> words = Arrays.asList(line.split(" "));
            Request request = new Request(words.get(0), words.get(1),
                words.get(2), words.subList(3, words.size()));

            dispatch(request);
        }
    }

    /* What belongs to a thread goes there, the rest is done here. */
    private void dispatch(Request request) {
        Party party = parties.get(request.client);

        if (request.verb.equals("open")) {
            answer(request, () -> {
                parties.put(request.client,
                    new Party(request.arguments, parties));
                return null;
            });
        } else if (request.thread == null) {
            answer(request, () -> party.command(request));
        } else if (request.verb.equals("interrupt")) {
            answer(request, () -> party.interrupt(request.thread));
        } else if (request.verb.equals("waits")) {
            answer(request, () -> party.waits(request.thread));
        } else {
            party.run(request.thread,
                () -> answer(request, () -> party.command(request)));
        }
    }

    private interface Work {
        Object run() throws Exception;
    }

    private void answer(Request request, Work work) {
        String text;

        try {
            Object result = work.run();
            text = "ok" + (result == null ? "" : " " + result);
        } catch (Exception | AssertionError problem) {
            text = "error " + inWords(problem);
        }
        out.println(request.id + " " + text);
    }

    /* Redisson wraps what it throws; the innermost cause says it. */
    private static String inWords(Throwable problem) {
        StringBuilder text = new StringBuilder();
        Throwable one = problem;

        while (one != null) {
            text.append(text.length() == 0 ? "" : " <- ")
                .append(one.getClass().getSimpleName())
                .append(": ")
                .append(String.valueOf(one.getMessage()).replace('\n', ' '));
            one = one.getCause() == one ? null : one.getCause();
        }
        return text.toString();
    }
}
