/* SPDX-License-Identifier: MIT */
/* clocks.h - what time it is, and how much processor time was used. */
#ifndef BENCH_CLOCKS_H
#define BENCH_CLOCKS_H

#include <stdint.h>

/* On CLOCK_MONOTONIC, which all processes of a machine share. */
int64_t clock_now_ns(void);

/* User and system time of all threads of this process. */
int64_t clock_process_cpu_ns(void);

/* Wait until that instant of clock_now_ns(), or until a signal comes. */
void clock_wait_until_ns(int64_t at_ns);

#endif
