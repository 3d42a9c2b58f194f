// SPDX-License-Identifier: MIT

// A program that uses node-redlock as it is told, line by line.  The lines are
// those of python/agent.py, which says what they mean; what is true is written
// as Python writes it.
"use strict";

const Redis = require("ioredis");
const { default: Redlock, ExecutionError, ResourceLockedError } =
    require("redlock");
const readline = require("readline");

const PAUSE_MS = 20;
const FOREVER = -1;

const clients = new Map();
const threads = new Map(); // who -> the end of what it was told so far
const locks = new Map(); // who and name -> what it holds

function truth(is) {
    return is ? "True" : "False";
}

function settings(retryCount) {
    return { retryCount, retryDelay: PAUSE_MS, retryJitter: 0 };
}

function isTaken(problem) {
    return problem instanceof ExecutionError ||
        problem instanceof ResourceLockedError;
}

// Without a wait it waits without limit.
async function acquire(client, key, name, leaseMs, waitMs) {
    const tries = waitMs === undefined ? FOREVER
        : Math.floor(Number(waitMs) / PAUSE_MS);

    try {
        locks.set(key, await client.redlock.acquire(
            [name], Number(leaseMs), settings(tries)));
        return true;
    } catch (problem) {
        if (isTaken(problem)) {
            return false;
        }
        throw problem;
    }
}

async function cycle(client, key, name, rounds, sum) {
    for (let round = 0; round < Number(rounds); round++) {
        await acquire(client, key, name, 30000);
        const value = Number(await client.redis.get(sum));
        await client.redis.set(sum, value + 1);
        await locks.get(key).release();
    }
    return rounds;
}

async function carryOut(who, verb, words) {
    const client = clients.get(who.split("/")[0]);
    const name = words[0];
    const key = who + " " + name;

    switch (verb) {
    case "acquire":
        return truth(await acquire(client, key, name, words[1], words[2]));
    case "release":
        await locks.get(key).release();
        return "";
    case "owned":
        return truth(await client.redis.get(name) === locks.get(key).value);
    case "locked":
        return truth(await client.redis.exists(name) === 1);
    case "extend":
        locks.set(key, await locks.get(key).extend(Number(words[1])));
        return "True";
    case "cycle":
        return cycle(client, key, name, words[1], words[2]);
    default:
        throw new Error("no such verb: " + verb);
    }
}

async function open(who, url) {
    const redis = new Redis(url);
    const redlock = new Redlock([redis]);

    redlock.on("error", () => {}); // whoever asked is told
    clients.set(who, { redis, redlock });
    await redis.ping();
    return "True";
}

async function tell(number, work) {
    try {
        console.log(`${number} ok ${await work()}`.trimEnd());
    } catch (problem) {
        const text = String(problem.message).replace(/\n/g, " ");

        console.log(`${number} error ${problem.constructor.name}: ${text}`);
    }
}

const input = readline.createInterface({ input: process.stdin });

console.log("ready node-redlock");
input.on("line", (line) => {
    const [number, who, verb, ...words] = line.split(" ");
    const work = verb === "open" ? () => open(who, words[0])
        : () => carryOut(who, verb, words);
    const before = threads.get(who) || Promise.resolve();

    threads.set(who, before.then(() => tell(number, work)));
});
input.on("close", () => process.exit(0));
