#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sem: a counting semaphore from the command line.
# lib.sh sets status, scratch, NAME_pid; quoted $ are the command's own.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/lib.sh"

sem() { try holdfast sem "$@"; }
value_is() { expect_equal "$(redis get "$1")" "$2"; }

test_permits_are_set_once() {
    sem set pool 3
    expect_status 0
    expect_equal "$(out)$(err)" ''
    value_is pool 3
    sem set pool 5
    expect_status 75
    expect_match "$(err)" 'pool: it is set already'
    value_is pool 3
    sem set --ttl 60s other 1
    expect_status 0
    expect_between 50000 "$(redis pttl other)" 60000
}

test_permits_are_taken_and_given_back() {
    sem set pool 3
    sem acquire pool
    expect_status 0
    expect_equal "$(out)$(err)" ''
    sem acquire -p 2 -n pool
    expect_status 0
    value_is pool 0
    sem acquire -n pool
    expect_status 75
    expect_match "$(err)" 'permits wanted: 1; there when last asked: 0'
    sem acquire -n --busy-code 9 pool
    expect_status 9
    sem release -p 2 pool
    expect_status 0
    value_is pool 2
    sem release --if-exists none
    expect_status 0
    expect_equal "$(redis exists none)" 0
    sem release none
    value_is none 1
}

test_a_wait_ends_with_its_time_or_with_a_release() {
    local begun

    sem set pool 0
    begun=$(now_ms)
    sem acquire -w 300ms pool
    expect_status 75
    expect_between 300 $(($(now_ms) - begun)) 1500
    start waiter holdfast sem acquire pool
    wait_for 5 is_subscribed pool
    sem release pool
    ended_within waiter 3000
    expect_status 0
    value_is pool 0
}

# Promise 5: one INT ends it at once, and nothing was taken.
test_a_signal_ends_a_wait() {
    sem set pool 0
    start waiter holdfast sem acquire pool
    wait_for 5 is_subscribed pool
    kill -TERM "$waiter_pid"
    ended_within waiter 3000
    expect_status 143
    wait_for 5 no_channels
    sem release pool
    value_is pool 1
}

test_permits_are_added_and_drained() {
    sem add pool 4
    expect_status 0
    value_is pool 4
    sem add -- pool -6
    expect_status 0
    value_is pool -2
    sem add pool 7
    sem drain pool
    expect_status 0
    expect_equal "$(out)" 5
    value_is pool 0
    sem drain none
    expect_equal "$(out)" 0
}

test_show_says_what_there_is() {
    sem show pool
    expect_status 0
    expect_equal "$(out)" $'pool\tnone\t0\t-2\t0'
    sem set pool 3
    sem show pool
    expect_equal "$(out)" $'pool\tset\t3\t-1\t0'
    sem delete pool
    expect_status 0
    expect_equal "$(redis exists pool)" 0
}

test_json_is_one_object_a_line() {
    sem set --json pool 3
    expect_match "$(out)" '"set": ?true'
    sem set --json pool 3
    expect_status 75
    expect_match "$(out)" '"set": ?false'
    sem acquire --json -p 2 pool
    expect_match "$(out)" '"acquired": ?2'
    sem show --json pool
    expect_match "$(out)" '"available": ?1'
    expect_match "$(out)" '"name": ?"pool"'
    sem release --json --if-exists none
    expect_match "$(out)" '"released": ?0'
    sem add --json pool 1
    expect_match "$(out)" '"available": ?2'
    sem drain --json pool
    expect_match "$(out)" '"drained": ?2'
    expect_equal "$(wc -l <"$scratch/out")" 1
    sem delete --json pool
    expect_match "$(out)" '"deleted": ?true'
}

test_run_takes_permits_while_the_command_runs() {
    sem set pool 3
    try holdfast sem run -p 2 pool -- sh -c \
        'redis-cli -s "$0" get pool; echo "$HOLDFAST_NAME $HOLDFAST_KIND"; exit 7' \
        "$socket"
    expect_status 7
    expect_equal "$(out)" $'1\npool semaphore'
    value_is pool 3
    try holdfast sem run -n -p 4 pool -- true
    expect_status 75
    try holdfast sem run pool -c 'exit 3'
    expect_status 3
    try holdfast sem run pool -- /no/such/command
    expect_status 127
    try holdfast sem run pool -- "$scratch"
    expect_status 126
    value_is pool 3
}

# Promise 2: signals go to the command's group, and the permits come back.
test_signals_are_forwarded_to_the_command() {
    sem set pool 1
    start job holdfast sem run pool -- sh -c \
        'trap "echo told; exit 4" TERM; echo ready; while :; do sleep 0.05; done'
    wait_for 5 file_has "$scratch/job.out" ready
    value_is pool 0
    kill -TERM "$job_pid"
    ended_within job 3000
    expect_status 4
    file_has "$scratch/job.out" told || fail 'the command was not told'
    value_is pool 1
}

# Ten at once, three permits: never more than three inside.
test_no_more_than_the_permits_run_at_once() {
    local i

    sem set pool 3
    for i in 1 2 3 4 5 6 7 8; do
        start "job$i" holdfast sem run pool -- sh -c \
            'redis-cli -s "$0" incr inside; sleep 0.1
             redis-cli -s "$0" decr inside' "$socket"
    done
    for i in 1 2 3 4 5 6 7 8; do
        finish "job$i"
        expect_status 0 "job$i"
        expect_between 1 "$(head -n 1 "$scratch/job$i.out")" 3
    done
    value_is pool 3
}

test_what_is_wrong_is_said() {
    redis rpush list a >/dev/null
    sem acquire -n list
    expect_status 65
    sem show list
    expect_status 65
    sem set pool
    expect_status 64
    expect_match "$(err)" 'NAME PERMITS is missing'
    sem set pool -- -1
    expect_status 64
    expect_match "$(err)" "PERMITS '-1' is no number from 0 to 2147483647"
    sem set pool many
    expect_status 64
    sem set pool 3x
    expect_status 64
    sem set pool 99999999999999999999
    expect_status 64
    sem acquire -p 0 pool
    expect_status 64
    sem acquire -w 1s -n pool
    expect_status 64
    sem acquire --ttl 1s pool
    expect_status 64
    sem aquire pool
    expect_status 64
    expect_match "$(err)" "did you mean 'acquire'"
    sem
    expect_status 64
    sem show
    expect_status 64
    sem show a b
    expect_status 64
    sem run pool true
    expect_status 64
    expect_match "$(err)" 'put -- before the command'
    sem run pool
    expect_status 64
    expect_equal "$(redis dbsize)" 1
}

test_help_names_the_actions() {
    sem --help
    expect_status 0
    expect_match "$(out)" 'acquire +take permits'
    sem acquire --help
    expect_status 0
    expect_match "$(out)" 'usage: holdfast sem acquire'
    expect_match "$(out)" '--nowait'
    try holdfast help sem
    expect_status 0
}

test_a_server_that_is_not_there_is_unavailable() {
    try holdfast --server unix:/nowhere sem acquire -n pool
    expect_status 69
    try holdfast --server unix:/nowhere sem show pool
    expect_status 69
}

start_server
export HOLDFAST_URL=unix:$socket
run_tests
