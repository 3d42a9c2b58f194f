/* SPDX-License-Identifier: MIT */
/* test_fair_types.c - somebody else's key under one of a fair lock's names.
 *
 * A script that met it halfway would leave the lock free and nobody told, or a
 * place in the queue without its score.  So each script says what is wrong
 * before it changes anything.
 */
#include <stdio.h>
#include <string.h>

#include "scripts_data.h"
#include "till.h"

#define HOLDER "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa:1"
#define FIRST "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa:2"
#define SECOND "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb:1"
#define FAR "9000000000000"
#define STAYS " 30000 " FAR " " TILL_CHANNEL " 300000 5000"

/* A script as one of the three would run it. */
struct move {
    int script;
    const char *args;
};

static const struct move moves[] = {
    {HFI_SCRIPT_FAIR_ACQUIRE, SECOND STAYS},
    {HFI_SCRIPT_FAIR_ACQUIRE, HOLDER STAYS},
    {HFI_SCRIPT_FAIR_RELEASE, HOLDER " " TILL_CHANNEL},
    {HFI_SCRIPT_FAIR_RELEASE_LATER,
     HOLDER " " TILL_CHANNEL " " HOLDER "9 20000"},
    {HFI_SCRIPT_FAIR_UNDO, HOLDER " " TILL_CHANNEL},
    {HFI_SCRIPT_FAIR_UNDO, FIRST " " TILL_CHANNEL},
    {HFI_SCRIPT_FAIR_FORCE, HOLDER " " FAR " " TILL_CHANNEL},
};
#define MOVES (sizeof(moves) / sizeof(moves[0]))

static const char *const keys[] = {
    TILL, "redisson_lock_queue:{till}", "redisson_lock_timeout:{till}",
    "holdfast_fair_alive:{till}", "holdfast_fair_waits:{till}"};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

static const char *run_move(struct world *w, const struct move *move)
{
    char format[1024];

    snprintf(format, sizeof(format), "EVAL %%b %d " TILL_KEYS " %s",
             TILL_KEY_COUNT, move->args);
    return hft_str(w->server, format, hfi_scripts[move->script].text,
                   hfi_scripts[move->script].len_bytes);
}

/* One holds, two wait, and the first of them has not been seen for long. */
static void fill(struct world *w)
{
    static const struct move holds = {HFI_SCRIPT_FAIR_ACQUIRE, HOLDER STAYS};
    static const struct move first = {HFI_SCRIPT_FAIR_ACQUIRE, FIRST STAYS};

    hft_str(w->server, "FLUSHALL");
    assert_null(run_move(w, &holds));
    assert_non_null(run_move(w, &first));
    assert_non_null(run_move(w, &moves[0]));
    hft_int(w->server, "ZADD holdfast_fair_alive:{till} XX CH 1 " FIRST);
}

/* All that is there, but for times. */
static void digest(struct world *w, char *buf, size_t size)
{
    static const char script[] =
        "local found = {} "
        "for _, key in ipairs(KEYS) do "
        "  local data = redis.call('dump', key) "
        "  found[#found + 1] = data and redis.sha1hex(data) or '-' "
        "end "
        "return table.concat(found, ' ')";

    snprintf(buf, size, "%s",
             hft_str(w->server, "EVAL %s 7 " TILL_KEYS, script));
}

/* spec: fair/queue-5 */
static void a_key_of_another_type_is_refused_before_anything_changes(
    void **world)
{
    struct world *w = *world;

    for (size_t k = 0; k < KEYS; k++) {
        for (size_t m = 0; m < MOVES; m++) {
            char before[400], after[400];
            const char *said;

            fill(w);
            hft_str(w->server, "SET %s somebody's", keys[k]);
            digest(w, before, sizeof(before));
            said = run_move(w, &moves[m]);
            digest(w, after, sizeof(after));
            if (said == NULL || strstr(said, "WRONGTYPE") == NULL) {
                fail_msg("move %zu with a string at %s: %s", m, keys[k],
                         said == NULL ? "nil" : said);
            }
            if (strcmp(before, after) != 0) {
                fail_msg("move %zu changed something beside a string at %s", m,
                         keys[k]);
            }
        }
    }
}

/* spec: fair/queue-5 */
static void without_a_queue_what_was_left_of_one_goes_whatever_it_is(
    void **world)
{
    static const struct move first = {HFI_SCRIPT_FAIR_ACQUIRE, FIRST STAYS};
    struct world *w = *world;

    fill(w);
    hft_int(w->server, "DEL redisson_lock_queue:{till}");
    for (size_t k = 2; k < KEYS; k++) {
        hft_str(w->server, "SET %s somebody's", keys[k]);
    }
    assert_non_null(run_move(w, &first));
    assert_string_equal(what_is_wrong_with_the_till(w, 40000), "");
    assert_string_equal(hft_str(w->server, "LRANGE %s 0 -1", keys[1]), FIRST);
}

/* A token that cannot be had leaves the queue whole. */
static void a_token_of_another_type_leaves_the_queue_whole(void **world)
{
    static const char *const who[] = {HOLDER, SECOND};
    struct world *w = *world;

    for (size_t i = 0; i < 2; i++) {
        char format[1024];
        const char *said;

        fill(w);
        if (i == 1) { /* it is free, and the dead first is in the way */
            hft_int(w->server, "DEL " TILL);
        }
        hft_int(w->server, "DEL token");
        hft_int(w->server, "RPUSH token 1");
        snprintf(format, sizeof(format),
                 "EVAL %%b 8 " TILL_KEYS " token %s" STAYS " 0 0", who[i]);
        said = hft_str(w->server, format,
                       hfi_scripts[HFI_SCRIPT_FAIR_ACQUIRE].text,
                       hfi_scripts[HFI_SCRIPT_FAIR_ACQUIRE].len_bytes);
        assert_non_null(said);
        assert_non_null(strstr(said, "WRONGTYPE"));
        assert_string_equal(what_is_wrong_with_the_till(w, 40000), "");
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        world_test(a_key_of_another_type_is_refused_before_anything_changes),
        world_test(without_a_queue_what_was_left_of_one_goes_whatever_it_is),
        world_test(a_token_of_another_type_leaves_the_queue_whole),
    };

    return cmocka_run_group_tests(tests, world_up, world_down);
}
