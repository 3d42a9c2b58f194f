#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# latch: a count-down latch from the command line.
# lib.sh sets status, scratch, NAME_pid.
# shellcheck disable=SC1091,SC2034,SC2154
. "$(dirname "$0")/lib.sh"

latch() { try holdfast latch "$@"; }

test_a_latch_is_armed_counted_down_and_open() {
    latch set gate 2
    expect_status 0
    expect_equal "$(out)$(err)" ''
    latch set gate 3
    expect_status 75
    expect_match "$(err)" 'gate: it is armed already'
    latch wait -n gate
    expect_status 75
    expect_match "$(err)" '2 were still to come'
    latch wait -n --busy-code 0 gate
    expect_status 0
    latch down gate
    expect_status 0
    expect_equal "$(out)" 1
    latch down gate
    expect_equal "$(out)" 0
    latch wait gate
    expect_status 0
    latch down gate
    expect_equal "$(out)" 0
    expect_equal "$(redis exists gate)" 0
}

test_waiters_go_on_together() {
    local i

    latch set gate 1
    for i in 1 2 3; do
        start "waiter$i" holdfast latch wait gate
    done
    wait_for 5 waiting 3
    latch down gate
    for i in 1 2 3; do
        ended_within "waiter$i" 3000
        expect_status 0 "waiter$i"
    done
}

waiting() {
    [ "$(redis pubsub numsub \
        'redisson_countdownlatch__channel__{gate}' | tail -n 1)" = "$1" ]
}

test_a_deletion_lets_a_waiter_go_on() {
    latch set gate 5
    start waiter holdfast latch wait gate
    wait_for 5 waiting 1
    latch delete gate
    expect_status 0
    ended_within waiter 3000
    expect_status 0
}

test_a_wait_ends_with_its_time() {
    local begun

    latch set gate 1
    begun=$(now_ms)
    latch wait -w 300ms gate
    expect_status 75
    expect_between 300 $(($(now_ms) - begun)) 1500
}

test_a_signal_ends_a_wait() {
    latch set gate 1
    start waiter holdfast latch wait gate
    wait_for 5 waiting 1
    kill -TERM "$waiter_pid"
    ended_within waiter 3000
    expect_status 143
    wait_for 5 no_channels
}

test_show_and_json() {
    latch show gate
    expect_status 0
    expect_equal "$(out)" $'gate\topen\t0\t0'
    latch set --json gate 2
    expect_match "$(out)" '"set": ?true'
    latch show gate
    expect_equal "$(out)" $'gate\tclosed\t2\t0'
    latch show --json gate
    expect_match "$(out)" '"count": ?2'
    expect_match "$(out)" '"open": ?false'
    latch down --json gate
    expect_match "$(out)" '"count": ?1'
    latch delete --json gate
    expect_match "$(out)" '"deleted": ?true'
    latch delete --json gate
    expect_status 0
    expect_match "$(out)" '"deleted": ?false'
    latch wait --json gate
    expect_match "$(out)" '"open": ?true'
}

test_what_is_wrong_is_said() {
    redis rpush list a >/dev/null
    latch wait list
    expect_status 65
    latch down list
    expect_status 65
    latch set gate 0
    expect_status 64
    expect_match "$(err)" "COUNT '0' is no number from 1"
    latch set gate
    expect_status 64
    latch wait
    expect_status 64
    latch wait -w 1s -n gate
    expect_status 64
    latch open gate
    expect_status 64
    latch dwon gate
    expect_status 64
    expect_match "$(err)" "did you mean 'down'"
    latch --help
    expect_status 0
    expect_match "$(out)" 'wait +wait until it is open'
    try holdfast --server unix:/nowhere latch show gate
    expect_status 69
    expect_equal "$(redis dbsize)" 1
}

start_server
export HOLDFAST_URL=unix:$socket
run_tests
