/* SPDX-License-Identifier: MIT */
/* cmd_run.c - hold a lock while a command runs.
 *
 * Happy path: take the lock, start the command in a process group of its own,
 * forward the signals that are meant for it, wait for its end, release the
 * lock, exit with the command's status.
 *
 * The lock may be lost meanwhile.  What is done then, and when, is decided by
 * guard.c; this file tells it in each turn of the loop how the lock stands.
 * The exit status is 79 then, whatever the command made of it.
 *
 * Job control: when the command is stopped by the terminal, we give the
 * terminal back and stop as well; when we are continued, the lock's deadline is
 * looked at first, and only then is the command continued.  Stopped, we renew
 * nothing, so that the lock may well be lost.
 *
 * Everything runs on the main thread.
 */
#include "child.h"
#include "command.h"
#include "complain.h"
#include "duration.h"
#include "environment.h"
#include "exit_status.h"
#include "guard.h"
#include "hold.h"
#include "on_loss.h"
#include "permits_run.h"
#include "signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Enough for a shell to be scheduled; nobody notices it after an editor. */
#define SHELL_LOOKS_MS 50

/* A deadline so near the end of --max-hold is that end. */
#define MAX_HOLD_SLACK_MS 1000

/* --kill-after, where nobody says: what most services are given to end, and a
 * third of the lease where that is shorter. */
#define KILL_AFTER_MS 10000

/* A turn of the loop while we wait for a killed group to be gone. */
#define KILLED_TURN_MS 20

/* A process that KILL has not ended by then is stuck in the kernel, and nothing
 * that we could wait for. */
#define KILLED_LIMIT_MS 5000

/* A stop that has not stopped us by then was ignored by the system, as in an
 * orphaned process group; nobody would continue the command but we. */
#define STOP_LIMIT_MS 100

struct run_options {
    struct cli_take take; /* first: the shared options are its fields */
    const char *shell;    /* what -c said, or NULL */
    int key_from_argv;
    struct on_loss on_loss;
    int64_t kill_after_ms; /* -1: not given */
    const struct cli_command *command;
};

static const struct cli_option options[] = {
    {"command", 'c', "STRING", "run STRING through the shell", cli_set_text,
     offsetof(struct run_options, shell), NULL},
    {"key-from-argv", 0, NULL, "the lock's name is the command itself",
     cli_set_flag, offsetof(struct run_options, key_from_argv), NULL},
    {"on-loss", 0, "WHAT", "kill (default), term, ignore, or a signal to send",
     on_loss_set, offsetof(struct run_options, on_loss), NULL},
    {"kill-after", 0, "DUR", "between TERM and KILL (default 10s or lease/3)",
     cli_set_duration, offsetof(struct run_options, kill_after_ms), NULL},
    CLI_OPTIONS_GO_ON(cli_keep_options),
};

/* With a permit: what means nothing there is left out. */
const struct cli_option cli_permits_run_options[] = {
    {"command", 'c', "STRING", "run STRING through the shell", cli_set_text,
     offsetof(struct run_options, shell), NULL},
    {"on-loss", 0, "WHAT", "kill (default), term, ignore, or a signal to send",
     on_loss_set, offsetof(struct run_options, on_loss), NULL},
    {"kill-after", 0, "DUR", "between TERM and KILL (default 10s or lease/3)",
     cli_set_duration, offsetof(struct run_options, kill_after_ms), NULL},
    {"lease", 0, "DUR", "length of the lease, which is renewed (default 30s)",
     cli_set_lease, offsetof(struct run_options, take.lease_ms), NULL},
    {"no-renew", 0, NULL, "do not renew it: the permit is lost at its end",
     cli_set_flag, offsetof(struct run_options, take.no_renew), NULL},
    {"max-hold", 0, "DUR", "held longer, it is lost", cli_set_positive,
     offsetof(struct run_options, take.max_hold_ms), NULL},
    CLI_OPTIONS_GO_ON(cli_permit_options),
};

struct run {
    const struct run_options *options;
    struct cli_hold hold;
    struct guard guard;
    struct child child;
    int64_t max_hold_end_ms; /* or GUARD_NEVER */
    int64_t killed_at_ms;
    bool is_stopped;       /* with the command, by the terminal */
    int64_t stop_limit_ms; /* ... and if we run on then, it had no effect */
    bool has_told_loss;
    bool is_interrupted; /* the terminal ended the command by INT */
};

/* ---- the command line ---------------------------------------------------------- */

/* The words joined by single spaces; free() it.  NULL: no memory. */
static char *join_words(char *const *words)
{
    size_t size = 1;

    for (size_t i = 0; words[i] != NULL; i++) {
        size += strlen(words[i]) + 1;
    }
    char *text = malloc(size);
    char *end = text;
    for (size_t i = 0; text != NULL && words[i] != NULL; i++) {
        end = stpcpy(end, i > 0 ? " " : "");
        end = stpcpy(end, words[i]);
    }
    return text;
}

/* How many names there must be, and whether there is a command. */
static int check_words(const struct run_options *o, const struct cli_line *line)
{
    int names = o->key_from_argv ? 0 : 1;

    if (o->shell != NULL && line->rest_count > 0) {
        cli_complain("%s: give -c STRING or a command behind --, not both",
                     o->command->name);
    } else if (line->operand_count > names && o->key_from_argv) {
        cli_complain("run: '%.80s': with --key-from-argv the command is the "
                     "name; put -- before the command",
                     line->operands[0]);
    } else if (line->operand_count > 1 && !line->has_rest && o->shell == NULL) {
        cli_complain("%s: put -- before the command: "
                     "holdfast %s %.80s -- %.80s ...",
                     o->command->name, o->command->name, line->operands[0],
                     line->operands[1]);
    } else if (line->operand_count > 1 && o->take.permit) {
        cli_complain("%s: a permit has one NAME", o->command->name);
    } else if (line->operand_count < names) {
        cli_complain("%s: NAME is missing; usage: holdfast %s %s",
                     o->command->name, o->command->name, o->command->usage);
    } else if (o->shell == NULL && line->rest_count == 0) {
        cli_complain("%s: the command is missing; put it behind --, or give "
                     "-c STRING",
                     o->command->name);
    } else {
        return CLI_GO_ON;
    }
    return CLI_USAGE;
}

static int check_options(struct run_options *o, const struct cli_line *line)
{
    int64_t shortest_ms = o->take.lease_ms;

    /* What ends the lock first has to leave the command some time to run. */
    if (o->take.max_hold_ms > 0 && o->take.max_hold_ms < shortest_ms) {
        shortest_ms = o->take.max_hold_ms;
    }
    int64_t third = shortest_ms / 3;
    if (o->kill_after_ms >= shortest_ms) {
        cli_complain(
            "%s: --kill-after must be shorter than %s", o->command->name,
            shortest_ms < o->take.lease_ms ? "--max-hold" : "the lease");
        return CLI_USAGE;
    }
    if (o->kill_after_ms < 0) {
        o->kill_after_ms = third < KILL_AFTER_MS ? third : KILL_AFTER_MS;
    }
    if (o->kill_after_ms < o->take.max_hold_ms) {
        o->take.max_hold_warning_ms = o->kill_after_ms;
    }
    return cli_keep_check(o->command->name, &o->take, &line->ctx,
                          line->operand_count);
}

/* ---- the lock is being lost ------------------------------------------------------ */

/* How the lock stands, for the guard. */
static struct guard_view look(struct run *run)
{
    struct guard_view view = {.now_ms = cli_now_ms(),
                              .deadline_ms = GUARD_NEVER};
    const struct cli_take *take = &run->options->take;
    hf_lost_reason reason = HF_NOT_LOST;

    view.is_lost = cli_hold_is_lost(&run->hold, &reason);
    view.is_taken_away = reason == HF_LOST_TAKEN || reason == HF_LOST_GONE;
    if (view.is_lost) {
        if (!run->has_told_loss) {
            run->has_told_loss = true;
            cli_hold_complain_lost(&run->hold, reason);
        }
        return view;
    }
    hf_lock_state state = cli_hold_state(&run->hold, NULL);
    int64_t remaining_ms = cli_hold_remaining_ms(&run->hold);
    /* A healthy lease is renewed when two thirds remain. */
    if (take->no_renew || state != HF_HELD ||
        remaining_ms < take->lease_ms / 3) {
        view.deadline_ms = view.now_ms + remaining_ms;
    }
    if (run->max_hold_end_ms < view.deadline_ms) {
        view.deadline_ms = run->max_hold_end_ms;
    }
    return view;
}

/* The library counts from when its request left, we from when it was answered:
 * the same end, but for a round trip. */
static bool ends_by_max_hold(const struct run *run,
                             const struct guard_view *view)
{
    return run->max_hold_end_ms - view->deadline_ms < MAX_HOLD_SLACK_MS;
}

static void send_first_signal(struct run *run, const struct guard_view *view)
{
    int number = run->options->on_loss.signal;
    const char *name = on_loss_signal_name(number);
    char left[32];

    if (view->is_lost) {
        cli_complain("%s: %s is sent to the command", run->hold.shown, name);
    } else {
        cli_duration_text(view->deadline_ms - view->now_ms, left, sizeof(left));
        cli_complain("%s: the %s ends in %s%s; %s is sent to the command",
                     run->hold.shown,
                     run->options->take.permit ? "permit" : "lock", left,
                     ends_by_max_hold(run, view) ? " (--max-hold)" : "", name);
    }
    child_signal(&run->child, number);
    /* A stopped process would not get to know. */
    child_signal(&run->child, SIGCONT);
}

static void guard_command(struct run *run)
{
    struct guard_view view = look(run);
    enum guard_action action;

    while ((action = guard_step(&run->guard, &view)) != GUARD_DO_NOTHING) {
        if (action == GUARD_DO_SIGNAL) {
            send_first_signal(run, &view);
        } else {
            run->killed_at_ms = view.now_ms;
            child_signal(&run->child, SIGKILL);
            cli_complain("%s: the command is killed", run->hold.shown);
        }
    }
}

/* ---- job control -------------------------------------------------------------------- */

/* The command has been stopped by the terminal: stop as well. */
static void stop_with_command(struct run *run)
{
    /* The terminal told the command's group only, because it had the
     * foreground; the others of our group (the rest of a pipeline, a script)
     * would have been told too. */
    bool whole_group = run->child.has_terminal;

    child_take_terminal(&run->child);
    run->is_stopped = true;
    run->child.stopped_by = 0;
    run->stop_limit_ms = cli_now_ms() + STOP_LIMIT_MS;
    cli_signals_stop_here(whole_group);
}

/* The deadline has been looked at; a command that was killed stays so. */
static void continue_command(struct run *run)
{
    run->is_stopped = false;
    if (!run->guard.has_killed) {
        child_give_terminal(&run->child);
        child_signal(&run->child, SIGCONT);
    }
}

static bool is_terminal_stop(int number)
{
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

/* ---- the loop ------------------------------------------------------------------------- */

/* Returns whether we have been continued. */
static bool forward_signals(struct run *run)
{
    bool is_continued = false;
    int number;

    while ((number = cli_signals_next()) != 0) {
        if (number == SIGCONT) {
            is_continued = true;
        } else if (number != SIGCHLD) {
            child_signal(&run->child, number);
        }
    }
    return is_continued;
}

/* Until when to sleep. */
static int64_t sleep_limit(const struct run *run)
{
    int64_t next_ms = guard_next_ms(&run->guard);
    int64_t now_ms = cli_now_ms();

    if (run->is_stopped && run->stop_limit_ms < next_ms) {
        next_ms = run->stop_limit_ms;
    }
    if (run->guard.has_killed) {
        return KILLED_TURN_MS;
    }
    return next_ms == GUARD_NEVER ? INT64_MAX : next_ms - now_ms;
}

/* The command has ended; and, if its lock is being lost, all of its group. */
static bool is_finished(const struct run *run)
{
    const struct guard *guard = &run->guard;

    if (!run->child.has_ended) {
        return false;
    }
    if (!guard->has_signalled || guard->plan.mode != GUARD_KILL) {
        return true;
    }
    if (!child_group_is_alive(&run->child)) {
        return true;
    }
    if (guard->has_killed) {
        return cli_now_ms() > run->killed_at_ms + KILLED_LIMIT_MS;
    }
    return guard_next_ms(guard) == GUARD_NEVER; /* the lease has recovered */
}

static void wait_for_command(struct run *run)
{
    for (;;) {
        child_reap(&run->child);
        guard_command(run);
        if (is_finished(run)) {
            return;
        }
        if (!run->child.has_ended && is_terminal_stop(run->child.stopped_by)) {
            stop_with_command(run);
        }
        cli_hold_sleep(&run->hold, sleep_limit(run));
        bool is_continued = forward_signals(run);
        if (is_continued ||
            (run->is_stopped && cli_now_ms() >= run->stop_limit_ms)) {
            guard_command(run);
            continue_command(run);
        }
    }
}

/* ---- from the start to the exit status ------------------------------------------------ */

/* The command could not be executed. */
static int complain_start(const char *command, int error)
{
    cli_complain("%.200s: %s", command,
                 error == ENOENT && strchr(command, '/') == NULL
                     ? "command not found"
                     : strerror(error));
    return error == ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_RUN;
}

static int start_command(struct run *run, char *const *argv)
{
    int error = child_prepare(&run->child);

    if (error != 0) {
        cli_complain("a pipe for the command: %s", strerror(error));
        return CLI_INTERNAL;
    }
    char **environment = cli_environment_new(&run->hold, &run->child);
    if (environment == NULL) {
        cli_complain("out of memory");
        return CLI_INTERNAL;
    }
    cli_signals_queue_children();
    error = child_start(&run->child, argv, environment);
    cli_environment_free(environment);
    return error == 0 ? CLI_GO_ON : complain_start(argv[0], error);
}

static void prepare_guard(struct run *run)
{
    const struct run_options *o = run->options;
    struct guard_plan plan = {.mode = o->on_loss.mode,
                              .kill_after_ms = o->kill_after_ms,
                              .margin_ms = o->take.lease_ms / 10};

    if (plan.margin_ms > GUARD_MARGIN_MS) {
        plan.margin_ms = GUARD_MARGIN_MS;
    }
    guard_init(&run->guard, &plan);
    run->max_hold_end_ms = GUARD_NEVER;
    if (o->take.max_hold_ms > 0) {
        run->max_hold_end_ms = run->hold.taken_at_ms + o->take.max_hold_ms;
    }
}

/* The shell hears of the rest of our pipeline going on and of our end at about
 * the same moment.  If it looks at our end first, all it has is a stopped
 * `less`: it calls the job stopped and takes the terminal back. */
static void let_the_shell_look(void)
{
    (void)poll(NULL, 0, SHELL_LOOKS_MS);
}

static int run_held(struct run *run, char *const *argv)
{
    prepare_guard(run);
    int result = start_command(run, argv);
    if (result != CLI_GO_ON) {
        cli_hold_release(&run->hold);
        return result;
    }
    wait_for_command(run);
    if (run->child.has_terminal) {
        /* It told the command's group only; see stop_with_command(). */
        run->is_interrupted = child_died_of(&run->child, SIGINT);
        child_take_terminal(&run->child);
        /* The rest of our pipeline (`| less`) may have been stopped when it
         * wanted the terminal that the command had. */
        kill(0, SIGCONT);
    }
    if (run->has_told_loss || run->guard.has_signalled) {
        return CLI_LOST; /* what is left of the lock goes with the client */
    }
    int released = cli_hold_release(&run->hold);
    if (run->child.has_terminal) {
        let_the_shell_look();
    }
    return released == CLI_LOST ? CLI_LOST : child_exit_status(&run->child);
}

/* execve() takes words that could be written to. */
static char shell_path[] = "/bin/sh";
static char shell_option[] = "-c";

static int run_line(struct run_options *o, const struct cli_line *line)
{
    struct run run = {.options = o};
    char *shell_argv[] = {shell_path, shell_option, NULL, NULL};
    char **argv = line->rest;
    char *joined = NULL;
    char *name = NULL; /* of a lock that is named after its command */

    if (o->shell != NULL) {
        shell_argv[2] = name = strdup(o->shell);
        argv = shell_argv;
    } else if (o->key_from_argv) {
        name = joined = join_words(line->rest);
    }
    int result = CLI_INTERNAL;
    bool is_named = line->operand_count > 0;
    if ((is_named || name != NULL) &&
        (o->shell == NULL || shell_argv[2] != NULL)) {
        result = cli_hold_take(&run.hold, &line->ctx, &o->take,
                               is_named ? line->operands : &name,
                               is_named ? (size_t)line->operand_count : 1);
        if (result == CLI_GO_ON) {
            result = run_held(&run, argv);
        }
        cli_hold_close(&run.hold);
    }
    if (run.is_interrupted) {
        cli_signals_interrupt_here(true);
    }
    free(shell_argv[2]);
    free(joined);
    return result;
}

static int run_as(const struct cli_command *command,
                  const struct cli_context *ctx, int argc, char **argv)
{
    struct run_options o = {.take = CLI_TAKE_INIT,
                            .on_loss = {GUARD_KILL, SIGTERM},
                            .kill_after_ms = -1,
                            .command = command};
    struct cli_line line;
    int result = cli_line_parse(command, ctx, argc, argv, &o, &line);

    o.take.permit = command != &cli_cmd_run;

    if (result == CLI_GO_ON) {
        result = check_words(&o, &line);
    }
    if (result == CLI_GO_ON) {
        result = check_options(&o, &line);
    }
    return result == CLI_GO_ON ? run_line(&o, &line) : result;
}

static int run(const struct cli_context *ctx, int argc, char **argv)
{
    return run_as(&cli_cmd_run, ctx, argc, argv);
}

int cli_permits_run(const struct cli_command *command,
                    const struct cli_context *ctx, int argc, char **argv)
{
    return run_as(command, ctx, argc, argv);
}

const struct cli_command cli_cmd_run = {
    .name = "run",
    .usage = "[options] NAME [NAME...] -- CMD [ARG...]",
    .summary = "hold a lock while a command runs",
    .options = options,
    .takes_servers = true,
    .function = run,
};
