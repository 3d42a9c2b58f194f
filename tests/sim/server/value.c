/* SPDX-License-Identifier: MIT */
/* value.c - what a key holds; see value.h. */
#include "value.h"

#include <stdlib.h>
#include <string.h>

#include "support/fatal.h"

static void free_row(struct sim_row *row)
{
    sim_text_free(&row->name);
    sim_text_free(&row->value);
}

static struct sim_text copy_text(struct sim_text text)
{
    return text.bytes == NULL ? text : sim_text_copy(sim_word_of(text));
}

struct sim_value sim_value_copy(const struct sim_value *value)
{
    struct sim_value copy = {
        .type = value->type, .count = value->count, .capacity = value->count};

    copy.rows = hft_alloc((value->count + 1) * sizeof(*copy.rows));
    for (size_t i = 0; i < value->count; i++) {
        copy.rows[i].name = copy_text(value->rows[i].name);
        copy.rows[i].value = copy_text(value->rows[i].value);
        copy.rows[i].score = value->rows[i].score;
    }
    return copy;
}

void sim_value_free(struct sim_value *value)
{
    for (size_t i = 0; i < value->count; i++) {
        free_row(&value->rows[i]);
    }
    free(value->rows);
    value->rows = NULL;
    value->count = 0;
    value->capacity = 0;
}

size_t sim_value_find(const struct sim_value *value, struct hft_piece name)
{
    for (size_t i = 0; i < value->count; i++) {
        if (sim_same(value->rows[i].name, name)) {
            return i;
        }
    }
    return SIM_NO_ROW;
}

void sim_value_insert(struct sim_value *value, size_t at, struct sim_row row)
{
    value->rows = sim_grow(value->rows, value->count, &value->capacity,
                           sizeof(row));
    memmove(&value->rows[at + 1], &value->rows[at],
            (value->count - at) * sizeof(row));
    value->rows[at] = row;
    value->count++;
}

void sim_value_remove(struct sim_value *value, size_t at)
{
    free_row(&value->rows[at]);
    value->count--;
    memmove(&value->rows[at], &value->rows[at + 1],
            (value->count - at) * sizeof(value->rows[0]));
}

void sim_value_set_text(struct sim_value *value, size_t at,
                        struct sim_text text)
{
    sim_text_free(&value->rows[at].value);
    value->rows[at].value = text;
}

static int compare_texts(struct sim_text one, struct sim_text other)
{
    size_t common = one.len < other.len ? one.len : other.len;
    int order = memcmp(one.bytes, other.bytes, common);

    if (order != 0 || one.len == other.len) {
        return order;
    }
    return one.len < other.len ? -1 : 1;
}

static bool stands_before(const struct sim_row *one,
                          const struct sim_row *other)
{
    if (one->score < other->score) {
        return true;
    }
    return one->score <= other->score &&
           compare_texts(one->name, other->name) < 0;
}

void sim_value_add_scored(struct sim_value *value, struct sim_row row)
{
    size_t at = value->count;

    while (at > 0 && stands_before(&row, &value->rows[at - 1])) {
        at--;
    }
    sim_value_insert(value, at, row);
}
