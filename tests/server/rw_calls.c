/* SPDX-License-Identifier: MIT */
/* rw_calls.c - the scripts of the read-write lock, one call each; see
 * rw_calls.h. */
#include "rw_calls.h"

#include "java_rw.h"

/* ---- the scripts, one call each ---- */

int64_t reads_until(struct world *w, const char *field, int64_t lease_ms,
                    const char *writer, int64_t not_after_ms)
{
    return hft_int(w->server, "EVAL %s 2 " NAME " %s %s %lld %lld %s",
                   TEXT(READ_ACQUIRE), hold_key(NAME, field, 1), field,
                   (long long)lease_ms, (long long)not_after_ms, writer);
}

int64_t reads(struct world *w, const char *field, int64_t lease_ms)
{
    return reads_until(w, field, lease_ms, NOBODY, LATER);
}

int64_t keeps_reading(struct world *w, const char *field, int64_t count,
                      int64_t lease_ms)
{
    return hft_int(w->server, "EVAL %s 2 " NAME " %s %s %lld %lld",
                   TEXT(READ_KEEP), hold_key(NAME, field, 1), field,
                   (long long)count, (long long)lease_ms);
}

int64_t ends_reading(struct world *w, const char *field)
{
    return hft_int(w->server,
                   "EVAL %s 2 " NAME " %s %s " CHANNEL " 0 {rw}: release",
                   TEXT(RW_RELEASE), hold_key(NAME, field, 1), field);
}

int64_t undoes_reading(struct world *w, const char *field)
{
    return hft_int(w->server,
                   "EVAL %s 2 " NAME " %s %s " CHANNEL " 0 {rw}: undo",
                   TEXT(RW_RELEASE), hold_key(NAME, field, 1), field);
}

int64_t writes_until(struct world *w, const char *field, int64_t lease_ms,
                     int64_t not_after_ms)
{
    return hft_int(w->server, "EVAL %s 1 " NAME " %s %lld %lld",
                   TEXT(WRITE_ACQUIRE), field, (long long)lease_ms,
                   (long long)not_after_ms);
}

int64_t writes(struct world *w, const char *field, int64_t lease_ms)
{
    return writes_until(w, field, lease_ms, LATER);
}

int64_t keeps_writing(struct world *w, const char *field, int64_t count,
                      int64_t lease_ms)
{
    return hft_int(w->server, "EVAL %s 1 " NAME " %s %lld %lld",
                   TEXT(WRITE_KEEP), field, (long long)count,
                   (long long)lease_ms);
}

int64_t ends_writing(struct world *w, const char *field)
{
    return hft_int(w->server,
                   "EVAL %s 1 " NAME " %s " CHANNEL " 1 {rw}: release",
                   TEXT(RW_RELEASE), field);
}

int64_t undoes_writing(struct world *w, const char *field)
{
    return hft_int(w->server, "EVAL %s 1 " NAME " %s " CHANNEL " 1 {rw}: undo",
                   TEXT(RW_RELEASE), field);
}

/* ---- looking ---- */

int64_t held_for(struct world *w, const char *field)
{
    return hft_int(w->server, "PTTL %s", hold_key(NAME, field, 1));
}

const char *mode(struct world *w)
{
    const char *found = hft_str(w->server, "HGET " NAME " mode");

    return found == NULL ? "" : found;
}

void assert_nothing_left(struct world *w)
{
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
}

void assert_about(int64_t found_ms, int64_t expected_ms)
{
    assert_between(found_ms, expected_ms - 2 * SLACK_MS, expected_ms + 5);
}
