#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --kind read and --kind write: several commands read at once, one writes alone;
# show, unlock and handles of both.  RW-40, RW-45; T60.
# lib.sh sets status, scratch, NAME_pid; quoted $ are the command's own.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/lib.sh"

tab=$'\t'

has_readers() { [ "$(redis hlen "$1")" = $(($2 + 1)) ]; }
is_written() { [ "$(redis hget "$1" mode)" = write ]; }

test_readers_run_together_and_a_writer_alone() {
    start one holdfast run --kind read n -- sleep 60
    start two holdfast run --kind read n -- sleep 60
    wait_for 5 has_readers n 2
    try holdfast run --nowait --kind write n -- true
    expect_status 75
    try holdfast run --nowait --kind read n -- true
    expect_status 0
    start writer holdfast run --kind write n -- sleep 60
    wait_for 5 is_subscribed n
    kill "$one_pid" "$two_pid"
    wait_for 5 is_written n
    try holdfast run --nowait --kind read n -- true
    expect_status 75
    kill "$writer_pid"
    ended_within writer 5000
    wait_for 5 is_free n
}

test_the_command_is_told_its_kind_and_owner() {
    try holdfast run --kind write n -- sh -c 'echo "$HOLDFAST_KIND $HOLDFAST_OWNER"'
    expect_status 0
    expect_match "$(out)" '^write [0-9a-f-]{36}:[0-9]+:write$'
}

test_show_tells_mode_and_readers() {
    start one holdfast hold --kind read n
    start two holdfast hold --kind read n
    wait_for 5 has_readers n 2
    try holdfast show --kind write n
    expect_match "$(out)" "^n${tab}locked${tab}[^$tab]*${tab}1${tab}[0-9]+${tab}0${tab}read${tab}2$"
    try holdfast --json show --kind read n
    expect_match "$(out)" '"kind":"read"'
    expect_match "$(out)" '"mode":"read"'
    expect_match "$(out)" '"readers":2'
    try holdfast show n
    expect_status 65
    try holdfast ls
    expect_match "$(out)" "^n${tab}locked${tab}[^$tab]*${tab}1${tab}[0-9]+${tab}0${tab}read${tab}2$"
    try holdfast --json ls
    expect_match "$(out)" '"kind":"read"'
    kill "$one_pid" "$two_pid"
    wait_for 5 is_free n
}

test_handles_of_both_halves_go_on_in_other_processes() {
    local read write

    read=$(holdfast acquire --kind read n)
    expect_match "$read" '^hf1/read/n/'
    try holdfast acquire --nowait --kind write n
    expect_status 75
    try holdfast extend "$read" --lease 5m
    expect_status 0
    try holdfast release "$read"
    expect_status 0
    is_free n || fail "the reader's release left something"
    write=$(holdfast acquire --kind write n)
    expect_match "$write" '^hf1/write/n/'
    try holdfast release "$write"
    expect_status 0
    is_free n || fail "the writer's release left something"
    try holdfast release "$write"
    expect_status 79
}

test_unlock_takes_one_half_only() {
    start one holdfast hold --kind read --lease 2s n
    wait_for 5 has_readers n 1
    try holdfast unlock --force --kind write n
    expect_status 75
    try holdfast unlock --force --kind read n
    expect_status 0
    ended_within one 10000
    is_free n || fail "it is still held"
}

start_server
export HOLDFAST_URL=unix:$socket
run_tests
