/* SPDX-License-Identifier: MIT */
/* process.c - a program: a client of every server, its groups and owners. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/groups/world.h"
#include "support/fatal.h"

#define RESPONSE_LIMIT_MS 1500
#define CONNECT_LIMIT_MS 1000
#define RETRY_BOUND_MS 1000

static void must(hf_status status, const char *what)
{
    if (status != HF_OK) {
        hft_die("the simulated program cannot %s: %s", what,
                hf_status_text(status));
    }
}

/* Some programs call the servers by names of another order. */
static void open_client(struct gw_process *process, size_t server)
{
    struct gw_client *own = &process->clients[server];
    hf_options options = HF_OPTIONS_INIT;
    size_t letter = gw->options.disagreeing && process->index % 2 == 1
                        ? GW_SERVERS - server
                        : server;
    char url[32];

    options.response_limit_ms = RESPONSE_LIMIT_MS;
    options.connect_limit_ms = CONNECT_LIMIT_MS;
    options.retry_bound_ms = RETRY_BOUND_MS;
    snprintf(url, sizeof(url), "unix:/%c", (char)('a' + letter));
    own->process = process;
    own->server = &gw->servers[server];
    own->tick_us = GW_NEVER;
    gw->opening = own;
    must(hf_client_open(url, &options, &own->client, NULL), "open a client");
    gw->opening = NULL;
    (void)hf_client_fd(own->client); /* it is dispatched */
}

static hf_group *make_group(struct gw_process *process,
                            const struct gw_def *def)
{
    hf_lock *locks[GW_MEMBERS];
    hf_group *group = NULL;

    for (size_t i = 0; i < def->count; i++) {
        hf_lock_options options = HF_LOCK_OPTIONS_INIT;
        char name[8];

        options.kind = gw->kind[def->name[i]];
        snprintf(name, sizeof(name), "L%zu", def->name[i]);
        must(hf_lock_new_as(process->clients[def->server[i]].client, &options,
                            name, strlen(name), &locks[i], NULL),
             "make a lock");
    }
    must(gw->options.red
             ? hf_red_lock_new(locks, def->count, NULL, &group, NULL)
             : hf_multi_lock_new(locks, def->count, &group, NULL),
         "make a group");
    for (size_t i = 0; i < def->count; i++) {
        must(hf_lock_free(locks[i]), "free a lock");
    }
    return group;
}

static void make_user(struct gw_process *process, size_t index)
{
    struct gw_user *user = &process->users[index];
    const struct gw_def *def;
    hf_client *home;

    assert(gw->def_count > 0);
    user->process = process;
    user->index = index;
    user->of = (process->index + index) % gw->def_count;
    def = &gw->defs[user->of];
    home = process->clients[def->server[0]].client;
    user->group = process->groups[user->of];
    must(hf_owner_new(home, &user->owner, NULL), "make an owner");
    must(hf_cancel_new(home, &user->cancel, NULL), "make a token");
    for (size_t i = 0; i < GW_MEMBERS; i++) {
        user->unwanted_us[i] = GW_NEVER;
    }
}

struct gw_process *gw_process_new(void)
{
    struct gw_process *process = hft_alloc(sizeof(*process));

    process->index = gw->process_count++;
    process->base_us = gw_between(1, 1000000000);
    process->drift_ppm = gw_between(-450, 450);
    process->next = gw->processes;
    gw->processes = process;
    gw->acting = process;
    for (size_t i = 0; i < gw->options.servers; i++) {
        open_client(process, i);
    }
    process->alive = true;
    for (size_t i = 0; i < gw->def_count; i++) {
        process->groups[i] = make_group(process, &gw->defs[i]);
    }
    for (size_t i = 0; i < gw->options.users; i++) {
        make_user(process, i);
    }
    gw_after(process);
    gw->acting = NULL;
    return process;
}

/* A kill -9: nothing is said to anybody any more.  What it leaves behind in
 * memory is freed as if it closed, with every word lost. */
void gw_process_kill(struct gw_process *process)
{
    struct gw_process *acted = gw->acting;

    if (!process->alive) {
        return;
    }
    process->alive = false;
    gw->acting = process;
    for (size_t i = 0; i < gw->options.servers; i++) {
        (void)hf_client_close(process->clients[i].client);
    }
    gw_process_free(process);
    gw->acting = acted;
}

static void forget_calls(struct gw_user *user)
{
    struct gw_call *call;

    while ((call = user->calls) != NULL) {
        user->calls = call->next;
        free(call);
    }
}

void gw_process_free(struct gw_process *process)
{
    for (size_t i = 0; i < gw->options.users; i++) {
        struct gw_user *user = &process->users[i];

        forget_calls(user);
        hf_cancel_free(user->cancel);
        (void)hf_owner_free(user->owner);
        user->believes = false;
    }
    for (size_t i = 0; i < gw->def_count; i++) {
        if (hf_group_free(process->groups[i]) != HF_OK) {
            gw_break("nothing_remains", "a closed program's group is in use");
        }
    }
    for (size_t i = 0; i < gw->options.servers; i++) {
        process->clients[i].client = NULL;
    }
}

void gw_process_stop(struct gw_process *process, int64_t ms)
{
    if (gw->now_us + ms * 1000 > process->stopped_us) {
        process->stopped_us = gw->now_us + ms * 1000;
    }
    process->resumed_us = process->stopped_us;
    for (size_t i = 0; i < gw->options.users; i++) {
        struct gw_call *call;

        for (call = process->users[i].calls; call != NULL; call = call->next) {
            call->disturbed = true;
        }
    }
    gw_say("P%zu    is stopped for %lld ms", process->index, (long long)ms);
}
