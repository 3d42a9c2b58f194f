/* SPDX-License-Identifier: MIT */
/* crowd.h - threads that start together and take turns at their work.
 *
 * Each member does its turn again and again, until the time is over or the
 * turn itself says that there is no more to do.
 */
#ifndef BENCH_CROWD_H
#define BENCH_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum crowd_turn { CROWD_AGAIN, CROWD_DONE, CROWD_FAILED };

struct crowd;

struct crowd_member {
    enum crowd_turn (*turn)(void *context);
    void *context;
    uint64_t ret_turns; /* how many it made */
    bool failed;
    struct crowd *crowd; /* set by crowd_run() */
};

/* From the moment when all start to the end of the last one's last turn. */
struct crowd_time {
    int64_t elapsed_ns;
    int64_t cpu_ns; /* of the whole process */
};

/* Run them for @p run_ms; 0: until each has said CROWD_DONE.
 * @return false if a thread could not be made or a turn failed (which said
 *         why). */
bool crowd_run(struct crowd_member *members, size_t count, int64_t run_ms,
               struct crowd_time *ret_time);

#endif
