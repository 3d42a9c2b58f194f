/* SPDX-License-Identifier: MIT */
/* count.c - a semaphore or a latch that a command works on.
 *
 * Waits are asynchronous calls, so that a signal ends one at once, whatever the
 * server does; everything happens on the main thread, as in hold.c.
 */
#include "count.h"

#include "complain.h"
#include "exit_status.h"
#include "hold.h"
#include "printable.h"
#include "signals.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* A cancelled wait answers at once; if it does not, closing undoes the rest. */
#define CANCEL_LIMIT_MS 1000
#define SLEEP_LIMIT_MS 1000

int cli_patience_check(const char *command, const struct cli_patience *patience)
{
    if (patience->nowait && patience->wait_ms != HF_WAIT_FOREVER) {
        cli_complain("%s: --nowait and --wait exclude each other; give one",
                     command);
        return CLI_USAGE;
    }
    return CLI_GO_ON;
}

/* ---- words ---- */

/* Returns whether all of the text is such a number. */
static bool read_number(const char *text, int64_t least, int64_t most,
                        int64_t *ret_number)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(text, &end, 10);
    *ret_number = number;
    return end != text && *end == '\0' && errno == 0 && number >= least &&
           number <= most && text[strspn(text, "-0123456789")] == '\0';
}

int cli_number_read(const char *command, const char *what, const char *text,
                    int64_t least, int64_t most, int64_t *ret_number)
{
    if (read_number(text, least, most, ret_number)) {
        return CLI_GO_ON;
    }
    cli_complain("%s: %s '%.80s' is no number from %" PRId64 " to %" PRId64,
                 command, what, text, least, most);
    return CLI_USAGE;
}

const char *cli_set_permits(const char *value, void *field)
{
    int64_t *permits = field;
    int64_t number;

    if (!read_number(value, 1, HF_PERMITS_MAX, &number)) {
        return "is no number from 1 to 2147483647";
    }
    *permits = number;
    return NULL;
}

int cli_count_json(const struct cli_count *count, json_t *object)
{
    if (!count->ctx->json) {
        json_decref(object);
        return CLI_OK;
    }
    if (object != NULL) {
        cli_json_set_name(object, count->name, strlen(count->name));
    }
    return cli_json_print(object);
}

/* ---- the object ---- */

int cli_count_open_line(struct cli_count *count, enum cli_count_of of)
{
    hf_error err;
    hf_status status;

    count->ctx = &count->line.ctx;
    count->name = cli_line_word(&count->line, 0);
    cli_printable(count->name, strlen(count->name), count->shown,
                  sizeof(count->shown));
    int result = cli_context_open(count->ctx, &count->client);
    if (result != CLI_GO_ON) {
        return result;
    }
    if (of == CLI_PERMITS) {
        status = hf_permits_new(count->client, count->name, &count->permits,
                                &err);
    } else if (of == CLI_LATCH) {
        status = hf_latch_new(count->client, count->name, &count->latch, &err);
    } else {
        status = hf_semaphore_new(count->client, count->name, &count->semaphore,
                                  &err);
    }
    return status == HF_OK ? CLI_GO_ON : cli_complain_error(&err);
}

int cli_count_open(struct cli_count *count, enum cli_count_of of,
                   const struct cli_command *command,
                   const struct cli_context *ctx, int argc, char **argv,
                   void *target, int more, const char *what)
{
    memset(count, 0, sizeof(*count));
    int result = cli_line_parse(command, ctx, argc, argv, target, &count->line);

    if (result == CLI_GO_ON) {
        result = cli_line_expect(command, &count->line, 1 + more, 1 + more,
                                 what);
    }
    return result == CLI_GO_ON ? cli_count_open_line(count, of) : result;
}

int cli_count_open_many(struct cli_count *count, enum cli_count_of of,
                        const struct cli_command *command,
                        const struct cli_context *ctx, int argc, char **argv,
                        int least, int most, const char *what)
{
    memset(count, 0, sizeof(*count));
    int result = cli_line_parse(command, ctx, argc, argv, NULL, &count->line);

    if (result == CLI_GO_ON) {
        result = cli_line_expect(command, &count->line, 1 + least, 1 + most,
                                 what);
    }
    return result == CLI_GO_ON ? cli_count_open_line(count, of) : result;
}

void cli_count_close(struct cli_count *count)
{
    if (count->client == NULL) {
        return;
    }
    hf_client_close(count->client);
    hf_semaphore_free(count->semaphore);
    hf_latch_free(count->latch);
    hf_permits_free(count->permits);
    hf_cancel_free(count->cancel);
    count->client = NULL;
    if (count->ended_by == SIGINT) {
        cli_signals_interrupt_here(false);
    }
}

/* ---- waiting ---- */

static void finish(struct cli_count *count, hf_status status,
                   const hf_error *error)
{
    count->is_done = true;
    count->status = status;
    if (error != NULL) {
        count->error = *error;
    }
}

static void on_permits(const hf_semaphore_completion *done, void *context)
{
    finish(context, done->status, done->error);
}

static void on_open(const hf_latch_completion *done, void *context)
{
    finish(context, done->status, done->error);
}

static hf_status start(struct cli_count *count, int64_t permits,
                       const struct cli_patience *patience, hf_error *reterr)
{
    int64_t wait_ms = patience->nowait ? 0 : patience->wait_ms;
    hf_status status = hf_cancel_new(count->client, &count->cancel, reterr);

    if (status != HF_OK) {
        return status;
    }
    /* From the first call on, callbacks come only where we ask for them. */
    if (hf_client_fd(count->client) < 0) {
        return HF_INTERNAL;
    }
    if (count->semaphore != NULL) {
        return hf_semaphore_acquire_async(count->semaphore, permits, wait_ms,
                                          count->cancel, on_permits, count,
                                          reterr);
    }
    return hf_latch_await_async(count->latch, wait_ms, count->cancel, on_open,
                                count, reterr);
}

void cli_count_sleep(struct cli_count *count, int64_t limit_ms)
{
    struct pollfd fds[2] = {
        {.fd = cli_signals_fd(), .events = POLLIN},
        {.fd = hf_client_fd(count->client), .events = POLLIN},
    };

    if (limit_ms < 0 || limit_ms > SLEEP_LIMIT_MS) {
        limit_ms = limit_ms < 0 ? 0 : SLEEP_LIMIT_MS;
    }
    if (poll(fds, 2, (int)limit_ms) > 0 && fds[1].revents != 0) {
        hf_client_dispatch(count->client);
    }
}

static void wait_for_answer(struct cli_count *count)
{
    int64_t give_up_at = INT64_MAX;

    while (!count->is_done && cli_now_ms() < give_up_at) {
        cli_count_sleep(count, SLEEP_LIMIT_MS);
        int number = cli_signals_next();
        if (number != 0 && count->ended_by == 0) {
            count->ended_by = number;
            give_up_at = cli_now_ms() + CANCEL_LIMIT_MS;
            hf_cancel_fire(count->cancel);
        }
    }
}

/* The wait has ended; what does it mean? */
static int conclude(struct cli_count *count, int64_t permits,
                    const struct cli_patience *patience)
{
    if (count->ended_by != 0) {
        /* What came at the same moment is given back: nobody else would. */
        if (count->status == HF_OK && count->semaphore != NULL) {
            (void)hf_semaphore_release(count->semaphore, permits, NULL);
        }
        return CLI_SIGNAL + count->ended_by;
    }
    if (count->status == HF_OK) {
        return CLI_GO_ON;
    }
    bool is_busy = count->status == HF_BUSY || count->status == HF_TIMEOUT;
    if (is_busy && patience->busy_code == CLI_OK && !count->ctx->verbose) {
        return CLI_OK; /* no failure, so cron gets nothing to send by mail */
    }
    int result = cli_complain_error(&count->error);
    return is_busy ? patience->busy_code : result;
}

int cli_count_wait(struct cli_count *count, int64_t permits,
                   const struct cli_patience *patience)
{
    if (cli_signals_queue() != 0) {
        cli_complain("a pipe for signals: %s", strerror(errno));
        return CLI_INTERNAL;
    }
    count->status = HF_INTERNAL;
    count->error.status = HF_INTERNAL;
    if (start(count, permits, patience, &count->error) != HF_OK) {
        return cli_complain_error(&count->error);
    }
    wait_for_answer(count);
    return conclude(count, permits, patience);
}
