/* SPDX-License-Identifier: MIT */
/* fleet.c - several private servers, and groups of locks on them. */
#include "fleet.h"

#include <stdio.h>
#include <string.h>

struct fleet fleet;

static hf_group *groups[256];
static size_t group_count;

void fleet_start(size_t count, bool tcp)
{
    const struct hft_server_options options = {.tcp = tcp};

    fleet.count = count;
    for (size_t i = 0; i < count; i++) {
        fleet.servers[i] = hft_server_start(&options);
    }
}

void fleet_stop(void)
{
    for (size_t i = 0; i < fleet.count; i++) {
        hft_server_free(fleet.servers[i]);
    }
}

int fleet_up(void **world, size_t count)
{
    fleet_start(count, false);
    return world_up(world);
}

int fleet_down(void **world)
{
    fleet_stop();
    return world_down(world);
}

int fleet_begin(void **world)
{
    hf_options options = short_options();
    int result = world_begin(world);

    for (size_t i = 0; i < fleet.count; i++) {
        if (hft_server_pid(fleet.servers[i]) == 0) {
            hft_server_start_again(fleet.servers[i]);
        }
        (void)hft_int(fleet.servers[i], "FLUSHALL");
        fleet.clients[i] = a_client_at(*world, hft_server_url(fleet.servers[i]),
                                       &options);
    }
    return result;
}

int fleet_end(void **world)
{
    int result = world_end(world);

    while (group_count > 0) {
        assert_ok(hf_group_free(groups[--group_count]));
    }
    return result;
}

void keep_group(hf_group *group)
{
    assert_true(group_count < sizeof(groups) / sizeof(groups[0]));
    groups[group_count++] = group;
}

hf_group *a_group(struct world *w, hf_client *client, ...)
{
    hf_lock *locks[16];
    hf_group *group = NULL;
    const char *name;
    size_t count = 0;
    va_list names;

    va_start(names, client);
    while ((name = va_arg(names, const char *)) != NULL) {
        locks[count++] = a_lock_of(w, client, name);
    }
    va_end(names);
    assert_ok(hf_multi_lock_new(locks, count, &group, &problem));
    keep_group(group);
    return group;
}

static void fleet_locks(struct world *w, const char *name, hf_lock **ret_locks)
{
    for (size_t i = 0; i < fleet.count; i++) {
        ret_locks[i] = a_lock_of(w, fleet.clients[i], name);
    }
}

hf_group *a_group_of_fleet(struct world *w, const char *name)
{
    hf_lock *locks[FLEET_MAX];
    hf_group *group = NULL;

    fleet_locks(w, name, locks);
    assert_ok(hf_multi_lock_new(locks, fleet.count, &group, &problem));
    keep_group(group);
    return group;
}

hf_group *a_red_lock(struct world *w, const char *name,
                     const hf_red_options *options)
{
    hf_red_options patient = HF_RED_INIT;
    hf_lock *locks[FLEET_MAX];
    hf_group *group = NULL;

    /* A loaded machine's servers are not to pass for stalled ones. */
    patient.member_limit_ms = 5000;
    options = options == NULL ? &patient : options;
    fleet_locks(w, name, locks);
    assert_ok(hf_red_lock_new(locks, fleet.count, options, &group, &problem));
    keep_group(group);
    return group;
}

hf_status group_try(hf_group *group, hf_owner *owner)
{
    return group_wait(group, owner, 0);
}

hf_status group_wait(hf_group *group, hf_owner *owner, int64_t wait_ms)
{
    hf_acquire how = once(owner, 0);

    how.wait_ms = wait_ms;
    return hf_group_acquire(group, &how, NULL, &problem);
}

hf_status group_leave(hf_group *group, hf_owner *owner)
{
    return hf_group_release(group, owner, NULL, &problem);
}

int fleet_held(const char *name)
{
    int held = 0;

    for (size_t i = 0; i < fleet.count; i++) {
        if (hft_server_pid(fleet.servers[i]) != 0) {
            held += (int)hft_int(fleet.servers[i], "EXISTS %s", name);
        }
    }
    return held;
}

struct expected {
    const char *name;
    int count;
};

static bool is_as_expected(void *context)
{
    const struct expected *expected = context;

    return fleet_held(expected->name) == expected->count;
}

bool fleet_held_becomes(const char *name, int count, int64_t bound_ms)
{
    struct expected expected = {name, count};

    return hft_wait_until(is_as_expected, &expected, bound_ms);
}

void fleet_stranger(size_t at, const char *name, int64_t lease_ms)
{
    (void)hft_int(fleet.servers[at], "HSET %s %s 1", name, STRANGER);
    (void)hft_int(fleet.servers[at], "PEXPIRE %s %lld", name,
                  (long long)lease_ms);
}

void fleet_stranger_leaves(size_t at, const char *name)
{
    char channel[128];

    (void)snprintf(channel, sizeof(channel), "redisson_lock__channel:{%s}",
                   name);
    (void)hft_int(fleet.servers[at], "DEL %s", name);
    (void)hft_int(fleet.servers[at], "PUBLISH %s 0", channel);
}
