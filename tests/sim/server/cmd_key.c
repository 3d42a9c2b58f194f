/* SPDX-License-Identifier: MIT */
/* cmd_key.c - keys of any type. */
#include "commands.h"

void sim_cmd_del(struct sim_call *call)
{
    int64_t deleted = 0;

    for (size_t i = 1; i < call->count; i++) {
        struct sim_key *key = sim_db_find(call->db, call->args[i],
                                          call->now_ms);

        if (key != NULL) {
            sim_key_delete(call->db, key);
            deleted++;
        }
    }
    sim_reply_integer(call, deleted);
}

void sim_cmd_unlink(struct sim_call *call)
{
    sim_cmd_del(call);
}

void sim_cmd_exists(struct sim_call *call)
{
    int64_t found = 0;

    for (size_t i = 1; i < call->count; i++) {
        found += sim_db_find(call->db, call->args[i], call->now_ms) != NULL;
    }
    sim_reply_integer(call, found);
}

void sim_cmd_type(struct sim_call *call)
{
    static const char *const names[] = {[SIM_STRING] = "string",
                                        [SIM_HASH] = "hash",
                                        [SIM_LIST] = "list",
                                        [SIM_ZSET] = "zset"};
    const struct sim_key *key = sim_db_find(call->db, call->args[1],
                                            call->now_ms);

    sim_reply_status(call, key == NULL ? "none" : names[key->value.type]);
}

/* KEYS passes over what has expired, and leaves it. */
static bool is_listed(const struct sim_call *call, const struct sim_key *key)
{
    return !sim_key_is_past(key, call->now_ms) &&
           sim_matches(call->args[1], (struct hft_piece){key->name, key->len});
}

void sim_cmd_keys(struct sim_call *call)
{
    const struct sim_key *key = call->db->keys;
    size_t count = 0;

    for (; key != NULL; key = key->hh.next) {
        count += is_listed(call, key) ? 1 : 0;
    }
    sim_reply_array(call, count);
    for (key = call->db->keys; key != NULL; key = key->hh.next) {
        if (is_listed(call, key)) {
            sim_reply_bulk(call, (struct hft_piece){key->name, key->len});
        }
    }
}
