/* SPDX-License-Identifier: MIT */
/* hold.h - a lock that this process takes, and keeps or hands on. */
#ifndef HOLDFAST_CLI_HOLD_H
#define HOLDFAST_CLI_HOLD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "context.h"
#include "group.h"
#include "options.h"

#include "holdfast/lock.h"
#include "holdfast/permits.h"

#define CLI_NAMES_MAX 1000 /* of one multi lock */

/* What run, hold and acquire are told about the taking. */
struct cli_take {
    struct cli_lock_kind what; /* first: its options are its fields */
    int64_t wait_ms;           /* HF_WAIT_FOREVER: no limit */
    int nowait;
    int64_t lease_ms;
    int no_renew;
    int64_t min_hold_ms;
    int64_t max_hold_ms;
    int64_t max_hold_warning_ms;
    int busy_code;
    int quorum;
    int permit;      /* it is a permit, and `what` means nothing */
    int64_t permits; /* so many of them */
    int no_lease;    /* `permits acquire`: without a lease */
};

#define CLI_TAKE_INIT                                                          \
    {                                                                          \
        {.kind = HF_KIND_LOCK}, HF_WAIT_FOREVER, 0, 30000, 0, 0, 0, 0, 75, 0,  \
            0, 1, 0                                                            \
    }

/* The options of every command that takes a lock, and of those that keep it.
 * The command's struct begins with a struct cli_take. */
extern const struct cli_option cli_take_options[];
extern const struct cli_option cli_keep_options[];

struct cli_hold {
    const struct cli_context *ctx;
    const struct cli_take *take;
    const char *name;   /* as it was given; several, with spaces between */
    char *const *names; /* as they were given */
    size_t name_count;
    char *joined;        /* several names, or NULL */
    char shown[164];     /* for messages */
    hf_client *client;   /* the first */
    hf_lock *lock;       /* NULL: it is a permit or a group */
    hf_permits *permits; /* ... whose id is `owner_text` */
    hf_permit_id *ids;   /* take->permits of them: that one and the others */
    bool is_suspect;     /* of a permit */
    hf_lost_reason lost; /* the same */
    struct cli_group group;
    hf_owner *owner;
    hf_cancel *cancel;
    bool is_done; /* the acquisition has ended, with `status` */
    hf_status status;
    hf_error error;
    int ended_by; /* the signal that ended the wait, or 0 */
    char owner_text[64];
    int64_t token;       /* of a fenced lock; 0: it has none */
    int64_t *tokens;     /* of several names: each one's, or NULL */
    int64_t taken_at_ms; /* at or before the grant */
};

/* Check what options cannot check one by one.  Returns CLI_GO_ON or an exit
 * status, having complained. */
int cli_take_check(const char *command, const struct cli_take *take);

/* The same of the options that keep a lock, with names and servers. */
int cli_keep_check(const char *command, const struct cli_take *take,
                   const struct cli_context *ctx, int names);

/* Connect, and take the lock; several names, or servers, are a group.  Signals are queued from here on; one that ends a
 * command ends the wait.  Returns CLI_GO_ON when it is held, else an exit
 * status, having complained; cli_hold_close() is due either way. */
int cli_hold_take(struct cli_hold *hold, const struct cli_context *ctx,
                  const struct cli_take *take, char *const *names,
                  size_t count);

/* Sleep until something is due: a signal is queued, the hold's state changed,
 * or `limit_ms` passed.  Reports of the library are printed here. */
void cli_hold_sleep(struct cli_hold *hold, int64_t limit_ms);

/* Whether it is lost at this very moment, and why. */
bool cli_hold_is_lost(const struct cli_hold *hold, hf_lost_reason *ret_reason);

/* Where it stands, and until when at least, in ms from now. */
hf_lock_state cli_hold_state(const struct cli_hold *hold,
                             hf_lost_reason *ret_reason);
int64_t cli_hold_remaining_ms(const struct cli_hold *hold);

/* Say on stderr that it is lost. */
void cli_hold_complain_lost(const struct cli_hold *hold, hf_lost_reason reason);

/* Give it up.  Returns CLI_GO_ON if it had been held until now, else an exit
 * status, having complained. */
int cli_hold_release(struct cli_hold *hold);

/* What kind of thing it is, in a word. */
const char *cli_hold_kind(const struct cli_hold *hold);

/* Free everything and close the client; what is still held is released. */
void cli_hold_close(struct cli_hold *hold);

/* Into a JSON object (NULL is fine): the fencing token, if there is one, of
 * several names each one's, the name, and the values of a values lock. */
void cli_hold_describe(const struct cli_hold *hold, json_t *object);

/* Milliseconds on a clock that counts while the machine is suspended. */
int64_t cli_now_ms(void);

#endif
