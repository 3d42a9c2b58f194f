/* SPDX-License-Identifier: MIT */
/* test_permits_calls.c - permits with leases: names, asynchronous forms, and
 * bad input.
 *
 * Rows: PS-01, PS-21.
 */
#include "permitting.h"

#include <stdio.h>
#include <string.h>

#include "listener.h"

#define NAME "slots"
#define FOREIGN "00112233445566778899aabbccddeeff"

/* ---- the wire ---- */

/* PS-01.  spec: permits/name-1, permits/name-2, permits/message-1 */
static void names_on_the_server_are_those_of_java(void **world)
{
    static const struct {
        const char *name;
        const char *set;
        const char *messages[2];
    } cases[] = {
        {"order:17",
         "{order:17}:timeout",
         {"redisson_sc:{order:17} 5", "redisson_sc:{order:17} 5"}},
        {"{shop}:o",
         "{shop}:o:timeout",
         {"redisson_sc:{shop}:o 5", "redisson_sc:{shop}:o 5"}},
        {"a}b",
         "{a}b}:timeout",
         {"redisson_sc:{a}b} 5", "redisson_sc:{a}b} 5"}},
    };
    struct world *w = *world;
    struct listener *java = listener_new(w->server, "redisson_sc:*");
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        hf_permits *slots = permits_of(w->client, cases[i].name);
        char id[HF_PERMIT_ID_SIZE];

        assert_true(permits_set_to(slots, 5));
        assert_string_equal(listener_hear(java, BOUND_MS),
                            cases[i].messages[0]);
        assert_ok(take_permit(slots, 0, 60000, 1, id));
        assert_int_equal(hft_int(w->server, "GET %s", cases[i].name), 4);
        assert_int_equal(hft_int(w->server, "ZCARD %s", cases[i].set), 1);
        assert_ok(hf_permits_release(slots, id, &problem));
        assert_string_equal(listener_hear(java, BOUND_MS),
                            cases[i].messages[1]);
        hf_permits_free(slots);
    }
    listener_free(java);
}

/* ---- asynchronous ---- */

struct async_end {
    int ended;
    hf_status status;
    char id[HF_PERMIT_ID_SIZE];
    char message[256];
};

static void on_end(const hf_permits_completion *done, void *context)
{
    struct async_end *end = context;

    end->status = done->status;
    snprintf(end->id, sizeof(end->id), "%s", done->id);
    snprintf(end->message, sizeof(end->message), "%s",
             done->error == NULL ? "" : done->error->message);
    end->ended++;
}

static bool dispatched(hf_client *client, const struct async_end *end)
{
    int64_t until = hft_now_ms() + BOUND_MS;

    while (end->ended == 0 && hft_now_ms() < until) {
        hf_client_dispatch(client);
        hft_let_pass_ms(2);
    }
    return end->ended == 1;
}

/* PS-21 */
static void calls_have_asynchronous_forms(void **world)
{
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    hf_acquire how = HF_ACQUIRE_INIT;
    struct async_end taken = {0}, extended = {0}, shortened = {0}, freed = {0},
                     gone = {0};

    (void)hf_client_fd(w->client);
    assert_true(permits_set_to(slots, 1));
    how.lease_ms = 5000;
    how.renew = 0;
    assert_ok(hf_permits_acquire_async(slots, &how, on_end, &taken, &problem));
    assert_true(dispatched(w->client, &taken));
    assert_ok(taken.status);
    assert_true(hf_permits_is_held(slots, taken.id));
    assert_ok(hf_permits_extend_async(slots, taken.id, 60000, on_end, &extended,
                                      &problem));
    assert_true(dispatched(w->client, &extended));
    assert_ok(extended.status);
    assert_ok(hf_permits_set_lease_async(slots, taken.id, 20000, on_end,
                                         &shortened, &problem));
    assert_true(dispatched(w->client, &shortened));
    assert_ok(shortened.status);
    assert_between(hf_permits_remaining_ms(slots, taken.id), 1, 20000);
    assert_ok(
        hf_permits_release_async(slots, taken.id, on_end, &freed, &problem));
    assert_true(dispatched(w->client, &freed));
    assert_ok(freed.status);
    assert_ok(
        hf_permits_release_async(slots, taken.id, on_end, &gone, &problem));
    assert_true(dispatched(w->client, &gone));
    assert_status(HF_GONE, gone.status);
    assert_non_null(strstr(gone.message, NAME ": there is no permit "));
    assert_int_equal(info_of(slots).available, 1);
    hf_permits_free(slots);
}

/* ---- bad input ---- */

static void bad_input_is_refused(void **world)
{
    static const char *const no_ids[] = {"",
                                         "x",
                                         "0011223344556677889",
                                         "00112233445566778899aabbccddeefg",
                                         "00112233445566778899aabbccddeeff0",
                                         "00112233-4455-6677-8899-aabbccddee"};
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    hf_permits *none = NULL;
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_permits_info info = HF_PERMITS_INFO_INIT;
    hf_permits_options options = HF_PERMITS_OPTIONS_INIT;
    char id[HF_PERMIT_ID_SIZE];
    size_t i;

    for (i = 0; i < sizeof(no_ids) / sizeof(no_ids[0]); i++) {
        assert_status(HF_INVALID,
                      hf_permits_release(slots, no_ids[i], &problem));
        assert_status(HF_INVALID,
                      hf_permits_extend(slots, no_ids[i], 1000, &problem));
        assert_status(HF_INVALID,
                      hf_permits_hand_on(slots, no_ids[i], &problem));
        assert_false(hf_permits_is_held(slots, no_ids[i]));
        assert_int_equal(hf_permits_remaining_ms(slots, no_ids[i]), 0);
    }
    assert_status(HF_INVALID, hf_permits_release(slots, NULL, &problem));
    assert_status(HF_INVALID, hf_permits_release(NULL, FOREIGN, &problem));
    assert_status(HF_INVALID, hf_permits_extend(slots, FOREIGN, 9, &problem));
    assert_status(HF_INVALID,
                  hf_permits_extend(slots, FOREIGN, HF_LEASE_NONE, &problem));
    assert_status(HF_INVALID,
                  hf_permits_set_lease(slots, FOREIGN, 9, &problem));
    assert_status(HF_INVALID, hf_permits_set_lease(slots, "x", 1000, &problem));
    assert_status(HF_INVALID, hf_permits_set(slots, -1, &problem));
    assert_status(HF_INVALID, hf_permits_try_set(slots, -1, 0, NULL, &problem));
    assert_status(HF_INVALID, hf_permits_try_set(slots, 1, -1, NULL, &problem));
    assert_status(HF_INVALID,
                  hf_permits_add(slots, INT64_C(1) << 40, NULL, &problem));
    assert_status(HF_INVALID, hf_permits_acquire(slots, NULL, NULL, &problem));
    assert_status(HF_INVALID, hf_permits_acquire(NULL, NULL, id, &problem));
    how.min_hold_ms = 1;
    assert_status(HF_INVALID, hf_permits_acquire(slots, &how, id, &problem));
    how.min_hold_ms = 0;
    how.owner = an_owner(w);
    assert_status(HF_INVALID, hf_permits_acquire(slots, &how, id, &problem));
    how.owner = NULL;
    how.lease_ms = 1;
    assert_status(HF_INVALID, hf_permits_acquire(slots, &how, id, &problem));
    info.size = 1;
    assert_status(HF_INVALID,
                  hf_permits_inspect_remote(slots, &info, &problem));
    assert_status(HF_INVALID,
                  hf_permits_acquire_async(slots, NULL, NULL, NULL, &problem));
    assert_status(HF_INVALID,
                  hf_permits_release_async(slots, "x", on_end, NULL, &problem));
    assert_status(HF_BAD_NAME, hf_permits_new(w->client, "", &none, &problem));
    assert_status(HF_INVALID, hf_permits_new(w->client, "x", NULL, &problem));
    options.size = 3;
    assert_status(HF_INVALID, hf_permits_new_as(w->client, &options, "x", 1,
                                                &none, &problem));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
    assert_ok(hf_permits_free(NULL));
    hf_permits_free(slots);
}

/* spec: permits/key-4 */
static void another_type_is_refused_and_left_alone(void **world)
{
    static const char *const wrong[] = {"SET " NAME " x", "HSET " NAME " a 1",
                                        "LPUSH {" NAME "}:timeout a"};
    struct world *w = *world;
    hf_permits *slots = permits_of(w->client, NAME);
    size_t i;

    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        (void)hft_int(w->server, wrong[i]);
        assert_status(HF_WRONG_TYPE, take_permit(slots, 0, 1000, 0, NULL));
        assert_status(HF_WRONG_TYPE, hf_permits_add(slots, 1, NULL, &problem));
        assert_status(HF_WRONG_TYPE,
                      hf_permits_release(slots, FOREIGN, &problem));
        assert_status(HF_WRONG_TYPE,
                      hf_permits_available(slots, &(int64_t){0}, &problem));
        assert_int_equal(hft_int(w->server, "DBSIZE"), 1);
        (void)hft_int(w->server, "FLUSHALL");
    }
    hf_permits_free(slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(names_on_the_server_are_those_of_java),
        world_test(calls_have_asynchronous_forms),
        world_test(bad_input_is_refused),
        world_test(another_type_is_refused_and_left_alone),
    };

    return cmocka_run_group_tests_name("permits_calls", tests, world_up,
                                       world_down);
}
