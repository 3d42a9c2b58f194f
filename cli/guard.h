/* SPDX-License-Identifier: MIT */
/* guard.h - when a command must be stopped because its lock is being lost.
 *
 * Pure: it is told what the time is and how the lock stands, and answers with
 * what to do.  All instants are on one clock, in milliseconds.
 */
#ifndef HOLDFAST_CLI_GUARD_H
#define HOLDFAST_CLI_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* No such instant. */
#define GUARD_NEVER INT64_MAX

/* Nothing of the command's group may run after the deadline, so KILL is sent so
 * long before it: a loaded machine takes some tens of milliseconds to wake us
 * up and to end the processes.  At most a tenth of the lease, so that a short
 * one is not all margin. */
#define GUARD_MARGIN_MS 100

enum guard_mode {
    GUARD_KILL,   /* the signal, and KILL when time is up */
    GUARD_SIGNAL, /* the signal only */
    GUARD_IGNORE  /* neither */
};

/* What was asked for. */
struct guard_plan {
    enum guard_mode mode;
    int64_t kill_after_ms; /* between the signal and KILL */
    int64_t margin_ms;     /* between KILL and the deadline */
};

/* How the lock stands. */
struct guard_view {
    int64_t now_ms;
    int64_t deadline_ms; /* it ends then, unless something changes; or NEVER */
    bool is_lost;        /* it has ended */
    bool is_taken_away;  /* ... because the server says so, not the clock */
};

enum guard_action { GUARD_DO_NOTHING, GUARD_DO_SIGNAL, GUARD_DO_KILL };

struct guard {
    struct guard_plan plan;
    bool has_signalled;
    bool has_killed;
    int64_t signal_at_ms; /* where the plan stands at the moment; or NEVER */
    int64_t kill_at_ms;
    bool saw_loss;
};

void guard_init(struct guard *guard, const struct guard_plan *plan);

/* One step: call again until the answer is GUARD_DO_NOTHING. */
enum guard_action guard_step(struct guard *guard,
                             const struct guard_view *view);

/* When the next step is due if nothing changes, or GUARD_NEVER. */
int64_t guard_next_ms(const struct guard *guard);

#endif
