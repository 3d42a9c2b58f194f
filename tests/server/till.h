/* SPDX-License-Identifier: MIT */
/* till.h - a fair lock called "till": its keys, and whether they make sense
 * together.
 */
#ifndef TESTS_SERVER_TILL_H
#define TESTS_SERVER_TILL_H

#include "world.h"

#define TILL "till"
#define TILL_CHANNEL "redisson_lock__channel:{till}"
#define TILL_KEYS                                                              \
    TILL " redisson_lock_queue:{till} redisson_lock_timeout:{till} "           \
         "holdfast_fair_alive:{till} holdfast_fair_waits:{till} "              \
         "holdfast_fair_members:{till} holdfast_fair_scratch:{till}"
#define TILL_KEY_COUNT 7

/* The list and the scores have the same owners, each once, and no score is
 * further away than all who stand before it, and `more_ms`, can explain (T22).
 * "", or what is wrong; lent. */
const char *what_is_wrong_with_the_till(struct world *w, int64_t more_ms);

#endif
