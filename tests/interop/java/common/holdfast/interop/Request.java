/* SPDX-License-Identifier: MIT */
/*
 * Request.java - one line that the agent was told, taken apart.
 */
package holdfast.interop;

import java.util.List;

final class Request {
    final String id;
    final String client;
    final String thread; /* null: none was named */
    final String verb;
    final List<String> arguments;

    Request(String id, String who, String verb, List<String> arguments) {
        int slash = who.indexOf('/');

        this.id = id;
        this.client = slash < 0 ? who : who.substring(0, slash);
        this.thread = slash < 0 ? null : who.substring(slash + 1);
        this.verb = verb;
        this.arguments = arguments;
    }

    String text(int index) {
        return arguments.get(index);
    }

    boolean has(int index) {
        return index < arguments.size();
    }

    long number(int index) {
        return Long.parseLong(arguments.get(index));
    }

    long number(int index, long otherwise) {
        return has(index) ? number(index) : otherwise;
    }

    int count(int index) {
        return Integer.parseInt(arguments.get(index));
    }

    IllegalArgumentException unknown() {
        return new IllegalArgumentException("no such verb: " + verb);
    }
}
