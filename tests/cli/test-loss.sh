#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A lock that is lost while a command runs: promise 3, status 79, rows 16, 40.
#
# "Nothing of the group runs after the deadline" is measured from outside: the
# command's processes write the time into a file as often as they can, and the
# last line is compared with the moment at which the server's key ends.
# lib.sh sets status, scratch, NAME_pid; quoted $ are the command's own.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/lib.sh"

# beats FILE: writes the time in ms, for ever, whatever signal comes.
beats='trap "" TERM; while :; do
    t=${EPOCHREALTIME/[.,]/}; echo $((t / 1000)) >>"$0"; sleep 0.005; done'

last_beat() { tail -n 1 "$1"; }
is_held_by_another() { [ "$(redis hexists "$1" other:1)" = 1 ]; }

# Right after a renewal, so that the next one is a third of the lease away.
# Sets ends_at: when the key ends, by the wall clock.
wait_for_renewal() {
    local before

    before=$(redis pexpiretime "$1")
    until ends_at=$(redis pexpiretime "$1") && [ "$ends_at" -gt "$before" ]; do
        sleep 0.005
    done
}

# Row 40, CLI-06: deleted.
test_a_deleted_lock_terminates_the_command_with_79() {
    start run holdfast run --lease 1s n -- sleep 60
    wait_for 5 is_locked n
    wait_for 5 pgrep -P "$run_pid" -x sleep
    redis del n >/dev/null
    ended_within run 2000 # within one renewal period
    expect_status 79 run
    expect_match "$(cat "$scratch/run.err")" 'n: the lock is lost'
}

test_a_forced_unlock_terminates_the_command_with_79() {
    start run holdfast run --lease 1s n -- sleep 60
    wait_for 5 pgrep -P "$run_pid" -x sleep
    try holdfast unlock --force n
    expect_status 0
    ended_within run 2000
    expect_status 79 run
}

# A lock that was gone at the end was not held to the end.
test_a_lock_that_is_gone_when_the_command_ends_is_79_too() {
    try holdfast run n -- redis-cli -s "$socket" del n
    expect_status 79
}

# Row 16, row 17: taken by another, whose hold is not touched.
test_a_taken_lock_is_left_to_its_new_holder() {
    start run holdfast run --lease 1s n -- sleep 60
    wait_for 5 pgrep -P "$run_pid" -x sleep
    redis eval "redis.call('del', KEYS[1]); \
        redis.call('hset', KEYS[1], 'other:1', 1); \
        return redis.call('pexpire', KEYS[1], 60000)" 1 n >/dev/null
    ended_within run 2000
    expect_status 79 run
    is_held_by_another n || fail "the new holder's lock was touched"
}

# Promise 3: TERM at once, KILL after --kill-after.
test_a_command_that_ignores_term_is_killed_after_kill_after() {
    local begun

    start run holdfast run --lease 3s --kill-after 500ms n -- \
        bash -c "$beats" "$scratch/beats"
    wait_for 5 test -s "$scratch/beats"
    wait_for_renewal n
    begun=$(now_ms)
    redis del n >/dev/null
    ended_within run 3500 # a renewal period, --kill-after, and a loaded machine
    expect_between 500 $(($(now_ms) - begun)) 3500
    expect_status 79 run
    expect_match "$(cat "$scratch/run.err")" 'TERM is sent'
    expect_match "$(cat "$scratch/run.err")" 'the command is killed'
}

# Promise 3: the group, when the command itself is gone already.
test_a_child_that_ignores_term_does_not_outlive_its_parent_for_long() {
    start run holdfast run --lease 1s --kill-after 300ms n -- \
        bash -c 'bash -c "$1" "$0" & wait' "$scratch/beats2" "$beats"
    wait_for 5 test -s "$scratch/beats2"
    redis del n >/dev/null
    ended_within run 2500
    expect_status 79 run
    wait_for 1 has_stopped "$scratch/beats2"
}
has_stopped() {
    local before

    before=$(last_beat "$1")
    sleep 0.1
    [ "$(last_beat "$1")" = "$before" ]
}

# Promise 3, #9788 of consul: nothing runs after the deadline.
test_nothing_of_the_group_runs_after_the_deadline() {
    local first last

    start run holdfast run --lease 2s --kill-after 600ms n -- \
        bash -c 'bash -c "$1" "$0" & bash -c "$1" "$0"' "$scratch/beats3" \
        "$beats"
    wait_for 5 test -s "$scratch/beats3"
    wait_for_renewal n
    kill -STOP "$server_pid"
    wait_for 5 file_has "$scratch/run.err" 'TERM is sent'
    first=$(now_ms)
    ended_within run 5000
    kill -CONT "$server_pid"
    expect_status 79 run
    last=$(last_beat "$scratch/beats3")
    expect_between $((ends_at - 700)) "$first" "$ends_at"
    expect_between $((ends_at - 1000)) "$last" "$ends_at"
}

# The same with the server dead: nobody refuses, nobody answers.
test_a_dead_server_stops_the_command_before_the_deadline() {
    start run holdfast run --lease 1500ms n -- \
        bash -c "$beats" "$scratch/beats4"
    wait_for 5 test -s "$scratch/beats4"
    wait_for_renewal n
    stop_server
    ended_within run 4000
    start_server
    expect_status 79 run
    expect_between 0 "$(last_beat "$scratch/beats4")" "$ends_at"
}

# Promise 3: a blip of some seconds kills nobody's job.
test_a_suspect_lease_is_only_reported() {
    start run holdfast run --timeout 300ms --lease 3s --kill-after 200ms n -- \
        sh -c 'while [ ! -e "$0" ]; do sleep 0.02; done; exit 5' \
        "$scratch/end-suspect"
    wait_for 5 is_locked n
    wait_for_renewal n
    kill -STOP "$server_pid"
    wait_for 5 file_has "$scratch/run.err" 'not being renewed'
    kill -CONT "$server_pid"
    wait_for 5 file_has "$scratch/run.err" 'renewed again'
    touch "$scratch/end-suspect"
    ended_within run 3000
    expect_status 5 run
}

# --on-loss term: never kills.
test_on_loss_term_never_kills() {
    start run holdfast run --lease 1s --kill-after 100ms --on-loss term n -- \
        bash -c 'trap "echo got" TERM; echo ready
                 while [ ! -e "$0" ]; do sleep 0.02; done' "$scratch/end-term"
    wait_for 5 file_has "$scratch/run.out" ready
    redis del n >/dev/null
    wait_for 3 file_has "$scratch/run.out" got
    sleep 0.5 # longer than --kill-after: nothing must happen
    kill -0 "$run_pid" || fail 'it has ended'
    touch "$scratch/end-term"
    ended_within run 2000
    expect_status 79 run
}

# A command that somebody has stopped would not get to know.
test_a_stopped_command_is_continued_to_be_told() {
    start run holdfast run --lease 1s --on-loss term n -- sleep 60
    wait_for 5 pgrep -P "$run_pid" -x sleep
    kill -STOP "$(pgrep -P "$run_pid" -x sleep)"
    redis del n >/dev/null
    ended_within run 2000
    expect_status 79 run
}

test_on_loss_ignore_only_reports() {
    start run holdfast run --lease 1s --on-loss ignore n -- \
        bash -c 'trap "echo got" TERM; echo ready
                 while [ ! -e "$0" ]; do sleep 0.02; done' "$scratch/end-ignore"
    wait_for 5 file_has "$scratch/run.out" ready
    redis del n >/dev/null
    wait_for 3 file_has "$scratch/run.err" 'lock is lost'
    touch "$scratch/end-ignore"
    ended_within run 2000
    expect_status 79 run
    ! file_has "$scratch/run.out" got || fail 'it was signalled'
}

test_on_loss_sends_the_signal_that_is_named() {
    local word

    for word in USR1 sigusr1 10; do
        redis flushall >/dev/null
        start run holdfast run --lease 1s --on-loss "$word" n -- \
            bash -c 'trap "exit 6" USR1; echo ready
                     while :; do sleep 0.02; done'
        wait_for 5 file_has "$scratch/run.out" ready
        redis del n >/dev/null
        ended_within run 3000
        expect_status 79 run
        expect_match "$(cat "$scratch/run.err")" 'USR1 is sent'
    done
}

# --no-renew: at its end the lock is lost.
test_a_fixed_lease_stops_the_command_before_its_end() {
    local last

    start run holdfast run --lease 1500ms --kill-after 500ms --no-renew n -- \
        bash -c "$beats" "$scratch/beats5"
    wait_for 5 is_locked n
    ends_at=$(redis pexpiretime n)
    ended_within run 3000
    expect_status 79 run
    last=$(last_beat "$scratch/beats5")
    expect_between $((ends_at - 1000)) "$last" "$ends_at"
}

# Row 16, T3: out of reach while it is stopped, told when it goes on.
test_a_stopped_holdfast_reports_the_loss_when_it_goes_on() {
    start run holdfast run --lease 500ms n -- sleep 60
    wait_for 5 pgrep -P "$run_pid" -x sleep
    kill -STOP "$run_pid"
    start b holdfast run -w 5 n -- redis-cli -s "$socket" hkeys n
    ended_within b 5000
    expect_status 0 b
    start c holdfast hold n
    wait_for 5 file_has "$scratch/c.out" held
    kill -CONT "$run_pid"
    ended_within run 1000
    expect_status 79 run
    expect_equal "$(redis hlen n)" 1
    kill -TERM "$c_pid"
    ended_within c 2000
    expect_status 0 c
}

# CLI-06.
test_hold_ends_with_79_when_the_lock_is_lost() {
    start hold holdfast hold --lease 1s n
    wait_for 5 file_has "$scratch/hold.out" held
    redis del n >/dev/null
    ended_within hold 2000
    expect_status 79 hold
    expect_match "$(cat "$scratch/hold.err")" 'n: the lock is lost'
}

start_server
export HOLDFAST_URL=unix:$socket
run_tests
