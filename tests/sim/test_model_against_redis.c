/* SPDX-License-Identifier: MIT */
/* test_model_against_redis.c - the model of a server is held against a real one.
 *
 * What the simulated world finds is worth what its model of a server is.  Both
 * are asked the same, drawn from a printed seed: each answer is compared, and
 * every few requests all keys, types, values and TTLs, and what a subscriber
 * heard.  (test_model_wording.c asks what chance does not find.)
 *
 *     test_sim_model_against_redis --seconds 600     draws until then
 *     HFT_SEED=N test_sim_model_against_redis        begins with that round
 *
 * The clocks are a few ms apart: TTLs and times may differ by SLACK_MS, and the
 * TTLs that are drawn are further from each other than that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <inttypes.h>

#include "server/draw.h"
#include "server/pair.h"
#include "server/same.h"
#include "support/seed.h"
#include "support/wait.h"

#define SLACK_MS 3000
#define ROUNDS 40
#define REQUESTS_A_ROUND 300
#define COMPARE_ALL_EVERY 25

static uint64_t first_seed;
static int64_t seconds; /* 0: ROUNDS */
static uint64_t round_seed;

static void fail_if(const struct sim_pair *pair, bool differs, const char *what)
{
    if (differs) {
        fprintf(stderr, "\n%s differ; again: HFT_SEED=%" PRIu64 "\n", what,
                round_seed);
        sim_pair_print(pair);
        fail();
    }
}

static bool same(struct sim_answers answers, enum sim_manner manner)
{
    if (sim_same_bytes(answers)) {
        return true;
    }
    switch (manner) {
    case SIM_NUMBERS_ARE_TIMES:
        return sim_same_but_time(answers, SLACK_MS);
    case SIM_NUMBER_IS_SECONDS:
        return sim_same_but_time(answers, SLACK_MS / 1000);
    case SIM_IS_TIME:
        return sim_same_time(answers, SLACK_MS);
    case SIM_ANY_ORDER:
        return sim_same_rows(answers, 0, 1, 0);
    case SIM_LOCKS_ANY_ORDER:
        return sim_same_rows(answers, 1, 7, SLACK_MS);
    case SIM_EXACT:
    default:
        return false;
    }
}

static struct sim_answers ask_line(struct sim_pair *pair, const char *line)
{
    struct sim_request request = {.count = 0};

    sim_request_add_line(&request, line);
    return sim_pair_ask(pair, &request);
}

static struct sim_answers ask_about(struct sim_pair *pair, const char *line,
                                    struct hft_piece key, const char *rest)
{
    struct sim_request request = {.count = 0};

    sim_request_add_line(&request, line);
    sim_request_add(&request, key);
    sim_request_add_line(&request, rest);
    return sim_pair_ask(pair, &request);
}

/* ---- all the data ---- */

static void collect(struct hft_piece answer, struct sim_names *names)
{
    struct hft_piece name;

    for (size_t i = 0; hft_resp_element(answer, i, &name); i++) {
        sim_names_add(names, name);
    }
}

/* One key: its type and TTL, and its value by the command of its type.  Scores
 * may be times.  So may what stands in a hash, whose fields are in any order
 * where their names are long. */
static void compare_key(struct sim_pair *pair, struct hft_piece key)
{
    static const char *const dumps[][3] = {
        {"+string\r\n", "GET", ""},
        {"+hash\r\n", "HGETALL", ""},
        {"+list\r\n", "LRANGE", "0 -1"},
        {"+zset\r\n", "ZRANGE", "0 -1 WITHSCORES"}};
    struct sim_answers type = ask_about(pair, "TYPE", key, "");
    const char *const *dump = NULL;
    struct sim_answers answers;

    fail_if(pair, !same(type, SIM_EXACT), "types");
    for (size_t i = 0; i < 4; i++) {
        if (hft_piece_is(type.real, dumps[i][0])) {
            dump = dumps[i];
        }
    }
    assert_non_null(dump);
    answers = ask_about(pair, dump[1], key, dump[2]);
    fail_if(pair,
            dump[1][0] == 'H'
                ? !sim_same_rows(answers, 0, 2, SLACK_MS)
                : !same(answers,
                        dump[1][0] == 'Z' ? SIM_NUMBERS_ARE_TIMES : SIM_EXACT),
            "values");
    fail_if(pair,
            !same(ask_about(pair, "PTTL", key, ""), SIM_NUMBERS_ARE_TIMES),
            "TTLs");
}

static void compare_all(struct sim_pair *pair)
{
    struct sim_names names = {.names = NULL};
    struct sim_answers answers = ask_line(pair, "KEYS *");

    fail_if(pair, !same(answers, SIM_ANY_ORDER), "keys");
    collect(answers.real, &names);
    for (size_t i = 0; i < names.count; i++) {
        compare_key(pair,
                    (struct hft_piece){names.names[i], strlen(names.names[i])});
    }
    sim_names_free(&names);
}

/* ---- walks: each server has cursors of its own ---- */

static void scan_step(struct sim_pair *pair, const char *cursor,
                      const char *options, struct sim_answers *ret_answers)
{
    *ret_answers = ask_about(
        pair, "SCAN", (struct hft_piece){cursor, strlen(cursor)}, options);
}

static void copy_cursor(struct hft_piece from, char *ret_cursor, size_t size)
{
    (void)snprintf(ret_cursor, size, "%.*s", (int)from.length, from.data);
}

/* The names in a step, and the next cursor. */
static void read_step(struct hft_piece answer, char *cursor, size_t size,
                      struct sim_names *names)
{
    struct hft_piece text;
    const char *start;

    /* "*2", the cursor, and from there an array of its own. */
    if (!hft_resp_element(answer, 0, &text)) {
        fail();
    }
    copy_cursor(text, cursor, size);
    start = text.data + text.length + 2;
    collect((struct hft_piece){start,
                               answer.length - (size_t)(start - answer.data)},
            names);
}

static void compare_walks(struct sim_pair *pair, const char *options)
{
    struct sim_names real = {.names = NULL};
    struct sim_names model = {.names = NULL};
    char real_at[32] = "0";
    char model_at[32] = "0";
    struct sim_answers answers;

    do {
        scan_step(pair, real_at, options, &answers);
        read_step(answers.real, real_at, sizeof(real_at), &real);
    } while (strcmp(real_at, "0") != 0);
    do {
        scan_step(pair, model_at, options, &answers);
        read_step(answers.model, model_at, sizeof(model_at), &model);
    } while (strcmp(model_at, "0") != 0);
    fail_if(pair, !sim_names_same(&real, &model), "walks");
    sim_names_free(&real);
    sim_names_free(&model);
}

static void compare_some_walk(struct sim_pair *pair, struct sim_draw *draw)
{
    static const char *const options[] = {
        "COUNT 1000", "COUNT 2",           "MATCH l* COUNT 3",
        "TYPE hash",  "TYPE zset COUNT 1", "MATCH [ab] TYPE string"};

    compare_walks(pair, options[hft_random_below(&draw->random, 6)]);
}

/* ---- random requests ---- */

static void compare_one(struct sim_pair *pair, struct sim_draw *draw)
{
    struct sim_request request = {.count = 0};
    enum sim_manner manner = sim_draw_request(draw, &request);
    struct sim_answers answers = sim_pair_ask(pair, &request);

    fail_if(pair, !same(answers, manner), "answers");
}

static void compare_listening(struct sim_pair *pair, struct sim_draw *draw)
{
    struct sim_request request = {.count = 0};
    struct sim_answers answers;

    sim_draw_listening(draw, &request);
    answers = sim_pair_listen(pair, &request);
    fail_if(pair, !sim_same_bytes(answers), "messages");
}

/* Let one key expire.  Nobody meets it before, unless the real server was kept
 * from its processor in the middle of PEXPIRE: it then deletes the key at once,
 * and the model has to be told. */
static void expire_one(struct sim_pair *pair, struct sim_draw *draw)
{
    const char *name = sim_draw_key(draw);
    struct hft_piece key = {name, strlen(name)};

    fail_if(pair, !same(ask_about(pair, "PEXPIRE", key, "2"), SIM_EXACT),
            "answers");
    sim_pair_wait_past(sim_pair_now_ms() + 3);
    if (!same(ask_line(pair, "DBSIZE"), SIM_EXACT)) {
        fail_if(pair, !same(ask_about(pair, "EXISTS", key, ""), SIM_EXACT),
                "answers");
    }
}

static void compare_round(struct sim_pair *pair)
{
    struct sim_draw draw = {.ttls = 0};
    struct sim_request drop = {.count = 0};

    sim_draw_begin(&draw, round_seed);
    sim_request_add_line(&drop, "UNSUBSCRIBE x");
    (void)ask_line(pair, "FLUSHALL");
    (void)ask_line(pair, "SELECT 0");
    for (unsigned i = 1; i <= REQUESTS_A_ROUND; i++) {
        compare_one(pair, &draw);
        if (sim_draw_chance(&draw, 12)) {
            compare_listening(pair, &draw);
        }
        if (sim_draw_chance(&draw, 40)) {
            expire_one(pair, &draw);
        }
        if (sim_draw_chance(&draw, 40)) {
            compare_some_walk(pair, &draw);
        }
        if (i % COMPARE_ALL_EVERY == 0) {
            compare_all(pair);
        }
    }
    fail_if(pair, !sim_same_bytes(sim_pair_listen(pair, &drop)), "messages");
}

/* Issue: the model is held against reality. */
static void model_and_redis_answer_random_requests_alike(void **state)
{
    struct sim_pair *pair = sim_pair_new(NULL);
    int64_t end_ms = hft_now_ms() + seconds * 1000;
    uint64_t rounds = 0;

    (void)state;
    do {
        round_seed = first_seed + rounds++;
        compare_round(pair);
    } while (seconds > 0 ? hft_now_ms() < end_ms : rounds < ROUNDS);
    printf("%" PRIu64 " rounds, %" PRIu64 " requests\n", rounds,
           sim_pair_asked(pair));
    sim_pair_free(pair);
}

static void every_shipped_script_is_drawn(void **state)
{
    const char *unknown = sim_draw_unknown_script();

    (void)state;
    if (unknown != NULL) {
        fprintf(stderr, "server/draw.c has no line for %s\n", unknown);
        fail();
    }
}

static int64_t read_seconds(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--seconds") == 0) {
            return strtoll(argv[i + 1], NULL, 10);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shipped_script_is_drawn),
        cmocka_unit_test(model_and_redis_answer_random_requests_alike),
    };

    first_seed = hft_seed(argc, argv);
    seconds = read_seconds(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
