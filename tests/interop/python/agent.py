#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A program that uses the lock of redis-py as it is told, line by line.

The lines are those of the Java agent (java/common/.../Agent.java):

    ID WHO VERB [ARGUMENT...]        7 p/t1 acquire orders:42 30000
    ID ok [TEXT]
    ID error CLASS: MESSAGE

WHO is a client and one of its threads; a thread begins with its first request.

    p open URL
    p/t1 acquire NAME LEASE_MS [WAIT_MS]     whether it has it; without WAIT_MS
                                             it waits without limit
    p/t1 release NAME
    p/t1 owned NAME, locked NAME
    p/t1 extend NAME MS                      so long from now
    p/t1 cycle NAME ROUNDS KEY               add ROUNDS to KEY, each under it
"""
import queue
import sys
import threading

import redis

output = threading.Lock()
clients = {}
threads = {}
locks = {}


def answer(number, text):
    with output:
        sys.stdout.write(f"{number} {text}\n")
        sys.stdout.flush()


def lock_of(who, name, lease_ms=30000):
    """One object for each thread and name; the lease is its own."""
    key = (who, name)
    if key not in locks:
        locks[key] = clients[who.split("/")[0]].lock(
            name, timeout=lease_ms / 1000, sleep=0.02)
    locks[key].timeout = lease_ms / 1000
    return locks[key]


def acquire(who, words):
    lock = lock_of(who, words[0], int(words[1]))
    if len(words) < 3:
        return lock.acquire()
    if int(words[2]) == 0:
        return lock.acquire(blocking=False)
    return lock.acquire(blocking_timeout=int(words[2]) / 1000)


def cycle(who, words):
    client = clients[who.split("/")[0]]
    lock = lock_of(who, words[0])
    for _ in range(int(words[1])):
        lock.acquire()
        client.set(words[2], int(client.get(words[2]) or 0) + 1)
        lock.release()
    return words[1]


def carry_out(who, verb, words):
    if verb == "open":
        clients[who] = redis.Redis.from_url(words[0])
        return clients[who].ping()
    if verb == "acquire":
        return acquire(who, words)
    if verb == "cycle":
        return cycle(who, words)
    lock = lock_of(who, words[0])
    if verb == "release":
        return lock.release()
    if verb == "owned":
        return lock.owned()
    if verb == "locked":
        return lock.locked()
    if verb == "extend":
        return lock.extend(int(words[1]) / 1000, replace_ttl=True)
    raise ValueError("no such verb: " + verb)


def work(who, requests):
    while True:
        number, verb, words = requests.get()
        try:
            result = carry_out(who, verb, words)
            answer(number, "ok" if result is None else f"ok {result}")
        except Exception as problem:  # whatever it is, it is the answer
            answer(number, f"error {type(problem).__name__}: {problem}")


def main():
    answer("ready", "redis-py")
    for line in sys.stdin:
        number, who, verb, *words = line.rstrip("\n").split(" ")
        if who not in threads:
            threads[who] = queue.Queue()
            threading.Thread(target=work, args=(who, threads[who]),
                             daemon=True).start()
        threads[who].put((number, verb, words))


main()
