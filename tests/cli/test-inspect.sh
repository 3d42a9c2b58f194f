#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# show, ls and unlock: T57; and promise 7 for what they print.
# lib.sh sets status, scratch, NAME_pid; quoted $ are the command's own.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/lib.sh"

tab=$'\t'
owner=00000000-0000-0000-0000-000000000000:1

test_show_tells_who_holds() {
    hold_elsewhere n 50000
    try holdfast show n
    expect_status 0
    expect_match "$(out)" "^n${tab}locked${tab}$owner${tab}1${tab}[0-9]{5}${tab}0$"
}

test_show_of_a_free_lock() {
    try holdfast show n
    expect_status 0
    expect_equal "$(out)" "n${tab}free${tab}-${tab}0${tab}-2${tab}0"
}

test_show_counts_those_who_wait() {
    hold_elsewhere n
    start waiter holdfast run n -- true
    wait_for 5 is_subscribed n
    try holdfast show n
    expect_match "$(out)" "${tab}1\$"
    kill "$waiter_pid"
    ended_within waiter 2000
}

test_show_as_json() {
    hold_elsewhere n 50000
    try holdfast --json show n
    expect_match "$(out)" '^\{.*"kind":"lock".*\}$'
    expect_match "$(out)" '"locked":true'
    expect_match "$(out)" "\"owner\":\"$owner\""
    expect_match "$(out)" '"count":1'
    expect_match "$(out)" '"ttl_ms":[0-9]{5}'
    expect_match "$(out)" '"waiting":0'
    expect_match "$(out)" '"name":"n"'
    try holdfast show n --json
    expect_match "$(out)" '"locked":true'
}

test_a_name_that_is_no_utf8_is_shown_as_one_word() {
    local name=$'a\xff\tb\\'

    hold_elsewhere "$name" 50000
    try holdfast show "$name"
    expect_match "$(out)" "^a\\\\xff\\\\x09b\\\\x5c${tab}locked"
    try holdfast --json show "$name"
    expect_match "$(out)" '"name_hex":"61ff09625c"'
    try holdfast ls
    expect_match "$(out)" "^a\\\\xff\\\\x09b\\\\x5c${tab}locked"
}

test_a_name_cannot_write_to_the_terminal() {
    local name=$'x\e[31mred\xc2\x9b1m\n\xe2\x80\xae'

    hold_elsewhere "$name" 50000
    try holdfast show "$name"
    ! LC_ALL=C grep -q $'[\e\x9b]' "$scratch/out" || fail 'it can'
    expect_equal "$(wc -l <"$scratch/out")" 1
    try holdfast run -n "$name" -- true
    expect_status 75
    ! LC_ALL=C grep -q $'[\e\x9b]' "$scratch/err" || fail 'it can on stderr'
    expect_equal "$(wc -l <"$scratch/err")" 1
}

test_ls_lists_the_locks_and_nothing_else() {
    local i

    for i in 1 2 3; do
        hold_elsewhere "job:$i"
    done
    redis set text 1 >/dev/null
    redis hset map field 1 >/dev/null
    redis rpush list 1 >/dev/null
    try holdfast ls
    expect_status 0
    expect_equal "$(cut -f 1 "$scratch/out" | sort | tr '\n' ' ')" \
        'job:1 job:2 job:3 '
    try holdfast ls 'job:[12]'
    expect_equal "$(wc -l <"$scratch/out")" 2
    try holdfast ls 'nothing*'
    expect_status 0
    expect_equal "$(out)" ''
}

test_ls_as_json_is_one_object_a_line() {
    hold_elsewhere a
    hold_elsewhere b
    try holdfast --json ls
    expect_equal "$(grep -c '^{.*}$' "$scratch/out")" 2
    expect_equal "$(wc -l <"$scratch/out")" 2
    expect_match "$(out)" '"name":"a"'
}

test_ls_sees_a_thousand_locks() {
    redis eval "for i = 1, 1000 do
        redis.call('hset', 'k' .. i, '$owner', 1)
        redis.call('pexpire', 'k' .. i, 60000) end" 0 >/dev/null
    try holdfast ls
    expect_equal "$(sort -u "$scratch/out" | wc -l)" 1000
}

test_unlock_needs_force() {
    hold_elsewhere n
    try holdfast unlock n
    expect_status 64
    expect_match "$(err)" '--force'
    is_locked n || fail 'it was taken away'
}

test_unlock_takes_the_lock_away_and_wakes_a_waiter() {
    hold_elsewhere n
    start waiter holdfast run n -- echo mine
    wait_for 5 is_subscribed n
    try holdfast unlock --force n
    expect_status 0
    ended_within waiter 1500
    expect_status 0 waiter
    expect_equal "$(cat "$scratch/waiter.out")" mine
}

test_unlock_of_a_free_lock_is_no_failure() {
    try holdfast unlock --force n
    expect_status 0
    expect_match "$(err)" 'free already'
    try holdfast --json unlock --force n
    expect_match "$(out)" '"released":false'
}

test_unlock_spares_another_owner() {
    hold_elsewhere n
    try holdfast unlock --force n --if-owner 11111111-0000-0000-0000-000000000000:1
    expect_status 75
    expect_match "$(err)" "held by another owner, $owner"
    is_locked n || fail 'it was taken away'
    try holdfast --json unlock --force n --if-owner "$owner"
    expect_status 0
    expect_match "$(out)" '"released":true'
    is_free n || fail 'it is still there'
}

test_ls_into_a_closed_pipe_ends() {
    redis eval "for i = 1, 5000 do
        redis.call('hset', 'k' .. i, '$owner', 1)
        redis.call('pexpire', 'k' .. i, 60000) end" 0 >/dev/null
    start reader bash -c "'$HOLDFAST_BIN' ls | head -n 1"
    ended_within reader 5000
    expect_equal "$(wc -l <"$scratch/reader.out")" 1
}

test_output_that_cannot_be_written_is_70() {
    hold_elsewhere n
    holdfast show n >/dev/full 2>"$scratch/err"
    status=$?
    expect_status 70
}

start_server
export HOLDFAST_URL=unix:$socket
run_tests
