#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the command finds in its environment (promise 6), and passwords, which
# are printed nowhere.
# lib.sh sets status, scratch, NAME_pid; quoted $ are the command's own.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/lib.sh"

with_password() {
    redis config set requirepass 'hunt@r:2' >/dev/null
}

without_password() {
    redis -a 'hunt@r:2' --no-auth-warning config set requirepass '' >/dev/null
}

value_of() { sed -n "s/^$1=//p" "$scratch/out"; }

# Promise 6, CLI-04.
test_the_command_is_told_about_its_lock() {
    try holdfast run --lease 12.5s 'my name' -- env
    expect_status 0
    expect_equal "$(value_of HOLDFAST_NAME)" 'my name'
    expect_equal "$(value_of HOLDFAST_KIND)" lock
    expect_equal "$(value_of HOLDFAST_LEASE_MS)" 12500
    expect_equal "$(value_of HOLDFAST_URL)" "unix:$socket"
    expect_match "$(value_of HOLDFAST_OWNER)" '^[0-9a-f-]{36}:[0-9]+$'
}

test_the_owner_is_the_one_on_the_server() {
    try holdfast run n -- sh -c \
        'test "$HOLDFAST_OWNER" = "$(redis-cli -s "$0" hkeys n)"' "$socket"
    expect_status 0
}

test_the_name_is_given_byte_by_byte() {
    local name=$'a\n\xff=b'

    try holdfast run "$name" -- sh -c 'printf %s "$HOLDFAST_NAME"'
    expect_equal "$(od -An -tx1 <"$scratch/out")" "$(printf %s "$name" |
        od -An -tx1)"
}

# A plain lock has no fencing token; an outer lock's is not ours.
test_there_is_no_token_of_another_lock() {
    try env HOLDFAST_TOKEN=7 "$HOLDFAST_BIN" run n -- env
    ! file_has "$scratch/out" '^HOLDFAST_TOKEN=' || fail 'there is'
}

test_the_rest_of_the_environment_is_inherited() {
    try env FIRST=1 'SECOND=two words' "$HOLDFAST_BIN" run n -- env
    expect_equal "$(value_of FIRST)" 1
    expect_equal "$(value_of SECOND)" 'two words'
    expect_equal "$(grep -c '^HOLDFAST_URL=' "$scratch/out")" 1
}

test_a_holdfast_inside_means_the_same_server() {
    try env -u HOLDFAST_URL "$HOLDFAST_BIN" --server "unix:$socket" \
        run outer -- "$HOLDFAST_BIN" run -n outer -- true
    expect_status 75
    expect_match "$(err)" outer
    ! grep -q 'local:default' "$scratch/err" || fail 'another server'
}

# Promise 6.
test_the_url_has_no_password() {
    with_password
    try holdfast --server "unix://:hunt%40r%3A2@$socket" run n -- env
    expect_status 0
    expect_equal "$(value_of HOLDFAST_URL)" "unix://$socket"
    try holdfast --server "unix://default:hunt%40r%3A2@$socket" run n -- env
    expect_status 0
    expect_equal "$(value_of HOLDFAST_URL)" "unix://default@$socket"
    without_password
    ! file_has "$scratch/out" hunt || fail 'it is there'
}

test_a_password_comes_from_the_environment_or_a_file() {
    with_password
    try env HOLDFAST_PASSWORD='hunt@r:2' "$HOLDFAST_BIN" show n
    expect_status 0
    echo 'hunt@r:2' >"$scratch/password"
    try holdfast --password-file "$scratch/password" show n
    expect_status 0
    try env HOLDFAST_PASSWORD=wrong "$HOLDFAST_BIN" --password-file \
        "$scratch/password" show n
    expect_status 0
    without_password
}

# Status 77.
test_a_refused_password_is_77_and_not_printed() {
    local url

    with_password
    try holdfast show n
    expect_status 77
    try env HOLDFAST_PASSWORD=sesame "$HOLDFAST_BIN" -v run n -- true
    expect_status 77
    ! grep -q sesame "$scratch/err" || fail 'it is printed'
    for url in "unix://:sesame@$socket" "unix://someone:sesame@$socket"; do
        try holdfast -v --server "$url" run n -- true
        expect_status 77
        ! grep -q sesame "$scratch/err" || fail 'it is printed'
    done
    without_password
}

# Status 77.
test_a_refused_command_is_77() {
    redis acl setuser limited on '>sesame' '~*' '&*' +@all -evalsha -eval \
        >/dev/null
    try holdfast --server "unix://limited:sesame@$socket" run n -- true
    redis acl deluser limited >/dev/null
    expect_status 77
    ! grep -q sesame "$scratch/err" || fail 'the password is printed'
}

test_a_password_in_a_malformed_url_is_not_printed() {
    local url

    for url in 'redis://:sesame@' 'redis://:sesame@h:port' \
        'redis://u:sesame@h/x' 'rediss:/:sesame@h' 'redis:://:sesame@h' \
        'redis://:se/same@h'; do
        try holdfast -v --server "$url" show n
        expect_status 64
        ! grep -qE 'se/?same' "$scratch/err" || fail "$url: it is printed"
    done
}

test_a_password_file_that_is_none_is_64() {
    try holdfast --password-file "$scratch/missing" show n
    expect_status 64
    : >"$scratch/empty"
    try holdfast --password-file "$scratch/empty" show n
    expect_status 64
    head -c 5000 /dev/zero >"$scratch/large"
    try holdfast --password-file "$scratch/large" show n
    expect_status 64
}

start_server
export HOLDFAST_URL=unix:$socket
unset HOLDFAST_PASSWORD
run_tests
