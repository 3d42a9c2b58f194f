/* SPDX-License-Identifier: MIT */
/* users.c - owners, their calls, and what they believe because of the answers.
 *
 * A belief is kept from what the owner was told alone: results of calls and
 * notices of loss.  invariants.c compares it with the core.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/shadow.h"

#define FIRST_PERMIT 1000000 /* of the owners that permits have */
#define SLACK_MS 200         /* of a call's end: NOT_AFTER_MIN, and then some */

static const char *const words[] = {"acquire", "release", "extend",
                                    "force",   "show",    "export",
                                    "import",  "make",    "add"};

/* ---- kinds ---- */

const struct hfi_kind *sim_kind_of(const struct sim_ask *ask)
{
    return ask->kind == NULL ? &hfi_kind_lock : ask->kind;
}

size_t sim_role_of(const struct hfi_kind *kind)
{
    return kind->field_end[0] == '\0' ? 0 : 1;
}

/* The kind by whose name such a hold is found. */
const struct hfi_kind *sim_kind_in(enum sim_sort sort, size_t role)
{
    static const struct hfi_kind *const kinds[SIM_SORTS][SIM_ROLES] = {
        [SIM_LOCKS] = {&hfi_kind_lock, NULL},
        [SIM_READ_WRITE] = {&hfi_kind_read, &hfi_kind_write},
        [SIM_TOKENS] = {&hfi_kinds_token[HFI_UNFENCED], NULL},
        [SIM_FAIR] = {&hfi_kind_fair, NULL},
        [SIM_PERMITS] = {&hfi_kind_permits, NULL},
    };

    return kinds[sort][role];
}

struct sim_belief *sim_belief_of(const struct sim_call *call)
{
    return &call->owner
                ->beliefs[call->ask.lock][sim_role_of(sim_kind_of(&call->ask))];
}

unsigned sim_levels(const struct sim_owner *owner, int lock)
{
    unsigned levels = 0;

    for (size_t i = 0; i < SIM_ROLES; i++) {
        levels += owner->beliefs[lock][i].levels;
    }
    return levels;
}

struct sim_owner *sim_owner_new(struct sim_client *client)
{
    struct sim_owner *owner = sim_alloc(sizeof(*owner));
    struct sim_owner **owners = realloc(
        client->owners, (client->owner_count + 1) * sizeof(void *));

    if (owners == NULL) {
        abort();
    }
    client->owners = owners;
    owners[client->owner_count] = owner;
    owner->client = client;
    owner->index = client->owner_count++;
    owner->owner = hfi_owner_get(client->core, owner->index + 1, true);
    hfi_owner_ref(owner->owner);
    return owner;
}

/* ---- beginning ---- */

static void on_event(const hf_lease_event *event, void *context)
{
    (void)event;
    (void)context;
}

static struct hfi_terms *make_terms(struct sim_owner *owner,
                                    const struct sim_ask *ask)
{
    const char *name = owner->client->world->locks[ask->lock].name;
    struct hfi_terms *terms = sim_alloc(sizeof(*terms) + strlen(name) + 1);

    terms->refs = 1;
    terms->on_lost = on_event;
    terms->on_warning = on_event;
    terms->context = owner;
    terms->min_hold_ms = ask->min_hold_ms;
    terms->max_hold_ms = ask->max_hold_ms;
    terms->name_bytes = strlen(name);
    memcpy(terms->name, name, terms->name_bytes);
    return terms;
}

static int64_t bound(const struct sim_client *client, struct sim_call *call,
                     bool change)
{
    int64_t answer = client->config.response_limit_ms +
                     client->config.connect_limit_ms + SLACK_MS;
    const struct sim_call *before = call->owner->call;

    if (change) {
        call->fence_ms = answer;
        return sim_client_ms(client) + 2 * answer;
    }
    if (before != NULL) { /* its turn comes when that has ended */
        return before->by_ms == INT64_MAX ? INT64_MAX : before->by_ms + answer;
    }
    if (call->ask.what == SIM_ACQUIRE && !call->reentry &&
        call->ask.wait_ms != 0) {
        return call->ask.wait_ms < 0
                   ? INT64_MAX
                   : sim_client_ms(client) + call->ask.wait_ms + SLACK_MS;
    }
    return sim_client_ms(client) + answer;
}

static void join_fifo(struct sim_client *client, struct sim_call *call)
{
    struct sim_call **at = &client->fifo[call->ask.lock];

    while (*at != NULL) {
        at = &(*at)->fifo_next;
    }
    *at = call;
    call->queued = true;
}

static void leave_fifo(struct sim_client *client, struct sim_call *call)
{
    struct sim_call **at = &client->fifo[call->ask.lock];

    if (!call->queued) {
        return;
    }
    if (call->status == HF_OK && *at != call && client->alive) {
        sim_break(client->world, "fifo",
                  "C%zu: U%zu got %s before U%zu, who came earlier",
                  client->index, call->owner->index,
                  client->world->locks[call->ask.lock].name,
                  (*at)->owner->index);
    }
    while (*at != call) {
        at = &(*at)->fifo_next;
    }
    *at = call->fifo_next;
    call->queued = false;
}

static bool is_change(enum sim_what what)
{
    return what == SIM_MAKE || what == SIM_ADD;
}

static enum hfi_op_kind kind_of(enum sim_what what)
{
    switch (what) {
    case SIM_ACQUIRE:
        return HFI_OP_ACQUIRE;
    case SIM_RELEASE:
        return HFI_OP_RELEASE;
    case SIM_EXTEND:
        return HFI_OP_EXTEND;
    case SIM_FORCE:
        return HFI_OP_FORCE;
    case SIM_EXPORT:
        return HFI_OP_EXPORT;
    case SIM_IMPORT:
        return HFI_OP_IMPORT;
    case SIM_MAKE:
    case SIM_ADD:
        return HFI_OP_CHANGE;
    case SIM_SHOW:
        break;
    }
    return HFI_OP_SHOW;
}

/* Whose call it is; of a permit that is this client's, the permit's owner, and
 * of another's nobody: it is a change of what is on the server.  As
 * src/api/permits.c does it. */
static struct hfi_owner *owner_of(struct sim_owner *owner,
                                  const struct sim_ask *ask)
{
    struct sim_client *client = owner->client;
    const struct sim_lock *lock = &client->world->locks[ask->lock];
    struct hfi_object object = {.kind = sim_kind_of(ask),
                                .name = lock->name,
                                .name_bytes = lock->bytes};

    if (ask->what == SIM_FORCE || ask->what == SIM_SHOW ||
        is_change(ask->what)) {
        return NULL;
    }
    if (!object.kind->has_ids) {
        return owner->owner;
    }
    return ask->what == SIM_ACQUIRE
               ? hfi_owner_get(client->core,
                               FIRST_PERMIT + client->permit_owners++, true)
               : hfi_core_permit_owner(client->core, &object,
                                       owner->beliefs[ask->lock][0].permit);
}

static void ask_by_id(struct hfi_op_request *request,
                      const struct sim_belief *belief)
{
    request->field = belief->permit;
    request->word = request->kind != HFI_OP_EXTEND ? HFI_WORD_FREE
                    : request->exact               ? HFI_WORD_LEASE
                                                   : HFI_WORD_EXTEND;
    request->kind = HFI_OP_CHANGE;
}

struct sim_call *sim_ask(struct sim_owner *owner, const struct sim_ask *ask,
                         void (*done)(struct sim_call *call))
{
    struct sim_client *client = owner->client;
    struct sim_world *world = client->world;
    struct sim_lock *lock = &world->locks[ask->lock];
    struct sim_belief *belief;
    struct sim_call *call = sim_alloc(sizeof(*call));
    struct hfi_op_request request;

    memset(&request, 0, sizeof(request));
    call->owner = owner;
    call->client = client;
    call->ask = *ask;
    call->done = done;
    call->next = world->calls;
    world->calls = call;
    belief = sim_belief_of(call);
    call->reentry = belief->levels > 0 || belief->lost > 0;
    request.kind = kind_of(ask->what);
    request.of = ask->kind;
    request.options = &lock->options;
    request.owner = owner_of(owner, ask);
    request.name = lock->name;
    request.name_bytes = strlen(lock->name);
    request.wait_ms = ask->wait_ms;
    request.lease_ms = ask->lease_ms;
    request.renewed = !ask->fixed;
    request.exact = ask->exact;
    request.terms = ask->what == SIM_ACQUIRE || ask->what == SIM_IMPORT
                        ? make_terms(owner, ask)
                        : NULL;
    if (sim_kind_of(ask)->has_ids) {
        request.count = 1;
        if (request.owner == NULL && !is_change(ask->what)) {
            ask_by_id(&request, belief);
        }
    }
    if (is_change(ask->what)) {
        request.word = ask->what == SIM_MAKE ? HFI_WORD_SET : HFI_WORD_ADD;
        request.count = ask->count;
        request.options = NULL;
    }
    if (ask->what == SIM_IMPORT) {
        request.field = lock->handle.field;
        request.count = lock->handle.count;
        request.lease_ms = lock->handle.lease_ms;
        call->levels = (unsigned)lock->handle.count;
    }
    call->by_ms = bound(client, call, request.kind == HFI_OP_CHANGE);
    request.user = call;
    if (hfi_op_new(client->core, &request, &call->op) != HF_OK) {
        abort();
    }
    if (ask->what == SIM_IMPORT) {
        lock->handle.field[0] = '\0'; /* the op has it; nobody else may */
    }
    owner->call = call;
    owner->calls++;
    SIM_SAY(world, "C%zu.U%zu %s %s %s wait %lld lease %lld%s", client->index,
            owner->index, words[ask->what], sim_kind_of(ask)->word, lock->name,
            (long long)ask->wait_ms, (long long)ask->lease_ms,
            ask->fixed ? " fixed" : "");
    if (ask->what == SIM_ACQUIRE && ask->wait_ms != 0 && !call->reentry &&
        sim_kind_of(ask)->queueing == HFI_QUEUE_ONE_CONTENDER) {
        join_fifo(client, call);
    }
    hfi_core_start(client->core, call->op, HFI_LINK_MAIN,
                   sim_client_ms(client));
    if (client->links[HFI_LINK_MAIN].phase == SIM_LINK_DOWN) {
        sim_link_wanted(client);
    }
    sim_client_settle(client);
    return call;
}

void sim_cancel(struct sim_call *call)
{
    struct sim_client *client = call->client;

    if (call->ended || !client->alive) {
        return;
    }
    SIM_SAY(client->world, "C%zu.U%zu cancels", client->index,
            call->owner->index);
    hfi_core_cancel(client->core, call->op, HF_CANCELLED,
                    sim_client_ms(client));
    sim_client_settle(client);
}

void sim_owner_gone(struct sim_owner *owner)
{
    struct sim_client *client = owner->client;

    SIM_SAY(client->world, "C%zu.U%zu is gone: its thread has ended",
            client->index, owner->index);
    hfi_core_owner_gone(client->core, owner->owner, sim_client_ms(client));
    for (int i = 0; i < SIM_NAMES; i++) {
        if (client->world->locks[i].sort != SIM_PERMITS) {
            memset(owner->beliefs[i], 0, sizeof(owner->beliefs[i]));
        }
    }
    sim_client_settle(client);
}

void sim_scripts_known(struct sim_client *client)
{
    struct sim_owner *owner = sim_owner_new(client);
    struct sim_ask take = {
        .what = SIM_ACQUIRE, .lock = SIM_NAMES - 1, .lease_ms = 60};
    struct sim_ask let_go = {.what = SIM_RELEASE, .lock = SIM_NAMES - 1};

    (void)sim_ask(owner, &take, NULL);
    (void)sim_pass_ms(client->world, 30);
    (void)sim_ask(owner, &take, NULL);
    (void)sim_pass_ms(client->world, 10);
    (void)sim_ask(owner, &let_go, NULL);
    (void)sim_pass_ms(client->world, 10);
    (void)sim_ask(owner, &let_go, NULL);
    (void)sim_pass_ms(client->world, 10);
    (void)sim_ask(owner, &take, NULL);
    (void)sim_pass_ms(client->world, 10);
    sim_owner_gone(owner);
    (void)sim_pass_ms(client->world, 10);
}

/* ---- ending ---- */

static void one_level_less(struct sim_belief *belief, hf_status status)
{
    if (status == HF_NOT_OWNER || status == HF_CANCELLED ||
        status == HF_NOT_DONE) {
        return; /* its turn never came */
    }
    if (belief->levels > 0) {
        belief->levels--;
    } else if (belief->lost > 0) {
        belief->lost--; /* the loss was told while the release ran, or before */
    }
}

static void believe(struct sim_call *call)
{
    struct sim_belief *belief = sim_belief_of(call);
    struct sim_world *world = call->client->world;

    switch (call->ask.what) {
    case SIM_ACQUIRE:
        if (call->status != HF_OK) {
            return;
        }
        if (belief->levels++ == 0) {
            belief->told_lost = false;
            belief->id.n = 0; /* invariants.c finds it, if it is still there */
            world->figures.grants++;
        }
        return;
    case SIM_RELEASE:
        one_level_less(belief, call->status);
        return;
    case SIM_EXPORT:
        belief->levels = call->status == HF_OK ? 0 : belief->levels;
        return;
    case SIM_IMPORT:
        if (call->status == HF_OK) {
            belief->levels = call->levels;
            belief->told_lost = false;
            belief->id.n = 0;
        }
        return;
    case SIM_EXTEND:
    case SIM_FORCE:
    case SIM_SHOW:
    case SIM_MAKE:
    case SIM_ADD:
        return;
    }
}

/* Its field stands for nobody until somebody imports it. */
static void keep_handle(struct sim_call *call,
                        const struct hfi_op_result *result)
{
    struct sim_world *world = call->client->world;
    struct sim_handle *handle = &world->locks[call->ask.lock].handle;
    const char *colon = strchr(result->handle_owner, ':');

    snprintf(handle->field, sizeof(handle->field), "%s", result->handle_owner);
    handle->kind = sim_kind_of(&call->ask);
    handle->count = result->count;
    handle->lease_ms = result->lease_ms;
    if (colon != NULL) {
        sim_shadow_get(world, strtoul(handle->field, NULL, 16),
                       strtoull(colon + 1, NULL, 10), call->ask.lock)
            ->may_remain = true;
    }
}

/* What has ended is kept until all that has was taken: so that one that is told
 * twice is seen to be. */
void sim_free_ended(struct sim_client *client)
{
    struct sim_call *call;

    while ((call = client->ended) != NULL) {
        client->ended = call->next_ended;
        hfi_op_free(client->core, call->op);
        call->op = NULL;
    }
}

void sim_call_ended(struct sim_client *client, struct hfi_op *op)
{
    struct sim_call *call = hfi_op_user(op);
    struct hfi_op_result *result = hfi_op_result(op);

    if (call->ended) {
        sim_break(client->world, "ends_once", "C%zu.U%zu: a call ended twice",
                  client->index, call->owner->index);
        return;
    }
    call->ended = true;
    call->next_ended = client->ended;
    client->ended = call;
    call->status = result->status;
    if (result->status != HF_OK) {
        snprintf(call->message, sizeof(call->message), "%s",
                 result->error.message);
    }
    if (call->ask.what == SIM_ACQUIRE && call->status == HF_OK &&
        sim_kind_of(&call->ask)->has_ids) {
        memcpy(sim_belief_of(call)->permit, result->handle_owner,
               HFI_PERMIT_TEXT);
    }
    if (call->ask.what == SIM_EXPORT && call->status == HF_OK) {
        keep_handle(call, result);
    }
    call->owner->calls--;
    if (call->owner->call == call || call->owner->calls == 0) {
        call->owner->call = NULL;
    }
    client->world->figures.operations++;
    leave_fifo(client, call);
    if (!client->alive) {
        return; /* nobody is told any more */
    }
    SIM_SAY(client->world, "C%zu.U%zu %s %s: %s %s", client->index,
            call->owner->index, words[call->ask.what],
            client->world->locks[call->ask.lock].name,
            hf_status_name(call->status), call->message);
    if (is_change(call->ask.what)) {
        sim_permits_told(call, result->changed);
    }
    sim_check_refused(call);
    believe(call);
    sim_check_call(call);
    if (call->done != NULL) {
        call->done(call);
    }
}

/* ---- what holders are told ---- */

/* "uuid:number:write" */
static bool is_of_writer(const struct hfi_terms *terms)
{
    const char *colon = strchr(terms->owner, ':');

    return colon != NULL && strchr(colon + 1, ':') != NULL;
}

static void told_lost(struct sim_owner *owner, const struct hfi_terms *terms)
{
    struct sim_client *client = owner->client;
    struct sim_world *world = client->world;
    int lock = sim_lock_of(world, terms->name, terms->name_bytes);
    size_t role = is_of_writer(terms) ? 1 : 0;
    struct sim_belief *belief = &owner->beliefs[lock][role];
    int64_t now = sim_client_ms(client);

    world->figures.losses++;
    SIM_SAY(world, "C%zu.U%zu is told that %s is lost: %s", client->index,
            owner->index, world->locks[lock].name,
            hf_lost_reason_text(terms->lost_reason));
    if (belief->told_lost && belief->levels == 0) {
        sim_break(world, "told_once", "C%zu.U%zu was told twice of %s",
                  client->index, owner->index, world->locks[lock].name);
    }
    /* Leaving a level may leave others whose deadlines are past. */
    if (now > terms->deadline_ms + 2 && client->resumed_us != world->now_us &&
        (owner->call == NULL || owner->call->ask.what != SIM_RELEASE)) {
        sim_break(world, "lost_in_time",
                  "C%zu.U%zu was told of %s %lld ms after its deadline",
                  client->index, owner->index, world->locks[lock].name,
                  (long long)(now - terms->deadline_ms));
    }
    sim_check_lost(owner, lock, role, terms->lost_reason);
    belief->told_lost = true;
    belief->lost = terms->lost_reason == HF_LOST_CLOSED ||
                           terms->lost_reason == HF_LOST_OWNER_GONE
                       ? 0
                       : belief->levels;
    belief->levels = 0;
}

void sim_notice(struct sim_client *client, struct hfi_terms *terms)
{
    bool lost = terms->tell_lost;

    terms->queued = false;
    terms->tell_lost = false;
    terms->tell_warning = false;
    if (lost && client->alive) {
        told_lost(terms->context, terms);
    }
    hfi_terms_unref(terms);
}
