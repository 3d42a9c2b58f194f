/* SPDX-License-Identifier: MIT */
/* value.h - what a key holds.
 *
 * Every type is an array of rows, in the order in which Redis shows small ones:
 * a string has one; a hash has its fields as they came; a list its elements; a
 * sorted set its members by score, then name.
 */
#ifndef SIM_VALUE_H
#define SIM_VALUE_H

#include "sim_server.h"
#include "text.h"

#define SIM_NO_ROW SIZE_MAX

struct sim_row {
    struct sim_text name;  /* of a field or member */
    struct sim_text value; /* of a field, element or string */
    double score;
};

struct sim_value {
    enum sim_type type;
    struct sim_row *rows;
    size_t count;
    size_t capacity;
};

struct sim_value sim_value_copy(const struct sim_value *value);
void sim_value_free(struct sim_value *value);

/* Where a field or member is, or SIM_NO_ROW. */
size_t sim_value_find(const struct sim_value *value, struct hft_piece name);

/* The value owns the row from now on. */
void sim_value_insert(struct sim_value *value, size_t at, struct sim_row row);
void sim_value_remove(struct sim_value *value, size_t at);
void sim_value_set_text(struct sim_value *value, size_t at,
                        struct sim_text text);
/* Sorted sets: put a member where its score belongs. */
void sim_value_add_scored(struct sim_value *value, struct sim_row row);

#endif
