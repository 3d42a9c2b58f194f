/* SPDX-License-Identifier: MIT */
/* same.h - whether two replies say the same.
 */
#ifndef SIM_SAME_H
#define SIM_SAME_H

#include <stdbool.h>
#include <stdint.h>

#include "pair.h"

/* Byte by byte. */
bool sim_same_bytes(struct sim_answers answers);

/* The same, but numbers above 1000 may differ by some ms, and so may scores that
 * are times: what is left of a TTL, or what time it is. */
bool sim_same_but_time(struct sim_answers answers, int64_t slack_ms);

/* Two answers to TIME. */
bool sim_same_time(struct sim_answers answers, int64_t slack_ms);

/* Flat arrays of which only the first `head` elements have their place: the
 * others are rows of `width`, in any order.  An error has to be the same. */
bool sim_same_rows(struct sim_answers answers, size_t head, size_t width,
                   int64_t slack_ms);

/* A set of texts, for what comes in pieces and in any order. */
struct sim_names {
    char **names;
    size_t count;
    size_t capacity;
};

void sim_names_add(struct sim_names *names, struct hft_piece name);
/* Whether the two have the same, each any number of times. */
bool sim_names_same(struct sim_names *one, struct sim_names *other);
void sim_names_free(struct sim_names *names);

#endif
