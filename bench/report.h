/* SPDX-License-Identifier: MIT */
/* report.h - a result for people, or for programs. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdbool.h>

#include "bench/bench.h"

/* What the numbers were measured on; the same for every case of a run. */
struct machine {
    long cores;
    char server[64]; /* the server's version */
    int rounds;
};

/* What stands above the table. */
void report_machine(const struct machine *machine);

/* One case: some lines of the table. */
void report_table(const struct bench_case *one,
                  const struct bench_result *result);

/* One case: one object on one line.  @return false: out of memory. */
bool report_json(const struct machine *machine, const struct bench_case *one,
                 const struct bench_result *result);

#endif
