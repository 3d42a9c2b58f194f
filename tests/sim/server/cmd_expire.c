/* SPDX-License-Identifier: MIT */
/* cmd_expire.c - times to live. */
#include "commands.h"

#define IF_NONE 1u
#define IF_ANY 2u
#define IF_LATER 4u
#define IF_EARLIER 8u

static bool read_conditions(struct sim_call *call, unsigned *ret_conditions)
{
    unsigned conditions = 0;

    for (size_t i = 3; i < call->count; i++) {
        if (sim_arg_is(call, i, "nx")) {
            conditions |= IF_NONE;
        } else if (sim_arg_is(call, i, "xx")) {
            conditions |= IF_ANY;
        } else if (sim_arg_is(call, i, "gt")) {
            conditions |= IF_LATER;
        } else if (sim_arg_is(call, i, "lt")) {
            conditions |= IF_EARLIER;
        } else {
            sim_reply_error(call, "ERR Unsupported option %.*s",
                            (int)call->args[i].length, call->args[i].data);
            return false;
        }
    }
    if ((conditions & IF_NONE) != 0 && conditions != IF_NONE) {
        sim_reply_error(call, "ERR NX and XX, GT or LT options at the same "
                              "time are not compatible");
        return false;
    }
    if ((conditions & IF_LATER) != 0 && (conditions & IF_EARLIER) != 0) {
        sim_reply_error(call, "ERR GT and LT options at the same time are not "
                              "compatible");
        return false;
    }
    *ret_conditions = conditions;
    return true;
}

/* A key without a TTL lives longer than any: SIM_NEVER says so. */
static bool conditions_hold(unsigned conditions, int64_t present_ms,
                            int64_t wanted_ms)
{
    bool has_ttl = present_ms != SIM_NEVER;

    return ((conditions & IF_NONE) == 0 || !has_ttl) &&
           ((conditions & IF_ANY) == 0 || has_ttl) &&
           ((conditions & IF_LATER) == 0 || wanted_ms > present_ms) &&
           ((conditions & IF_EARLIER) == 0 || wanted_ms < present_ms);
}

/* When a key is to expire, from a duration in units. */
static bool read_time(struct sim_call *call, int64_t unit_ms, int64_t *ret_ms)
{
    int64_t duration;

    if (!sim_arg_integer(call, 2, &duration)) {
        return false;
    }
    if (duration > INT64_MAX / unit_ms || duration < INT64_MIN / unit_ms ||
        duration * unit_ms > INT64_MAX - call->now_ms) {
        sim_reply_error(call, "ERR invalid expire time in '%s' command",
                        call->command->name);
        return false;
    }
    *ret_ms = duration * unit_ms + call->now_ms;
    return true;
}

static void expire(struct sim_call *call, int64_t unit_ms)
{
    unsigned conditions;
    int64_t when_ms;
    struct sim_key *key;

    if (!read_conditions(call, &conditions) ||
        !read_time(call, unit_ms, &when_ms)) {
        return;
    }
    key = sim_db_find(call->db, call->args[1], call->now_ms);
    if (key == NULL || !conditions_hold(conditions, key->expires_ms, when_ms)) {
        sim_reply_integer(call, 0);
        return;
    }
    if (when_ms <= call->now_ms) {
        sim_key_delete(call->db, key);
    } else {
        sim_key_touch(call->db, key);
        key->expires_ms = when_ms;
    }
    sim_reply_integer(call, 1);
}

void sim_cmd_expire(struct sim_call *call)
{
    expire(call, 1000);
}

void sim_cmd_pexpire(struct sim_call *call)
{
    expire(call, 1);
}

void sim_cmd_persist(struct sim_call *call)
{
    struct sim_key *key = sim_db_find(call->db, call->args[1], call->now_ms);

    if (key == NULL || key->expires_ms == SIM_NEVER) {
        sim_reply_integer(call, 0);
        return;
    }
    sim_key_touch(call->db, key);
    key->expires_ms = SIM_NEVER;
    sim_reply_integer(call, 1);
}

static int64_t ttl_ms(struct sim_call *call)
{
    const struct sim_key *key = sim_db_find(call->db, call->args[1],
                                            call->now_ms);

    if (key == NULL) {
        return SIM_TTL_NO_KEY;
    }
    return key->expires_ms == SIM_NEVER ? SIM_TTL_NONE
                                        : key->expires_ms - call->now_ms;
}

void sim_cmd_pttl(struct sim_call *call)
{
    sim_reply_integer(call, ttl_ms(call));
}

void sim_cmd_pexpiretime(struct sim_call *call)
{
    int64_t ttl = ttl_ms(call);

    sim_reply_integer(call, ttl < 0 ? ttl : ttl + call->now_ms);
}

void sim_cmd_ttl(struct sim_call *call)
{
    int64_t ttl = ttl_ms(call);

    sim_reply_integer(call, ttl < 0 ? ttl : (ttl + 500) / 1000);
}
