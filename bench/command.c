/* SPDX-License-Identifier: MIT */
/* command.c - `holdfast bench`: which cases, on which server, in which order.
 *
 * Without a server's name it starts one for itself, because a benchmark is
 * nothing that a server in use should meet by accident.  An interrupt is
 * noticed between rounds; the private server is stopped on every way out.
 *
 * It never judges: what must hold is said in the guide, and numbers depend on
 * the machine and on what else it does.
 */
#include "bench/command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/floor.h"
#include "bench/private_server.h"
#include "bench/report.h"
#include "bench/rounds.h"

#define ROUNDS 7
#define ROUNDS_QUICK 3

/* A shell adds this to the number of the signal that ended a program. */
#define SIGNALLED 128

static const struct bench_case *const all_cases[] = {
    &bench_alone,    &bench_threads_1,     &bench_threads_8,  &bench_threads_64,
    &bench_handover, &bench_fair_handover, &bench_fair_queue, &bench_contended,
    &bench_readers,  &bench_renew,         &bench_memory,     &bench_red,
    &bench_token,    &bench_multi,
};
#define CASE_COUNT (sizeof(all_cases) / sizeof(all_cases[0]))

/* The signals that end a run, and the one that did. */
static const int endings[] = {SIGINT, SIGTERM, SIGHUP};
#define ENDINGS (sizeof(endings) / sizeof(endings[0]))
static volatile sig_atomic_t interrupted;

static void note_interrupt(int signal_number)
{
    interrupted = signal_number;
}

bool bench_interrupted(void)
{
    return interrupted != 0;
}

bool bench_failed(const char *where, const char *why)
{
    (void)fprintf(stderr, "holdfast: bench: %s: %s\n", where, why);
    return false;
}

bool bench_hf_failed(const char *where, const hf_error *err)
{
    return bench_failed(where, err->message);
}

hf_client *bench_open_client(const struct bench_context *context)
{
    hf_options options = HF_OPTIONS_INIT;
    hf_client *client;
    hf_error err;

    options.password = context->password;
    options.lease_ms = BENCH_LEASE_MS;
    if (hf_client_open(context->url, &options, &client, &err) != HF_OK) {
        (void)bench_hf_failed("client", &err);
        return NULL;
    }
    return client;
}

const char *bench_case_names(void)
{
    return "alone threads-1 threads-8 threads-64 handover fair-handover "
           "fair-queue contended readers renew memory red token multi";
}

static const struct bench_case *find_case(const char *name)
{
    for (size_t i = 0; i < CASE_COUNT; i++) {
        if (strcmp(all_cases[i]->name, name) == 0) {
            return all_cases[i];
        }
    }
    return NULL;
}

static bool check_options(const struct bench_options *options)
{
    if (options->rounds < 0 || options->rounds > ROUNDS_MAX) {
        (void)fprintf(stderr, "holdfast: bench: 1 to %d rounds\n", ROUNDS_MAX);
        return false;
    }
    for (int i = 0; i < options->case_count; i++) {
        if (find_case(options->cases[i]) == NULL) {
            (void)fprintf(stderr,
                          "holdfast: bench: there is no case '%s'; there are: "
                          "%s\n",
                          options->cases[i], bench_case_names());
            return false;
        }
    }
    return true;
}

static bool describe_machine(const struct bench_context *context,
                             struct machine *ret_machine)
{
    struct floor floor;
    bool ok = floor_open(&context->address, &floor);

    if (ok) {
        (void)floor_info(&floor, "server", "redis_version",
                         ret_machine->server);
    }
    floor_close(&floor);
    ret_machine->cores = sysconf(_SC_NPROCESSORS_ONLN);
    ret_machine->rounds = context->rounds;
    return ok;
}

static bool run_case(const struct bench_context *context,
                     const struct machine *machine, bool json,
                     const struct bench_case *one)
{
    struct bench_result result = {.extras = json_object()};
    bool ok = result.extras != NULL && one->run(context, one, &result);

    if (ok && json) {
        ok = report_json(machine, one, &result);
    } else if (ok) {
        report_table(one, &result);
    } else if (!bench_interrupted()) {
        (void)bench_failed(one->name, "could not be finished");
    }
    json_decref(result.extras);
    return ok;
}

static int run_cases(const struct bench_context *context,
                     const struct bench_options *options)
{
    struct machine machine = {.server = ""};
    int failures = 0;

    if (!describe_machine(context, &machine)) {
        return EX_UNAVAILABLE;
    }
    if (!options->json) {
        report_machine(&machine);
    }
    if (options->case_count == 0) {
        for (size_t i = 0; i < CASE_COUNT && !bench_interrupted(); i++) {
            failures += !run_case(context, &machine, options->json,
                                  all_cases[i]);
        }
    }
    for (int i = 0; i < options->case_count && !bench_interrupted(); i++) {
        failures += !run_case(context, &machine, options->json,
                              find_case(options->cases[i]));
    }
    return failures > 0 ? EX_SOFTWARE : EX_OK;
}

static int run_on(const char *url, const struct bench_options *options)
{
    struct bench_context context = {
        .url = url,
        .password = options->password,
        .rounds = options->rounds,
        .quick = options->quick,
    };
    int status = EX_USAGE;

    if (context.rounds == 0) {
        context.rounds = options->quick ? ROUNDS_QUICK : ROUNDS;
    }
    if (!address_parse(url, &context.address)) {
        (void)bench_failed("server", "its URL is not understood");
    } else if (!address_set_password(&context.address, options->password)) {
        status = EX_SOFTWARE;
    } else {
        status = run_cases(&context, options);
    }
    address_free(&context.address);
    return status;
}

static int run_on_private_server(const struct bench_options *options)
{
    struct private_server server;
    int status = EX_UNAVAILABLE;

    if (private_server_start(&server)) {
        status = run_on(server.url, options);
        private_server_stop(&server);
    }
    return status;
}

int bench_run(const struct bench_options *options)
{
    /* A second one ends the process at once. */
    struct sigaction note = {.sa_handler = note_interrupt,
                             .sa_flags = (int)SA_RESETHAND};
    struct sigaction before[ENDINGS];
    int status;

    if (!check_options(options)) {
        return EX_USAGE;
    }
    (void)sigemptyset(&note.sa_mask);
    for (size_t i = 0; i < ENDINGS; i++) {
        (void)sigaction(endings[i], &note, &before[i]);
    }
    status = options->url != NULL ? run_on(options->url, options)
                                  : run_on_private_server(options);
    for (size_t i = 0; i < ENDINGS; i++) {
        (void)sigaction(endings[i], &before[i], NULL);
    }
    return bench_interrupted() ? SIGNALLED + (int)interrupted : status;
}
