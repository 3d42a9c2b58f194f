/* SPDX-License-Identifier: MIT */
/* api/inspect.c - who holds what, as the server sees it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "base/fail.h"
#include "sync/kinds/kind.h"

static void fill_info(const struct hfi_value *owner,
                      const struct hfi_value *count,
                      const struct hfi_value *ttl,
                      const struct hfi_value *waiting, hf_lock_info *ret_info)
{
    ret_info->ttl_ms = hfi_value_number(ttl, -2);
    ret_info->locked = ret_info->ttl_ms != -2;
    ret_info->count = hfi_value_number(count, 0);
    ret_info->waiting = hfi_value_number(waiting, 0);
    ret_info->owner[0] = '\0';
    if (owner->kind == HFI_TEXT) {
        hfi_printable(ret_info->owner, sizeof(ret_info->owner), owner->text,
                      owner->len);
    }
}

static void fill_halves(const struct hfi_value *mode,
                        const struct hfi_value *readers, hf_lock_info *ret_info)
{
    if (mode->kind == HFI_TEXT) {
        snprintf(ret_info->mode, sizeof(ret_info->mode), "%s", mode->text);
        ret_info->readers = hfi_value_number(readers, 0);
    }
}

/* What only some kinds say of themselves: a token; mode, readers and token. */
static void fill_rest(const struct hfi_kind *kind,
                      const struct hfi_value *shown, hf_lock_info *ret_info)
{
    const struct hfi_value *items = shown->items;

    ret_info->token = 0;
    ret_info->mode[0] = '\0';
    ret_info->readers = 0;
    if (kind->family != HFI_FAMILY_READ_WRITE) {
        ret_info->token = kind->fenced ? hfi_value_number(&items[4], 0) : 0;
    } else {
        fill_halves(&items[4], &items[5], ret_info);
        ret_info->token = hfi_value_number(&items[6], 0);
    }
}

/* What the server says of a lock; the value is the caller's to clear. */
static hf_status look(hf_lock *lock, struct hfi_op_result *ret_result,
                      hf_error *reterr)
{
    struct hfi_op_request ask = {.kind = HFI_OP_SHOW};
    hf_status status = hfi_client_enter(lock->client, true, reterr);

    memset(&ret_result->value, 0, sizeof(ret_result->value));
    if (status != HF_OK) {
        return status;
    }
    hfi_call_names(&ask, lock);
    return hfi_call_run(lock->client, &ask, NULL, ret_result, reterr);
}

hf_status hf_inspect_remote(hf_lock *lock, hf_lock_info *ret_info,
                            hf_error *reterr)
{
    struct hfi_op_result result;
    hf_status status;

    if (ret_info == NULL || ret_info->size < sizeof(*ret_info)) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_lock_info: begin with HF_LOCK_INFO_INIT");
    }
    if (lock == NULL) {
        return hfi_fail(reterr, HF_INVALID, "the lock is NULL");
    }
    status = look(lock, &result, reterr);
    if (status == HF_OK) {
        const struct hfi_value *items = result.value.items;

        fill_info(&items[1], &items[2], &items[0], &items[3], ret_info);
        fill_rest(lock->kind, &result.value, ret_info);
    }
    hfi_value_clear(&result.value);
    return status;
}

/* ---- the queue of a fair lock ---- */

/* What stands behind the five that are said of the lock itself. */
static void show_queue(const struct hfi_value *shown, hf_waiter_fn each,
                       void *context)
{
    hf_waiter_info waiter = {.place = 1};

    for (size_t i = 5; i + 2 < shown->count; i += 3, waiter.place++) {
        char owner[sizeof(((hf_lock_info *)0)->owner)];
        const struct hfi_value *items = &shown->items[i];

        owner[0] = '\0';
        if (items[0].kind == HFI_TEXT) {
            hfi_printable(owner, sizeof(owner), items[0].text, items[0].len);
        }
        waiter.owner = owner;
        waiter.ours = hfi_value_number(&items[1], 0) != 0;
        waiter.dead_in_ms = hfi_value_number(&items[2], 0);
        if (!each(&waiter, context)) {
            return;
        }
    }
}

hf_status hf_inspect_queue_remote(hf_lock *lock, hf_waiter_fn each,
                                  void *context, hf_error *reterr)
{
    struct hfi_op_result result;
    hf_status status;

    if (lock == NULL || each == NULL) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_inspect_queue_remote: %s is NULL",
                        lock == NULL ? "lock" : "each");
    }
    if (lock->kind->family != HFI_FAMILY_FAIR) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_inspect_queue_remote: a %s lock has no queue on "
                        "the server",
                        lock->kind->word);
    }
    status = look(lock, &result, reterr);
    if (status == HF_OK) {
        show_queue(&result.value, each, context);
    }
    hfi_value_clear(&result.value);
    return status;
}

/* ---- walking ---- */

/* One step of SCAN; the reply is the caller's to clear. */
static hf_status scan_step(hf_client *client, const char *pattern,
                           const char *cursor, struct hfi_value *ret_value,
                           hf_error *reterr)
{
    struct hfi_op_request ask = {
        .kind = HFI_OP_SCAN, .pattern = pattern, .cursor = cursor};
    struct hfi_op_result result;
    hf_status status = hfi_client_enter(client, true, reterr);

    if (status != HF_OK) {
        return status;
    }
    /* No lock keeps the client's memory while the call leaves it. */
    hfi_client_ref(client);
    status = hfi_call_run(client, &ask, NULL, &result, reterr);
    hfi_client_unref(client);
    *ret_value = result.value;
    return status;
}

/* Show what a step found; false: the user has seen enough. */
static bool show_step(const struct hfi_value *step, hf_inspect_fn each,
                      void *context)
{
    for (size_t i = 1; i + 6 < step->count; i += 7) {
        const struct hfi_value *found = &step->items[i];
        hf_lock_info info = HF_LOCK_INFO_INIT;

        fill_info(&found[1], &found[2], &found[3], &found[4], &info);
        fill_halves(&found[5], &found[6], &info);
        if (found[0].kind == HFI_TEXT &&
            !each(found[0].text, found[0].len, &info, context)) {
            return false;
        }
    }
    return true;
}

hf_status hf_inspect_list_remote(hf_client *client, const char *pattern,
                                 hf_inspect_fn each, void *context,
                                 hf_error *reterr)
{
    char cursor[32] = "0";
    bool more = true;

    if (client == NULL || each == NULL) {
        return hfi_fail(reterr, HF_INVALID,
                        "hf_inspect_list_remote: %s is NULL",
                        client == NULL ? "client" : "each");
    }
    while (more) {
        struct hfi_value step;
        hf_status status;

        memset(&step, 0, sizeof(step));
        status = scan_step(client, pattern == NULL ? "*" : pattern, cursor,
                           &step, reterr);
        if (status != HF_OK) {
            hfi_value_clear(&step);
            return status;
        }
        snprintf(cursor, sizeof(cursor), "%s",
                 step.items[0].text == NULL ? "0" : step.items[0].text);
        more = show_step(&step, each, context) && strcmp(cursor, "0") != 0;
        hfi_value_clear(&step);
    }
    return HF_OK;
}
