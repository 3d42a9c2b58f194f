#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Waiting, being refused, and being interrupted: promise 5, statuses 75 and 69.
# lib.sh sets status, scratch, NAME_pid; quoted $ are the command's own.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/lib.sh"

test_nowait_answers_75_at_once() {
    local begun

    hold_elsewhere n
    begun=$(now_ms)
    try holdfast run -n n -- touch "$scratch/ran"
    expect_status 75
    expect_between 0 $(($(now_ms) - begun)) 1000
    [ ! -e "$scratch/ran" ] || fail 'the command was run'
    expect_match "$(err)" '^holdfast: .*n'
}

test_a_wait_that_ends_answers_75() {
    local begun

    hold_elsewhere n
    begun=$(now_ms)
    try holdfast run -w 400ms n -- true
    expect_status 75
    expect_between 390 $(($(now_ms) - begun)) 1400
}

test_a_wait_of_nothing_is_one_attempt() {
    hold_elsewhere n
    try holdfast run -w 0 n -- true
    expect_status 75
    redis del n >/dev/null
    try holdfast run -w 0 n -- true
    expect_status 0
}

test_the_busy_code_can_be_chosen() {
    local command

    hold_elsewhere n
    try holdfast run -n --busy-code 7 n -- true
    expect_status 7
    for command in hold acquire; do
        try holdfast "$command" -n --busy-code 7 n
        expect_status 7
    done
    try holdfast run -n --busy-code 0 n -- false
    expect_status 0
    expect_equal "$(out)$(err)" ''
    try holdfast -v run -n --busy-code 0 n -- false
    expect_status 0
    expect_match "$(err)" 'held by another'
}

# LK-09: no message tells that a lease has ended.
test_a_waiter_gets_the_lock_when_a_lease_ends() {
    local begun

    begun=$(now_ms)
    hold_elsewhere n 1000
    try holdfast run n -- true
    expect_status 0
    expect_between 950 $(($(now_ms) - begun)) 2000
}

# CLI-01.
test_one_holds_and_the_others_say_nothing() {
    start a holdfast hold n
    wait_for 5 file_has "$scratch/a.out" '^held n '
    start b holdfast hold n
    start c holdfast hold n
    wait_for 5 is_subscribed n
    expect_equal "$(cat "$scratch/b.out" "$scratch/c.out")" ''
    # CLI-03: the holder is interrupted, and one of the others goes on.
    kill -INT "$a_pid"
    ended_within a 1200
    expect_status 0 a
    wait_for 1 grep -qh held "$scratch/b.out" "$scratch/c.out"
    expect_equal "$(cat "$scratch/b.out" "$scratch/c.out" | wc -l)" 1
    [ "$(cat "$scratch/b.out" "$scratch/c.out")" != "$(cat "$scratch/a.out")" ] ||
        fail 'two holders with one owner'
    kill -TERM "$b_pid" "$c_pid"
    finish b
    finish c
    expect_clean
}

# Promise 5, CLI-02, row 40.
test_an_interrupt_ends_the_wait_at_once_and_disturbs_nobody() {
    local signal number

    hold_elsewhere n
    start other holdfast run n -- echo mine
    for signal in INT TERM HUP QUIT; do
        start waiter holdfast run n -- touch "$scratch/ran"
        wait_for 5 two_wait
        kill -"$signal" "$waiter_pid"
        ended_within waiter 1000
        number=$(kill -l "$signal")
        expect_status $((128 + number)) waiter
        [ ! -e "$scratch/ran" ] || fail 'the command was run'
        expect_equal "$(redis hlen n)" 1
        wait_for 5 one_waits
    done
    redis del n >/dev/null
    ended_within other 4000
    expect_status 0 other
    expect_equal "$(cat "$scratch/other.out")" mine
    expect_clean
}
waiting() { redis pubsub numsub 'redisson_lock__channel:{n}' | tail -n 1; }
two_wait() { [ "$(waiting)" = 2 ]; }
one_waits() { [ "$(waiting)" = 1 ]; }

# What is still this shell would run our trap, and clean up under our feet.
is_no_shell() {
    [ "$(readlink "/proc/$1/exe")" != "$(readlink "/proc/$$/exe")" ]
}

# Row 7, T58: at whatever moment it comes, either the command ran or nothing is
# left.
test_an_interrupt_at_any_moment_leaves_nothing() {
    local i

    for i in 0 1 2 3 4 5 6 7 8 9 10 12 14 16 18 20 25 30 35 40; do
        start waiter holdfast run --lease 20s n -- true
        wait_for 2 is_no_shell "$waiter_pid"
        sleep "0.0$(printf %02d "$i")" # the moment, not a synchronization
        kill -INT "$waiter_pid" 2>/dev/null
        ended_within waiter 2000
        [ "$status" -eq 0 ] || [ "$status" -eq 130 ] ||
            fail "status $status after $i ms"
        is_free n || fail "the lock was left after $i ms"
    done
    expect_clean
}

test_a_server_that_is_not_there_is_69() {
    local begun

    begun=$(now_ms)
    try holdfast --server "unix:$scratch/nothing" run n -- true
    expect_status 69
    expect_between 0 $(($(now_ms) - begun)) 4000
    try holdfast --server redis://127.0.0.1:1 show n
    expect_status 69
}

test_a_server_that_does_not_answer_is_69_within_the_time_limit() {
    local begun

    kill -STOP "$server_pid"
    begun=$(now_ms)
    try holdfast --timeout 300ms run n -- true
    kill -CONT "$server_pid"
    expect_status 69
    expect_between 250 $(($(now_ms) - begun)) 3000
}

test_a_server_that_refuses_service_is_69() {
    redis config set maxmemory 1 >/dev/null
    try holdfast run -n n -- true
    redis config set maxmemory 0 >/dev/null
    expect_status 69
}

test_a_name_that_holds_something_else_is_65() {
    redis set n text >/dev/null
    try holdfast run n -- true
    expect_status 65
    try holdfast acquire n
    expect_status 65
    try holdfast hold n
    expect_status 65
    try holdfast show n
    expect_status 65
    expect_equal "$(redis get n)" text
}

start_server
export HOLDFAST_URL=unix:$socket
run_tests
