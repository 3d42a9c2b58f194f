/* SPDX-License-Identifier: MIT */
/* scene.c - what scenes told by hand share. */
#include "sim/scene.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "sim/mutate.h"

struct scene scene_begin_at(int64_t drift_ppm)
{
    struct sim_options options = sim_options_default(1);
    struct scene scene;

    options.drift_ppm = drift_ppm;
    options.weather = (struct sim_weather){
        .late_ms = 1, .slow_ms = 1, .base_us = 100, .extra_us = 0};
    (void)sim_mutate("none");
    scene.world = sim_world_new(&options);
    scene.one = sim_client_ready_with(scene.world, SCENE_RESPONSE_MS,
                                      SCENE_RETRY_MS);
    scene.two = sim_client_ready_with(scene.world, SCENE_RESPONSE_MS,
                                      SCENE_RETRY_MS);
    sim_scripts_known(scene.one);
    scene.a = sim_owner_new(scene.one);
    scene.b = sim_owner_new(scene.two);
    scene.c = sim_owner_new(scene.one);
    return scene;
}

struct scene scene_begin(void)
{
    return scene_begin_at(0);
}

void scene_whole(const struct scene *scene)
{
    const struct sim_broken *broken = &scene->world->broken;

    if (broken->invariant != NULL) {
        fail_msg("%s broken: %s", broken->invariant, broken->text);
    }
}

void scene_end(struct scene *scene)
{
    (void)sim_pass_ms(scene->world, 60000);
    sim_nothing_remains(scene->world);
    scene_whole(scene);
    sim_world_free(scene->world);
}

void scene_pass(struct scene *scene, int64_t ms)
{
    (void)sim_pass_ms(scene->world, ms);
    scene_whole(scene);
}

struct sim_call *scene_take(struct sim_owner *owner, int64_t wait_ms,
                            int64_t lease_ms, bool fixed)
{
    struct sim_ask how = {.what = SIM_ACQUIRE,
                          .wait_ms = wait_ms,
                          .lease_ms = lease_ms,
                          .fixed = fixed};

    return sim_ask(owner, &how, NULL);
}

struct sim_call *scene_let_go(struct sim_owner *owner)
{
    struct sim_ask how = {.what = SIM_RELEASE};

    return sim_ask(owner, &how, NULL);
}

void scene_hold(struct scene *scene, struct sim_owner *owner)
{
    struct sim_call *call = scene_take(owner, 0, SCENE_LEASE_MS, false);

    scene_pass(scene, 20);
    assert_true(call->ended);
    assert_int_equal(call->status, HF_OK);
}

void scene_ended_with(const struct sim_call *call, hf_status status)
{
    assert_true(call->ended);
    assert_int_equal(call->status, status);
}

struct sim_wire *scene_wire(struct sim_client *client, size_t link)
{
    return client->links[link].wire;
}

bool scene_believes(const struct sim_owner *owner)
{
    return sim_levels(owner, 0) > 0;
}

struct scene scene_begin_with(enum sim_sort sort)
{
    struct scene scene = scene_begin();

    scene.world->locks[0].sort = sort;
    return scene;
}

struct sim_call *scene_take_as(struct sim_owner *owner,
                               const struct hfi_kind *kind, int64_t wait_ms)
{
    struct sim_ask how = {.what = SIM_ACQUIRE,
                          .kind = kind,
                          .wait_ms = wait_ms,
                          .lease_ms = SCENE_LEASE_MS};

    return sim_ask(owner, &how, NULL);
}

struct sim_call *scene_let_go_as(struct sim_owner *owner,
                                 const struct hfi_kind *kind)
{
    struct sim_ask how = {.what = SIM_RELEASE, .kind = kind};

    return sim_ask(owner, &how, NULL);
}

struct sim_call *scene_ask_twice(struct scene *scene, struct sim_owner *owner,
                                 const struct hfi_kind *kind, int64_t late_ms)
{
    struct sim_client *client = owner->client;
    struct sim_call *call;

    sim_wire_stall(scene_wire(client, HFI_LINK_MAIN), true, late_ms);
    call = scene_take_as(owner, kind, 4000);
    scene_pass(scene, 5);
    sim_link_end_of_file(&client->links[HFI_LINK_MAIN]);
    scene_pass(scene, 100);
    return call;
}
