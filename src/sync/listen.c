/* SPDX-License-Identifier: MIT */
/* sync/listen.c - channels that this client hears, and whom their news concern.
 *
 * A listener is one channel.  Most belong to a name: what is published there is
 * news for the first waiter of its FIFO, and for all of its crowd.  Where the
 * server keeps the queue (a fair lock) each waiter has one of its own, named
 * after its number.
 *
 * The driver carries out what a listener wants and tells what came of it; it
 * looks no deeper.
 */
#include "sync/kinds/pieces.h"
#include "sync/mutations.h"
#include "sync/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- whom it concerns ---- */

typedef void (*tell_fn)(struct hfi_core *core, struct hfi_op *op, int64_t now);

/* Each of the crowd once, in its order.  Any of them may end by it, and leave;
 * who has been told stands behind those who have not. */
static void tell_crowd(struct hfi_core *core, struct hfi_name *name,
                       tell_fn tell, int64_t now)
{
    struct hfi_op *op;
    size_t left;

    DL_COUNT2(name->crowd, op, left, name_next);
    while (left-- > 0 && (op = name->crowd) != NULL) {
        DL_DELETE2(name->crowd, op, name_prev, name_next);
        DL_APPEND2(name->crowd, op, name_prev, name_next);
        tell(core, op, now);
    }
}

static void tell_name(struct hfi_core *core, struct hfi_name *name,
                      tell_fn tell, int64_t now)
{
    if (name->fifo != NULL) {
        tell(core, name->fifo, now);
    }
    tell_crowd(core, name, tell, now);
}

void hfi_name_news(struct hfi_core *core, struct hfi_name *name, int64_t now)
{
    tell_name(core, name, hfi_op_news, now);
}

void hfi_name_freed(struct hfi_core *core, struct hfi_name *name,
                    const struct hfi_kind *kind, int64_t now)
{
    if (!kind->shared || kind->has_ids) {
        hfi_name_news(core, name, now);
    } else if (name->fifo != NULL) {
        hfi_wait_news(core, name->fifo, now);
    }
}

static void tell_all(struct hfi_core *core, struct hfi_listener *listener,
                     tell_fn tell, int64_t now)
{
    if (listener->n == 0) {
        tell_name(core, listener->name, tell, now);
    } else if (listener->op != NULL) {
        tell(core, listener->op, now);
    }
}

/* ---- what it wants ---- */

void hfi_listener_want(struct hfi_core *core, struct hfi_listener *listener,
                       bool wanted)
{
    if (listener->wanted == wanted) {
        return;
    }
    listener->wanted = wanted;
    listener->active = false;
    listener->refused = false;
    if (wanted) {
        core->subscribed++;
    } else {
        core->subscribed--;
    }
    if (!listener->listed) {
        listener->listed = true;
        DL_APPEND(core->subs, listener);
    }
}

/* One for this waiter alone, which outlives it by its UNSUBSCRIBE. */
static struct hfi_listener *own_listener(struct hfi_op *op)
{
    struct hfi_listener *listener = op->listener;

    if (listener == NULL) {
        listener = calloc(1, sizeof(*listener));
    }
    if (listener != NULL && op->listener == NULL) {
        listener->name = op->name;
        listener->name->refs++;
        listener->op = op;
        listener->n = op->number->n;
        op->listener = listener;
    }
    return listener;
}

/* That of its name, which stays as long as the name does. */
static struct hfi_listener *names_listener(struct hfi_name *name)
{
    if (name->listener == NULL) {
        name->listener = calloc(1, sizeof(*name->listener));
    }
    if (name->listener != NULL) {
        name->listener->name = name;
    }
    return name->listener;
}

struct hfi_listener *hfi_waiter_listens(struct hfi_core *core,
                                        struct hfi_op *op)
{
    struct hfi_listener *listener = op->kind->queueing == HFI_QUEUE_ON_SERVER
                                        ? own_listener(op)
                                        : names_listener(op->name);

    if (listener != NULL) {
        hfi_listener_want(core, listener, true);
    }
    return listener;
}

bool hfi_waiter_hears(const struct hfi_op *op)
{
    if (op->kind->queueing == HFI_QUEUE_ON_SERVER) {
        return op->listener != NULL && op->listener->active;
    }
    return op->name->listener != NULL && op->name->listener->active;
}

bool hfi_op_waits_alone(const struct hfi_core *core, const struct hfi_op *op)
{
    const struct hfi_name *name = op->name;

    if (core->subscribed != 1) {
        return false;
    }
    if (op->listener != NULL) {
        return op->listener->wanted;
    }
    return (op->in_fifo || op->in_crowd) && name->listener != NULL &&
           name->listener->wanted && op->name_prev == op &&
           (name->fifo == NULL || name->crowd == NULL);
}

void hfi_waiter_is_deaf(struct hfi_core *core, struct hfi_op *op)
{
    struct hfi_listener *listener = op->listener;

    if (listener != NULL) {
        op->listener = NULL;
        listener->op = NULL;
        hfi_listener_want(core, listener, false);
    }
}

/* ---- the driver's side ---- */

struct hfi_listener *hfi_core_next_subscription(struct hfi_core *core)
{
    struct hfi_listener *listener = core->subs;

    if (listener != NULL) {
        DL_DELETE(core->subs, listener);
        listener->listed = false;
    }
    return listener;
}

void hfi_core_subscription_done(struct hfi_core *core,
                                struct hfi_listener *listener)
{
    struct hfi_name *name = listener->name;

    if (listener->n != 0 && !listener->wanted && !listener->listed) {
        name->refs--;
        free(listener);
    }
    hfi_name_tidy(core, name);
}

void hfi_listeners_free(struct hfi_core *core)
{
    struct hfi_listener *listener;

    while ((listener = hfi_core_next_subscription(core)) != NULL) {
        if (listener->n != 0) {
            listener->name->refs--;
            free(listener);
        }
    }
}

void hfi_core_news_link(struct hfi_core *core, enum hfi_link_id link)
{
    core->news_link = link;
}

bool hfi_listener_wants(const struct hfi_listener *listener)
{
    return listener->wanted;
}

size_t hfi_listener_channel(const struct hfi_core *core,
                            const struct hfi_listener *listener, char *buf,
                            size_t size)
{
    const struct hfi_name *name = listener->name;
    size_t len = hfi_channel(name, buf, size);
    char owner[64];
    int more;

    if (listener->n == 0) {
        return len;
    }
    more = snprintf(owner, sizeof(owner), ":%s:%" PRIu64, core->config.uuid,
                    listener->n);
    if (len + (size_t)more <= size) {
        memcpy(buf + len, owner, (size_t)more);
    }
    return len + (size_t)more;
}

void hfi_core_subscribed(struct hfi_core *core, struct hfi_listener *listener,
                         int64_t now)
{
    core->here = core->news_link;
    listener->active = true;
    listener->refused = false;
    if (!HFI_MUTATION(no_try_after_subscribing)) {
        tell_all(core, listener, hfi_op_news, now);
    }
}

/* Who waits for the subscription asks again, and then polls. */
static void go_on_without(struct hfi_core *core, struct hfi_op *op, int64_t now)
{
    if (op->state == OP_SUBSCRIBING) {
        hfi_op_news(core, op, now);
    }
}

void hfi_core_subscribe_refused(struct hfi_core *core,
                                struct hfi_listener *listener, int64_t now)
{
    core->here = core->news_link;
    listener->refused = true;
    tell_all(core, listener, go_on_without, now);
}

void hfi_core_unsubscribed(struct hfi_core *core, struct hfi_listener *listener)
{
    (void)core;
    listener->active = false;
}

void hfi_core_message(struct hfi_core *core, struct hfi_listener *listener,
                      int64_t now)
{
    core->here = core->news_link;
    tell_all(core, listener, hfi_op_news, now);
}
