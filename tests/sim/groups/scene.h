/* SPDX-License-Identifier: MIT */
/* scene.h - a stage for groups, on which nothing happens by chance. */
#ifndef SIM_GROUPS_SCENE_H
#define SIM_GROUPS_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/groups/world.h"

#define SCENE_LEASE_MS 10000

/* A red lock over so many servers, or one multi lock with a member on each;
 * every program has one user. */
struct gw_world *scene_red(size_t servers);
struct gw_world *scene_multi(size_t servers);
/* Another program, connected. */
struct gw_user *scene_user(void);
void scene_pass(int64_t ms);
struct gw_call *scene_take(struct gw_user *user, int64_t wait_ms);
/* ... and it is his in a moment. */
void scene_hold(struct gw_user *user);
/* It ends with that within so many ms. */
void scene_ends(const struct gw_call *call, hf_status status, int64_t ms);
size_t scene_alive(const struct gw_user *user);
/* The lock of that name on a server has a field. */
bool scene_is_locked(size_t server);
void scene_end(struct gw_world *world);

#endif
