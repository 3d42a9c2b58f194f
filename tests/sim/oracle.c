/* SPDX-License-Identifier: MIT */
/* oracle.c - what every copy does, from its sending to its answer.
 *
 * Every copy is seen three times: when it is sent, when it runs (or can never
 * run), and when it is answered.  What may be asked at such a moment is asked
 * here; what holds at any moment is in invariants.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/shadow.h"

static const struct sim_field *field_of(const struct sim_image *image,
                                        const struct sim_mark *mark)
{
    return sim_field_of(image, (struct sim_identity){mark->client, mark->n});
}

static bool is_of(const struct sim_image *image, const struct sim_mark *mark)
{
    return field_of(image, mark) != NULL;
}

/* ---- sending ---- */

static bool is_keep(enum hfi_request request)
{
    return request == HFI_ENTER || request == HFI_LEAVE ||
           request == HFI_RENEW || request == HFI_EXTEND ||
           request == HFI_ADOPT;
}

static bool is_call(enum hfi_request request)
{
    return is_keep(request) && request != HFI_RENEW;
}

static void check_sending(struct sim_client *client, enum hfi_request request,
                          const struct hfi_number *number,
                          const struct sim_shadow *shadow)
{
    struct sim_world *world = client->world;
    bool burned = number->end != END_NONE;

    /* What was decided while it was held may be on its way to the link. */
    if (is_keep(request) && request != HFI_ADOPT &&
        number->state != NUMBER_HELD && !shadow->held) {
        sim_break(world, "nothing_kept_after",
                  "C%zu: a request that would keep n%llu is sent, and it is "
                  "not held any more",
                  client->index, (unsigned long long)number->n);
    }
    if (request == HFI_ACQUIRE && (burned || number->state != NUMBER_TRYING)) {
        sim_break(world, "burned",
                  "C%zu: an ACQUIRE of n%llu is sent, which was ended or used",
                  client->index, (unsigned long long)number->n);
    }
}

/* When a lost number's time was over; its levels are still there to read. */
static int64_t was_over_ms(const struct hfi_number *number)
{
    int64_t over = number->first.deadline_ms;

    for (uint32_t i = 1; i < number->lost_levels; i++) {
        if (number->inner[i - 1].deadline_ms > over) {
            over = number->inner[i - 1].deadline_ms;
        }
    }
    if (number->terms != NULL && number->terms->max_hold_ms > 0 &&
        number->held_since_ms + number->terms->max_hold_ms < over) {
        over = number->held_since_ms + number->terms->max_hold_ms;
    }
    if (number->cap_ms < over) {
        over = number->cap_ms;
    }
    return over;
}

/* Whose time has run out here keeps what the margin leaves him there. */
static void check_head_start(struct sim_client *client,
                             const struct hfi_number *number)
{
    bool by_deadline = number->lost_reason == HF_LOST_EXPIRED ||
                       number->lost_reason == HF_LOST_UNREACHABLE ||
                       number->lost_reason == HF_LOST_MAX_HOLD;
    /* That of a permit may have been made shorter. */
    int64_t margin = hfi_margin_ms(number->kind->has_ids
                                       ? number->first.lease_ms
                                       : number->longest_lease_ms);

    if (number->state == NUMBER_LOST && by_deadline &&
        sim_client_ms(client) < was_over_ms(number) + margin) {
        sim_break(client->world, "head_start",
                  "C%zu undoes n%llu before its time is over there",
                  client->index, (unsigned long long)number->n);
    }
}

static void note_sending(struct sim_link *link, const struct hfi_copy *copy,
                         const struct hfi_number *number, int lock,
                         uint64_t keep)
{
    struct sim_client *client = link->client;
    struct sim_identity id = {client->index, 0};

    if (number != NULL) {
        id = sim_identity_of(client, number);
    }
    struct sim_mark mark = {.end = link->appended,
                            .client = id.client,
                            .n = id.n,
                            .request = copy->request,
                            .lock = lock,
                            .keep = keep,
                            .native = copy->native,
                            .by_id = copy->about != NULL &&
                                     copy->request == HFI_CHANGE &&
                                     copy->about->ask.field != NULL,
                            .not_after_ms = copy->not_after_ms};

    if (number != NULL) {
        struct sim_shadow *shadow = sim_shadow_get(client->world, id.client,
                                                   id.n, lock);

        check_sending(client, copy->request, number, shadow);
        if (copy->request == HFI_UNDO) {
            check_head_start(client, number);
        }
        if (keep > 0) {
            shadow->keeps_pending++;
            shadow->keep_sent = keep;
        }
        /* Decided while a call of the same hold was under way, at the latest
         * in the breath in which it was answered: the count is the old one. */
        if (copy->request == HFI_RENEW &&
            (shadow->calls > 0 ||
             shadow->call_over_us == client->world->now_us)) {
            shadow->overlapping = keep;
        }
        shadow->calls += is_call(copy->request) ? 1 : 0;
        if (copy->request == HFI_CHANGE) {
            shadow->change = hfi_op_user(copy->about);
        }
        if (copy->stand_in != 0) {
            sim_shadow_get(client->world, client->index, copy->stand_in, lock)
                ->may_remain = true;
        }
    }
    sim_wire_mark(link->wire, &mark);
}

static const char *word_of(enum hfi_request request)
{
    static const char *const words[HFI_REQUESTS] = {
        [HFI_ACQUIRE] = "ACQUIRE", [HFI_ENTER] = "ENTER",
        [HFI_LEAVE] = "LEAVE",     [HFI_RENEW] = "RENEW",
        [HFI_CUT] = "CUT",         [HFI_EXTEND] = "EXTEND",
        [HFI_RELEASE] = "RELEASE", [HFI_UNDO] = "UNDO",
        [HFI_FORCE] = "FORCE",     [HFI_SHOW] = "SHOW",
        [HFI_SCAN] = "SCAN",       [HFI_TIME] = "TIME",
        [HFI_ADOPT] = "ADOPT",     [HFI_PROBE] = "PROBE",
        [HFI_WAKE] = "WAKE",       [HFI_TAKE] = "TAKE",
        [HFI_CHANGE] = "CHANGE",   [HFI_FENCE] = "FENCE",
        [HFI_LOOK] = "LOOK",       [HFI_TELL] = "TELL"};

    return words[request];
}

uint64_t sim_oracle_sending(struct sim_link *link, const struct hfi_copy *copy)
{
    struct sim_world *world = link->client->world;
    uint64_t keep = is_keep(copy->request) ? ++world->keeps : 0;
    const struct hfi_name *name = NULL;
    const struct hfi_copy *joined;

    if (copy->joined != NULL) {
        DL_FOREACH (copy->joined, joined) {
            (void)sim_oracle_sending(link, joined);
        }
        return 0;
    }
    for (size_t i = 0; i < copy->batch_count; i++) {
        const struct hfi_number *number = copy->batch[i].number;
        int lock = sim_lock_of(world, number->name->text, number->name->bytes);

        SIM_SAY(world, "C%zu.%zu  sends RENEW n%llu", link->client->index,
                link->id, (unsigned long long)number->n);
        note_sending(link, copy, number, lock, keep);
    }
    if (copy->batch_count > 0) {
        return keep;
    }
    if (copy->number != NULL) {
        name = copy->number->name;
    } else if (copy->about != NULL) {
        name = copy->about->name;
    }
    SIM_SAY(world, "C%zu.%zu  sends %s n%llu%s", link->client->index, link->id,
            word_of(copy->request),
            copy->number != NULL ? (unsigned long long)copy->number->n : 0,
            copy->with_text ? " with its text" : "");
    note_sending(
        link, copy, copy->number,
        name == NULL ? -1 : sim_lock_of(world, name->text, name->bytes), keep);
    return keep;
}

/* ---- running ---- */

static struct sim_image image_before[SIM_NAMES];
static int64_t token_before[SIM_NAMES];

void sim_oracle_before(struct sim_world *world, const struct sim_mark *mark)
{
    if (mark->lock >= 0) {
        sim_image_read(world, &world->locks[mark->lock]);
        image_before[mark->lock] = world->locks[mark->lock].image;
        token_before[mark->lock] = sim_token(world, mark->lock);
        sim_queue_before(world, mark->lock);
    }
}

/* What stands there for another number is as it was. */
static bool is_touched(const struct sim_lock *lock, const struct sim_mark *mark,
                       const struct sim_field *before,
                       const struct sim_field *after)
{
    /* A batch may have two readers of one lock, or two permits. */
    bool along = mark->request == HFI_RENEW;
    bool extended = lock->sort == SIM_READ_WRITE ||
                    (lock->sort == SIM_PERMITS && along);

    if (after == NULL || (before->count != after->count && !along)) {
        return true;
    }
    return extended ? before->expires_ms > after->expires_ms
                    : before->expires_ms != after->expires_ms;
}

static void check_foreign(struct sim_world *world, const struct sim_mark *mark,
                          const struct sim_image *before,
                          const struct sim_image *after)
{
    const struct sim_lock *lock = &world->locks[mark->lock];

    if (mark->request == HFI_FORCE || mark->by_id) {
        return;
    }
    for (size_t i = 0; i < before->fields; i++) {
        const struct sim_field *field = &before->field[i];
        struct sim_identity id = {field->client, field->n};

        if (field->expires_ms >= 0 &&
            field->expires_ms <= sim_server_ms(world)) {
            continue; /* in its last millisecond it has no TTL to keep */
        }
        if ((id.client != mark->client || id.n != mark->n) &&
            is_touched(lock, mark, field, sim_field_of(after, id))) {
            sim_break(world, "others_untouched",
                      "%s of C%zu n%llu changed %s, which C%zu n%llu had",
                      word_of(mark->request), mark->client,
                      (unsigned long long)mark->n, lock->name, id.client,
                      (unsigned long long)id.n);
        }
    }
}

static void check_extended(struct sim_world *world, const struct sim_mark *mark,
                           const struct sim_field *before,
                           const struct sim_field *after)
{
    if ((after == NULL || (after->expires_ms < before->expires_ms &&
                           mark->request != HFI_CUT)) &&
        before->expires_ms >= 0 &&
        !sim_shadow_of(world, mark->client, mark->n)->excused) {
        sim_break(
            world, "only_extended", "%s of C%zu n%llu has shortened its TTL",
            word_of(mark->request), mark->client, (unsigned long long)mark->n);
    }
    if (mark->request == HFI_ACQUIRE && after != NULL &&
        after->count != before->count) {
        sim_break(world, "acquire_keeps_count",
                  "a late ACQUIRE of C%zu n%llu has set the count from %lld "
                  "to %lld",
                  mark->client, (unsigned long long)mark->n,
                  (long long)before->count, (long long)after->count);
    }
}

static void check_own(struct sim_world *world, const struct sim_mark *mark,
                      const struct sim_field *before,
                      const struct sim_field *after)
{
    bool ends = mark->request == HFI_RELEASE || mark->request == HFI_UNDO;

    if (before == NULL) {
        if (after != NULL && mark->request != HFI_ACQUIRE) {
            sim_break(world, "only_acquire_creates",
                      "%s of C%zu n%llu has created its field",
                      word_of(mark->request), mark->client,
                      (unsigned long long)mark->n);
        }
        return;
    }
    if (ends && after != NULL) {
        sim_break(world, "ended_whole",
                  "%s of C%zu n%llu has left its field with count %lld",
                  word_of(mark->request), mark->client,
                  (unsigned long long)mark->n, (long long)after->count);
    }
    if (!ends && mark->request != HFI_FORCE) {
        check_extended(world, mark, before, after);
    }
}

/* A permit that is over stands there until somebody collects it. */
static const struct sim_field *in_time(const struct sim_world *world,
                                       const struct sim_field *field)
{
    return field != NULL && field->expires_ms >= 0 &&
                   field->expires_ms < sim_server_ms(world)
               ? NULL
               : field;
}

/* A token is taken where a field is made, and by a re-entry that counts; what
 * finds its field there takes none. */
static void check_token(struct sim_world *world, const struct sim_mark *mark,
                        bool stood)
{
    int64_t token = sim_token(world, mark->lock);

    if (token != token_before[mark->lock] && token_before[mark->lock] != 0 &&
        mark->request != HFI_ENTER && (stood || mark->request != HFI_ACQUIRE)) {
        sim_break(world, "token_stays",
                  "%s of C%zu n%llu has changed the token of %s from %lld to "
                  "%lld",
                  word_of(mark->request), mark->client,
                  (unsigned long long)mark->n, world->locks[mark->lock].name,
                  (long long)token_before[mark->lock], (long long)token);
    }
}

static void keep_is_over(struct sim_world *world, const struct sim_mark *mark,
                         bool ran)
{
    struct sim_shadow *shadow = sim_shadow_of(world, mark->client, mark->n);

    if (mark->keep == 0 || shadow == NULL) {
        return;
    }
    shadow->keeps_pending--;
    if (ran) {
        shadow->keep_ran = mark->keep;
        shadow->keep_alone = shadow->keeps_pending == 0;
    }
}

static void note_changes(struct sim_world *world, const struct sim_mark *mark,
                         const struct sim_image *before,
                         const struct sim_image *after)
{
    struct sim_lock *lock = &world->locks[mark->lock];
    bool forced = mark->request == HFI_FORCE;

    if (before->present != after->present || before->fields != after->fields) {
        lock->changed_us = world->now_us;
    }
    for (size_t i = 0; i < before->fields; i++) {
        struct sim_identity id = {before->field[i].client, before->field[i].n};

        if (sim_field_of(after, id) != NULL) {
            continue;
        }
        lock->changed_us = world->now_us;
        if (forced) {
            (void)sim_excuse_number(world, id.client, id.n, mark->lock);
        }
    }
    if (before->is_lock && !after->present && forced) {
        sim_count_fault(world, SIM_FORCED);
    }
    /* A bare release says nothing: that is another request, which may be lost
     * where it was not. */
    if (mark->request == HFI_WAKE ||
        (before->is_lock && !after->present && !mark->native)) {
        lock->gate[SIM_FOR_ALL].told_us = world->now_us;
    }
    if (before->mode == 'w' && after->mode != 'w') {
        lock->gate[SIM_FOR_READERS].told_us = world->now_us;
    }
}

/* What is refused does not look at the queue, and a release only tells its
 * first, if that one lives. */
static bool sweeps(const struct sim_world *world, const struct sim_mark *mark)
{
    return mark->request == HFI_UNDO ||
           (mark->request == HFI_ACQUIRE &&
            sim_server_ms(world) < mark->not_after_ms);
}

void sim_oracle_ran(struct sim_world *world, struct sim_wire *wire,
                    const struct sim_mark *mark)
{
    const struct sim_image *before, *after;
    struct sim_lock *lock;

    SIM_SAY(world, "server runs %s of C%zu n%llu%s", word_of(mark->request),
            mark->client, (unsigned long long)mark->n,
            wire->closed ? ", late" : "");
    if (mark->lock < 0) {
        return;
    }
    lock = &world->locks[mark->lock];
    sim_image_read(world, lock);
    before = &image_before[mark->lock];
    after = &lock->image;
    keep_is_over(world, mark, true);
    if (mark->request == HFI_RELEASE && is_of(before, mark)) {
        sim_shadow_of(world, mark->client, mark->n)->released = true;
    }
    /* token/acquire-3: nobody holds it, and it stands for one lease. */
    if (mark->native && sim_server_ms(world) >= mark->not_after_ms &&
        is_of(after, mark)) {
        sim_shadow_of(world, mark->client, mark->n)->may_remain = true;
    }
    if (mark->n != 0) {
        check_foreign(world, mark, before, after);
        check_own(world, mark, in_time(world, field_of(before, mark)),
                  in_time(world, field_of(after, mark)));
        check_token(world, mark, field_of(before, mark) != NULL);
    }
    if (lock->sort == SIM_FAIR) {
        sim_queue_ran(world, mark,
                      mark->request == HFI_ACQUIRE && !is_of(before, mark) &&
                          is_of(after, mark),
                      sweeps(world, mark));
    }
    note_changes(world, mark, before, after);
    if (lock->sort == SIM_PERMITS) {
        sim_permits_ran(world, mark, before);
    }
}

void sim_oracle_never(struct sim_world *world, const struct sim_mark *mark)
{
    keep_is_over(world, mark, false);
}

/* ---- answered ---- */

/* The deadlines of all levels that are not renewed, to see that they stay. */
static int64_t fixed_deadlines(const struct hfi_number *number)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < number->level_count; i++) {
        const struct level *level = i == 0 ? &number->first
                                           : &number->inner[i - 1];

        sum += level->renewed ? 0 : level->deadline_ms;
    }
    return sum;
}

static void one_is_over(struct sim_client *client, const struct hfi_copy *copy)
{
    if (is_call(copy->request)) {
        struct sim_identity id = sim_identity_of(client, copy->number);
        struct sim_shadow *shadow = sim_shadow_of(client->world, id.client,
                                                  id.n);

        shadow->calls--;
        shadow->call_over_us = client->world->now_us;
    }
}

static void call_is_over(struct sim_client *client, const struct hfi_copy *copy)
{
    const struct hfi_copy *joined;

    one_is_over(client, copy);
    DL_FOREACH (copy->joined, joined) {
        one_is_over(client, joined);
    }
}

void sim_oracle_gone(struct sim_client *client, const struct hfi_copy *copy)
{
    call_is_over(client, copy);
}

/* Nil, or a token; of a permit the server's time. */
static bool is_done(const struct hfi_number *number,
                    const struct hfi_value *value)
{
    return value->kind == HFI_NIL ||
           (number->kind->has_ids && value->kind == HFI_INTEGER &&
            value->integer >= 0) ||
           (value->kind == HFI_ARRAY && value->count == 2 &&
            value->items[0].kind == HFI_TEXT);
}

void sim_oracle_answer(struct sim_client *client, const struct hfi_copy *copy,
                       const struct hfi_value *value, uint64_t keep,
                       struct sim_answered *ret_answered)
{
    struct sim_answered *answered = ret_answered;

    answered->request = copy->request;
    answered->had_op = copy->op != NULL;
    answered->kind = value->kind;
    answered->keep = keep;
    answered->count = 0;
    answered->levels = 0;
    call_is_over(client, copy);
    if (copy->number != NULL) {
        answered->count = 1;
        answered->id[0] = sim_identity_of(client, copy->number);
        answered->fixed[0] = fixed_deadlines(copy->number);
        answered->nil[0] = is_done(copy->number, value);
        answered->levels = copy->number->level_count;
    }
    for (size_t i = 0; i < copy->batch_count; i++) {
        answered->id[i] = sim_identity_of(client, copy->batch[i].number);
        answered->fixed[i] = fixed_deadlines(copy->batch[i].number);
        answered->nil[i] = value->kind == HFI_ARRAY &&
                           value->count == copy->batch_count &&
                           value->items[i].kind == HFI_NIL;
        answered->count = i + 1;
    }
    SIM_SAY(client->world, "C%zu    reads the answer to %s n%llu: %s",
            client->index, word_of(copy->request),
            answered->count > 0 ? (unsigned long long)answered->id[0].n : 0,
            value->kind == HFI_ERROR     ? value->text
            : value->kind == HFI_NIL     ? "nil"
            : value->kind == HFI_INTEGER ? "a number"
                                         : "a list");
}

static const struct hfi_number *number_of(const struct sim_client *client,
                                          struct sim_identity of)
{
    struct hfi_name *name;
    const struct hfi_number *number;

    for (name = hfi_name_after(client->core, NULL); name != NULL;
         name = hfi_name_after(client->core, name)) {
        DL_FOREACH2(name->numbers, number, name_next)
        {
            struct sim_identity id = sim_identity_of(client, number);

            if (id.client == of.client && id.n == of.n) {
                return number;
            }
        }
    }
    return NULL;
}

/* Nothing that sets the count was sent after it, ran after it, or may yet. */
static bool was_last(const struct sim_shadow *shadow, uint64_t keep)
{
    return shadow->keep_ran == keep && shadow->keep_alone &&
           shadow->keep_sent == keep && shadow->overlapping != keep;
}

/* LATE-COPIES, what follows, 4. */
static void check_mirror(struct sim_client *client,
                         const struct sim_answered *answered, size_t i)
{
    struct sim_world *world = client->world;
    const struct hfi_number *number = number_of(client, answered->id[i]);
    struct sim_shadow *shadow = sim_shadow_of(world, answered->id[i].client,
                                              answered->id[i].n);
    const struct sim_field *field;

    if (number == NULL || shadow == NULL || !answered->nil[i] ||
        number->state != NUMBER_HELD || shadow->excused ||
        client->config.local_reentry || !was_last(shadow, answered->keep)) {
        return;
    }
    if (answered->request == HFI_ENTER &&
        number->level_count != answered->levels + 1) {
        return; /* it was not believed: too late, or given up */
    }
    field = sim_field_of(&world->locks[shadow->lock].image, answered->id[i]);
    if (field != NULL && field->count != number->level_count) {
        sim_break(world, "count_mirrored",
                  "C%zu n%llu has %u holds, the server says %lld",
                  client->index, (unsigned long long)number->n,
                  number->level_count, (long long)field->count);
    }
}

/* What the server says of a hold that is gone is believed at once. */
static void check_believed(struct sim_client *client,
                           const struct sim_answered *answered, size_t i)
{
    const struct hfi_number *number = number_of(client, answered->id[i]);

    if (number != NULL && number->state == NUMBER_HELD &&
        answered->kind == HFI_INTEGER && !answered->nil[i]) {
        sim_break(client->world, "told_of_excused",
                  "C%zu n%llu is held on though its field is gone",
                  client->index, (unsigned long long)number->n);
    }
}

static void check_fixed(struct sim_client *client,
                        const struct sim_answered *answered, size_t i)
{
    const struct hfi_number *number = number_of(client, answered->id[i]);

    /* One that was handed on within the client is another record now. */
    if (number != NULL && number->state == NUMBER_HELD &&
        number->foreign == NULL && answered->request == HFI_RENEW &&
        answered->fixed[i] != fixed_deadlines(number)) {
        sim_break(client->world, "fixed_stays",
                  "a renewal of C%zu n%llu has moved a level that is not "
                  "renewed",
                  client->index, (unsigned long long)number->n);
    }
}

void sim_oracle_answered(struct sim_client *client,
                         const struct sim_answered *answered)
{
    struct sim_world *world = client->world;

    for (size_t i = 0; i < answered->count; i++) {
        struct sim_shadow *shadow = sim_shadow_of(world, answered->id[i].client,
                                                  answered->id[i].n);

        if (is_keep(answered->request)) {
            check_believed(client, answered, i);
            check_mirror(client, answered, i);
            check_fixed(client, answered, i);
        }
        if ((answered->request == HFI_UNDO ||
             answered->request == HFI_RELEASE) &&
            answered->kind == HFI_ARRAY && shadow != NULL) {
            shadow->again_us = world->now_us +
                               world->locks[shadow->lock].options.dead_ms *
                                   1000;
        }
        if (answered->request == HFI_UNDO && answered->kind == HFI_INTEGER &&
            shadow != NULL) {
            const struct hfi_number *number = number_of(client,
                                                        answered->id[i]);

            shadow->final = number == NULL || number->end == END_FINAL;
        }
    }
}
