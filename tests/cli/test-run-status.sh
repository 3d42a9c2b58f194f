#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What `run` gives the command, and what it answers for it: the exit statuses,
# promise 1, and the options that choose the command.
# lib.sh sets status, scratch, NAME_pid; quoted $ are the command's own.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/lib.sh"

# CLI-05, the table's first line.
test_the_status_is_the_commands_own() {
    local n

    for n in 0 1 3 64 75 79 255; do
        try holdfast run n -- sh -c "exit $n"
        expect_status $n
    done
}

test_a_signal_that_ends_the_command_is_128_plus_its_number() {
    local n

    for n in 1 2 9 15; do
        try holdfast run n -- sh -c 'kill -'$n' $$'
        expect_status $((128 + n))
    done
}

test_a_command_that_is_not_there_is_127() {
    try holdfast run n -- "$scratch/nothing"
    expect_status 127
    try holdfast run n -- holdfast-test-no-such-command
    expect_status 127
    expect_match "$(err)" 'command not found'
    is_free n || fail 'the lock was left'
}

test_a_command_that_cannot_be_executed_is_126() {
    echo text >"$scratch/text"
    try holdfast run n -- "$scratch/text"
    expect_status 126
    try holdfast run n -- "$scratch"
    expect_status 126
    is_free n || fail 'the lock was left'
}

test_a_script_without_an_interpreter_line_is_run_by_the_shell() {
    echo 'echo "ran with $1"; exit 5' >"$scratch/script"
    chmod +x "$scratch/script"
    try holdfast run n -- "$scratch/script" 'one word'
    expect_status 5
    expect_equal "$(out)" 'ran with one word'
}

test_the_command_is_looked_for_in_the_path() {
    mkdir -p "$scratch/first" "$scratch/second"
    echo text >"$scratch/first/hf-in-path"
    printf '#!/bin/sh\nexit 6\n' >"$scratch/second/hf-in-path"
    chmod +x "$scratch/second/hf-in-path"
    # What may not be executed in one folder is passed over for the next.
    try env PATH="$scratch/first:$scratch/second:$PATH" \
        "$HOLDFAST_BIN" run n -- hf-in-path
    expect_status 6
}

# CLI-04.
test_the_lock_is_held_while_the_command_runs_and_free_afterwards() {
    try holdfast run n -- redis-cli -s "$socket" hlen n
    expect_status 0
    expect_equal "$(out)" 1
    expect_clean
}

# T48.
test_the_lock_has_a_time_to_live_while_it_is_held() {
    try holdfast run --lease 5s n -- redis-cli -s "$socket" pttl n
    expect_between 4000 "$(out)" 5000
}

# Promise 1.
test_stdin_stdout_and_stderr_are_the_commands_own() {
    printf 'one\ntwo\n' |
        holdfast run n -- sh -c 'cat; echo wrong >&2' >"$scratch/out" \
            2>"$scratch/err"
    expect_equal "$(out)" $'one\ntwo'
    expect_equal "$(err)" wrong
}

# Promise 1.
test_a_closed_stdin_stays_closed() {
    try holdfast run n -- sh -c 'test -e /proc/$$/fd/0' <&-
    expect_status 1
}

# Promise 1.
test_no_descriptor_of_ours_is_the_commands_but_the_pipe_that_tells() {
    local number

    descriptors() { sed -nE 's/.* ([0-9]+) -> .*/\1/p' "$scratch/out" | sort; }

    try ls -l /proc/self/fd
    descriptors >"$scratch/before"
    try holdfast run n -- sh -c 'echo "$HOLDFAST_ALIVE_FD"'
    number=$(out)
    try holdfast run n -- ls -l /proc/self/fd
    expect_equal "$(descriptors | comm -13 "$scratch/before" -)" "$number"
    expect_match "$(out)" " $number -> pipe:"
}

# Promise 1.
test_the_command_is_a_process_group_of_its_own() {
    try holdfast run n -- sh -c 'echo $$; ps -o pgid= -p $$; ps -o pgid= -p $PPID'
    # shellcheck disable=SC2046
    set -- $(out)
    expect_equal "$2" "$1"
    [ "$3" != "$1" ] || fail 'holdfast is in the same group'
}

test_words_reach_the_command_as_they_are() {
    try holdfast run n -- printf '[%s]' 'a b' '' '*' "it's" -w --json
    expect_equal "$(out)" "[a b][][*][it's][-w][--json]"
}

test_a_string_is_run_through_the_shell() {
    try holdfast run n -c 'echo $((1 + 2)); exit 4'
    expect_status 4
    expect_equal "$(out)" 3
}

test_the_command_itself_can_be_the_name() {
    try holdfast run --key-from-argv -- redis-cli -s "$socket" --raw keys '*'
    expect_status 0
    expect_equal "$(out)" "redis-cli -s $socket --raw keys *"
    try holdfast run --key-from-argv -c 'echo "$HOLDFAST_NAME"'
    expect_equal "$(out)" 'echo "$HOLDFAST_NAME"'
}

# RELEASE earlier than --min-hold: nobody gets it before.
test_a_short_command_keeps_the_lock_for_the_least_time() {
    local begun

    begun=$(now_ms)
    try holdfast run --min-hold 1s n -- true
    expect_status 0
    expect_between 0 $(($(now_ms) - begun)) 800
    try holdfast run -n n -- true
    expect_status 75
    try holdfast run -w 5 n -- true
    expect_status 0
    expect_between 990 $(($(now_ms) - begun)) 2500
}

# T50.
test_a_command_that_holds_too_long_loses_the_lock() {
    local begun

    begun=$(now_ms)
    try holdfast run --max-hold 1s --kill-after 300ms n -- sleep 30
    expect_status 79
    expect_between 500 $(($(now_ms) - begun)) 1500
    expect_match "$(err)" 'max-hold'
    # What stands before it is a third of this, not of the lease.
    begun=$(now_ms)
    try holdfast run --max-hold 1s n -- sleep 30
    expect_status 79
    expect_between 500 $(($(now_ms) - begun)) 1500
}

test_a_quiet_run_prints_nothing() {
    try holdfast run n -- true
    expect_equal "$(out)$(err)" ''
}

test_a_verbose_run_says_what_is_done() {
    try holdfast -v run n -- true
    expect_match "$(err)" 'connected to'
    expect_match "$(err)" 'n: held by us'
    expect_match "$(err)" 'n: released'
}

start_server
export HOLDFAST_URL=unix:$socket
run_tests
