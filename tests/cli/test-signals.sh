#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Signals while a command runs: promises 2 and 4.
# lib.sh sets status, scratch, NAME_pid; quoted $ are the command's own.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/lib.sh"

# A command that notes the signal it gets, and goes on or ends with 9.
trapper='
    for s in INT TERM HUP QUIT USR1 USR2; do
        trap "echo $s; exit 9" $s
    done
    echo ready
    while :; do sleep 0.02; done'

# Promise 2.
test_each_signal_is_forwarded_and_the_commands_answer_is_ours() {
    local signal

    for signal in INT TERM HUP QUIT USR1 USR2; do
        start run holdfast run n -- bash -c "$trapper"
        wait_for 5 file_has "$scratch/run.out" ready
        kill -"$signal" "$run_pid"
        ended_within run 3000
        expect_status 9 run
        expect_equal "$(tail -n 1 "$scratch/run.out")" "$signal"
        is_free n || fail "the lock was left after $signal"
    done
}

# Promise 2, row 40: the holder releases within 200 ms.
test_a_terminated_command_frees_the_lock_at_once() {
    local begun

    start run holdfast run n -- sleep 60
    wait_for 5 is_locked n
    wait_for 5 pgrep -P "$run_pid" -x sleep
    begun=$(now_ms)
    kill -TERM "$run_pid"
    wait_for 5 is_free n
    expect_between 0 $(($(now_ms) - begun)) 500
    ended_within run 2000
    expect_status 143 run
}

# Promise 2: the group, not the command alone (a shell that does not forward).
test_the_commands_children_get_the_signal_too() {
    start run holdfast run n -- bash -c "
        (trap 'echo grandchild; exit' USR1; echo ready
         while :; do sleep 0.02; done) &
        trap : USR1
        wait; wait"
    wait_for 5 file_has "$scratch/run.out" ready
    kill -USR1 "$run_pid"
    ended_within run 3000
    expect_match "$(cat "$scratch/run.out")" grandchild
}

test_a_command_that_goes_on_after_a_signal_keeps_the_lock() {
    start run holdfast run n -- bash -c '
        trap "echo got" INT; echo ready
        while [ ! -e "$0" ]; do sleep 0.02; done; exit 4' "$scratch/end"
    wait_for 5 file_has "$scratch/run.out" ready
    kill -INT "$run_pid"
    wait_for 5 file_has "$scratch/run.out" got
    is_locked n || fail 'the lock was released'
    touch "$scratch/end"
    ended_within run 3000
    expect_status 4 run
}

# (Whoever runs this test may ignore HUP himself, which would go through, or the
# C library's own two, 32 and 33, which nobody but it can touch.)
test_the_command_begins_with_default_signals_and_none_blocked() {
    try env --default-signal "$HOLDFAST_BIN" run n -- cat /proc/self/status
    expect_equal "$(grep -cE '^Sig(Blk|Ign|Cgt):.0{7}[01][08]0{7}$' "$scratch/out")" 3
}

# An ignored HUP is nohup's work: for the command as well as for us.
test_nohup_goes_through_to_the_command() {
    start run nohup "$HOLDFAST_BIN" run n -- bash -c \
        'echo ready; while [ ! -e "$0" ]; do sleep 0.02; done; exit 3' \
        "$scratch/end-nohup"
    wait_for 5 file_has "$scratch/run.out" ready
    kill -HUP "$run_pid"
    kill -HUP "$(pgrep -P "$run_pid" -x bash)"
    touch "$scratch/end-nohup"
    ended_within run 3000
    expect_status 3 run
}

# Promise 4, row 15.
test_a_killed_holdfast_takes_the_command_with_it_and_the_lease_ends() {
    local child begun

    start run holdfast run --lease 1s n -- sh -c 'echo ready; exec sleep 60'
    wait_for 5 file_has "$scratch/run.out" ready
    child=$(pgrep -P "$run_pid")
    begun=$(now_ms)
    kill -KILL "$run_pid"
    wait_for 2 is_gone "$child"
    wait_for 2 is_free n
    expect_between 0 $(($(now_ms) - begun)) 2000
}
is_gone() { [[ ! -e /proc/$1 || $(ps -o stat= -p "$1") == Z* ]]; }

# Promise 4: what the command left behind is told by the pipe.
test_the_pipe_closes_when_holdfast_is_killed() {
    start run holdfast run n -- bash -c '
        (read -r -u "$HOLDFAST_ALIVE_FD" line; echo told; exec sleep 0) &
        echo ready; sleep 60'
    wait_for 5 file_has "$scratch/run.out" ready
    kill -KILL "$run_pid"
    wait_for 5 file_has "$scratch/run.out" told
}

# What the command leaves running ends neither the lock nor holdfast.
test_a_process_left_behind_does_not_keep_the_lock() {
    local begun left

    begun=$(now_ms)
    try holdfast run n -- sh -c 'sleep 60 & echo $! >"$0"; exit 2' \
        "$scratch/left"
    expect_status 2
    expect_between 0 $(($(now_ms) - begun)) 3000
    is_free n || fail 'the lock was left'
    left=$(cat "$scratch/left")
    kill "$left" || fail 'what was left behind was killed'
}

# While a server does not answer, the command is not disturbed, and signals get
# through.
test_a_signal_gets_through_while_the_server_is_silent() {
    start run holdfast run n -- sleep 60
    wait_for 5 pgrep -P "$run_pid" -x sleep
    kill -STOP "$server_pid"
    kill -INT "$run_pid"
    wait_for 1 no_child_of "$run_pid"
    kill -CONT "$server_pid"
    ended_within run 5000
    expect_status 130 run
}
no_child_of() { ! pgrep -P "$1" -x sleep; }

start_server
export HOLDFAST_URL=unix:$socket
run_tests
