/* SPDX-License-Identifier: MIT */
/* bad_day.h - every fault of the network, for the operations of an object.
 *
 * One test a fault, one member of a crew an operation, all through one proxy.
 * The fault hits the first script of the operation; what must hold then, the
 * program says.
 */
#ifndef TESTS_SERVER_BAD_DAY_H
#define TESTS_SERVER_BAD_DAY_H

#include "world.h"

#include "support/crew.h"
#include "support/proxy.h"

#define BAD_DAY_LIMIT_MS 400 /* of the clients, for an answer */
#define SETTLED_MS 8000

/* A member's context. */
struct bad_day {
    struct world *w;
    struct hft_proxy *proxy;
    struct hft_rule rule;
    bool must_be_ok;     /* a retry is certain to find out */
    int64_t let_pass_ms; /* before what is held goes on its way */
};

/* Before the tests run: how many operations there are, and the member that
 * performs the one of its index. */
void bad_days_are_for(unsigned operations, void (*suffer)(struct hft_member *));

void a_lost_request_counts_once(void **world);
void a_lost_reply_counts_once(void **world);
void two_lost_replies_count_once(void **world);
void a_link_that_swallows_requests_counts_once(void **world);
void a_link_that_swallows_replies_counts_once(void **world);
void a_reply_beyond_all_limits_counts_once(void **world);
void a_request_that_runs_after_its_retry_counts_once(void **world);
void a_request_that_runs_after_its_end_counts_once(void **world);
void requests_that_all_run_late_count_once(void **world);
void a_repeated_request_counts_once(void **world);
void a_slow_reply_is_nothing(void **world);

/* All of them, in a program's list of tests. */
#define BAD_DAYS                                                               \
    world_test(a_lost_request_counts_once),                                    \
        world_test(a_lost_reply_counts_once),                                  \
        world_test(two_lost_replies_count_once),                               \
        world_test(a_link_that_swallows_requests_counts_once),                 \
        world_test(a_link_that_swallows_replies_counts_once),                  \
        world_test(a_reply_beyond_all_limits_counts_once),                     \
        world_test(a_request_that_runs_after_its_retry_counts_once),           \
        world_test(a_request_that_runs_after_its_end_counts_once),             \
        world_test(requests_that_all_run_late_count_once),                     \
        world_test(a_repeated_request_counts_once),                            \
        world_test(a_slow_reply_is_nothing)

/* A client through the proxy that waits for nothing long. */
hf_client *a_hasty_client(struct world *w, struct hft_proxy *proxy);

#endif
