/* SPDX-License-Identifier: MIT */
/* driver/tasks.c - what is done outside of the mutex, soon or at a time.
 *
 * A call on a group goes on when a member's call has ended, and then enters
 * other clients.  That cannot be done under the mutex of the one whose call has
 * ended, or two clients would wait for each other.  So it becomes a task, and
 * whoever holds the mutex runs it right after releasing it: no thread of its
 * own, no hop.
 *
 * A task that enters a client releases that client's mutex in turn.  What is
 * due then is run after it, not within it: the stack stays flat.
 */
#include "driver/client.h"

#include <utlist.h>

/* The thread is running tasks; more of them, in order. */
static _Thread_local bool running;
static _Thread_local struct hfi_task *more;

void hfi_task_due(struct hf_client *client, struct hfi_task *task)
{
    if (atomic_exchange(&task->listed, true)) {
        return;
    }
    if (!task->ref(task)) {
        atomic_store(&task->listed, false);
        return;
    }
    task->next = client->tasks;
    client->tasks = task;
}

static void append_reversed(struct hfi_task *newest_first)
{
    struct hfi_task *in_order = NULL;
    struct hfi_task **end = &more;

    while (newest_first != NULL) {
        struct hfi_task *task = newest_first;

        newest_first = task->next;
        task->next = in_order;
        in_order = task;
    }
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = in_order;
}

void hfi_tasks_run(struct hfi_task *newest_first)
{
    append_reversed(newest_first);
    if (running) {
        return;
    }
    running = true;
    while (more != NULL) {
        struct hfi_task *task = more;

        more = task->next;
        atomic_store(&task->listed, false);
        task->run(task);
    }
    running = false;
}

/* ---- timers ---- */

void hfi_timer_add(struct hf_client *client, struct hfi_timer *timer)
{
    timer->at_ms = INT64_MAX;
    DL_APPEND(client->timers, timer);
}

void hfi_timer_remove(struct hf_client *client, struct hfi_timer *timer)
{
    DL_DELETE(client->timers, timer);
}

void hfi_timer_set(struct hf_client *client, struct hfi_timer *timer,
                   int64_t at_ms)
{
    timer->at_ms = at_ms;
    if (client->keeper_asleep && at_ms < client->keeper_until_ms) {
        hfi_keeper_nudge(client);
    }
}

int64_t hfi_timers_due(const struct hf_client *client)
{
    const struct hfi_timer *timer;
    int64_t due = INT64_MAX;

    DL_FOREACH (client->timers, timer) {
        due = timer->at_ms < due ? timer->at_ms : due;
    }
    return due;
}

void hfi_timers_fire(struct hf_client *client, int64_t now)
{
    struct hfi_timer *timer;

    DL_FOREACH (client->timers, timer) {
        if (client->closing || timer->at_ms <= now) {
            timer->at_ms = INT64_MAX;
            hfi_task_due(client, timer->task);
        }
    }
}
