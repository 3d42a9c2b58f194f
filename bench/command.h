/* SPDX-License-Identifier: MIT */
/* command.h - `holdfast bench`, once its command line has been read. */
#ifndef BENCH_COMMAND_H
#define BENCH_COMMAND_H

#include <stdbool.h>

/* 0 or NULL in a field means its default. */
struct bench_options {
    const char *url;      /* NULL: a private server, for this run only */
    const char *password; /* wins over the URL's */
    int rounds;           /* of each case; the medians over them count */
    bool quick;           /* a short run, to see that everything works */
    bool json;            /* one object a line instead of a table */
    char *const *cases;   /* their names; none: all of them */
    int case_count;
};

/* Run the cases one after the other and print each when it is done.
 * @return the exit status: 0, 64 (no such case, or too many rounds), 69 (no
 *         server), 70 (a case could not be finished). */
int bench_run(const struct bench_options *options);

/* The names of all cases in their order, in one static line, for the help. */
const char *bench_case_names(void);

#endif
