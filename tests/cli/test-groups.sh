#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Several names (a multi lock), and several servers (--quorum, a red lock).
# lib.sh sets status, scratch, NAME_pid; quoted $ are the command's own.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/lib.sh"

# Three more servers of ours; the first is down in one of the tests.
server_pids=()
start_three() {
    local i

    for i in 1 2 3; do
        redis-server --port 0 --unixsocket "$scratch/s$i" --dir "$scratch" \
            --save '' --appendonly no >"$scratch/s$i.log" 2>&1 &
        server_pids[i]=$!
        started+=($!)
    done
    for i in 1 2 3; do
        wait_for 10 redis-cli -s "$scratch/s$i" ping
    done
}
on() { redis-cli -s "$scratch/s$1" "${@:2}"; }
held_on() { [ "$(on "$1" exists "$2")" = 1 ]; }
free_on() { [ "$(on "$1" exists "$2")" = 0 ]; }
quorum() {
    set -- --server "unix:$scratch/s1" --server "unix:$scratch/s2" \
        --server "unix:$scratch/s3" "$@"
    holdfast "$@"
}

test_several_names_are_held_and_given_up_as_one() {
    try holdfast run a b c -- sh -c \
        'redis-cli -s "$0" exists a b c; echo "$HOLDFAST_NAME"' "$socket"
    expect_status 0
    expect_equal "$(out)" $'3\na b c'
    expect_clean
}

test_one_busy_name_is_enough_to_be_busy() {
    hold_elsewhere b
    try holdfast run -n a b c -- echo no
    expect_status 75
    expect_equal "$(out)" ''
    expect_match "$(err)" 'b: held by another owner'
    try holdfast run -w 200ms a b c -- echo no
    expect_status 75
    is_free a || fail 'a is left'
    is_free c || fail 'c is left'
}

test_a_wait_for_several_names_ends_when_they_are_free() {
    hold_elsewhere b 500
    try holdfast run -w 20 a b -- echo yes
    expect_status 0
    expect_equal "$(out)" yes
    expect_clean
}

test_opposite_orders_do_not_stop_each_other() {
    local i

    for i in 1 2 3 4 5 6 7 8 9 10; do
        start "one$i" holdfast run a b -- true
        start "two$i" holdfast run b a -- true
    done
    for i in 1 2 3 4 5 6 7 8 9 10; do
        ended_within "one$i" 20000
        expect_status 0 "one$i"
        ended_within "two$i" 20000
        expect_status 0 "two$i"
    done
    expect_clean
}

test_a_wait_for_several_names_can_be_interrupted() {
    hold_elsewhere b
    start waiter holdfast run a b -- true
    wait_for 10 is_subscribed b
    is_free a || fail 'a is held while b is waited for'
    kill -INT "$waiter_pid"
    ended_within waiter 5000
    expect_status 130 waiter
    is_free a || fail 'a is left'
}

test_losing_one_name_is_losing_all() {
    start holder holdfast run --lease 1 --kill-after 100ms a b -- sleep 60
    wait_for 10 is_locked b
    redis del b >/dev/null
    ended_within holder 20000
    expect_status 79 holder
    wait_for 5 is_free a
}

test_hold_takes_several_names_too() {
    start holder holdfast --json hold a b
    wait_for 10 file_has "$scratch/holder.out" '"names"'
    is_locked a || fail 'a is not held'
    is_locked b || fail 'b is not held'
    kill -TERM "$holder_pid"
    ended_within holder 5000
    expect_status 0 holder
    expect_clean
}

test_the_same_name_twice_counts_once() {
    try holdfast run a a -- true
    expect_status 0
    expect_clean
}

test_a_quorum_of_servers_holds_it() {
    try quorum run --quorum n -- sh -c \
        'echo "${HOLDFAST_URL-none}"; test -n "$HOLDFAST_OWNER"'
    expect_status 0
    expect_equal "$(out)" none
    free_on 1 n || fail 'it is left'
}

test_a_quorum_that_others_hold_is_busy() {
    on 1 hset n 00000000-0000-0000-0000-000000000000:1 1 >/dev/null
    on 2 hset n 00000000-0000-0000-0000-000000000000:1 1 >/dev/null
    try quorum run -n --quorum n -- true
    expect_status 75
    on 2 del n >/dev/null
    try quorum run -w 10 --quorum n -- true
    expect_status 0
    on 1 del n >/dev/null
}

test_several_names_go_through_one_handle() {
    local handle

    try holdfast acquire a 'b c' a
    expect_status 0
    handle=$(out)
    expect_match "$handle" '^hfg1/multi/3/0/[!-~]+$'
    expect_between 55000 "$(redis pttl 'b c')" 60000
    try holdfast run -n 'b c' -- true
    expect_status 75
    try holdfast extend "$handle" --lease 5m
    expect_status 0
    expect_equal "$(out)$(err)" ''
    expect_between 290000 "$(redis pttl a)" 300000
    expect_between 290000 "$(redis pttl 'b c')" 300000
    try holdfast --json release "$handle"
    expect_status 0
    expect_match "$(out)" '"released":true,"handle":"hfg1/multi/'
    expect_clean
    try holdfast release "$handle"
    expect_status 79
}

test_a_handle_of_several_names_as_json() {
    try holdfast --json acquire --kind fenced -- a b
    expect_status 0
    expect_match "$(out)" '"tokens":\[1,1\],"name":"a b","names":\["a","b"\]'
    try holdfast release "$(sed -nE 's/.*"handle":"([^"]*)".*/\1/p' \
        "$scratch/out")"
    expect_status 0
}

test_one_name_that_is_gone_ends_them_all() {
    local handle

    try holdfast acquire a b
    handle=$(out)
    redis del b >/dev/null
    try holdfast extend "$handle" --lease 5m
    expect_status 79
    is_free a || fail 'a is left'
    try holdfast acquire a b
    handle=$(out)
    redis del b >/dev/null
    try holdfast release "$handle"
    expect_status 79
    is_free a || fail 'a is left'
}

test_a_handle_of_several_names_that_cannot_be_written_is_taken_back() {
    holdfast acquire a b >/dev/full 2>"$scratch/err"
    status=$?
    expect_status 70
    is_free a || fail 'a is left'
    is_free b || fail 'b is left'
}

test_a_quorum_goes_through_a_handle() {
    local handle i

    try quorum acquire --quorum n
    expect_status 0
    handle=$(out)
    try quorum run -n --quorum n -- true
    expect_status 75
    try quorum extend "$handle" --lease 5m
    expect_status 0
    for i in 1 2 3; do
        expect_between 290000 "$(on $i pttl n)" 300000
    done
    try quorum release "$handle"
    expect_status 0
    for i in 1 2 3; do
        free_on "$i" n || fail "it is left on $i"
    done
    try quorum release "$handle"
    expect_status 79
}

test_a_quorum_is_released_by_a_quorum() {
    local handle

    try quorum acquire --quorum n
    handle=$(out)
    try holdfast --server "unix:$scratch/s1" release "$handle"
    expect_status 69
    held_on 1 n || fail 'it was released'
    try holdfast --server "unix:$scratch/s1" --server "unix:$scratch/s3" \
        --server "unix:$scratch/none" release "$handle"
    expect_status 0
    free_on 1 n || fail 'it is left on 1'
    free_on 3 n || fail 'it is left on 3'
    on 2 del n >/dev/null
}

test_what_is_no_handle_of_several_is_64() {
    local handle word

    try holdfast acquire a b
    handle=$(out)
    for word in "$handle," "$handle-" "${handle%,*}" hfg1/ hfg1/multi/; do
        try holdfast release "$word"
        expect_status 64
        try holdfast extend "$word" --lease 5s
        expect_status 64
    done
    is_locked a || fail 'a was released'
    try quorum release "hf1/lock/a/00000000-0000-0000-0000-000000000000:1/1/9s"
    expect_status 64
    expect_match "$(err)" 'handle of several locks'
    try holdfast release "$handle"
    expect_status 0
}

test_one_server_that_is_down_does_not_matter() {
    kill -KILL "${server_pids[1]}"
    try quorum run -w 20 --quorum n -- echo ran
    expect_status 0
    expect_equal "$(out)" ran
}

test_without_a_quorum_of_servers_it_is_unavailable() {
    kill -KILL "${server_pids[2]}"
    try quorum run -w 1 --quorum n -- echo ran
    expect_status 69
    expect_match "$(err)" 'no quorum'
}

test_what_does_not_go_together_is_wrong_usage() {
    try holdfast --server local:a --server local:b run n -- true
    expect_status 64
    expect_match "$(err)" 'need --quorum'
    try holdfast run --quorum n -- true
    expect_status 64
    try quorum run --quorum a b -- true
    expect_status 64
    expect_match "$(err)" 'one NAME'
    try quorum show n
    expect_status 64
    try quorum --server "unix:$scratch/s2" run --quorum n -- echo ran
    expect_status 64
    expect_equal "$(out)" ''
    expect_match "$(err)" 'no\. 4 is the same server as one before'
}

# It would count as a server that is down, for ever.
test_a_url_that_is_none_is_no_server_that_is_away() {
    try quorum --server redis//:secret@c run --quorum n -- echo ran
    expect_status 64
    expect_equal "$(out)" ''
    expect_match "$(err)" '--server no\. 4: .*does not begin with'
    expect_match "$(grep -c secret <<<"$(err)")" 0
    try quorum --server bogus release hfg1/red/3/0/a@hf1/lock/n/b:1/1/9s
    expect_status 64
    expect_match "$(err)" 'no\. 4: .*does not begin with'
}

start_server
export HOLDFAST_URL=unix:$socket
start_three
run_tests
