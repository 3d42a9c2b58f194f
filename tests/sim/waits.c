/* SPDX-License-Identifier: MIT */
/* waits.c - what must hold of calls that are under way: calls_end, waiter_runs,
 * subscriptions. */
#include <inttypes.h>

#include "sim/shadow.h"

static void check_bounds(struct sim_client *client)
{
    int64_t now = sim_client_ms(client);

    if (client->resumed_us + 1000 > client->world->now_us) {
        return;
    }
    for (size_t i = 0; i < client->owner_count; i++) {
        const struct sim_call *call = client->owners[i]->call;

        if (call != NULL && now > call->by_ms &&
            client->resumed_us + call->fence_ms * 1000 <
                client->world->now_us) {
            sim_break(client->world, "calls_end",
                      "a call of C%zu.U%zu should have ended %" PRId64
                      " ms ago",
                      client->index, i, now - call->by_ms);
        }
    }
}

/* Somebody of this client has it, or was not yet told that he has not. */
static bool held_here(const struct hfi_op *op)
{
    const struct hfi_number *number;

    DL_FOREACH2(op->name->numbers, number, name_next)
    {
        if ((number->state == NUMBER_HELD ||
             number->state == NUMBER_RELEASING) &&
            !(number->kind->shared && op->kind->shared)) {
            return true;
        }
    }
    return false;
}

static bool waits(const struct hfi_op *op)
{
    return op->state == OP_WAITING || op->state == OP_SUBSCRIBING ||
           op->state == OP_LOCAL || op->state == OP_QUEUED ||
           (op->kind->queueing == HFI_QUEUE_NONE && op->state == OP_PAUSED &&
            op->refusal.status == HF_OK);
}

/* Who listens to nothing asks after his longest pause. */
static int64_t longest_sleep_us(const struct sim_client *client,
                                const struct sim_lock *lock,
                                const struct hfi_op *op)
{
    int64_t sleep = op->kind->queueing == HFI_QUEUE_NONE
                        ? lock->options.backoff_max_ms
                        : client->config.retry_bound_ms;

    return sleep * 1000 + SIM_PROMPT_US;
}

/* Nothing is in its way: it asks soon. */
static void check_waiter(struct sim_client *client, const struct hfi_op *op,
                         int64_t since)
{
    struct sim_world *world = client->world;
    const struct hfi_name *name = op->name;
    const struct sim_lock *lock =
        &world->locks[sim_lock_of(world, name->text, name->bytes)];
    const struct sim_gate *gate =
        &lock->gate[op->kind->shared ? SIM_FOR_READERS : SIM_FOR_ALL];
    const struct hfi_listener *listener = op->listener != NULL ? op->listener
                                                               : name->listener;
    int64_t bound = longest_sleep_us(client, lock, op);

    since = gate->since_us > since ? gate->since_us : since;
    if (op->kind == &hfi_kind_polite_read) {
        return; /* a writer who waits stands in his way as well */
    }
    if (gate->since_us < 0 || lock->foreign || !waits(op) || held_here(op)) {
        return;
    }
    if (op->state == OP_WAITING && gate->told_us == gate->since_us &&
        client->hearing_us < gate->told_us && listener != NULL &&
        listener->active) {
        bound = SIM_PROMPT_US;
    }
    if (world->now_us - since > bound) {
        sim_break(world, "waiter_runs",
                  "%s is free for %" PRId64 " ms, and C%zu, who waits for it, "
                  "does not ask",
                  lock->name, (world->now_us - since) / 1000, client->index);
    }
}

/* The first in line, and all who ask for themselves. */
static void check_waiters(struct sim_client *client,
                          const struct hfi_name *name)
{
    const struct hfi_op *op;

    if (name->fifo != NULL) {
        check_waiter(client, name->fifo, client->calm_us);
    }
    DL_FOREACH2(name->crowd, op, name_next)
    {
        check_waiter(client, op, client->calm_us);
    }
}

/* Whose turn it is in the server's queue. */
static bool is_first(const struct sim_client *client, const struct hfi_op *op)
{
    const struct sim_world *world = client->world;
    const struct sim_queue *queue =
        &world->locks[sim_lock_of(world, op->name->text, op->name->bytes)]
             .queue;

    return op->number != NULL && queue->count > 0 &&
           queue->place[0].client == client->index &&
           queue->place[0].n == op->number->n;
}

/* They stand in no list of their names.  What one of their client has they see
 * end when they look. */
static void check_unlisted(struct sim_client *client, const struct hfi_op *op)
{
    struct sim_call *call = hfi_op_user(op);
    bool spins = op->kind->queueing == HFI_QUEUE_NONE;
    bool queues = op->kind->queueing == HFI_QUEUE_ON_SERVER;

    if (!spins && !queues) {
        return;
    }
    if (client->calm_us > call->open_us || held_here(op) ||
        (queues && !is_first(client, op))) {
        call->open_us = client->world->now_us;
    }
    check_waiter(client, op, call->open_us);
}

static size_t check_owners(struct sim_client *client)
{
    const struct hfi_op *op;
    size_t wanted = 0;

    for (size_t i = 0; i < client->owner_count; i++) {
        DL_FOREACH2(client->owners[i]->owner->ops, op, owner_next)
        {
            check_unlisted(client, op);
            wanted += op->listener != NULL && op->listener->wanted ? 1 : 0;
        }
    }
    return wanted;
}

static bool is_heard(const struct hfi_name *name)
{
    return name->listener != NULL && name->listener->wanted;
}

static void check_subscriptions(struct sim_client *client)
{
    const struct sim_link *link = &client->links[SIM_PUBSUB];
    struct hfi_name *name;
    size_t wanted = check_owners(client);

    for (name = hfi_name_after(client->core, NULL); name != NULL;
         name = hfi_name_after(client->core, name)) {
        check_waiters(client, name);
        wanted += is_heard(name) ? 1 : 0;
        if (is_heard(name) && name->fifo == NULL && name->crowd == NULL) {
            sim_break(client->world, "subscriptions",
                      "C%zu wants a channel for nobody", client->index);
        }
    }
    if (!client->calm || hfi_channels_owed(client->channels) > 0 ||
        link->out.len > 0) {
        return;
    }
    if (sim_conn_channels(link->wire->conn) != wanted) {
        sim_break(client->world, "subscriptions",
                  "C%zu hears %zu channels, and waits for %zu", client->index,
                  sim_conn_channels(link->wire->conn), wanted);
    }
}

void sim_check_calls(struct sim_client *client)
{
    check_bounds(client);
    check_subscriptions(client);
}
