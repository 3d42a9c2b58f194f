/* SPDX-License-Identifier: MIT */
/* wait.h - time for tests: the monotonic clock, and waiting with a bound.
 */
#ifndef HFT_WAIT_H
#define HFT_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* Milliseconds of CLOCK_MONOTONIC. */
int64_t hft_now_ms(void);

typedef bool hft_condition(void *context);

/* Look every millisecond until the condition holds.  False when `bound_ms`
 * passed first (the condition is looked at once more at the very end). */
bool hft_wait_until(hft_condition *condition, void *context, int64_t bound_ms);

/* Let time go by.  Only where the passing of time is what is tested (a lease
 * that runs out, a holder that holds for a while); to synchronize, wait for a
 * condition. */
void hft_let_pass_ms(int64_t duration_ms);

#endif
