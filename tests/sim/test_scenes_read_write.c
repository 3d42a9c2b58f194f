/* SPDX-License-Identifier: MIT */
/* test_scenes_read_write.c - readers and writers, by hand: late copies, dead
 * readers, downgrades, and a Java program beside them.
 *
 * The invariants are looked at after every event; a scene adds what it is to
 * lead to.  `a` and `c` are of one client, `b` of another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/scene.h"

#define READ (&hfi_kind_read)
#define WRITE (&hfi_kind_write)

static struct scene begin(void)
{
    return scene_begin_with(SIM_READ_WRITE);
}

static struct sim_call *is_granted(struct scene *scene, struct sim_owner *owner,
                                   const struct hfi_kind *kind)
{
    struct sim_call *call = scene_take_as(owner, kind, 0);

    scene_pass(scene, 20);
    scene_ended_with(call, HF_OK);
    return call;
}

static void gives_back(struct scene *scene, struct sim_owner *owner,
                       const struct hfi_kind *kind)
{
    struct sim_call *call = scene_let_go_as(owner, kind);

    scene_pass(scene, 20);
    scene_ended_with(call, HF_OK);
}

static void readers_share_and_all_wake_at_once(void **state)
{
    struct scene scene = begin();
    struct sim_call *one, *two;

    (void)state;
    is_granted(&scene, scene.a, WRITE);
    one = scene_take_as(scene.b, READ, 3000);
    two = scene_take_as(scene.c, READ, 3000);
    scene_pass(&scene, 100);
    assert_false(one->ended || two->ended);
    gives_back(&scene, scene.a, WRITE);
    scene_ended_with(one, HF_OK);
    scene_ended_with(two, HF_OK);
    gives_back(&scene, scene.b, READ);
    gives_back(&scene, scene.c, READ);
    scene_end(&scene);
}

static void a_downgrade_lets_waiting_readers_in(void **state)
{
    struct scene scene = begin();
    struct sim_call *reader, *writer;

    (void)state;
    is_granted(&scene, scene.a, WRITE);
    is_granted(&scene, scene.a, READ);
    reader = scene_take_as(scene.b, READ, 3000);
    writer = scene_take_as(scene.c, WRITE, 3000);
    scene_pass(&scene, 100);
    gives_back(&scene, scene.a, WRITE);
    scene_ended_with(reader, HF_OK);
    assert_false(writer->ended);
    gives_back(&scene, scene.a, READ);
    gives_back(&scene, scene.b, READ);
    scene_ended_with(writer, HF_OK);
    gives_back(&scene, scene.c, WRITE);
    scene_end(&scene);
}

static void who_reads_is_refused_to_write(void **state)
{
    struct scene scene = begin();
    struct sim_call *call;

    (void)state;
    is_granted(&scene, scene.a, READ);
    call = scene_take_as(scene.a, WRITE, 3000);
    scene_pass(&scene, 5);
    scene_ended_with(call, HF_UPGRADE);
    gives_back(&scene, scene.a, READ);
    scene_end(&scene);
}

/* The old copy would read beside the writer who came in the meantime. */
static void an_old_copy_of_a_read_leaves_nothing(void **state)
{
    struct scene scene = begin();

    (void)state;
    scene_ended_with(scene_ask_twice(&scene, scene.a, READ, 600), HF_OK);
    gives_back(&scene, scene.a, READ);
    is_granted(&scene, scene.b, WRITE);
    scene_pass(&scene, 2000);
    assert_int_equal(scene.world->locks[0].image.fields, 1);
    gives_back(&scene, scene.b, WRITE);
    scene_end(&scene);
}

/* ... and does not come in again beside other readers either. */
static void an_old_copy_of_a_read_does_not_keep_writers_out(void **state)
{
    struct scene scene = begin();
    struct sim_call *writer;

    (void)state;
    scene_ended_with(scene_ask_twice(&scene, scene.a, READ, 300), HF_OK);
    is_granted(&scene, scene.b, READ);
    gives_back(&scene, scene.a, READ);
    scene_pass(&scene, 2000);
    writer = scene_take_as(scene.c, WRITE, 1000);
    gives_back(&scene, scene.b, READ);
    scene_ended_with(writer, HF_OK);
    gives_back(&scene, scene.c, WRITE);
    scene_end(&scene);
}

/* He keeps what he was promised, and nothing by the leases of others. */
static void a_dead_reader_keeps_writers_out_for_his_lease_alone(void **state)
{
    struct scene scene = begin();
    struct sim_call *writer;

    (void)state;
    is_granted(&scene, scene.a, READ);
    is_granted(&scene, scene.b, READ);
    sim_client_kill(scene.two);
    scene_pass(&scene, SCENE_LEASE_MS);
    writer = scene_take_as(scene.c, WRITE, 1000);
    scene_pass(&scene, 100);
    assert_false(writer->ended); /* `a` reads on */
    gives_back(&scene, scene.a, READ);
    scene_ended_with(writer, HF_OK);
    gives_back(&scene, scene.c, WRITE);
    scene_end(&scene);
}

static void who_writes_and_reads_hands_on_neither(void **state)
{
    struct scene scene = begin();
    struct sim_ask hand_on = {.what = SIM_EXPORT, .kind = WRITE};
    struct sim_call *call;

    (void)state;
    is_granted(&scene, scene.a, WRITE);
    is_granted(&scene, scene.a, READ);
    call = sim_ask(scene.a, &hand_on, NULL);
    scene_pass(&scene, 20);
    scene_ended_with(call, HF_NOT_DONE);
    gives_back(&scene, scene.a, READ);
    gives_back(&scene, scene.a, WRITE);
    scene_end(&scene);
}

/* It sets the TTL of all to its own period, and takes nobody's time. */
static void a_java_readers_watchdog_costs_nobody_his_promise(void **state)
{
    struct scene scene = begin();
    struct sim_ask take = {
        .what = SIM_ACQUIRE, .kind = READ, .lease_ms = 60000, .fixed = true};

    (void)state;
    (void)sim_ask(scene.a, &take, NULL);
    scene_pass(&scene, 20);
    assert_true(sim_java_reads(scene.world, 0, 45000));
    scene_pass(&scene, 50000);
    assert_true(scene_believes(scene.a));
    gives_back(&scene, scene.a, READ);
    scene_end(&scene);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(readers_share_and_all_wake_at_once),
        TEST(a_downgrade_lets_waiting_readers_in),
        TEST(who_reads_is_refused_to_write),
        TEST(an_old_copy_of_a_read_leaves_nothing),
        TEST(an_old_copy_of_a_read_does_not_keep_writers_out),
        TEST(a_dead_reader_keeps_writers_out_for_his_lease_alone),
        TEST(who_writes_and_reads_hands_on_neither),
        TEST(a_java_readers_watchdog_costs_nobody_his_promise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
