/* SPDX-License-Identifier: MIT */
/* same.c - whether two replies say the same; see same.h. */
#include "same.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

/* Below this a number is a count or a code, and exact. */
#define NO_TIME 1000

static bool same_pieces(struct hft_piece one, struct hft_piece other)
{
    return one.length == other.length &&
           (one.length == 0 || memcmp(one.data, other.data, one.length) == 0);
}

static bool near(int64_t one, int64_t other, int64_t slack)
{
    return one == other || (one > NO_TIME && other > NO_TIME &&
                            one - other <= slack && other - one <= slack);
}

/* Both are the same bytes, or numbers near each other. */
static bool near_pieces(struct hft_piece one, struct hft_piece other,
                        int64_t slack)
{
    int64_t a;
    int64_t b;

    return same_pieces(one, other) ||
           (sim_read_integer(one, &a) && sim_read_integer(other, &b) &&
            near(a, b, slack));
}

bool sim_same_bytes(struct sim_answers answers)
{
    return same_pieces(answers.real, answers.model);
}

/* The line at the start of a text, which is cut off. */
static struct hft_piece cut_line(struct hft_piece *text)
{
    const char *end = memchr(text->data, '\n', text->length);
    struct hft_piece line = {text->data, text->length};

    if (end != NULL) {
        line.length = (size_t)(end - text->data) + 1;
    }
    text->data += line.length;
    text->length -= line.length;
    return line;
}

/* What is behind the type's byte of a number's line. */
static struct hft_piece number_in(struct hft_piece line)
{
    if (line.length < 3) {
        return (struct hft_piece){"", 0};
    }
    return (struct hft_piece){line.data + 1, line.length - 3};
}

/* A bulk's line that is nothing but a time, in ms since 1970: a score. */
static bool is_score(struct hft_piece line)
{
    return line.length == 15 && line.data[0] == '1';
}

static bool near_scores(struct hft_piece one, struct hft_piece other,
                        int64_t slack_ms)
{
    if (!is_score(one) || !is_score(other)) {
        return false;
    }
    one.length -= 2;
    other.length -= 2;
    return near_pieces(one, other, slack_ms);
}

bool sim_same_but_time(struct sim_answers answers, int64_t slack_ms)
{
    while (answers.real.length > 0 && answers.model.length > 0) {
        struct hft_piece real = cut_line(&answers.real);
        struct hft_piece model = cut_line(&answers.model);

        if (same_pieces(real, model) || near_scores(real, model, slack_ms)) {
            continue;
        }
        if (real.data[0] != ':' || model.data[0] != ':' ||
            !near_pieces(number_in(real), number_in(model), slack_ms)) {
            return false;
        }
    }
    return answers.real.length == answers.model.length;
}

/* An answer to TIME, in ms; -1: it is none. */
static int64_t time_in(struct hft_piece answer)
{
    struct hft_piece seconds;
    struct hft_piece micros;
    int64_t s;
    int64_t us;

    if (hft_resp_count(answer) != 2 || !hft_resp_element(answer, 0, &seconds) ||
        !hft_resp_element(answer, 1, &micros) ||
        !sim_read_integer(seconds, &s) || !sim_read_integer(micros, &us)) {
        return -1;
    }
    return s * 1000 + us / 1000;
}

bool sim_same_time(struct sim_answers answers, int64_t slack_ms)
{
    int64_t real = time_in(answers.real);
    int64_t model = time_in(answers.model);

    return real >= 0 && model >= 0 && near(real, model, slack_ms);
}

/* ---- what has no order ---- */

static int compare_rows(const void *one, const void *other)
{
    const struct hft_piece *a = one;
    const struct hft_piece *b = other;
    size_t common = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->data, b->data, common);

    if (order != 0) {
        return order;
    }
    return a->length < b->length ? -1 : a->length > b->length;
}

/* The elements of an answer, its rows in the order of their first ones. */
static struct hft_piece *sorted(struct hft_piece answer, size_t head,
                                size_t width, size_t count)
{
    struct hft_piece *pieces = calloc(count + 1, sizeof(*pieces));

    for (size_t i = 0; pieces != NULL && i < count; i++) {
        (void)hft_resp_element(answer, i, &pieces[i]);
    }
    if (pieces != NULL && count > head) {
        qsort(pieces + head, (count - head) / width, width * sizeof(*pieces),
              compare_rows);
    }
    return pieces;
}

bool sim_same_rows(struct sim_answers answers, size_t head, size_t width,
                   int64_t slack_ms)
{
    size_t count = hft_resp_count(answers.real);
    struct hft_piece *real;
    struct hft_piece *model;
    bool same = true;

    if (count != hft_resp_count(answers.model) || count <= head) {
        return sim_same_bytes(answers);
    }
    real = sorted(answers.real, head, width, count);
    model = sorted(answers.model, head, width, count);
    for (size_t i = 0; same && i < count; i++) {
        same = near_pieces(real[i], model[i], slack_ms);
    }
    free(real);
    free(model);
    return same;
}

void sim_names_add(struct sim_names *names, struct hft_piece name)
{
    names->names = sim_grow(names->names, names->count, &names->capacity,
                            sizeof(char *));
    names->names[names->count++] = sim_text_copy(name).bytes;
}

static int compare_names(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

/* Sort, and keep each once. */
static void tidy(struct sim_names *names)
{
    size_t kept = 0;

    if (names->count == 0) {
        return;
    }
    qsort(names->names, names->count, sizeof(char *), compare_names);
    for (size_t i = 1; i < names->count; i++) {
        if (strcmp(names->names[i], names->names[kept]) == 0) {
            free(names->names[i]);
        } else {
            names->names[++kept] = names->names[i];
        }
    }
    names->count = kept + 1;
}

bool sim_names_same(struct sim_names *one, struct sim_names *other)
{
    bool same;

    tidy(one);
    tidy(other);
    same = one->count == other->count;
    for (size_t i = 0; same && i < one->count; i++) {
        same = strcmp(one->names[i], other->names[i]) == 0;
    }
    return same;
}

void sim_names_free(struct sim_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->names[i]);
    }
    free(names->names);
    *names = (struct sim_names){.names = NULL};
}
