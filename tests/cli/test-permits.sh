#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# permits: permits with leases from the command line.
# lib.sh sets status, scratch, NAME_pid; quoted $ are the command's own.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/lib.sh"

permits() { try holdfast permits "$@"; }
value_is() { expect_equal "$(redis get "$1")" "$2"; }
value_becomes() { [ "$(redis get "$1")" = "$2" ]; }
are_out() { expect_equal "$(redis zcard "{$1}:timeout")" "$2"; }

test_the_number_of_permits_is_set() {
    permits set pool 3
    expect_status 0
    expect_equal "$(out)$(err)" ''
    value_is pool 3
    permits acquire pool
    permits set pool 5
    value_is pool 4
    permits set --once pool 9
    expect_status 75
    expect_match "$(err)" 'pool: it is set already'
    value_is pool 4
    permits set --once --ttl 60s other 1
    expect_status 0
    expect_between 50000 "$(redis pttl other)" 60000
    permits set --ttl 60s pool 1
    expect_status 64
    permits set pool -- -1
    expect_status 64
}

test_a_permit_is_taken_and_given_back_by_its_id() {
    local id

    permits set pool 1
    permits acquire --lease 2m pool
    expect_status 0
    id=$(out)
    expect_match "$id" '^[0-9a-f]{32}$'
    value_is pool 0
    are_out pool 1
    permits acquire -n pool
    expect_status 75
    expect_match "$(err)" 'available when last asked: 0'
    permits acquire -n --busy-code 9 pool
    expect_status 9
    permits extend --lease 10m pool "$id"
    expect_status 0
    permits extend --lease 1m pool "$id"
    permits show pool "$id"
    expect_between 500000 "$(out | cut -f 2)" 600000
    permits extend --exact --lease 1m pool "$id"
    expect_status 0
    permits show pool "$id"
    expect_between 50000 "$(out | cut -f 2)" 60000
    permits release pool "$id"
    expect_status 0
    expect_equal "$(out)$(err)" ''
    value_is pool 1
    permits release pool "$id"
    expect_status 79
    permits extend --lease 10m pool "$id"
    expect_status 79
    permits extend pool "$id"
    expect_status 64
    expect_match "$(err)" '--lease DUR is missing'
    permits release pool xyz
    expect_status 64
    expect_match "$(err)" '32 hexadecimal digits'
    value_is pool 1
}

test_several_are_taken_and_given_back_together() {
    local ids

    permits set pool 5
    permits acquire -p 3 --lease 2m pool
    expect_status 0
    expect_equal "$(grep -cE '^[0-9a-f]{32}$' "$scratch/out")" 3
    ids=$(tr '\n' ' ' <"$scratch/out")
    value_is pool 2
    are_out pool 3
    permits acquire -n -p 3 pool
    expect_status 75
    expect_match "$(err)" 'permits wanted: 3; available when last asked: 2'
    # shellcheck disable=SC2086 # several words
    permits release pool $ids 00112233445566778899aabbccddeeff
    expect_status 79
    expect_match "$(err)" 'none was given back'
    are_out pool 3
    # shellcheck disable=SC2086 # several words
    permits release pool $ids
    expect_status 0
    value_is pool 5
    permits acquire --json -p 2 pool
    expect_match "$(out)" '"ids": ?\["[0-9a-f]{32}", ?"[0-9a-f]{32}"\]'
    permits acquire -p 0 pool
    expect_status 64
    permits acquire -p 1001 pool
    expect_status 64
    permits release pool 00112233445566778899aabbccddeeff{,0}
    expect_status 64
    are_out pool 2
}

test_a_fixed_lease_ends() {
    permits set pool 1
    permits acquire --lease 300ms pool
    expect_status 0
    permits acquire -w 5s pool
    expect_status 0
    are_out pool 1
}

test_a_wait_ends_with_its_time_or_with_a_release() {
    local id begun

    permits set pool 1
    permits acquire pool
    id=$(out)
    begun=$(now_ms)
    permits acquire -w 300ms pool
    expect_status 75
    expect_between 300 $(($(now_ms) - begun)) 1500
    start waiter holdfast permits acquire pool
    wait_for 5 is_subscribed pool
    permits release pool "$id"
    ended_within waiter 3000
    expect_status 0
    value_is pool 0
}

# Promise 5: one INT ends it at once, and nothing was taken.
test_a_signal_ends_a_wait() {
    permits set pool 0
    start waiter holdfast permits acquire pool
    wait_for 5 is_subscribed pool
    kill -TERM "$waiter_pid"
    ended_within waiter 3000
    expect_status 143
    wait_for 5 no_channels
    permits set pool 1
    value_is pool 1
}

test_show_says_what_there_is() {
    permits show pool
    expect_status 0
    expect_equal "$(out)" $'pool\tnone\t0\t0\t-2\t0'
    permits set pool 3
    permits acquire pool
    permits show pool
    expect_equal "$(out)" $'pool\tset\t2\t1\t-1\t0'
}

test_a_permit_without_a_lease_stays_out() {
    local id

    permits set pool 2
    permits acquire --no-lease pool
    expect_status 0
    id=$(out)
    permits show pool "$id"
    expect_status 0
    expect_equal "$(out)" "$id"$'\t-1'
    permits acquire --lease 2m pool
    id=$(out)
    permits show --json pool "$id"
    expect_match "$(out)" '"lease_ms": ?1[12][0-9]{4}'
    permits show pool 00112233445566778899aabbccddeeff
    expect_status 79
    expect_match "$(err)" 'pool: there is no permit 0011'
    permits show pool xyz
    expect_status 64
    expect_match "$(err)" "'xyz' is no id"
    permits acquire --no-lease --lease 1m pool
    expect_status 64
    expect_match "$(err)" 'exclude each other'
}

test_json_is_one_object_a_line() {
    local id

    permits set --json pool 3
    expect_match "$(out)" '"set": ?true'
    permits acquire --json pool
    expect_match "$(out)" '"id": ?"[0-9a-f]{32}"'
    expect_match "$(out)" '"lease_ms": ?60000'
    expect_equal "$(wc -l <"$scratch/out")" 1
    id=$(sed 's/.*"id": *"\([0-9a-f]*\)".*/\1/' "$scratch/out")
    permits show --json pool
    expect_match "$(out)" '"available": ?2'
    expect_match "$(out)" '"acquired": ?1'
    permits extend --json --lease 5m pool "$id"
    expect_match "$(out)" '"lease_ms": ?300000'
    permits release --json pool "$id"
    expect_match "$(out)" "\"released\": ?\"$id\""
}

test_run_holds_a_permit_while_the_command_runs() {
    permits set pool 2
    try holdfast permits run pool -- sh -c \
        'redis-cli -s "$0" get pool; echo "$HOLDFAST_NAME $HOLDFAST_KIND"; echo "$HOLDFAST_OWNER"; exit 7' \
        "$socket"
    expect_status 7
    expect_match "$(out | tr '\n' ' ')" '^1 pool permits [0-9a-f]{32} $'
    value_is pool 2
    try holdfast permits run pool -c 'exit 3'
    expect_status 3
    try holdfast permits run pool -- /no/such/command
    expect_status 127
    value_is pool 2
    are_out pool 0
    permits set pool 0
    try holdfast permits run -n pool -- true
    expect_status 75
    try holdfast permits run pool
    expect_status 64
    expect_match "$(err)" 'permits run: the command is missing'
}

# Promise 3: a permit that another gave back ends the command.
test_a_command_ends_when_its_permit_is_lost() {
    permits set pool 1
    start job holdfast permits run --lease 600ms pool -- sh -c \
        'echo "$HOLDFAST_OWNER" >'"$scratch"'/id; while :; do sleep 0.05; done'
    wait_for 5 test -s "$scratch/id"
    permits release pool "$(cat "$scratch/id")"
    expect_status 0
    ended_within job 5000
    expect_status 79
    wait_for 5 value_becomes pool 1
}

# Promise 4: killed, it leaves its permit for a lease at most.
test_a_killed_run_gives_its_permit_back_within_a_lease() {
    permits set pool 1
    start job holdfast permits run --lease 700ms pool -- sleep 60
    wait_for 5 value_becomes pool 0
    kill -KILL "$job_pid"
    permits acquire -w 5s pool
    expect_status 0
    are_out pool 1
}

test_another_type_is_refused() {
    redis set pool x >/dev/null
    permits acquire -n pool
    expect_status 65
    permits set pool 1
    expect_status 65
    permits show pool
    expect_status 65
    value_is pool x
}

start_server
export HOLDFAST_URL=unix:$socket
run_tests
