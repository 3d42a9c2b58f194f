# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# lib.sh - what the command's tests share; sourced, never run.
#
# Each script is one test program: a private redis-server on a Unix socket in a
# folder of its own, functions whose names are sentences, and at the end
#
#     run_tests
#
# which calls every function whose name begins with "test_", in the order of the
# file, each after a FLUSHALL.  The first `fail` ends the program.  Whatever was
# started with `start` is killed at the end, however that comes about.
set -u

: "${HOLDFAST_BIN:?is the command to be tested}"
self=${BASH_SOURCE[1]}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-cli.XXXXXX")
socket=$scratch/redis.sock
server_pid=
started=()
current=

holdfast() { "$HOLDFAST_BIN" "$@"; }
redis() { redis-cli -s "$socket" "$@"; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }

fail() {
    printf 'FAILED: %s: %s\n' "$current" "$*" >&2
    exit 1
}

clean_up() {
    local pid

    for pid in "${started[@]}" $server_pid; do
        kill -CONT "$pid" 2>/dev/null
        kill -KILL "$pid" 2>/dev/null
    done
    wait 2>/dev/null
    rm -rf "$scratch"
}
trap clean_up EXIT

# wait_for SECONDS COMMAND...: until the command succeeds, or fail.
wait_for() {
    local limit=$(($(now_ms) + $1 * 1000))

    shift
    until "$@" >/dev/null 2>&1; do
        [ "$(now_ms)" -lt "$limit" ] || fail "waited in vain for: $*"
        sleep 0.01
    done
}

start_server() {
    redis-server --port 0 --unixsocket "$socket" --dir "$scratch" --save '' \
        --appendonly no --enable-debug-command local \
        >"$scratch/redis.log" 2>&1 &
    server_pid=$!
    wait_for 10 redis ping
}

stop_server() {
    [ -n "$server_pid" ] || return 0
    kill -CONT "$server_pid" 2>/dev/null
    kill -KILL "$server_pid" 2>/dev/null
    wait "$server_pid" 2>/dev/null
    server_pid=
}

# start NAME COMMAND...: in the background; NAME.out, NAME.err and the variable
# NAME_pid are its.
start() {
    local name=$1

    shift
    # Here, and not in the background: what an earlier one wrote is gone when
    # this returns.
    : >"$scratch/$name.out"
    : >"$scratch/$name.err"
    # Not through the function: $! would be a shell's.
    [ "$1" != holdfast ] || set -- "$HOLDFAST_BIN" "${@:2}"
    "$@" >"$scratch/$name.out" 2>"$scratch/$name.err" </dev/null &
    printf -v "${name}_pid" %s $!
    started+=($!)
}

# finish NAME: wait for it; `status` is its exit status.
finish() {
    local pid=${1}_pid

    wait "${!pid}"
    status=$?
}

# ended_within NAME MS: it ends so soon.  `status` as in finish.
ended_within() {
    local pid=${1}_pid limit=$(($(now_ms) + $2))

    while kill -0 "${!pid}" 2>/dev/null; do
        [ "$(now_ms)" -lt "$limit" ] || fail "$1 has not ended within $2 ms"
        sleep 0.01
    done
    finish "$1"
}

# try COMMAND...: in the foreground; sets status, $scratch/out, $scratch/err.
try() {
    "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
}

out() { cat "$scratch/out"; }
err() { cat "$scratch/err"; }

# expect_status N [NAME]: what try, finish or ended_within left.
expect_status() {
    [ "$status" -eq "$1" ] ||
        fail "status $status instead of $1; stderr: $(cat "$scratch/${2:-}err" \
            "$scratch/${2:-x}.err" 2>/dev/null)"
}

expect_equal() {
    [ "$1" = "$2" ] || fail "'$1' instead of '$2'"
}

# expect_match TEXT PATTERN: an extended regular expression, somewhere in it.
expect_match() {
    grep -qE -- "$2" <<<"$1" || fail "'$1' does not match $2"
}

# expect_between LEAST VALUE MOST
expect_between() {
    if [ "$2" -lt "$1" ] || [ "$2" -gt "$3" ]; then
        fail "$2 is not between $1 and $3"
    fi
}

is_locked() { [ "$(redis exists "$1")" = 1 ]; }
is_free() { [ "$(redis exists "$1")" = 0 ]; }
is_subscribed() { [ -n "$(redis pubsub channels "*$1*")" ]; }
file_has() { grep -qs -- "$2" "$1"; }

# Nothing that a wait or a hold leaves behind: no key, no channel.
expect_clean() {
    expect_equal "$(redis dbsize)" 0
    wait_for 5 no_channels
}
no_channels() { [ -z "$(redis pubsub channels '*')" ]; }

# hold_elsewhere NAME [LEASE_MS]: as another client would.
hold_elsewhere() {
    redis hset "$1" 00000000-0000-0000-0000-000000000000:1 1 >/dev/null
    redis pexpire "$1" "${2:-60000}" >/dev/null
}

run_tests() {
    local names name

    mapfile -t names < <(sed -nE 's/^(test_[a-z0-9_]+)\(\).*/\1/p' "$self")
    [ ${#names[@]} -gt 0 ] || fail 'there is no test'
    for name in "${names[@]}"; do
        current=${name#test_}
        [ -z "$server_pid" ] || redis flushall >/dev/null
        "$name"
        printf 'ok - %s\n' "${current//_/ }"
    done
}
