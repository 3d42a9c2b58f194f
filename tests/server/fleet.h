/* SPDX-License-Identifier: MIT */
/* fleet.h - several private servers, and groups of locks on them. */
#ifndef TESTS_SERVER_FLEET_H
#define TESTS_SERVER_FLEET_H

#include "world.h"

#define FLEET_MAX 5

/* One client for each of the program's further servers, fresh for each test. */
struct fleet {
    struct hft_server *servers[FLEET_MAX];
    hf_client *clients[FLEET_MAX];
    size_t count;
};
extern struct fleet fleet;

/* Start so many servers, which have a TCP port too if asked for; end them. */
void fleet_start(size_t count, bool tcp);
void fleet_stop(void);

/* Group set-up: the world's server, and so many more. */
int fleet_up(void **world, size_t count);
int fleet_down(void **world);

/* Set-up and tear-down of a test; as world_begin() and world_end().  A server
 * that a test has killed is up again for the next. */
int fleet_begin(void **world);
int fleet_end(void **world);

#define fleet_test(function)                                                   \
    cmocka_unit_test_setup_teardown(function, fleet_begin, fleet_end)

/* A multi lock of names of the world's client; freed after the test.  The list
 * of names ends with NULL. */
hf_group *a_group(struct world *w, hf_client *client, ...)
    __attribute__((sentinel));

/* A multi or a red lock of one name on all servers of the fleet; without
 * options its members may take five seconds to answer. */
hf_group *a_group_of_fleet(struct world *w, const char *name);
hf_group *a_red_lock(struct world *w, const char *name,
                     const hf_red_options *options);
void keep_group(hf_group *group);

/* Calls in short. */
hf_status group_try(hf_group *group, hf_owner *owner);
hf_status group_wait(hf_group *group, hf_owner *owner, int64_t wait_ms);
hf_status group_leave(hf_group *group, hf_owner *owner);

/* On how many servers of the fleet the name is held. */
int fleet_held(const char *name);
bool fleet_held_becomes(const char *name, int count, int64_t bound_ms);
/* Somebody else holds it there. */
void fleet_stranger(size_t at, const char *name, int64_t lease_ms);
void fleet_stranger_leaves(size_t at, const char *name);

#endif
