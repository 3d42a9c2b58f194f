#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The fair lock on the command line: order, signals, and what show and ls say.
# lib.sh sets status, scratch, NAME_pid; quoted $ are the command's own.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"

queue='redisson_lock_queue:{n}'

in_queue() { [ "$(redis llen "$queue")" -eq "$1" ]; }

# stand_in_line NAME WORD: behind all who do already; writes WORD when it runs.
stand_in_line() {
    local length

    length=$(redis llen "$queue")
    start "$1" holdfast run --kind fair n -- \
        sh -c "echo $2 >>'$scratch/order'"
    wait_for 10 in_queue $((length + 1))
}

test_commands_run_in_the_order_of_asking() {
    local i

    rm -f "$scratch/order"
    start holder holdfast hold --kind fair n
    wait_for 10 grep -q . "$scratch/holder.out"
    for i in 1 2 3 4; do
        stand_in_line "waiter$i" "$i"
    done
    kill -TERM "$holder_pid"
    for i in 1 2 3 4; do
        finish "waiter$i"
        expect_status 0 "waiter$i."
    done
    expect_equal "$(tr -d '\n' <"$scratch/order")" 1234
    expect_equal "$(redis dbsize)" 0
}

# Promise 5: an interrupted wait leaves nothing in any queue.
test_an_interrupted_wait_leaves_the_queue() {
    start holder holdfast hold --kind fair n
    wait_for 10 grep -q . "$scratch/holder.out"
    stand_in_line waiter x
    kill -INT "$waiter_pid"
    finish waiter
    wait_for 10 in_queue 0
    expect_equal "$(redis exists "redisson_lock_timeout:{n}" \
        "holdfast_fair_alive:{n}" "holdfast_fair_waits:{n}")" 0
}

test_show_and_ls_count_who_waits() {
    start holder holdfast hold --kind fair n
    wait_for 10 grep -q . "$scratch/holder.out"
    stand_in_line one x
    stand_in_line two x
    try holdfast show --kind fair n
    expect_status 0
    expect_equal "$(out | head -n 1 | cut -f 6)" 2
    expect_equal "$(out | sed 1d | cut -f 1,3 | tr '\t\n' '  ')" \
        '1 ours 2 ours '
    try holdfast --json show --kind fair n
    expect_match "$(out)" '"queue": ?\[\{"owner": ?"[-0-9a-f]+:[0-9]+", ?"ours"'
    expect_equal "$(out | grep -o dead_in_ms | wc -l)" 2
    try holdfast ls
    expect_status 0
    expect_equal "$(out | cut -f 6)" 2
}

test_a_handle_of_a_fair_lock_is_continued() {
    local handle

    handle=$(holdfast acquire --kind fair n)
    expect_match "$handle" 'fair'
    try holdfast acquire -n --kind nonreentrant-fair n
    expect_status 75
    try holdfast extend "$handle" --lease 2m
    expect_status 0
    try holdfast release "$handle"
    expect_status 0
    expect_equal "$(redis dbsize)" 0
}

test_a_fair_lock_can_be_forced() {
    start holder holdfast hold --kind fair n
    wait_for 10 grep -q . "$scratch/holder.out"
    stand_in_line waiter x
    try holdfast unlock --force --kind fair n
    expect_status 0
    finish waiter
    expect_status 0 waiter.
}

start_server
export HOLDFAST_URL=unix:$socket
run_tests
