/* SPDX-License-Identifier: MIT */
/* scene.h - two clients, one lock, leases of seconds, and fair weather: what
 * the scenes that are told by hand begin with. */
#ifndef SIM_SCENE_H
#define SIM_SCENE_H

#include "sim/world.h"

#define SCENE_RESPONSE_MS 1500
#define SCENE_RETRY_MS 1000
#define SCENE_LEASE_MS 3000

struct scene {
    struct sim_world *world;
    struct sim_client *one, *two;
    struct sim_owner *a, *b, *c; /* a and c are of `one` */
};

struct scene scene_begin(void);
struct scene scene_begin_at(int64_t drift_ppm);
/* Fails the test if an invariant is broken. */
void scene_whole(const struct scene *scene);
void scene_pass(struct scene *scene, int64_t ms);
/* Everybody has let go: all is over, and nothing remains. */
void scene_end(struct scene *scene);
struct sim_call *scene_take(struct sim_owner *owner, int64_t wait_ms,
                            int64_t lease_ms, bool fixed);
struct sim_call *scene_let_go(struct sim_owner *owner);
/* The same of a kind, with a lease that is renewed. */
struct sim_call *scene_take_as(struct sim_owner *owner,
                               const struct hfi_kind *kind, int64_t wait_ms);
struct sim_call *scene_let_go_as(struct sim_owner *owner,
                                 const struct hfi_kind *kind);
/* Two clients whose lock is of this sort. */
struct scene scene_begin_with(enum sim_sort sort);
/* Ask for it on a main link that holds it up, and cut that: a copy will be late
 * by so much, the next goes by another link and is answered. */
struct sim_call *scene_ask_twice(struct scene *scene, struct sim_owner *owner,
                                 const struct hfi_kind *kind, int64_t late_ms);
/* Take the lock, and see it granted. */
void scene_hold(struct scene *scene, struct sim_owner *owner);
void scene_ended_with(const struct sim_call *call, hf_status status);
struct sim_wire *scene_wire(struct sim_client *client, size_t link);
bool scene_believes(const struct sim_owner *owner);

#endif
