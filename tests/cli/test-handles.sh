#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# acquire, extend and release, and hold: a lock without a command under it.
# T11, T12: the hold outlives the process and is ended by another.
# lib.sh sets status, scratch, NAME_pid; quoted $ are the command's own.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/lib.sh"

take() {
    try holdfast acquire "$@"
    expect_status 0
    handle=$(out)
}

test_acquire_prints_one_word_and_the_lock_stays() {
    take n
    expect_match "$handle" '^[!-~]+$'
    is_locked n || fail 'it is not held'
    expect_between 55000 "$(redis pttl n)" 60000
}

# The handle says name and owner, and nothing secret.
test_a_handle_holds_no_password() {
    redis config set requirepass hunter2 >/dev/null
    try env HOLDFAST_PASSWORD=hunter2 "$HOLDFAST_BIN" acquire n
    redis -a hunter2 --no-auth-warning config set requirepass '' >/dev/null
    expect_status 0
    ! file_has "$scratch/out" hunter2 || fail 'the password is in it'
}

test_another_process_releases_it() {
    take n
    try holdfast run -n n -- true
    expect_status 75
    try holdfast release "$handle"
    expect_status 0
    expect_equal "$(out)$(err)" ''
    expect_clean
}

test_a_release_says_for_programs_what_it_released() {
    take n
    try holdfast --json release "$handle"
    expect_status 0
    expect_match "$(out)" '"released":true,"handle":"hf1/lock/n/'
}

test_a_second_release_says_that_it_is_lost() {
    take n
    try holdfast release "$handle"
    try holdfast release "$handle"
    expect_status 79
}

test_the_lease_of_acquire_is_fixed() {
    local begun

    begun=$(now_ms)
    take --lease 700ms n
    wait_for 3 is_free n
    expect_between 600 $(($(now_ms) - begun)) 1500
    try holdfast extend "$handle" --lease 10s
    expect_status 79
    is_free n || fail 'it came back'
}

test_extend_prolongs_and_never_shortens() {
    take --lease 20s n
    try holdfast extend "$handle" --lease 5m
    expect_status 0
    expect_equal "$(out)$(err)" ''
    expect_between 290000 "$(redis pttl n)" 300000
    try holdfast extend "$handle" --lease 1s
    expect_status 0
    expect_between 290000 "$(redis pttl n)" 300000
    try holdfast release "$handle"
    expect_status 0
    expect_clean
}

# Row 17: what somebody else has now is not touched.
test_a_handle_does_not_touch_the_next_holder() {
    take n
    redis del n >/dev/null
    hold_elsewhere n
    try holdfast extend "$handle" --lease 5m
    expect_status 79
    try holdfast release "$handle"
    expect_status 79
    expect_equal "$(redis hkeys n)" 00000000-0000-0000-0000-000000000000:1
    expect_between 1 "$(redis pttl n)" 60000
}

test_something_that_is_no_handle_is_64() {
    local word

    take n
    for word in x n "$handle-" "${handle%/*}" ''; do
        try holdfast release "$word"
        expect_status 64
        try holdfast extend "$word" --lease 5s
        expect_status 64
    done
    is_locked n || fail 'it was released'
}

# Nobody has the handle, so nobody could release it.
test_a_handle_that_cannot_be_written_is_taken_back() {
    holdfast acquire n >/dev/full 2>"$scratch/err"
    status=$?
    expect_status 70
    is_free n || fail 'the lock was left'
}

# A closed stdout must not be one of our own sockets.
test_a_closed_stdout_is_no_place_for_a_handle() {
    holdfast acquire n >&- 2>"$scratch/err"
    status=$?
    expect_status 70
    is_free n || fail 'the lock was left'
    holdfast hold n >&- 2>"$scratch/err"
    status=$?
    expect_status 70
    is_free n || fail 'the lock was left'
    holdfast run n -- sh -c 'test ! -e /proc/$$/fd/1 && exit 3' >&-
    status=$?
    expect_status 3
}

test_acquire_waits_as_the_others_do() {
    hold_elsewhere n 600
    try holdfast acquire -n n
    expect_status 75
    take -w 5 n
    try holdfast release "$handle"
    expect_status 0
}

test_a_name_of_any_bytes_goes_through_a_handle() {
    local name=$'a b\n:{x}%\xff\x01\\'

    take "$name"
    expect_match "$handle" '^[!-~]+$'
    [ "$(redis exists "$name")" = 1 ] || fail 'another name was locked'
    try holdfast release "$handle"
    expect_status 0
    expect_clean
}

# hold: one line when it is held.
test_hold_prints_one_line_and_holds_until_a_signal() {
    local signal

    for signal in INT TERM HUP; do
        start hold holdfast hold n
        wait_for 5 test -s "$scratch/hold.out"
        expect_match "$(cat "$scratch/hold.out")" \
            '^held n owner=[0-9a-f-]{36}:[0-9]+ lease=30000ms$'
        expect_equal "owner=$(redis hkeys n)" \
            "$(grep -o 'owner=[^ ]*' "$scratch/hold.out")"
        kill -"$signal" "$hold_pid"
        ended_within hold 1200
        expect_status 0 hold
        is_free n || fail 'the lock was left'
    done
    expect_clean
}

# Promise 7: one object, with names that stay.
test_hold_and_acquire_as_json() {
    start hold holdfast --json hold --lease 5s a
    wait_for 5 test -s "$scratch/hold.out"
    expect_equal "$(sed "s/$(redis hkeys a)/OWNER/" "$scratch/hold.out")" \
        '{"event":"held","kind":"lock","owner":"OWNER","lease_ms":5000,"name":"a"}'
    kill "$hold_pid"
    ended_within hold 1200
    take --json b
    expect_match "$handle" "^\{.*\"owner\":\"$(redis hkeys b)\".*\}\$"
    expect_match "$handle" '"name":"b"'
    expect_match "$handle" '"lease_ms":60000'
    handle=$(sed -nE 's/.*"handle":"([^"]*)".*/\1/p' "$scratch/out")
    try holdfast --json extend "$handle" --lease 5m
    expect_equal "$(out)" "{\"handle\":\"$handle\",\"lease_ms\":300000}"
    try holdfast release "$handle"
    expect_status 0
}

test_hold_renews_its_lease() {
    start hold holdfast hold --lease 600ms n
    wait_for 5 test -s "$scratch/hold.out"
    sleep 1.5 # longer than the lease: it must still be there
    is_locked n || fail 'it has ended'
    kill "$hold_pid"
    ended_within hold 1200
    expect_status 0 hold
}

# Row 15: a killed holder is followed within a lease.
test_a_killed_hold_is_free_within_a_lease() {
    local begun

    start hold holdfast hold --lease 800ms n
    wait_for 5 test -s "$scratch/hold.out"
    kill -KILL "$hold_pid"
    begun=$(now_ms)
    try holdfast run -w 5 n -- true
    expect_status 0
    expect_between 0 $(($(now_ms) - begun)) 1500
}

start_server
export HOLDFAST_URL=unix:$socket
run_tests
