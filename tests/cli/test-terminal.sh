#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# On a terminal: the foreground and job control (promises 1 and 2), and what a
# long wait shows (promise 7).
#
# script(1) makes the terminal, and an interactive bash on it is the shell whose
# job control is used.  What is typed goes through a FIFO; ^Z and ^C are the
# terminal's own.
# lib.sh sets status, scratch, NAME_pid; quoted $ are the command's own.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/lib.sh"

screen=$scratch/screen

open_terminal() {
    rm -f "$scratch/keys"
    mkfifo "$scratch/keys"
    : >"$screen"
    # A shell without job control lets what is in the background ignore INT.
    env --default-signal=INT TERM=xterm HOLDFAST="$HOLDFAST_BIN" \
        SCRATCH="$scratch" \
        script -qfc 'stty -echo; exec bash --norc --noprofile --noediting -i' \
        /dev/null <"$scratch/keys" >"$screen" 2>&1 &
    terminal_pid=$!
    started+=("$terminal_pid")
    exec 7>"$scratch/keys"
    keys 'PS1=; echo shell-is-"ready"'
    wait_for 10 file_has "$screen" shell-is-ready
}

# script(1) takes seconds to end by itself, so it is not waited for.
close_terminal() {
    keys 'kill -KILL $(jobs -p) 2>/dev/null; echo shell-is-"done"'
    shows shell-is-done
    exec 7>&-
    kill -KILL "$terminal_pid"
    wait "$terminal_pid" 2>/dev/null
}

keys() { printf '%s\n' "$*" >&7; }
press() { printf %b "$1" >&7; }
shows() { wait_for 10 grep -qaE -- "$1" "$screen"; }
is_stopped() { [[ $(ps -o stat= -p "$1") == T* ]]; }
is_running() { [[ $(ps -o stat= -p "$1") == [RSD]* ]]; }

# begin OPTIONS TEXT [SUFFIX]: type a `run` of the shell script TEXT.  Sets job,
# which is holdfast, and child, which is the script.
begin() {
    begin_line "\$HOLDFAST run $1 n -- bash \$SCRATCH/job.sh ${3:-; echo st-\$?}" \
        "$2"
}

# begin_line LINE TEXT: type LINE, which runs $SCRATCH/job.sh, which is TEXT.
begin_line() {
    printf 'echo $$ $PPID >%s/ids\n%s\n' "$scratch" "$2" >"$scratch/job.sh"
    rm -f "$scratch/ids"
    keys "$1"
    wait_for 10 test -s "$scratch/ids"
    read -r child job <"$scratch/ids"
}

# Promise 1: it may read what is typed.
test_the_command_reads_the_terminal() {
    open_terminal
    begin '' 'read x; echo got-$x'
    keys hello
    shows got-hello
    shows st-0
    keys 'echo shell-again'
    shows shell-again
    close_terminal
}

# Promise 1: the foreground is the group's; the shell's again afterwards.
test_the_command_has_the_foreground() {
    open_terminal
    begin '' 'ps -o pgid=,tpgid= -p $$'
    shows st-0
    shows "(^| )$child +$child"
    close_terminal
}

# Promise 2: ^C is the terminal's signal to the command.
test_an_interrupt_key_ends_the_command() {
    open_terminal
    begin '' 'exec sleep 60'
    press '\x03'
    wait_for 10 is_free n
    keys 'echo st-$?'
    shows st-130
    close_terminal
}

# Promise 2: ^Z stops holdfast as well, fg continues both.
test_a_stop_key_stops_both_and_fg_continues_both() {
    open_terminal
    begin '--lease 60s' 'read x; echo got-$x'
    press '\x1a'
    wait_for 10 is_stopped "$job"
    wait_for 10 is_stopped "$child"
    is_locked n || fail 'the lock is gone'
    keys 'echo shell-has-it'
    shows shell-has-it
    keys fg
    wait_for 10 is_running "$job"
    wait_for 10 is_running "$child"
    keys hello
    shows got-hello
    close_terminal
    expect_clean
}

# Promise 2: a script around holdfast is stopped too, as by any ^Z.
test_a_stop_key_stops_the_script_around_it() {
    echo '$HOLDFAST run --lease 60s n -- bash $SCRATCH/job.sh; echo st-$?' \
        >"$scratch/outer.sh"
    open_terminal
    begin_line 'sh $SCRATCH/outer.sh' 'read x; exit 3'
    press '\x1a'
    wait_for 10 is_stopped "$job"
    wait_for 10 is_stopped "$child"
    keys 'echo shell-has-it'
    shows shell-has-it
    keys fg
    wait_for 10 is_running "$child"
    keys hello
    shows st-3
    close_terminal
}

# Promise 2: bg continues it without the terminal.
test_bg_continues_without_the_foreground() {
    open_terminal
    begin '--lease 60s' 'exec sleep 60'
    press '\x1a'
    wait_for 10 is_stopped "$job"
    wait_for 10 is_stopped "$child"
    keys bg
    wait_for 10 is_running "$child"
    keys 'echo shell-has-it'
    shows shell-has-it
    kill -TERM "$job"
    wait_for 10 is_free n
    close_terminal
}

# Promise 2: in the background it does not take the terminal, and a read stops
# it as it stops any job.
test_a_background_job_that_reads_is_stopped_until_fg() {
    open_terminal
    begin '--lease 60s' 'read x; echo got-$x' '&'
    wait_for 10 is_stopped "$child"
    wait_for 10 is_stopped "$job"
    keys fg
    wait_for 10 is_running "$job"
    keys hello
    shows got-hello
    close_terminal
}

# Promise 2: also where the command is not in the foreground, because stdin is
# no terminal.
test_a_stop_key_works_with_stdin_redirected() {
    open_terminal
    begin '--lease 60s' 'exec sleep 60' '</dev/null; echo st-$?'
    press '\x1a'
    wait_for 10 is_stopped "$job"
    wait_for 10 is_stopped "$child"
    keys fg
    wait_for 10 is_running "$job"
    wait_for 10 is_running "$child"
    press '\x03'
    wait_for 10 is_free n
    close_terminal
}

# Promise 1: the terminal goes back to the rest of the pipeline in the end.
test_a_pager_behind_the_command_gets_the_terminal_back() {
    printf '%s\n' 'until [ -s "$1/ids" ]; do sleep 0.01; done' \
        'echo $$ >"$1/pager"; read x </dev/tty; echo tty-$x' >"$scratch/pager.sh"
    open_terminal
    begin '' 'until [ -e $SCRATCH/end ]; do sleep 0.01; done' \
        '| sh $SCRATCH/pager.sh $SCRATCH'
    wait_for 10 test -s "$scratch/pager"
    wait_for 10 is_stopped "$(cat "$scratch/pager")"
    touch "$scratch/end"
    keys hello
    shows tty-hello
    close_terminal
}

# Promise 3: after a stop, the deadline comes first.  The command writes as soon
# as it runs; it must not.
test_a_command_stopped_past_its_lease_is_not_continued() {
    local before

    open_terminal
    begin '--lease 2s' 'while :; do echo x >>$SCRATCH/wrote; sleep 0.01; done'
    press '\x1a'
    wait_for 10 is_stopped "$job"
    wait_for 10 is_free n
    before=$(wc -l <"$scratch/wrote")
    keys 'fg; echo st-$?'
    shows 'lock is lost'
    shows 'st-79'
    expect_equal "$(wc -l <"$scratch/wrote")" "$before"
    close_terminal
}

# A session of its own is an orphaned process group: the system ignores the
# stop, so the command must not stay stopped for ever.
test_a_stop_that_the_system_ignores_does_not_hang_the_command() {
    mkfifo "$scratch/typed"
    : >"$screen"
    script -qfec "$HOLDFAST_BIN run --lease 60s n -- \
        sh -c 'echo begun; read x; echo got-\$x; exit 3'" /dev/null \
        <"$scratch/typed" >"$screen" 2>&1 &
    terminal_pid=$!
    started+=("$terminal_pid")
    exec 8>"$scratch/typed"
    shows begun
    printf '\x1a' >&8
    printf 'hello\n' >&8
    shows got-hello
    wait "$terminal_pid"
    status=$?
    exec 8>&-
    expect_status 3
}

# Promise 7.
test_a_long_wait_shows_who_holds_and_is_cleared() {
    hold_elsewhere n 30000
    open_terminal
    keys '$HOLDFAST run n -- echo has-it'
    # In 80 columns the owner is cut short, and not what comes after it.
    shows 'n: held by 00000000\.\.\., lease ends in 2[0-9]\.[0-9]s; waiting .*, 1 in all'
    redis del n >/dev/null
    redis publish 'redisson_lock__channel:{n}' 0 >/dev/null
    shows has-it
    # What was written over with blanks stands before it.
    grep -qaE $'\r {40,}\rhas-it' "$screen" || fail 'it was not cleared'
    close_terminal
}

# Promise 7: which of several is in the way; never what is taken already.
test_a_wait_for_several_names_shows_which_is_held() {
    hold_elsewhere b 30000
    open_terminal
    keys '$HOLDFAST run a b -- echo has-them'
    shows 'a b: b is held by 00000000\.\.\., lease ends in .*; waiting '
    redis del b >/dev/null
    redis publish 'redisson_lock__channel:{b}' 0 >/dev/null
    shows has-them
    grep -qa 'a is held' "$screen" && fail 'what was ours was shown'
    close_terminal
}

test_a_wait_for_a_quorum_shows_on_which_server_it_is_held() {
    local i

    for i in 1 2; do
        redis-server --port 0 --unixsocket "$scratch/s$i" --dir "$scratch" \
            --save '' --appendonly no >"$scratch/s$i.log" 2>&1 &
        started+=($!)
        wait_for 10 redis-cli -s "$scratch/s$i" ping
        redis-cli -s "$scratch/s$i" \
            hset n 00000000-0000-0000-0000-000000000000:1 1 >/dev/null
        redis-cli -s "$scratch/s$i" pexpire n 30000 >/dev/null
    done
    open_terminal
    keys 'for i in 1 2 3; do set -- "$@" --server unix:$SCRATCH/s$i; done'
    keys 'ln -s redis.sock $SCRATCH/s3; stty columns 250'
    keys '$HOLDFAST "$@" run --quorum n -- echo has-it'
    shows "n: on unix:$scratch/s1 it is held by 00000000-.*:1, lease ends in "
    redis-cli -s "$scratch/s1" del n >/dev/null
    shows has-it
    close_terminal
}

# Promise 5, on a terminal.
test_an_interrupt_key_ends_a_wait() {
    hold_elsewhere n 30000
    open_terminal
    keys '$HOLDFAST run n -- true'
    shows 'held by'
    press '\x03'
    wait_for 10 no_channels
    keys 'echo st-$?'
    shows 'st-130'
    close_terminal
}

# Promise 2, and as with flock(1): a loop ends with the command, or the wait.
test_an_interrupt_key_ends_the_script_around_it() {
    cat >"$scratch/loop.sh" <<'EOF'
for turn in 1 2; do
    "$HOLDFAST" run n -- sh -c 'echo begun; exec sleep 30'
    echo "on-$turn"
done
EOF
    open_terminal
    keys 'bash $SCRATCH/loop.sh'
    shows begun
    press '\x03'
    wait_for 10 is_free n
    keys 'echo st-$?'
    shows 'st-130'
    hold_elsewhere n 30000
    keys 'bash $SCRATCH/loop.sh'
    shows 'held by'
    press '\x03'
    wait_for 10 no_channels
    keys 'echo then-$?'
    shows 'then-130'
    grep -qa 'on-[12]' "$screen" && fail 'the loop went on'
    close_terminal
}

# Promise 7: a table on a terminal.
test_show_and_ls_are_tables_on_a_terminal() {
    hold_elsewhere n 30000
    open_terminal
    keys '$HOLDFAST show n'
    shows '^name +n'
    shows '^state +locked'
    shows '^ends in +2[0-9]\.'
    keys '$HOLDFAST ls'
    shows '^OWNER +KIND +COUNT +ENDS IN +WAITING +NAME'
    shows '^00000000-0000-0000-0000-000000000000:1 .* n.?$'
    close_terminal
}

start_server
export HOLDFAST_URL=unix:$socket
run_tests
