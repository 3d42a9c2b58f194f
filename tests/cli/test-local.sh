#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# This machine's own server: what happens where nothing is set up, and
# `server start|stop|status`.
# lib.sh sets status, scratch, NAME_pid; quoted $ are the command's own.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/lib.sh"

# Without anything set up it works, and says that it is of one machine.
test_without_a_server_it_is_this_machines_own_and_says_so() {
    try holdfast run n -- sh -c 'echo "$HOLDFAST_URL"; exit 3'
    expect_status 3
    expect_equal "$(out)" local:default
    expect_equal "$(wc -l <"$scratch/err")" 1
    expect_match "$(err)" 'local:default.*this machine only'
}

test_naming_it_silences_the_line() {
    try env HOLDFAST_URL=local:default "$HOLDFAST_BIN" run n -- true
    expect_status 0
    expect_equal "$(err)" ''
    try holdfast --server local:default run n -- true
    expect_status 0
    expect_equal "$(err)" ''
}

test_an_empty_variable_is_as_none() {
    try env HOLDFAST_URL= "$HOLDFAST_BIN" show n
    expect_status 0
    expect_match "$(err)" 'local:default'
}

test_an_option_wins_over_the_variable() {
    try env HOLDFAST_URL=redis://127.0.0.1:1 "$HOLDFAST_BIN" \
        --server local:default show n
    expect_status 0
}

# A password for another server is not sent to this one.
test_a_password_in_the_environment_does_no_harm() {
    try env HOLDFAST_PASSWORD=sesame "$HOLDFAST_BIN" --server local:default \
        show n
    expect_status 0
}

test_two_commands_exclude_each_other_there() {
    start hold holdfast --server local:default hold n
    wait_for 10 file_has "$scratch/hold.out" held
    try holdfast --server local:default run -n n -- true
    expect_status 75
    kill "$hold_pid"
    ended_within hold 2000
    expect_status 0 hold
}

test_it_is_started_once_however_many_ask() {
    local i

    for i in 1 2 3 4 5 6; do
        start "c$i" holdfast --server local:crowd run -w 20 n -- \
            redis-cli -s "$(socket_of crowd)" info server
    done
    for i in 1 2 3 4 5 6; do
        finish "c$i"
        expect_status 0 "c$i"
    done
    expect_equal "$(cat "$scratch"/c?.out | grep process_id | sort -u | wc -l)" 1
}

test_the_server_is_started_asked_for_and_stopped() {
    try holdfast server status own
    expect_status 69
    expect_match "$(out)" '^local:own not running'
    try holdfast server start own
    expect_status 0
    expect_match "$(out)" '^local:own running pid=[0-9]+ socket=/'
    try holdfast server status own
    expect_status 0
    expect_match "$(out)" '^local:own running pid=[0-9]+ socket=/'
    try holdfast --json server status own
    expect_match "$(out)" '"running":true'
    expect_match "$(out)" '"pid":[0-9]+'
    try holdfast server start own
    expect_status 0
    try holdfast server stop own
    expect_status 0
    try holdfast server stop own
    expect_status 0
    try holdfast server status own
    expect_status 69
    try holdfast --json server status own
    expect_match "$(out)" '"running":false'
}

test_a_name_that_is_no_word_is_64() {
    try holdfast server start 'a/b'
    expect_status 64
    try holdfast server status ''
    expect_status 64
}

# The private server ends neither with the command nor with its group.
test_the_server_outlives_the_command_that_started_it() {
    start hold setsid "$HOLDFAST_BIN" --server local:outlive hold n
    wait_for 10 file_has "$scratch/hold.out" held
    kill -KILL -- "-$hold_pid"
    finish hold
    try holdfast server status outlive
    expect_status 0
}

socket_of() {
    holdfast --json server status "$1" |
        sed -nE 's/.*"socket":"([^"]*)".*/\1/p'
}

stop_private_servers() {
    local name

    for name in default crowd own outlive; do
        holdfast server stop "$name" >/dev/null 2>&1
    done
    clean_up
}
trap stop_private_servers EXIT

unset HOLDFAST_URL HOLDFAST_PASSWORD
export XDG_RUNTIME_DIR=$scratch/run
mkdir -m 700 "$XDG_RUNTIME_DIR"
run_tests
