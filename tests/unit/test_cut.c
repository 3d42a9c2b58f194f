/* SPDX-License-Identifier: MIT */
/* test_cut.c - leases that are made shorter, in the core: what is believed
 * while a copy that shortens may run yet.
 *
 * "Permits" of docs/design/late-copies.md.
 */
#include <string.h>

#include "core_bench.h"
#include "support/fatal.h"
#include "sync/kinds/pieces.h"

#define SHORT_MS 9000
#define MARGIN_MS(lease) ((lease) / 1000 + 2)

static void hold(struct bench *bench, bool renewed, struct hfi_terms *terms)
{
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .of = &hfi_kind_permits,
                                 .count = 1,
                                 .lease_ms = BENCH_LEASE_MS,
                                 .renewed = renewed,
                                 .terms = terms};
    struct bench_call *call = bench_start(bench, 1, "a", &ask);

    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
}

static struct bench_call *set_lease(struct bench *bench, int64_t lease_ms)
{
    struct hfi_op_request ask = {.kind = HFI_OP_EXTEND,
                                 .of = &hfi_kind_permits,
                                 .exact = true,
                                 .lease_ms = lease_ms};

    return bench_start(bench, 1, "a", &ask);
}

static int64_t remaining(struct bench *bench)
{
    struct hfi_object object = {
        .kind = &hfi_kind_permits, .name = "a", .name_bytes = 1};
    struct hfi_hold_view seen;

    hfi_core_view(bench->core, hfi_owner_get(bench->core, 1, false), &object,
                  bench->now, &seen);
    return seen.remaining_ms;
}

static int64_t lasts(int64_t lease_ms)
{
    return lease_ms - MARGIN_MS(lease_ms);
}

static void done(struct bench *bench, struct hfi_copy *copy)
{
    bench_integer(bench, copy, bench_server_now(bench));
}

/* The batch of one that a renewal is. */
static void renewed(struct bench *bench, struct hfi_copy *copy)
{
    struct hfi_value value = {.kind = HFI_ARRAY, .count = 1};

    value.items = hft_alloc(sizeof(*value.items));
    value.items[0].kind = HFI_INTEGER;
    value.items[0].integer = bench_server_now(bench);
    bench_answer(bench, copy, &value);
}

/* From the sending on, whatever is answered.
 * spec: permits/lease-3 */
static void the_deadline_is_cut_when_it_is_sent(void **state)
{
    struct bench *bench = *state;
    struct bench_notice notice;
    struct bench_call *call;

    hold(bench, false, bench_terms("a"));
    assert_int_equal(remaining(bench), lasts(BENCH_LEASE_MS));
    call = set_lease(bench, SHORT_MS);
    assert_int_equal(remaining(bench), lasts(SHORT_MS));
    (void)bench_take(bench, HFI_CUT);
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS + 1);
    assert_ended(call, HF_UNKNOWN);
    assert_false(bench_told(bench, &notice));
    bench_pass(bench, SHORT_MS);
    assert_true(bench_told(bench, &notice));
    assert_true(notice.lost);
    assert_int_equal(notice.reason, HF_LOST_EXPIRED);
    assert_int_equal(notice.told_at_ms, BENCH_BEGIN_MS + lasts(SHORT_MS));
}

static void what_was_set_is_set(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    hold(bench, false, NULL);
    call = set_lease(bench, SHORT_MS);
    copy = bench_take(bench, HFI_CUT);
    bench_pass(bench, 100);
    done(bench, copy);
    assert_ended(call, HF_OK);
    assert_int_equal(remaining(bench), lasts(SHORT_MS) - 100);
    /* Longer again: only once it is answered. */
    call = set_lease(bench, 2 * BENCH_LEASE_MS);
    assert_int_equal(remaining(bench), lasts(SHORT_MS) - 100);
    done(bench, bench_take(bench, HFI_CUT));
    assert_ended(call, HF_OK);
    assert_int_equal(remaining(bench), lasts(2 * BENCH_LEASE_MS));
}

static void renewals_go_on_by_the_new_lease(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *copy;

    hold(bench, true, NULL);
    call = set_lease(bench, SHORT_MS);
    done(bench, bench_take(bench, HFI_CUT));
    assert_ended(call, HF_OK);
    bench_pass(bench, SHORT_MS / 3 + 1);
    copy = bench_take(bench, HFI_RENEW);
    assert_int_equal(copy->batch[0].lease_ms, SHORT_MS);
    assert_int_equal(copy->sent_at_ms, bench->now - 1);
    renewed(bench, copy);
    assert_int_equal(remaining(bench), lasts(SHORT_MS) - 1);
}

/* A renewal that was sent before says nothing of what is now. */
static void an_earlier_renewal_lengthens_nothing(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *before, *cut;

    hold(bench, true, NULL);
    bench_pass(bench, BENCH_LEASE_MS / 3 + 1);
    before = bench_take(bench, HFI_RENEW);
    bench_pass(bench, 10);
    call = set_lease(bench, SHORT_MS);
    cut = bench_take(bench, HFI_CUT);
    bench_pass(bench, 10);
    renewed(bench, before);
    assert_int_equal(remaining(bench), lasts(SHORT_MS) - 10);
    done(bench, cut);
    assert_ended(call, HF_OK);
    assert_int_equal(remaining(bench), lasts(SHORT_MS) - 10);
}

/* A copy that is unanswered for ever may end what a renewal lengthened, until
 * its not_after is over. */
static void while_a_copy_may_run_nothing_is_lengthened(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_copy *lost, *again, *renewal;
    int64_t not_after_ms;

    hold(bench, true, NULL);
    call = set_lease(bench, SHORT_MS);
    lost = bench_take(bench, HFI_CUT);
    not_after_ms = lost->not_after_ms;
    bench_lose(bench, lost, true);
    again = bench_take(bench, HFI_CUT);
    bench_pass(bench, 100);
    not_after_ms = again->not_after_ms > not_after_ms ? again->not_after_ms
                                                      : not_after_ms;
    done(bench, again);
    assert_ended(call, HF_OK); /* it is no longer than that, in any case */
    assert_int_equal(remaining(bench), lasts(SHORT_MS) - 100);
    call = set_lease(bench, BENCH_LEASE_MS);
    done(bench, bench_take(bench, HFI_CUT));
    assert_ended(call, HF_NOT_DONE);
    assert_int_equal(remaining(bench), lasts(SHORT_MS) - 100);
    while (bench_server_now(bench) <= not_after_ms) {
        bench_pass(bench, 100);
    }
    renewal = bench_take(bench, HFI_RENEW);
    while (bench_server_now(bench) < not_after_ms + BENCH_RESPONSE_MS) {
        bench_pass(bench, 100);
    }
    renewed(bench, renewal);
    assert_true(remaining(bench) > lasts(SHORT_MS) / 2);
}

/* Refused by the server's clock: sent again. */
static void what_came_too_late_is_repeated(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    hold(bench, false, NULL);
    call = set_lease(bench, SHORT_MS);
    bench_refused(bench, bench_take(bench, HFI_CUT),
                  bench_server_now(bench) + 60000);
    bench_pass(bench, HFI_PAUSE_FIRST_MS + 1);
    bench_integer(bench, bench_take(bench, HFI_CUT),
                  bench_server_now(bench) + 60000);
    assert_ended(call, HF_OK);
}

/* spec: permits/lease-2 */
static void one_that_is_gone_is_lost(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    hold(bench, false, NULL);
    call = set_lease(bench, SHORT_MS);
    bench_integer(bench, bench_take(bench, HFI_CUT), -2);
    assert_ended(call, HF_LOST);
    assert_int_equal(remaining(bench), 0);
}

/* In the same millisecond: what was sent before the answer, and after it. */
static void what_follows_at_once_is_believed(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request longer = {.kind = HFI_OP_EXTEND,
                                    .of = &hfi_kind_permits,
                                    .lease_ms = 2 * BENCH_LEASE_MS};
    struct bench_call *call;

    hold(bench, false, NULL);
    call = set_lease(bench, SHORT_MS);
    done(bench, bench_take(bench, HFI_CUT));
    assert_ended(call, HF_OK);
    call = bench_start(bench, 1, "a", &longer);
    done(bench, bench_take(bench, HFI_EXTEND));
    assert_ended(call, HF_OK);
    assert_int_equal(remaining(bench), lasts(2 * BENCH_LEASE_MS));
}

/* Without a link nothing is sent, and nothing is cut. */
static void what_was_not_sent_stands(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    hold(bench, false, NULL);
    bench_links_down(bench);
    call = set_lease(bench, SHORT_MS);
    assert_int_equal(remaining(bench), lasts(BENCH_LEASE_MS));
    bench_pass(bench, BENCH_RESPONSE_MS + BENCH_CONNECT_MS + 1);
    assert_ended(call, HF_NOT_DONE);
}

/* One without a lease gets one, and its End is due when that is over. */
static void one_without_a_lease_gets_one(void **state)
{
    struct bench *bench = *state;
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .of = &hfi_kind_permits,
                                 .count = 1,
                                 .lease_ms = HFI_NO_LEASE_MS};
    struct bench_call *call = bench_start(bench, 1, "a", &ask);

    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
    bench_pass(bench, 1000000);
    call = set_lease(bench, SHORT_MS);
    done(bench, bench_take(bench, HFI_CUT));
    assert_ended(call, HF_OK);
    bench_pass(bench, SHORT_MS + MARGIN_MS(SHORT_MS));
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_int_equal(bench_stats(bench).ending, 0);
}

#define bench_test(function)                                                   \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        bench_test(the_deadline_is_cut_when_it_is_sent),
        bench_test(what_was_set_is_set),
        bench_test(renewals_go_on_by_the_new_lease),
        bench_test(an_earlier_renewal_lengthens_nothing),
        bench_test(while_a_copy_may_run_nothing_is_lengthened),
        bench_test(what_came_too_late_is_repeated),
        bench_test(one_that_is_gone_is_lost),
        bench_test(what_follows_at_once_is_believed),
        bench_test(what_was_not_sent_stands),
        bench_test(one_without_a_lease_gets_one),
    };

    return cmocka_run_group_tests_name("cut", tests, NULL, NULL);
}
