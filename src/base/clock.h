/* SPDX-License-Identifier: MIT */
/* base/clock.h - the one place that asks the operating system for the time.
 *
 * The clock counts on while the machine sleeps (CLOCK_BOOTTIME): a lease on the
 * server does too.  Where that does not exist it is CLOCK_MONOTONIC.
 */
#ifndef HFI_BASE_CLOCK_H
#define HFI_BASE_CLOCK_H

#include <stdint.h>

/* Since some fixed moment of this boot.  Never goes back; any thread. */
int64_t hfi_clock_ms(void);
int64_t hfi_clock_us(void);

#endif
