/* SPDX-License-Identifier: MIT */
/* told.c - what a caller is told, held against what is so. */
#include "sim/shadow.h"

#include <string.h>

static bool lives(const struct sim_client *client,
                  const struct hfi_number *number)
{
    return number->state == NUMBER_HELD &&
           hfi_hold_deadline(number) > sim_client_ms(client);
}

static struct hfi_number *number_of(const struct sim_client *client,
                                    const struct sim_owner *owner, int lock)
{
    const char *text = client->world->locks[lock].name;
    struct hfi_object object = {
        .kind = &hfi_kind_lock, .name = text, .name_bytes = strlen(text)};
    struct hfi_name *name = hfi_name_get(client->core, &object, false);

    return name == NULL ? NULL
                        : hfi_name_number_of(name, object.kind, owner->owner);
}

static void check_belief(struct sim_owner *owner, int lock)
{
    struct sim_client *client = owner->client;
    struct sim_world *world = client->world;
    const struct sim_belief *belief = &owner->beliefs[lock];
    const char *text = world->locks[lock].name;
    const struct hfi_number *number = number_of(client, owner, lock);
    unsigned levels = 0, lost = 0;

    if (number != NULL && number->state == NUMBER_HELD) {
        levels = number->level_count;
    } else if (number != NULL) {
        lost = number->lost_levels;
    }
    if (levels != belief->levels || lost != belief->lost) {
        sim_break(world, "told_truly",
                  "C%zu.U%zu believes in %u holds of %s (%u lost), the core "
                  "in %u (%u)",
                  client->index, owner->index, belief->levels, text,
                  belief->lost, levels, lost);
    }
}

/* Remember which number it is, and that it lives. */
static void check_granted(struct sim_call *call)
{
    struct sim_client *client = call->client;
    struct hfi_number *number = number_of(client, call->owner, call->ask.lock);
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
    call->owner->beliefs[call->ask.lock].id = id;
    shadow = sim_shadow_of(client->world, id.client, id.n);
    if (call->ask.what == SIM_IMPORT && shadow != NULL && !shadow->excused) {
        shadow->may_remain = false; /* it has a living cause again */
        shadow->adopted = true;
        shadow->by = client->index;
    }
}

void sim_check_call(struct sim_call *call)
{
    struct sim_client *client = call->client;
    struct sim_world *world = client->world;
    struct sim_identity id = call->owner->beliefs[call->ask.lock].id;
    struct sim_shadow *shadow = sim_shadow_of(world, id.client, id.n);

    if (client->closing || call->owner->calls > 0) {
        return; /* the next has begun already */
    }
    if ((call->ask.what == SIM_ACQUIRE || call->ask.what == SIM_IMPORT) &&
        call->status == HF_OK) {
        check_granted(call);
    }
    if (call->ask.what == SIM_RELEASE && call->status == HF_GONE &&
        shadow != NULL && !shadow->excused && shadow->released) {
        sim_break(world, "gone_truly",
                  "C%zu.U%zu was told that its hold was gone, but its own "
                  "release ended it",
                  client->index, call->owner->index);
    }
    for (int i = 0; i < SIM_NAMES; i++) {
        check_belief(call->owner, i);
    }
}

void sim_check_lost(struct sim_owner *owner, int lock, hf_lost_reason reason)
{
    struct sim_client *client = owner->client;
    struct sim_identity id = owner->beliefs[lock].id;
    struct sim_shadow *shadow = sim_shadow_of(client->world, id.client, id.n);

    if ((reason == HF_LOST_GONE || reason == HF_LOST_TAKEN) && shadow != NULL &&
        !shadow->excused) {
        sim_break(client->world, "gone_truly",
                  "C%zu.U%zu was told that somebody has ended its hold, but "
                  "nobody has",
                  client->index, owner->index);
    }
}
