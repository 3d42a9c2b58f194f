#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the options of kinds do: values locks, writers' preference, the fair
# locks' times, the fencing tokens of several names (T45).
# lib.sh sets status, scratch, NAME_pid; quoted $ are the command's own.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/lib.sh"

# Of the values "a" and "Jack_001"; see docs/wire/values.md.
a_field=qwvAS12pR0CgRitaypEjUw
jack_field=7pNoDdizVy2xY792MaFv+w

values() { holdfast "$1" --kind values "${@:2}"; }
holds_value() { [ -n "$(redis hget seats "$1")" ]; }
has_no_value() { [ -z "$(redis hget seats "$1")" ]; }

test_values_of_one_name_are_taken_together() {
    try values run seats --value a --value Jack_001 -- sh -c \
        'echo "$HOLDFAST_NAME $HOLDFAST_KIND"; redis-cli -s "$0" hget seats "$1"
        redis-cli -s "$0" hget seats "$2"; echo "$HOLDFAST_OWNER"' \
        "$socket" "$a_field" "$jack_field"
    expect_status 0
    expect_equal "$(sed -n 1p "$scratch/out")" 'seats values'
    expect_equal "$(sed -n 2p "$scratch/out")" "$(sed -n 4p "$scratch/out")"
    expect_equal "$(sed -n 3p "$scratch/out")" "$(sed -n 4p "$scratch/out")"
    expect_clean
}

test_only_values_in_common_exclude() {
    start holder holdfast --json hold --kind values --value a --value b seats
    wait_for 10 file_has "$scratch/holder.out" '"values":\["a","b"\]'
    try values run -n seats --value b --value c -- echo no
    expect_status 75
    try values run -n seats --value c -- echo yes
    expect_status 0
    kill "$holder_pid"
    ended_within holder 5000
    expect_status 0 holder
    expect_clean
}

test_values_go_through_a_handle() {
    local handle

    try values acquire seats --value a --value Jack_001 --value 'x y'
    expect_status 0
    handle=$(out)
    expect_match "$handle" '^hf1/values/seats/[!-~]+$'
    try values run -n seats --value 'x y' -- true
    expect_status 75
    try holdfast extend "$handle" --lease 5m
    expect_status 0
    expect_between 290000 "$(redis pttl seats)" 300000
    try holdfast release "$handle"
    expect_status 0
    expect_clean
    try holdfast release "$handle"
    expect_status 79
}

test_values_are_shown_and_taken_away() {
    try values acquire seats --value a
    expect_status 0
    try values show seats --value a
    expect_status 0
    expect_match "$(out)" $'^seats\tlocked\t'
    try values show seats --value b
    expect_match "$(out)" $'^seats\tfree\t'
    try values unlock --force seats --value a
    expect_status 0
    has_no_value "$a_field" || fail 'it is still there'
}

test_a_wait_for_values_is_woken() {
    start holder holdfast hold --kind values --value a seats
    wait_for 10 holds_value "$a_field"
    start waiter holdfast run --kind values seats --value a -- echo yes
    wait_for 10 is_subscribed seats
    kill "$holder_pid"
    ended_within waiter 10000
    expect_status 0 waiter
    finish holder
    expect_clean
}

test_the_tokens_of_several_names_stand_in_their_order() {
    redis set 'redisson_lock_token:{b}' 7 >/dev/null
    try env HOLDFAST_TOKEN=1 HOLDFAST_TOKEN_3=3 "$HOLDFAST_BIN" \
        run --kind fenced b a -- sh -c 'env | grep ^HOLDFAST_TOKEN | sort'
    expect_status 0
    expect_equal "$(out | tr '\n' ' ')" \
        "HOLDFAST_TOKEN_1=8 HOLDFAST_TOKEN_2=1 "
    start holder holdfast hold --fenced a b
    wait_for 10 test -s "$scratch/holder.out"
    expect_match "$(cat "$scratch/holder.out")" ' tokens=2,9$'
    kill "$holder_pid"
    ended_within holder 5000
    start holder holdfast --json hold --fenced a b
    wait_for 10 test -s "$scratch/holder.out"
    expect_match "$(cat "$scratch/holder.out")" '"tokens":\[3,10\]'
    kill "$holder_pid"
    ended_within holder 5000
}

test_a_reader_gives_way_to_a_waiting_writer() {
    start reader holdfast hold --kind read n
    wait_for 10 is_locked n
    start writer holdfast run --kind write --prefer-writers n -- echo wrote
    wait_for 10 is_subscribed n
    wait_for 10 polite_reader_is_busy
    try holdfast run -n --kind read n -- true # it has not heard of that
    expect_status 0
    kill "$reader_pid"
    ended_within writer 10000
    expect_status 0 writer
    finish reader
}
polite_reader_is_busy() {
    holdfast run -n --kind read --prefer-writers n -- true
    [ $? = 75 ]
}

# The dead one's place is free after --fair-dead.
test_a_dead_waiter_of_a_fair_lock_costs_what_was_said() {
    start holder holdfast hold --kind fair n
    wait_for 10 is_locked n
    start dead holdfast run --kind fair --fair-dead 300ms n -- true
    wait_for 10 has_waiters 1
    kill -KILL "$dead_pid"
    finish dead
    start waiter holdfast run --kind fair --fair-dead 300ms --fair-wait 1m n \
        -- echo yes
    kill "$holder_pid"
    ended_within waiter 4000 # of the 5 s that it would have been
    expect_status 0 waiter
    finish holder
}
has_waiters() {
    [ "$(redis zcard 'redisson_lock_timeout:{n}')" -ge "$1" ]
}

# SET NX alone could not tell.
test_a_token_lock_on_a_plain_locks_name_is_65() {
    hold_elsewhere n
    try holdfast run -n --kind token n -- true
    expect_status 65
    redis del n >/dev/null
    redis set n somebody px 60000 >/dev/null
    try holdfast run -n --kind token n -- true
    expect_status 75
    expect_match "$(err)" '[0-9]+ ms'
}

start_server
export HOLDFAST_URL=unix:$socket
run_tests
