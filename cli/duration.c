/* SPDX-License-Identifier: MIT */
/* duration.c - durations as people write them.
 *
 * Integers only, so that 0.1s is 100 ms exactly.  strtod() is not used: it
 * would accept signs, spaces, "inf", "1e9" and "0x10", and would read a
 * decimal comma in some locales.
 */
#include "duration.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct unit {
    const char *name;
    int64_t ms;
} units[] = {
    {"", 1000},
    {"ms", 1},
    {"s", 1000},
    {"m", INT64_C(60000)},
    {"h", INT64_C(3600000)},
    {"d", INT64_C(86400000)},
};

/* So many decimals are read; more would not survive the multiplication by the
 * longest unit, and nobody needs them. */
#define DECIMALS_MAX 9

/* Digits at `*text` as a number not over `limit`.  Returns how many there were,
 * or -1 if the number is larger; leaves *text behind them. */
static int read_digits(const char **text, int64_t limit, int64_t *ret_value)
{
    const char *p = *text;
    int64_t value = 0;

    for (; *p >= '0' && *p <= '9'; p++) {
        value = value * 10 + (*p - '0');
        if (value > limit) {
            return -1;
        }
    }
    int digits = (int)(p - *text);
    *text = p;
    *ret_value = value;
    return digits;
}

/* ".25" at `*text`: `ret_value` / `ret_scale` is the part of one.  Nothing there
 * is 0/1.  Returns 0 or -1. */
static int read_decimals(const char **text, int64_t *ret_value,
                         int64_t *ret_scale)
{
    *ret_value = 0;
    *ret_scale = 1;
    if (**text != '.') {
        return 0;
    }
    (*text)++;
    int digits = read_digits(text, INT64_C(999999999), ret_value);
    if (digits < 1 || digits > DECIMALS_MAX) {
        return -1;
    }
    for (int i = 0; i < digits; i++) {
        *ret_scale *= 10;
    }
    return 0;
}

static const struct unit *find_unit(const char *name)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(units[i].name, name) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

int cli_duration_read(const char *text, int64_t *ret_ms)
{
    int64_t whole;
    int64_t part;
    int64_t scale;

    if (read_digits(&text, CLI_DURATION_MAX_MS, &whole) < 1 ||
        read_decimals(&text, &part, &scale) != 0) {
        return -1;
    }
    const struct unit *unit = find_unit(text);
    if (unit == NULL || whole > CLI_DURATION_MAX_MS / unit->ms) {
        return -1;
    }
    int64_t ms = whole * unit->ms + (part * unit->ms + scale - 1) / scale;
    if (ms > CLI_DURATION_MAX_MS) {
        return -1;
    }
    *ret_ms = ms;
    return 0;
}

void cli_duration_text(int64_t ms, char *buf, size_t size)
{
    int64_t seconds = ms / 1000;

    if (ms < 1000) {
        snprintf(buf, size, "%" PRId64 "ms", ms < 0 ? 0 : ms);
    } else if (seconds < 60) {
        snprintf(buf, size, "%" PRId64 ".%" PRId64 "s", seconds,
                 ms % 1000 / 100);
    } else if (seconds < 3600) {
        snprintf(buf, size, "%" PRId64 "m%02" PRId64 "s", seconds / 60,
                 seconds % 60);
    } else {
        snprintf(buf, size, "%" PRId64 "h%02" PRId64 "m", seconds / 3600,
                 seconds / 60 % 60);
    }
}
