/* SPDX-License-Identifier: MIT */
/* option_values.c - how the arguments of options are read.
 *
 * Each reader accepts exactly what its sentence says, or answers with that
 * sentence; nothing is clamped, and nothing is read up to the first letter
 * that does not fit.
 */
#include "options.h"

#include "duration.h"

#include "holdfast/lock.h"

#include <string.h>

static const char not_a_duration[] =
    "is no duration; write 250ms, 10s, 5m, 2h or a number of seconds";

const char *cli_set_flag(const char *value, void *field)
{
    int *flag = field;

    (void)value;
    *flag = 1;
    return NULL;
}

const char *cli_set_text(const char *value, void *field)
{
    const char **text = field;

    if (value[0] == '\0') {
        return "is empty";
    }
    *text = value;
    return NULL;
}

const char *cli_set_duration(const char *value, void *field)
{
    int64_t *ms = field;

    return cli_duration_read(value, ms) == 0 ? NULL : not_a_duration;
}

const char *cli_set_positive(const char *value, void *field)
{
    int64_t *field_ms = field;
    int64_t ms;

    if (cli_duration_read(value, &ms) != 0) {
        return not_a_duration;
    }
    if (ms == 0) {
        return "is no time at all";
    }
    *field_ms = ms;
    return NULL;
}

const char *cli_set_lease(const char *value, void *field)
{
    int64_t *field_ms = field;
    int64_t ms;

    if (cli_duration_read(value, &ms) != 0) {
        return not_a_duration;
    }
    if (ms < HF_LEASE_MIN_MS || ms > HF_LEASE_MAX_MS) {
        return "is no lease; it lasts from 10ms to ten years";
    }
    *field_ms = ms;
    return NULL;
}

/* A number from 0 to `most`, or -1. */
static int read_number(const char *text, int most)
{
    int number = 0;
    const char *p = text;

    for (; *p >= '0' && *p <= '9' && number <= most; p++) {
        number = number * 10 + (*p - '0');
    }
    return p == text || *p != '\0' || number > most ? -1 : number;
}

const char *cli_set_exit(const char *value, void *field)
{
    int *code = field;
    int number = read_number(value, 255);

    if (number < 0) {
        return "is no exit status; write a number from 0 to 255";
    }
    *code = number;
    return NULL;
}

const char *cli_set_number(const char *value, void *field)
{
    int *field_number = field;
    int number = read_number(value, 1000000);

    if (number <= 0) {
        return "is no number from 1 to 1000000";
    }
    *field_number = number;
    return NULL;
}

const char *cli_set_kind(const char *value, void *field)
{
    return hf_kind_of_word(value, (hf_kind *)field)
               ? NULL
               : "is no kind of lock; there are lock, fair, read, write, "
                 "fenced, spin, nonreentrant, nonreentrant-fair, token and "
                 "values";
}

const char *cli_add_word(const char *value, void *field)
{
    struct cli_words *words = field;

    if (words->count == CLI_WORDS_MAX) {
        return "is one too many";
    }
    words->words[words->count++] = value;
    return NULL;
}
