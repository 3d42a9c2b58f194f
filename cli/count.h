/* SPDX-License-Identifier: MIT */
/* count.h - a semaphore or a latch that a command works on. */
#ifndef HOLDFAST_CLI_COUNT_H
#define HOLDFAST_CLI_COUNT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "command.h"

#include "holdfast/latch.h"
#include "holdfast/permits.h"
#include "holdfast/semaphore.h"

/* How long to wait, and what to exit with if that was not enough. */
struct cli_patience {
    int64_t wait_ms; /* HF_WAIT_FOREVER: no limit */
    int nowait;
    int busy_code;
};

#define CLI_PATIENCE_INIT                                                      \
    {                                                                          \
        HF_WAIT_FOREVER, 0, 75                                                 \
    }

/* Check what options cannot check one by one.  Returns CLI_GO_ON or an exit
 * status, having complained. */
int cli_patience_check(const char *command,
                       const struct cli_patience *patience);

/* What a command works on, and what became of its wait. */
struct cli_count {
    struct cli_line line;
    const struct cli_context *ctx; /* the line's */
    const char *name;
    char shown[164]; /* for messages */
    hf_client *client;
    hf_semaphore *semaphore; /* one of these three */
    hf_latch *latch;
    hf_permits *permits; /* which nobody waits for by this */
    hf_cancel *cancel;
    bool is_done; /* the wait has ended, with `status` */
    hf_status status;
    hf_error error;
    int ended_by; /* the signal that ended the wait, or 0 */
};

enum cli_count_of { CLI_SEMAPHORE, CLI_LATCH, CLI_PERMITS };

/* Read the command's line: a name and `more` words (`what`: the name of the
 * missing one), options into `target`; connect, and make the object.  Returns
 * CLI_GO_ON or an exit status, having complained; cli_count_close() is due
 * either way. */
int cli_count_open(struct cli_count *count, enum cli_count_of of,
                   const struct cli_command *command,
                   const struct cli_context *ctx, int argc, char **argv,
                   void *target, int more, const char *what);

/* The same with `least` to `most` words more, and no options. */
int cli_count_open_many(struct cli_count *count, enum cli_count_of of,
                        const struct cli_command *command,
                        const struct cli_context *ctx, int argc, char **argv,
                        int least, int most, const char *what);

/* The same from a line that was read already. */
int cli_count_open_line(struct cli_count *count, enum cli_count_of of);

void cli_count_close(struct cli_count *count);

/* Take permits, or wait for the latch, in the foreground: a signal ends it.
 * Returns CLI_GO_ON when that succeeded, else an exit status, having complained.
 */
int cli_count_wait(struct cli_count *count, int64_t permits,
                   const struct cli_patience *patience);

/* Sleep until a signal is queued, the client has something to say, or
 * `limit_ms` passed. */
void cli_count_sleep(struct cli_count *count, int64_t limit_ms);

/* Read a whole number from `least` to `most`.  Returns CLI_GO_ON or an exit
 * status, having complained; `what` is its name. */
int cli_number_read(const char *command, const char *what, const char *text,
                    int64_t least, int64_t most, int64_t *ret_number);

/* For options: 1 to HF_PERMITS_MAX; int64_t. */
const char *cli_set_permits(const char *value, void *field);

/* Print an object, which gets the name first, if output is for programs;
 * otherwise free it.  Returns an exit status. */
int cli_count_json(const struct cli_count *count, json_t *object);

#endif
