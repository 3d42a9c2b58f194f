/* SPDX-License-Identifier: MIT */
/* told.c - what a caller is told, held against what is so. */
#include "sim/shadow.h"

#include <string.h>

/* An answer is not on its way for longer. */
#define FORCED_US 2000000

static bool lives(const struct sim_client *client,
                  const struct hfi_number *number)
{
    return number->state == NUMBER_HELD &&
           hfi_hold_deadline(number) > sim_client_ms(client);
}

static struct hfi_number *number_of(const struct sim_client *client,
                                    const struct sim_owner *owner, int lock,
                                    size_t role)
{
    const struct sim_lock *record = &client->world->locks[lock];
    const struct hfi_kind *kind = sim_kind_in(record->sort, role);
    struct hfi_object object = {
        .kind = kind, .name = record->name, .name_bytes = strlen(record->name)};
    struct hfi_name *name = kind == NULL
                                ? NULL
                                : hfi_name_get(client->core, &object, false);
    const struct hfi_owner *of = owner->owner;

    if (kind != NULL && kind->has_ids) {
        of = hfi_core_permit_owner(client->core, &object,
                                   owner->beliefs[lock][role].permit);
        name = of == NULL ? NULL : name;
    }
    return name == NULL ? NULL : hfi_name_number_of(name, kind, NULL, of);
}

static void check_belief(struct sim_owner *owner, int lock, size_t role)
{
    struct sim_client *client = owner->client;
    struct sim_world *world = client->world;
    const struct sim_belief *belief = &owner->beliefs[lock][role];
    const char *text = world->locks[lock].name;
    const struct hfi_number *number = number_of(client, owner, lock, role);
    unsigned levels = 0, lost = 0;

    if (number != NULL && number->state == NUMBER_HELD) {
        levels = number->level_count;
    } else if (number != NULL) {
        lost = number->lost_levels;
    }
    if (levels != belief->levels ||
        (lost != belief->lost && world->locks[lock].sort != SIM_PERMITS)) {
        sim_break(world, "told_truly",
                  "C%zu.U%zu believes in %u holds of %s (%u lost), the core "
                  "in %u (%u)",
                  client->index, owner->index, belief->levels, text,
                  belief->lost, levels, lost);
    }
}

/* A fresh hold's is larger than all before; a hold keeps its own. */
static void check_token(struct sim_call *call, const struct hfi_number *number)
{
    struct sim_world *world = call->client->world;
    struct sim_lock *lock = &world->locks[call->ask.lock];
    struct sim_belief *belief = sim_belief_of(call);
    bool fresh = call->ask.what == SIM_ACQUIRE &&
                 (!call->reentry || number->kind->counts_entries);

    if (world->now_us < lock->doubt_us) {
        lock->token = 0;
        return;
    }
    if (fresh ? number->token <= lock->token : number->token < lock->token) {
        sim_break(world, "tokens_grow",
                  "C%zu.U%zu was told token %lld of %s, which has given %lld "
                  "before",
                  call->client->index, call->owner->index,
                  (long long)number->token, lock->name, (long long)lock->token);
    }
    lock->token = number->token;
    belief->token = number->token;
}

/* Remember which number it is, and that it lives. */
static void check_granted(struct sim_call *call)
{
    struct sim_client *client = call->client;
    struct hfi_number *number = number_of(client, call->owner, call->ask.lock,
                                          sim_role_of(sim_kind_of(&call->ask)));
    struct sim_identity id;
    struct sim_shadow *shadow;

    if (number == NULL || !lives(client, number)) {
        sim_break(client->world, "told_truly",
                  "C%zu.U%zu was told that it holds %s, and does not",
                  client->index, call->owner->index,
                  client->world->locks[call->ask.lock].name);
        return;
    }
    id = sim_identity_of(client, number);
    sim_belief_of(call)->id = id;
    shadow = sim_shadow_of(client->world, id.client, id.n);
    if (number->kind->fenced && (shadow == NULL || !shadow->excused)) {
        check_token(call, number);
    }
    if (call->ask.what == SIM_IMPORT && shadow != NULL && !shadow->excused) {
        shadow->may_remain = false; /* it has a living cause again */
        shadow->adopted = true;
        shadow->by = client->index;
    }
}

/* What a kind says to an owner who has a hold already; HF_OK: he is let in. */
static hf_status refusal_of(const struct sim_call *call)
{
    const struct hfi_kind *kind = sim_kind_of(&call->ask);
    const struct sim_belief *beliefs = call->owner->beliefs[call->ask.lock];

    if (kind->has_ids) {
        return HF_OK; /* each is another owner's */
    }
    if (sim_belief_of(call)->levels > 0) {
        return kind->reentrant ? HF_OK : HF_ALREADY_HELD;
    }
    /* Who reads would wait for himself. */
    return sim_role_of(kind) == 1 && beliefs[0].levels > 0 ? HF_UPGRADE : HF_OK;
}

/* Before it is believed: who may not have it besides is refused, and he
 * alone. */
void sim_check_refused(const struct sim_call *call)
{
    hf_status refusal = refusal_of(call);
    bool is_refused = call->status == HF_ALREADY_HELD ||
                      call->status == HF_UPGRADE;

    if (call->ask.what == SIM_ACQUIRE &&
        (is_refused ? call->status != refusal
                    : (call->status == HF_OK || call->status == HF_TIMEOUT) &&
                          refusal != HF_OK)) {
        sim_break(call->client->world, "refused",
                  "C%zu.U%zu was told %s of %s, and should be told %s",
                  call->client->index, call->owner->index,
                  hf_status_name(call->status),
                  call->client->world->locks[call->ask.lock].name,
                  hf_status_name(refusal));
    }
}

/* Of permits it is all the same whether one was never had. */
static bool had_one(const struct sim_call *call)
{
    return sim_kind_of(&call->ask) != &hfi_kind_permits || call->reentry;
}

void sim_check_call(struct sim_call *call)
{
    struct sim_client *client = call->client;
    struct sim_world *world = client->world;
    struct sim_identity id = sim_belief_of(call)->id;
    struct sim_shadow *shadow = sim_shadow_of(world, id.client, id.n);

    if (client->closing || call->owner->calls > 0) {
        return; /* the next has begun already */
    }
    if ((call->ask.what == SIM_ACQUIRE || call->ask.what == SIM_IMPORT) &&
        call->status == HF_OK) {
        check_granted(call);
    }
    if (call->ask.what == SIM_RELEASE && call->status == HF_GONE &&
        had_one(call) && shadow != NULL && !shadow->excused &&
        shadow->released) {
        sim_break(world, "gone_truly",
                  "C%zu.U%zu was told that its hold was gone, but its own "
                  "release ended it",
                  client->index, call->owner->index);
    }
    for (int i = 0; i < SIM_NAMES; i++) {
        for (size_t role = 0; role < SIM_ROLES; role++) {
            check_belief(call->owner, i, role);
        }
    }
}

/* An older grant of this client that was forced open, and is read after a newer
 * one, looks like the newer: the client cannot tell, and believes in neither
 * for long. */
static bool forced_beside(const struct sim_owner *owner, int lock)
{
    const struct sim_client *client = owner->client;

    for (size_t n = 0; n < client->shadow_count; n++) {
        const struct sim_shadow *shadow = client->shadows[n];

        if (shadow != NULL && shadow->lock == lock && shadow->excused &&
            client->world->now_us - shadow->excused_us < FORCED_US) {
            return true;
        }
    }
    return false;
}

void sim_check_lost(struct sim_owner *owner, int lock, size_t role,
                    hf_lost_reason reason)
{
    struct sim_client *client = owner->client;
    struct sim_identity id = owner->beliefs[lock][role].id;
    struct sim_shadow *shadow = sim_shadow_of(client->world, id.client, id.n);

    if ((reason == HF_LOST_GONE || reason == HF_LOST_TAKEN) && shadow != NULL &&
        !shadow->excused && !forced_beside(owner, lock)) {
        sim_break(client->world, "gone_truly",
                  "C%zu.U%zu was told that somebody has ended its hold, but "
                  "nobody has",
                  client->index, owner->index);
    }
}
