#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Wrong usage: status 64, and one line that says what and names the nearest
# right thing; and --help (promise 8).  Nothing here reaches a server.
# lib.sh sets status, scratch, NAME_pid; quoted $ are the command's own.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/lib.sh"

# wrong PATTERN WORD...: what is said about these words.
wrong() {
    local pattern=$1

    shift
    try holdfast "$@"
    expect_status 64
    expect_equal "$(wc -l <"$scratch/err")" 1
    expect_match "$(err)" '^holdfast: '
    expect_match "$(err)" "$pattern"
    expect_equal "$(out)" ''
}

test_a_mistyped_command_names_the_nearest() {
    wrong 'a command is missing'
    wrong "did you mean 'run'" rnu n
    wrong "did you mean 'acquire'" aquire n
    wrong "did you mean 'release'" rel n
    wrong "did you mean 'show'" shwo n
    wrong "did you mean 'unlock'" unlok n
    wrong 'holdfast --help' frobnicate
    wrong "did you mean 'run'" help rnu
    wrong 'not in this version' watch n
    wrong "no command ''" ''
}

test_a_mistyped_option_names_the_nearest() {
    wrong "did you mean '--server'" --sever x show n
    wrong "did you mean '--lease'" run --lese 5s n -- true
    wrong "did you mean '--nowait'" run --no-wait n -- true
    wrong "did you mean '--force'" unlock --forec n
    wrong "no option '--frobnicate'" run --frobnicate n -- true
    wrong "no option '-q'" run -q n -- true
    wrong "no option '-q'" -q
}

# What is short for one option today would be short for two tomorrow.
test_options_are_not_abbreviated() {
    wrong "did you mean '--lease'" run --leas 5s n -- true
    wrong "did you mean '--lease'" run --leas=5s n -- true
    wrong "did you mean '--json'" --jso show n
}

test_an_option_wants_its_argument_and_no_other() {
    wrong '--lease needs an argument: DUR' run n --lease
    wrong '--wait needs an argument: DUR' run n -w
    wrong '--server needs an argument: URL' --server
    wrong '--json takes no argument' --json=yes show n
    wrong "--server '' is empty" --server '' show n
}

test_durations_are_read_strictly() {
    local word

    for word in '' x 5x 5S 1e3 -1 +1 ' 1' '1 ' 1,5 .5 5. 0x10 inf nan 1.5.5 \
        5sm 12345678901234567890 99999d 0.1234567890s; do
        wrong "--wait '.*' is no duration" run --wait "$word" n -- true
    done
}

test_leases_have_bounds() {
    local word

    for word in 0 9ms 0.009 3651d 1000000000; do
        wrong "--lease" run --lease "$word" n -- true
    done
    wrong 'no lease; it lasts from 10ms' run --lease 0 n -- true
    wrong 'no time at all' run --max-hold 0 n -- true
    wrong 'no time at all' --timeout 0 show n
}

test_options_that_contradict_each_other() {
    wrong 'exclude each other' run -n -w 5 n -- true
    wrong 'exclude each other' hold -n -w 5 n
    wrong 'shorter than the lease' run --lease 5 --kill-after 5 n -- true
    wrong 'shorter than --max-hold' run --kill-after 4 --max-hold 4 n -- true
    wrong 'longer than --max-hold' run --min-hold 5 --max-hold 4 n -- true
    wrong 'not both' run n -c true -- true
    wrong 'several --server' --server local:a --server local:b show n
}

test_values_from_a_list() {
    wrong 'no kind of lock; there are lock, fair' run --kind lokc n -- true
    wrong 'no kind of lock' hold --kind '' n
    wrong 'it runs no command' hold n -- true
    wrong 'no kind of lock' show --kind Lock n
    wrong 'none of kill, term, ignore' run --on-loss explode n -- true
    wrong 'none of kill, term, ignore' run --on-loss 65 n -- true
    wrong 'from 0 to 255' run --busy-code 256 n -- true
    wrong 'from 0 to 255' run --busy-code -1 n -- true
    wrong 'from 0 to 255' run --busy-code 7x n -- true
}

test_options_of_a_kind_go_with_that_kind() {
    wrong 'needs --value VALUE' run --kind values n -- true
    wrong 'needs --value VALUE' show --kind values n
    wrong 'needs --value VALUE' unlock --force --kind values n
    wrong 'is for --kind values' run --value 1 n -- true
    wrong 'is for --kind values' acquire --kind fair --value 1 n
    wrong 'has no fencing tokens' hold --kind values --fenced --value 1 n
    wrong 'is for --kind read and write' run --prefer-writers n -- true
    wrong 'are for --kind fair' run --fair-dead 1s n -- true
    wrong 'are for --kind fair' hold --kind read --fair-wait 1s n
    wrong 'no time at all' run --kind fair --fair-dead 0 n -- true
    wrong 'has no fencing token: each server' --server local:a \
        --server local:b --server local:c run --quorum --fenced n -- true
    wrong "no option '--fenced'" show --fenced n
    try holdfast --server "unix:$socket" run --kind fair --fair-dead 1ms n -- true
    expect_status 64
    local many

    mapfile -t many < <(printf -- '--value\n%s\n' {1..1001})
    wrong 'is one too many' run --kind values "${many[@]}" n -- true
}

test_run_wants_a_name_and_a_command() {
    wrong 'NAME is missing' run
    wrong 'NAME is missing' run -- true
    wrong 'NAME is missing' run -c true
    wrong 'the command is missing' run n
    wrong 'the command is missing' run n --
    wrong 'put -- before the command: holdfast run n -- true' run n true
    wrong 'put -- before the command' run n ls -q
    wrong 'the command is the name' run --key-from-argv n -- true
    wrong 'the command is missing' run --key-from-argv
}

test_the_other_commands_want_their_words() {
    wrong 'NAME is missing' hold
    wrong 'NAME is missing' acquire
    wrong 'HANDLE is missing' release
    wrong 'HANDLE is missing' extend --lease 5
    wrong '--lease DUR is missing' extend x
    wrong 'NAME is missing' show
    wrong "'b' is one word too many" ls a b
    wrong 'say --force' unlock n
    wrong 'start, stop or status is missing' server
    wrong "did you mean 'status'" server statsu
    wrong 'there is: start, stop, status' server frobnicate
    wrong "no option '--on-loss'" hold --on-loss term n
    wrong "no option '--min-hold'" acquire --min-hold 5 n
}

test_urls_that_are_none_are_64() {
    local url

    for url in nonsense redis: redis:// 'redis://h:99999' 'redis://h:x' \
        http://h unix: local: local:a/b 'redis://h/x' local:..%2f; do
        try holdfast --server "$url" show n
        expect_status 64
        expect_equal "$(wc -l <"$scratch/err")" 1
    done
}

test_names_that_are_none_are_64() {
    try holdfast --server "unix:$socket" show ''
    expect_status 64
    try holdfast --server "unix:$socket" run '' -- true
    expect_status 64
}

# Promise 8.
test_every_command_has_help() {
    local command commands

    try holdfast --help
    expect_status 0
    for command in run hold acquire extend release show ls unlock server; do
        expect_match "$(out)" "^  $command "
    done
    mapfile -t commands < <(sed -nE 's/^  ([a-z]+) +[a-z].*/\1/p' "$scratch/out")
    for command in "${commands[@]}"; do
        try holdfast "$command" --help
        expect_status 0
        expect_match "$(out)" "^usage: holdfast $command "
        expect_match "$(out)" '--server URL'
        expect_equal "$(err)" ''
        cp "$scratch/out" "$scratch/help"
        try holdfast --help "$command"
        expect_status 0
        cmp -s "$scratch/out" "$scratch/help" || fail 'two different helps'
        try holdfast help "$command"
        cmp -s "$scratch/out" "$scratch/help" || fail 'two different helps'
    done
}

test_help_is_not_taken_from_the_command_that_is_run() {
    try holdfast --server "unix:$socket" run n -- sh -c 'echo "$1"' sh --help
    expect_equal "$(out)" --help
}

test_the_version_is_printed() {
    try holdfast --version
    expect_status 0
    expect_match "$(out)" '^holdfast [0-9]+\.[0-9]+\.[0-9]+$'
}

start_server
unset HOLDFAST_URL HOLDFAST_PASSWORD
# A word that is read as a name after all must not start a private server.
export XDG_RUNTIME_DIR=$scratch/nowhere
run_tests
