/* SPDX-License-Identifier: MIT */
/* both.c - what the tests of this folder stand on; see both.h. */
#include "both.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/child.h"
#include "support/fatal.h"

static struct world *the_world;

void both_begin(int argc, char **argv)
{
    const struct hft_server_options options = {.tcp = true};

    java_choose(argc, argv);
    the_world = hft_alloc(sizeof(*the_world));
    the_world->server = hft_server_start(&options);
    java_start();
}

void both_end(void)
{
    void *world = the_world;

    java_stop();
    (void)world_down(&world);
}

int both_up(void **world)
{
    *world = the_world;
    java_open(the_world, "a", "watchdog=3000");
    java_open(the_world, "b", "watchdog=3000");
    return 0;
}

int both_down(void **world)
{
    (void)world;
    assert_java("ok", java_ask("a close"));
    assert_java("ok", java_ask("b close"));
    return 0;
}

void java_open(struct world *w, const char *client, const char *options)
{
    assert_java("ok", java_ask("%s open redis://127.0.0.1:%d %s", client,
                               hft_server_port(w->server), options));
}

hf_client *a_patient_client(struct world *w)
{
    hf_options options = short_options();

    options.retry_bound_ms = HOLD_MS;
    return a_client_at(w, hft_server_url(w->server), &options);
}

hf_lock *a_lock_of_kind(struct world *w, hf_client *client, hf_kind kind,
                        const char *name)
{
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    hf_lock *lock = NULL;

    options.kind = kind;
    assert_ok(
        hf_lock_new_as(client, &options, name, strlen(name), &lock, &problem));
    keep_lock(w, lock);
    return lock;
}

static bool java_thread_waits(void *thread)
{
    return strcmp(java_ask("%s waits", (const char *)thread), "ok true") == 0;
}

unsigned java_begins(const char *thread, const char *format, ...)
{
    char *name = hft_copy_text(thread);
    char what[512];
    va_list arguments;
    unsigned asked;
    bool waits;

    va_start(arguments, format);
    (void)vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    asked = java_send("%s %s", thread, what);
    waits = hft_wait_until(java_thread_waits, name, BOUND_MS);
    free(name);
    assert_true(waits);
    return asked;
}

static bool there_are_channels(void *context)
{
    return hft_channels(context, "*") > 0;
}

bool somebody_listens(struct world *w)
{
    return hft_wait_until(there_are_channels, w->server, BOUND_MS);
}

struct hft_child *monitor_start(struct world *w)
{
    struct hft_child *monitor = hft_child_start_words(
        "redis-cli", "-s", hft_server_socket(w->server), "MONITOR", NULL);

    if (!hft_child_wait_out(monitor, "OK", BOUND_MS)) {
        hft_die("redis-cli MONITOR says nothing: %s", hft_child_err(monitor));
    }
    return monitor;
}

const char *monitor_seen(struct world *w, struct hft_child *monitor)
{
    static unsigned marks;
    char *mark = hft_format("mark-%u", ++marks);

    (void)hft_str(w->server, "ECHO %s", mark);
    if (!hft_child_wait_out(monitor, mark, BOUND_MS)) {
        hft_die("redis-cli MONITOR has stopped");
    }
    free(mark);
    return hft_child_out(monitor);
}
