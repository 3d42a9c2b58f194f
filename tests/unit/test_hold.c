/* SPDX-License-Identifier: MIT */
/* test_hold.c - the life of a lease: held, suspect, recovered, lost.
 *
 * DESIGN 2.4, "Held" and "Losing" of docs/design/late-copies.md (T3, T4, T14,
 * T15).  Re-entry and extension are in test_keep.c, renewal in test_renew.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core_bench.h"

#define PROMISE(lease_ms) ((lease_ms) - (lease_ms) / 1000 - 2)

/* Taken with terms of which the test keeps a reference. */
static struct hfi_terms *hold_on_terms(struct bench *bench, int64_t lease_ms,
                                       bool renewed, int64_t max_ms,
                                       int64_t warning_ms)
{
    struct hfi_terms *terms = bench_terms("a");
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .lease_ms = lease_ms,
                                 .renewed = renewed,
                                 .terms = terms};
    struct bench_call *call;

    terms->max_hold_ms = max_ms;
    terms->max_hold_warning_ms = warning_ms;
    terms->refs++;
    call = bench_start(bench, 1, "a", &ask);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_ended(call, HF_OK);
    return terms;
}

static void assert_lost(struct bench *bench, hf_lost_reason reason)
{
    struct bench_notice notice;

    assert_true(bench_told(bench, &notice));
    assert_true(notice.lost);
    assert_int_equal(notice.reason, reason);
    assert_string_equal(notice.owner, BENCH_UUID ":1");
    assert_string_equal(notice.name, "a");
    assert_false(bench_told(bench, &notice)); /* once */
}

static void assert_warned(struct bench *bench, hf_lock_state state,
                          hf_lost_reason reason)
{
    struct bench_notice notice;

    assert_true(bench_told(bench, &notice));
    assert_true(notice.warning);
    assert_false(notice.lost);
    assert_int_equal(notice.lock_state, state);
    assert_int_equal(notice.warning_reason, reason);
}

static void the_margin_is_a_thousandth_and_two_milliseconds(void **state)
{
    struct bench *bench = *state;
    static const int64_t leases[] = {10, 999, 1000, 30000,
                                     INT64_C(315360000000)};

    for (size_t i = 0; i < sizeof(leases) / sizeof(leases[0]); i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%zu", i);
        bench_hold_fixed(bench, 1, name, leases[i]);
        assert_int_equal(bench_remaining(bench, 1, name), PROMISE(leases[i]));
    }
}

static void a_fixed_lease_is_lost_at_its_deadline(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = hold_on_terms(bench, 1000, false, 0, 0);
    struct bench_notice notice;

    bench_pass(bench, PROMISE(1000) - 1);
    assert_int_equal(bench_state(bench, 1, "a"), HF_HELD);
    assert_false(bench_told(bench, &notice));
    bench_pass(bench, 1);
    assert_int_equal(bench_state(bench, 1, "a"), HF_STATE_LOST);
    assert_lost(bench, HF_LOST_EXPIRED);
    assert_no_copy(bench); /* no renewal, and no UNDO before its TTL ended */
    hfi_terms_unref(terms);
}

/* T14: a stopped process is told by whatever it asks first. */
static void what_is_past_is_lost_for_whoever_looks_first(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = hold_on_terms(bench, 1000, false, 0, 0);
    struct hfi_hold_view view;

    bench_jump(bench, 60000);
    bench_view(bench, 1, "a", &view);
    assert_int_equal(view.state, HF_STATE_LOST);
    assert_int_equal(view.reason, HF_LOST_EXPIRED);
    assert_int_equal(view.count, 0);
    assert_int_equal(view.remaining_ms, 0);
    assert_lost(bench, HF_LOST_EXPIRED);
    bench_tick(bench);
    hfi_terms_unref(terms);
}

/* T15: told no later than the deadline, with the network gone. */
static void unanswered_it_is_suspect_at_half_and_lost_at_the_end(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = hold_on_terms(bench, 30000, true, 0, 0);
    struct bench_notice notice;

    bench_pass(bench, 14999);
    assert_int_equal(bench_state(bench, 1, "a"), HF_HELD);
    assert_false(bench_told(bench, &notice));
    bench_pass(bench, 1);
    assert_int_equal(bench_state(bench, 1, "a"), HF_SUSPECT);
    assert_warned(bench, HF_SUSPECT, HF_NOT_LOST);
    bench_pass(bench, PROMISE(30000) - 15000 - 1);
    assert_int_equal(bench_state(bench, 1, "a"), HF_SUSPECT);
    bench_pass(bench, 1);
    assert_lost(bench, HF_LOST_UNREACHABLE);
    hfi_terms_unref(terms);
}

/* T15: likewise where no renewal could even be sent. */
static void without_a_link_it_is_lost_because_of_the_server(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = hold_on_terms(bench, 30000, true, 0, 0);

    bench_links_down(bench);
    bench_pass(bench, 15000);
    assert_warned(bench, HF_SUSPECT, HF_NOT_LOST);
    bench_pass(bench, PROMISE(30000) - 15000);
    assert_lost(bench, HF_LOST_UNREACHABLE);
    hfi_terms_unref(terms);
}

static void answered_again_it_recovers(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = hold_on_terms(bench, 30000, true, 0, 0);
    struct hfi_copy *copy;

    bench_pass(bench, 10000);
    bench_lose(bench, bench_take(bench, HFI_RENEW), true);
    bench_pass(bench, 5000);
    assert_warned(bench, HF_SUSPECT, HF_NOT_LOST);
    while ((copy = bench_take_any(bench)) != NULL) {
        assert_int_equal(copy->request, HFI_RENEW);
    }
    bench_pass(bench, 3000);
    copy = bench_take(bench, HFI_RENEW);
    bench_jump(bench, 30);
    bench_renewed(bench, copy);
    assert_warned(bench, HF_HELD, HF_NOT_LOST);
    assert_int_equal(bench_state(bench, 1, "a"), HF_HELD);
    /* 30 ms and the ms since that copy was sent have gone. */
    assert_in_range(bench_remaining(bench, 1, "a"), PROMISE(30000) - 3030,
                    PROMISE(30000) - 30);
    hfi_terms_unref(terms);
}

static void an_answer_that_is_late_itself_leaves_it_suspect(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = hold_on_terms(bench, 30000, true, 0, 0);
    struct hfi_copy *copy;
    struct bench_notice notice;

    bench_pass(bench, 10000);
    copy = bench_take(bench, HFI_RENEW);
    bench_pass(bench, 17000); /* more than half a lease after its sending */
    assert_warned(bench, HF_SUSPECT, HF_NOT_LOST);
    bench_renewed(bench, copy);
    assert_int_equal(bench_state(bench, 1, "a"), HF_SUSPECT);
    assert_false(bench_told(bench, &notice));
    assert_int_equal(bench_remaining(bench, 1, "a"), PROMISE(30000) - 17000);
    hfi_terms_unref(terms);
}

/* A process that was stopped did not even try: that is no lost network. */
static void stopped_past_its_end_it_has_expired(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = hold_on_terms(bench, 30000, true, 0, 0);

    bench_jump(bench, 40000);
    bench_tick(bench);
    assert_lost(bench, HF_LOST_EXPIRED);
    bench_take(bench, HFI_UNDO);
    assert_no_copy(bench); /* nothing is renewed after LOST */
    hfi_terms_unref(terms);
}

static void absent_is_gone_or_taken(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;
    struct hfi_hold_view view;

    bench_hold(bench, 1, "a");
    call = bench_extend(bench, 1, "a", 1000);
    bench_integer(bench, bench_take(bench, HFI_EXTEND), -2);
    assert_ended(call, HF_LOST);
    bench_view(bench, 1, "a", &view);
    assert_int_equal(view.reason, HF_LOST_GONE);
    bench_undone(bench, bench_take(bench, HFI_UNDO));

    bench_hold(bench, 1, "b");
    call = bench_extend(bench, 1, "b", 1000);
    bench_integer(bench, bench_take(bench, HFI_EXTEND), 555);
    assert_ended(call, HF_LOST);
    bench_view(bench, 1, "b", &view);
    assert_int_equal(view.reason, HF_LOST_TAKEN);
    bench_take(bench, HFI_UNDO);
}

/* ---- max_hold ---- */

static void max_hold_ends_it_whatever_is_renewed(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = hold_on_terms(bench, 3000, true, 2000, 500);

    assert_int_equal(bench_remaining(bench, 1, "a"), 2000);
    bench_pass(bench, 1000);
    bench_renewed(bench, bench_take(bench, HFI_RENEW));
    assert_int_equal(bench_remaining(bench, 1, "a"), 1000);
    bench_pass(bench, 500);
    assert_warned(bench, HF_HELD, HF_LOST_MAX_HOLD);
    bench_pass(bench, 499);
    assert_int_equal(bench_state(bench, 1, "a"), HF_HELD);
    bench_pass(bench, 1);
    assert_lost(bench, HF_LOST_MAX_HOLD);
    hfi_terms_unref(terms);
}

static void suspect_and_near_its_max_it_is_warned_of_both(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = hold_on_terms(bench, 3000, true, 2500, 900);

    bench_pass(bench, 1500);
    assert_warned(bench, HF_SUSPECT, HF_NOT_LOST);
    bench_pass(bench, 100);
    assert_warned(bench, HF_SUSPECT, HF_LOST_MAX_HOLD);
    bench_pass(bench, 900);
    assert_lost(bench, HF_LOST_MAX_HOLD);
    hfi_terms_unref(terms);
}

static void a_max_longer_than_a_fixed_lease_changes_nothing(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = hold_on_terms(bench, 1000, false, 60000, 0);

    bench_pass(bench, PROMISE(1000));
    assert_lost(bench, HF_LOST_EXPIRED);
    hfi_terms_unref(terms);
}

static void without_callbacks_nobody_is_told(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = bench_terms("a");
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .lease_ms = 3000,
                                 .renewed = true,
                                 .terms = terms};
    struct bench_notice notice;

    terms->on_lost = NULL;
    terms->on_warning = NULL;
    bench_start(bench, 1, "a", &ask);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    bench_pass(bench, 4000);
    assert_int_equal(bench_state(bench, 1, "a"), HF_STATE_LOST);
    assert_false(bench_told(bench, &notice));
}

/* News that was not taken yet is joined by newer news, not queued twice. */
static void news_upon_news_is_one_notice(void **state)
{
    struct bench bench;
    struct hfi_core_config config = bench_config();
    struct bench_notice notice;
    struct hfi_terms *terms;

    (void)state;
    bench_open_with(&bench, &config);
    terms = hold_on_terms(&bench, 3000, true, 0, 0);
    bench_jump(&bench, 1600);
    hfi_core_tick(bench.core, bench.now); /* suspect; nobody is told yet */
    bench_jump(&bench, 1600);
    bench_tick(&bench);
    assert_true(bench_told(&bench, &notice));
    assert_true(notice.lost);
    assert_true(notice.warning);
    assert_false(bench_told(&bench, &notice));
    hfi_terms_unref(terms);
    bench_close(&bench);
}

/* ---- after the loss ---- */

static void a_lost_number_is_undone_when_its_ttl_has_ended(void **state)
{
    struct bench *bench = *state;

    bench_hold_fixed(bench, 1, "a", 1000);
    bench_pass(bench, 997);
    assert_int_equal(bench_state(bench, 1, "a"), HF_STATE_LOST);
    bench_pass(bench, 2);
    assert_no_copy(bench); /* the holder's head start is not given away */
    bench_pass(bench, 1);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_true(hfi_core_ended(bench->core));
}

static void each_lost_level_is_accounted_for_and_touches_nothing(void **state)
{
    struct bench *bench = *state;
    struct bench_call *call;

    bench_hold_fixed(bench, 1, "a", 1000);
    call = bench_lock_fixed(bench, 1, "a", 1000);
    bench_nil(bench, bench_take(bench, HFI_ENTER));
    assert_ended(call, HF_OK);
    bench_jump(bench, 5000);
    call = bench_lock_fixed(bench, 1, "a", 1000);
    assert_ended(call, HF_LOST); /* it never acquires anew */
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    call = bench_extend(bench, 1, "a", 1000);
    assert_ended(call, HF_LOST);
    call = bench_unlock(bench, 1, "a");
    assert_ended(call, HF_LOST);
    assert_non_null(strstr(call->error.message, BENCH_UUID ":1"));
    call = bench_unlock(bench, 1, "a");
    assert_ended(call, HF_LOST);
    call = bench_unlock(bench, 1, "a");
    assert_ended(call, HF_NOT_OWNER);
    assert_no_copy(bench);
    assert_true(hfi_core_idle(bench->core));
    bench_hold(bench, 1, "a"); /* and then it can be had again */
}

static void what_is_answered_after_the_loss_is_not_believed(void **state)
{
    struct bench *bench = *state;
    struct hfi_copy *copy;
    struct bench_call *call;

    bench_hold(bench, 1, "a");
    bench_pass(bench, 10000);
    copy = bench_take(bench, HFI_RENEW);
    bench_jump(bench, 25000); /* unnoticed: the answer is read first */
    bench_renewed(bench, copy);
    assert_int_equal(bench_state(bench, 1, "a"), HF_STATE_LOST);
    bench_undone(bench, bench_take(bench, HFI_UNDO));

    bench_hold_fixed(bench, 2, "b", 1000);
    call = bench_extend(bench, 2, "b", 60000);
    copy = bench_take(bench, HFI_EXTEND);
    bench_jump(bench, 997);
    bench_nil(bench, copy);
    assert_ended(call, HF_LOST);
    assert_int_equal(bench_state(bench, 2, "b"), HF_STATE_LOST);
}

static void an_owner_that_is_gone_loses_everything(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = hold_on_terms(bench, 30000, true, 0, 0);
    struct bench_call *waits;

    waits = bench_wait(bench, 1, "b", -1, -1);
    bench_hold_fixed(bench, 1, "c", 10);
    bench_jump(bench, 20);
    assert_int_equal(bench_state(bench, 1, "c"), HF_STATE_LOST);
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    bench_owner_gone(bench, 1);
    assert_lost(bench, HF_LOST_OWNER_GONE);
    assert_ended(waits, HF_CANCELLED);
    bench_undone(bench, bench_take(bench, HFI_UNDO)); /* at once */
    assert_true(hfi_core_idle(bench->core));
    assert_null(hfi_owner_get(bench->core, 1, false));
    hfi_terms_unref(terms);
}

static void a_release_goes_on_when_its_owner_is_gone(void **state)
{
    struct bench *bench = *state;
    struct bench_call *release;

    bench_hold(bench, 1, "a");
    release = bench_unlock(bench, 1, "a");
    bench_owner_gone(bench, 1);
    assert_running(release);
    bench_nil(bench, bench_take(bench, HFI_RELEASE));
    assert_ended(release, HF_OK);
    assert_no_copy(bench);
}

static void a_closed_client_loses_its_holds_and_undoes_them(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = hold_on_terms(bench, 30000, true, 0, 0);
    struct bench_call *call;

    hfi_core_close(bench->core, bench->now);
    bench_tick(bench);
    assert_lost(bench, HF_LOST_CLOSED);
    assert_int_equal(bench_stats(bench).holds, 0);
    assert_false(hfi_core_ended(bench->core));
    bench_undone(bench, bench_take(bench, HFI_UNDO));
    assert_true(hfi_core_ended(bench->core));
    call = bench_unlock(bench, 1, "a");
    assert_ended(call, HF_CLOSED);
    hfi_terms_unref(terms);
}

/* ---- local answers ---- */

static void local_answers_of_what_is_unknown_are_nothing(void **state)
{
    struct bench *bench = *state;
    struct hfi_object a = bench_object("a");
    struct hfi_object b = bench_object("b");
    struct hfi_hold_view view;
    int lock = 0;

    hfi_core_view(bench->core, NULL, &a, bench->now, &view);
    assert_int_equal(view.state, HF_NOT_HELD);
    bench_hold(bench, 1, "a");
    hfi_core_view(bench->core, NULL, &a, bench->now, &view);
    assert_int_equal(view.state, HF_NOT_HELD);
    assert_int_equal(bench_state(bench, 1, "b"), HF_NOT_HELD);
    assert_int_equal(hfi_core_holds_of_lock(bench->core, &lock, &b), 0);
}

static void holds_are_counted_for_the_lock_they_were_taken_with(void **state)
{
    struct bench *bench = *state;
    struct hfi_object a = bench_object("a");
    int lock = 0, other = 0;
    struct hfi_op_request ask = {
        .kind = HFI_OP_ACQUIRE, .lease_ms = 1000, .lock = &lock};
    struct bench_call *call = bench_start(bench, 1, "a", &ask);

    assert_ptr_equal(hfi_op_lock(call->op), &lock);
    assert_int_equal(hfi_op_kind_of(call->op), HFI_OP_ACQUIRE);
    assert_int_equal(hfi_owner_id(hfi_op_owner(call->op)), 1);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_int_equal(hfi_core_holds_of_lock(bench->core, &lock, &a), 1);
    assert_int_equal(hfi_core_holds_of_lock(bench->core, &other, &a), 0);
    assert_true(hfi_owner_busy(hfi_owner_get(bench->core, 1, false)));
    bench_jump(bench, 1000);
    assert_int_equal(bench_state(bench, 1, "a"), HF_STATE_LOST);
    assert_int_equal(hfi_core_holds_of_lock(bench->core, &lock, &a), 0);
    assert_false(hfi_owner_busy(hfi_owner_get(bench->core, 1, false)));
}

static void granted_after_its_max_hold_it_is_not_held(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = bench_terms("a");
    struct hfi_op_request ask = {.kind = HFI_OP_ACQUIRE,
                                 .wait_ms = 60000,
                                 .lease_ms = 30000,
                                 .terms = terms};
    struct bench_call *call;
    struct hfi_copy *copy;

    terms->max_hold_ms = 500;
    call = bench_start(bench, 1, "a", &ask);
    copy = bench_take(bench, HFI_ACQUIRE);
    bench_jump(bench, 500);
    bench_nil(bench, copy);
    assert_running(call);
    bench_take(bench, HFI_UNDO);
    copy = bench_take(bench, HFI_ACQUIRE);
    bench_jump(bench, 499);
    bench_nil(bench, copy);
    assert_ended(call, HF_OK);
    assert_int_equal(bench_remaining(bench, 1, "a"), 1);
}

static int gone;

static void note_gone(void *context)
{
    assert_ptr_equal(context, &gone);
    gone++;
}

/* Whose callbacks they hold may be freed then. */
static void terms_that_nobody_refers_to_say_so_once(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = bench_terms("a");
    struct hfi_op_request ask = {
        .kind = HFI_OP_ACQUIRE, .lease_ms = BENCH_LEASE_MS, .terms = terms};

    terms->gone = note_gone;
    terms->context = &gone;
    gone = 0;
    bench_start(bench, 1, "a", &ask);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_int_equal(gone, 0);
    bench_free(bench, 1, "a");
    assert_int_equal(gone, 1);
}

/* A wait or a lease of centuries is no other than one for ever. */
static void what_is_beyond_all_time_never_comes(void **state)
{
    struct bench *bench = *state;
    struct hfi_terms *terms = bench_terms("a");
    struct hfi_op_request ask = {
        .kind = HFI_OP_ACQUIRE, .lease_ms = BENCH_LEASE_MS, .terms = terms};
    struct bench_call *waits;

    terms->max_hold_ms = INT64_MAX - 5;
    terms->min_hold_ms = INT64_MAX;
    bench_start(bench, 1, "a", &ask);
    bench_nil(bench, bench_take(bench, HFI_ACQUIRE));
    assert_int_equal(bench_remaining(bench, 1, "a"), PROMISE(BENCH_LEASE_MS));
    waits = bench_lock(bench, 2, "a", INT64_MAX - 5);
    bench_pass(bench, 1000);
    assert_running(waits);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)
        TEST(the_margin_is_a_thousandth_and_two_milliseconds),
        TEST(a_fixed_lease_is_lost_at_its_deadline),
        TEST(what_is_past_is_lost_for_whoever_looks_first),
        TEST(unanswered_it_is_suspect_at_half_and_lost_at_the_end),
        TEST(without_a_link_it_is_lost_because_of_the_server),
        TEST(answered_again_it_recovers),
        TEST(an_answer_that_is_late_itself_leaves_it_suspect),
        TEST(stopped_past_its_end_it_has_expired),
        TEST(absent_is_gone_or_taken),
        TEST(max_hold_ends_it_whatever_is_renewed),
        TEST(suspect_and_near_its_max_it_is_warned_of_both),
        TEST(a_max_longer_than_a_fixed_lease_changes_nothing),
        TEST(without_callbacks_nobody_is_told),
        TEST(news_upon_news_is_one_notice),
        TEST(a_lost_number_is_undone_when_its_ttl_has_ended),
        TEST(each_lost_level_is_accounted_for_and_touches_nothing),
        TEST(what_is_answered_after_the_loss_is_not_believed),
        TEST(an_owner_that_is_gone_loses_everything),
        TEST(a_release_goes_on_when_its_owner_is_gone),
        TEST(a_closed_client_loses_its_holds_and_undoes_them),
        TEST(local_answers_of_what_is_unknown_are_nothing),
        TEST(holds_are_counted_for_the_lock_they_were_taken_with),
        TEST(granted_after_its_max_hold_it_is_not_held),
        TEST(terms_that_nobody_refers_to_say_so_once),
        TEST(what_is_beyond_all_time_never_comes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
