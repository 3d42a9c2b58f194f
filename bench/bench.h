/* SPDX-License-Identifier: MIT */
/* bench.h - what a case of `holdfast bench` is, is given, and gives back.
 *
 * A case is one const record in a file of its own; command.c lists them.  It
 * measures the floor (bare hiredis that sends the same scripts) and holdfast in
 * turns, so that whatever else the machine does meanwhile hits both.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "bench/address.h"
#include "holdfast/holdfast.h"

/* The lease of everything that is measured: the library's default. */
#define BENCH_LEASE_MS 30000

/* What every case is given. */
struct bench_context {
    const char *url;        /* for holdfast */
    const char *password;   /* NULL, or what wins over the URL's */
    struct address address; /* the same place, for the floor */
    int rounds;
    bool quick; /* less of everything: to see that it works */
};

enum bench_better { BENCH_LOWER, BENCH_HIGHER };

/* What a case gives back.  `extras` is an object of its own fields. */
struct bench_result {
    bool has_floor;
    double floor;
    double holdfast;
    json_t *extras;
};

struct bench_case {
    const char *name;
    const char *unit;
    enum bench_better better;
    size_t threads; /* of those that come in several sizes */
    bool (*run)(const struct bench_context *context,
                const struct bench_case *self, struct bench_result *ret_result);
};

extern const struct bench_case bench_alone;
extern const struct bench_case bench_threads_1;
extern const struct bench_case bench_threads_8;
extern const struct bench_case bench_threads_64;
extern const struct bench_case bench_handover;
extern const struct bench_case bench_fair_handover;
extern const struct bench_case bench_fair_queue;
extern const struct bench_case bench_contended;
extern const struct bench_case bench_readers;
extern const struct bench_case bench_renew;
extern const struct bench_case bench_memory;
extern const struct bench_case bench_red;
extern const struct bench_case bench_multi;
extern const struct bench_case bench_token;

/* Say on stderr why a case cannot go on.  @return false, for the caller's. */
bool bench_failed(const char *where, const char *why);

/* The same for a call of the library. */
bool bench_hf_failed(const char *where, const hf_error *err);

/* A client as every case uses it; says so and returns NULL if that fails. */
hf_client *bench_open_client(const struct bench_context *context);

/* Add a field of the case's own. */
void bench_extra(struct bench_result *result, const char *name, double value);

/* True since the user interrupted us: end soon. */
bool bench_interrupted(void);

#endif
