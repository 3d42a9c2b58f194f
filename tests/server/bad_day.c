/* SPDX-License-Identifier: MIT */
/* bad_day.c - every fault of the network; see bad_day.h. */
#include "bad_day.h"

static unsigned operation_count;
static void (*perform)(struct hft_member *me);

void bad_days_are_for(unsigned operations, void (*suffer)(struct hft_member *))
{
    operation_count = operations;
    perform = suffer;
}

static void all_operations_survive(void **world, struct bad_day *day)
{
    struct hft_crew *crew;
    const char *wrong;

    day->w = *world;
    day->proxy = hft_proxy_start(day->w->server);
    day->rule.match = "EVALSHA";
    crew = hft_crew_start(operation_count, perform, day);
    wrong = hft_crew_join(crew, 60000);
    if (wrong != NULL) {
        print_error("%s\n", wrong);
    }
    assert_null(wrong);
    hft_crew_free(crew);
    hft_proxy_stop(day->proxy);
}

/* The request never gets there, and the link is cut: a retry finds out. */
void a_lost_request_counts_once(void **world)
{
    struct bad_day day = {
        .rule = {.direction = HFT_REQUEST, .action = HFT_CUT_BEFORE},
        .must_be_ok = true};

    all_operations_survive(world, &day);
}

/* It ran, and the answer is lost: a retry is told from the record. */
void a_lost_reply_counts_once(void **world)
{
    struct bad_day day = {
        .rule = {.direction = HFT_REPLY, .action = HFT_CUT_BEFORE},
        .must_be_ok = true};

    all_operations_survive(world, &day);
}

/* The retry's reply is lost as well. */
void two_lost_replies_count_once(void **world)
{
    struct bad_day day = {
        .rule = {.direction = HFT_REPLY, .action = HFT_CUT_BEFORE, .times = 2}};

    all_operations_survive(world, &day);
}

void a_link_that_swallows_requests_counts_once(void **world)
{
    struct bad_day day = {
        .rule = {.direction = HFT_REQUEST, .action = HFT_BLACK_HOLE}};

    all_operations_survive(world, &day);
}

void a_link_that_swallows_replies_counts_once(void **world)
{
    struct bad_day day = {
        .rule = {.direction = HFT_REPLY, .action = HFT_BLACK_HOLE}};

    all_operations_survive(world, &day);
}

/* The reply comes, but later than anybody waits for it. */
void a_reply_beyond_all_limits_counts_once(void **world)
{
    struct bad_day day = {.rule = {.direction = HFT_REPLY,
                                   .action = HFT_DELAY,
                                   .delay_ms = 3 * BAD_DAY_LIMIT_MS}};

    all_operations_survive(world, &day);
}

/* The request runs, but after its own retry: reordered across links. */
void a_request_that_runs_after_its_retry_counts_once(void **world)
{
    struct bad_day day = {.rule = {.direction = HFT_REQUEST,
                                   .action = HFT_DELAY,
                                   .delay_ms = 2 * BAD_DAY_LIMIT_MS}};

    all_operations_survive(world, &day);
}

/* Held until the operation has long ended. */
void a_request_that_runs_after_its_end_counts_once(void **world)
{
    struct bad_day day = {
        .rule = {.direction = HFT_REQUEST, .action = HFT_HOLD},
        .let_pass_ms = 100};

    all_operations_survive(world, &day);
}

/* Neither the request nor its retries get there until all is over. */
void requests_that_all_run_late_count_once(void **world)
{
    struct bad_day day = {.rule = {.direction = HFT_REQUEST,
                                   .action = HFT_DELAY,
                                   .delay_ms = 2 * BAD_DAY_LIMIT_MS,
                                   .times = 4}};

    all_operations_survive(world, &day);
}

/* The server sees it twice at once. */
void a_repeated_request_counts_once(void **world)
{
    struct bad_day day = {
        .rule = {.direction = HFT_REQUEST, .action = HFT_REPEAT},
        .must_be_ok = true};

    all_operations_survive(world, &day);
}

void a_slow_reply_is_nothing(void **world)
{
    struct bad_day day = {.rule = {.direction = HFT_REPLY,
                                   .action = HFT_DELAY,
                                   .delay_ms = BAD_DAY_LIMIT_MS / 3},
                          .must_be_ok = true};

    all_operations_survive(world, &day);
}

hf_client *a_hasty_client(struct world *w, struct hft_proxy *proxy)
{
    hf_options options = short_options();

    options.response_limit_ms = BAD_DAY_LIMIT_MS;
    options.connect_limit_ms = BAD_DAY_LIMIT_MS;
    return a_client_at(w, hft_proxy_url(proxy), &options);
}
