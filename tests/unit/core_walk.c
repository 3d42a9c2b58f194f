/* SPDX-License-Identifier: MIT */
/* core_walk.c - the invariants of late copies, looked at from outside and in:
 * what the cores remember, against what the model of the server has. */
#include "core_walk.h"

#include <stdlib.h>
#include <string.h>

struct world world;

const char *const lock_names[LOCKS] = {"a", "b"};
const char *const uuids[CLIENTS] = {"00000000-0000-4000-8000-000000000001",
                                    "00000000-0000-4000-8000-000000000002"};

/* 1: its field is there, and outlasts its deadline. */
static void check_live(struct client *client, struct hfi_number *number,
                       int lock, int *live)
{
    struct model_key *key = model_key(&world.model, lock_names[lock]);
    int64_t deadline = hfi_hold_deadline(number);
    char field[64];

    hfi_number_field(client->bench.core, number, field, sizeof(field));
    check(model_field(key, field) != NULL, "%s lives without its field", field);
    check(key->ends_at_ms > deadline + client->bench.server_ahead_ms,
          "%s lives longer than its field", field);
    check(++*live == 1, "two live at once");
}

static void look_at_number(struct client *client, struct hfi_number *number,
                           int lock, int live[LOCKS])
{
    struct past *past = &client->past[number->n];

    past->known = true;
    if (number->state != NUMBER_TRYING) {
        past->used = true;
    }
    if (number->state == NUMBER_HELD && hfi_hold_deadline(number) > world.now) {
        check_live(client, number, lock, &live[lock]);
    }
}

static bool has_record(struct client *client, uint64_t n)
{
    struct hfi_name *name;
    struct hfi_number *number;

    for (int lock = 0; lock < LOCKS; lock++) {
        struct hfi_object object = bench_object(lock_names[lock]);

        name = hfi_name_get(client->bench.core, &object, false);
        if (name == NULL) {
            continue;
        }
        DL_FOREACH2(name->numbers, number, name_next)
        {
            if (number->n == n) {
                return number->state == NUMBER_TRYING ||
                       number->state == NUMBER_HELD ||
                       number->state == NUMBER_RELEASING ||
                       number->end == END_PENDING || number->end == END_SENT;
            }
        }
    }
    return false;
}

/* 2: a field on the server is somebody's care. */
static void check_field(const char *owner)
{
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &world.clients[i];
        struct past *past;
        uint64_t n;

        if (strncmp(owner, uuids[i], 36) != 0) {
            continue;
        }
        n = strtoull(owner + 37, NULL, 10);
        past = &client->past[n];
        if (past->stand_in || past->excused || has_record(client, n)) {
            return;
        }
        check(false, "%s is left on the server", owner);
    }
}

/* Ends may be given up while there is no way to the server. */
static void excuse(struct client *client)
{
    if (client->up[HFI_LINK_MAIN] || client->up[HFI_LINK_KEEPER]) {
        return;
    }
    for (uint64_t n = 1; n < client->bench.core->next_n; n++) {
        client->past[n].excused |= !has_record(client, n);
    }
}

static void check_told(struct client *client)
{
    struct bench_notice notice;

    while (bench_told(&client->bench, &notice)) {
        uint64_t n = strtoull(strrchr(notice.owner, ':') + 1, NULL, 10);

        if (notice.lost) {
            check(++client->past[n].told_lost == 1, "%s was lost twice",
                  notice.owner);
        }
    }
}

/* 5: gone is what neither its own RELEASE nor its own UNDO took away. */
static void check_releases(struct client *client)
{
    for (int i = 0; i < OWNERS * LOCKS; i++) {
        struct bench_call **call = &client->releasing[i / LOCKS][i % LOCKS];
        uint64_t n = client->releasing_n[i / LOCKS][i % LOCKS];

        if (*call == NULL || (*call)->op != NULL) {
            continue;
        }
        check((*call)->status != HF_GONE || !client->past[n].freed,
              "%" PRIu64 " was freed, and is told gone", n);
        check((*call)->status != HF_NOT_OWNER, "%" PRIu64 " is not known", n);
        *call = NULL;
    }
}

void look_around(void)
{
    int live[LOCKS] = {0};

    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &world.clients[i];
        struct hfi_name *name;
        struct hfi_number *number;

        for (int lock = 0; lock < LOCKS; lock++) {
            struct hfi_object object = bench_object(lock_names[lock]);

            name = hfi_name_get(client->bench.core, &object, false);
            if (name == NULL) {
                continue;
            }
            DL_FOREACH2(name->numbers, number, name_next)
            {
                look_at_number(client, number, lock, live);
            }
        }
        excuse(client);
        check_told(client);
        check_releases(client);
    }
    for (int lock = 0; lock < LOCKS; lock++) {
        struct model_key *key = model_key(&world.model, lock_names[lock]);

        for (size_t i = 0; i < key->field_count; i++) {
            check_field(key->fields[i].owner);
        }
    }
}
