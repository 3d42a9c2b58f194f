/* SPDX-License-Identifier: MIT */
/* test_scenes_fair.c - the queue of a fair lock, by hand: heads that are dead
 * or have lost their score, a waiter who leaves the middle, the very moment at
 * which one counts as dead, and a Java program in between.
 *
 * The invariants are looked at after every event (queue_order, queue_swept,
 * nothing_left); a scene adds what it is to lead to.  `a` and `c` are of one
 * client, `b` of another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "scripts_data.h"
#include "sim/scene.h"

#define FAIR (&hfi_kind_fair)
#define FOR_LONG 60000

/* One has it, the others wait in their order. */
static struct scene begin(struct sim_call **ret_b, struct sim_call **ret_c)
{
    struct scene scene = scene_begin_with(SIM_FAIR);
    struct sim_call *holder = scene_take_as(scene.a, FAIR, 0);

    scene_pass(&scene, 20);
    scene_ended_with(holder, HF_OK);
    *ret_b = scene_take_as(scene.b, FAIR, FOR_LONG);
    scene_pass(&scene, 20);
    *ret_c = scene_take_as(scene.c, FAIR, FOR_LONG);
    scene_pass(&scene, 20);
    assert_int_equal(scene.world->locks[0].queue.count, 2);
    return scene;
}

static void lets_go(struct scene *scene, struct sim_owner *owner)
{
    struct sim_call *call = scene_let_go_as(owner, FAIR);

    scene_pass(scene, 20);
    scene_ended_with(call, HF_OK);
}

/* The owner's entry of a place in the queue. */
static void entry_of(const struct scene *scene, size_t at, char *buf,
                     size_t size)
{
    const struct sim_place *place = &scene->world->locks[0].queue.place[at];

    snprintf(buf, size, "%s:%llu", scene->world->clients[place->client]->uuid,
             (unsigned long long)place->n);
}

static void a_dead_head_costs_the_time_for_which_it_counts_as_alive(
    void **state)
{
    struct sim_call *b, *c;
    struct scene scene = begin(&b, &c);
    int64_t dead_ms = scene.world->locks[0].options.dead_ms;

    (void)state;
    sim_client_kill(scene.two);
    lets_go(&scene, scene.a);
    scene_pass(&scene, dead_ms / 2);
    assert_false(c->ended);
    scene_pass(&scene, dead_ms / 2 + SCENE_RETRY_MS + 100);
    scene_ended_with(c, HF_OK);
    lets_go(&scene, scene.c);
    scene_end(&scene);
}

static void who_leaves_the_middle_leaves_nothing(void **state)
{
    struct sim_call *b, *c, *last;
    struct scene scene = begin(&b, &c);
    struct sim_owner *d = sim_owner_new(scene.two);

    (void)state;
    last = scene_take_as(d, FAIR, FOR_LONG);
    scene_pass(&scene, 20);
    sim_cancel(c);
    scene_pass(&scene, 20);
    scene_ended_with(c, HF_CANCELLED);
    assert_int_equal(scene.world->locks[0].queue.count, 2);
    lets_go(&scene, scene.a);
    scene_ended_with(b, HF_OK);
    lets_go(&scene, scene.b);
    scene_ended_with(last, HF_OK);
    lets_go(&scene, d);
    scene_end(&scene);
}

static void a_head_without_a_score_keeps_its_turn(void **state)
{
    struct sim_call *b, *c;
    struct scene scene = begin(&b, &c);
    struct sim_world *world = scene.world;
    char head[64];

    (void)state;
    entry_of(&scene, 0, head, sizeof(head));
    (void)sim_server_run(world->server, sim_server_ms(world), "ZREM",
                         world->locks[0].names.scores, head, NULL);
    sim_images_read(world);
    lets_go(&scene, scene.a);
    scene_ended_with(b, HF_OK);
    lets_go(&scene, scene.b);
    scene_ended_with(c, HF_OK);
    lets_go(&scene, scene.c);
    scene_end(&scene);
}

/* As one of ours does who held nothing and did not wait: a sweep. */
static size_t waiting_after_a_sweep_at(struct sim_world *world,
                                       int64_t server_ms)
{
    const struct sim_lock *lock = &world->locks[0];

    (void)sim_server_run(world->server, server_ms, "EVAL",
                         hfi_scripts[HFI_SCRIPT_FAIR_UNDO].text, "7",
                         lock->name, lock->names.queue, lock->names.scores,
                         lock->names.alive, lock->names.waits, "members",
                         "scratch", "nobody:1", lock->names.channel, NULL);
    sim_images_read(world);
    return lock->queue.count;
}

/* spec: fair/sweep-1, fair/sweep-2 */
static void at_its_last_millisecond_a_waiter_is_dead_and_not_before(
    void **state)
{
    struct sim_call *b, *c;
    struct scene scene = begin(&b, &c);
    struct sim_world *world = scene.world;
    int64_t now = sim_server_ms(world);
    char head[64], until[24];

    (void)state;
    entry_of(&scene, 0, head, sizeof(head));
    snprintf(until, sizeof(until), "%lld", (long long)now + 1);
    (void)sim_server_run(world->server, now, "ZADD",
                         world->locks[0].names.alive, until, head, NULL);
    assert_int_equal(waiting_after_a_sweep_at(world, now), 2);
    assert_int_equal(waiting_after_a_sweep_at(world, now + 1), 1);
    /* It queues again when it asks, behind the one who was second. */
    scene_pass(&scene, SCENE_RETRY_MS + 100);
    assert_int_equal(world->locks[0].queue.count, 2);
    lets_go(&scene, scene.a);
    scene_ended_with(c, HF_OK);
    assert_false(b->ended);
    lets_go(&scene, scene.c);
    scene_ended_with(b, HF_OK);
    lets_go(&scene, scene.b);
    scene_end(&scene);
}

/* spec: fair/java-1 */
static void a_java_thread_is_served_in_its_turn(void **state)
{
    struct sim_call *b, *c, *last;
    struct scene scene = begin(&b, &c);
    struct sim_owner *d = sim_owner_new(scene.two);

    (void)state;
    assert_true(sim_java_waits(scene.world, 0, FOR_LONG, 200));
    last = scene_take_as(d, FAIR, FOR_LONG);
    scene_pass(&scene, 200);
    lets_go(&scene, scene.a);
    lets_go(&scene, scene.b);
    scene_ended_with(c, HF_OK);
    lets_go(&scene, scene.c);
    scene_pass(&scene, 60);
    assert_int_equal(scene.world->locks[0].java, SIM_JAVA_HOLDS);
    assert_false(last->ended);
    scene_pass(&scene, 200 + SCENE_RETRY_MS);
    scene_ended_with(last, HF_OK);
    lets_go(&scene, d);
    scene_end(&scene);
}

/* spec: fair/java-2 */
static void a_java_thread_that_was_killed_is_waited_for_until_its_score(
    void **state)
{
    struct sim_call *b, *c, *last;
    struct scene scene;

    (void)state;
    scene = scene_begin_with(SIM_FAIR);
    scene.world->locks[0].options.queue_wait_ms = 6000;
    last = scene_take_as(scene.a, FAIR, 0);
    scene_pass(&scene, 20);
    assert_true(sim_java_waits(scene.world, 0, FOR_LONG, 200));
    b = scene_take_as(scene.b, FAIR, FOR_LONG);
    c = scene_take_as(scene.c, FAIR, FOR_LONG);
    scene_pass(&scene, 100);
    scene_ended_with(last, HF_OK);
    sim_java_is_killed(scene.world, 0);
    lets_go(&scene, scene.a);
    scene_pass(&scene, 6000);
    assert_false(b->ended);
    scene_pass(&scene, SCENE_LEASE_MS + SCENE_RETRY_MS);
    scene_ended_with(b, HF_OK);
    lets_go(&scene, scene.b);
    scene_ended_with(c, HF_OK);
    lets_go(&scene, scene.c);
    scene_end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_dead_head_costs_the_time_for_which_it_counts_as_alive),
        cmocka_unit_test(who_leaves_the_middle_leaves_nothing),
        cmocka_unit_test(a_head_without_a_score_keeps_its_turn),
        cmocka_unit_test(
            at_its_last_millisecond_a_waiter_is_dead_and_not_before),
        cmocka_unit_test(a_java_thread_is_served_in_its_turn),
        cmocka_unit_test(
            a_java_thread_that_was_killed_is_waited_for_until_its_score),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
