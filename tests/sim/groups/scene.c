/* SPDX-License-Identifier: MIT */
/* scene.c - what the scenes of groups have in common. */
#include "sim/groups/scene.h"

static struct gw_world *begin(size_t servers, bool red)
{
    struct gw_options options = gw_options_default(1);
    struct gw_world *world;

    options.red = red;
    options.servers = servers;
    options.users = 1;
    options.disagreeing = false;
    world = gw_new(&options);
    world->weather = (struct gw_weather){.base_us = 100, .extra_us = 1};
    world->def_count = 1;
    world->defs[0] = (struct gw_def){.count = servers};
    for (size_t i = 0; i < servers; i++) {
        world->defs[0].server[i] = i;
        world->defs[0].bits |= UINT64_C(1) << (i * GW_NAMES);
    }
    return world;
}

struct gw_world *scene_red(size_t servers)
{
    return begin(servers, true);
}

struct gw_world *scene_multi(size_t servers)
{
    return begin(servers, false);
}

void scene_pass(int64_t ms)
{
    if (!gw_pass_ms(ms)) {
        fail_msg("%s: %s", gw->broken, gw->text);
    }
}

/* Each server knows its scripts afterwards. */
struct gw_user *scene_user(void)
{
    struct gw_user *user = &gw_process_new()->users[0];

    scene_pass(20);
    scene_hold(user);
    scene_ends(gw_release(user), HF_OK, 20);
    return user;
}

struct gw_call *scene_take(struct gw_user *user, int64_t wait_ms)
{
    struct gw_how how = {.wait_ms = wait_ms, .lease_ms = SCENE_LEASE_MS};

    return gw_acquire(user, &how);
}

void scene_hold(struct gw_user *user)
{
    scene_ends(scene_take(user, 0), HF_OK, 20);
}

void scene_ends(const struct gw_call *call, hf_status status, int64_t ms)
{
    while (!call->ended && ms-- > 0) {
        scene_pass(1);
    }
    assert_true(call->ended);
    assert_string_equal(hf_status_text(call->status), hf_status_text(status));
}

size_t scene_alive(const struct gw_user *user)
{
    uint64_t bits;

    return gw_alive(user, &bits);
}

bool scene_is_locked(size_t server)
{
    return sim_key_find(sim_server_db(gw->servers[server].model, 0), "L0",
                        gw_server_ms(&gw->servers[server])) != NULL;
}

void scene_end(struct gw_world *world)
{
    assert_null(world->broken);
    gw_free(world);
}
