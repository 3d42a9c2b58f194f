/* SPDX-License-Identifier: MIT */
/* exclusive.h - what has to hold for every kind of lock that one owner at a
 * time has, between our library and Redisson.
 */
#ifndef TESTS_INTEROP_EXCLUSIVE_H
#define TESTS_INTEROP_EXCLUSIVE_H

#include <stdbool.h>

#include "holdfast/holdfast.h"

/* A kind, as both sides call it. */
struct both_kind {
    const char *java;
    hf_kind ours;
    bool newest_only; /* 3.16.8 has none */
    bool polls;       /* who waits in Java listens to nothing */
};

/* Run the tests of a kind; the number of failures, as cmocka has it. */
int exclusive_tests(const struct both_kind *which);

#endif
