/* SPDX-License-Identifier: MIT */
/* commands.c - which commands there are, and what is refused before they run.
 *
 * A command is a row here and a function in the file of its type.  In a cluster
 * the slot would be looked at in refuse(), and the reply be MOVED or ASK.
 */
#include "commands.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_NAME 64
#define LONGEST_SHOWN 128 /* of a client's words, in an error */

#define CONNECTION SIM_NOT_IN_SCRIPTS
#define HEARING (SIM_NOT_IN_SCRIPTS | SIM_WHEN_SUBSCRIBED)

/* By name, for bsearch(): '|' comes after all letters. */
static const struct sim_command commands[] = {
    {"auth", -2, CONNECTION | SIM_WITHOUT_AUTH, sim_cmd_auth},
    {"client", -2, SIM_CONTAINER, NULL},
    {"client|getname", 2, CONNECTION, sim_cmd_client_getname},
    {"client|setname", 3, CONNECTION, sim_cmd_client_setname},
    {"command", -1, SIM_CONTAINER, NULL},
    {"command|info", -2, 0, sim_cmd_command_info},
    {"dbsize", 1, 0, sim_cmd_dbsize},
    {"decr", 2, 0, sim_cmd_decr},
    {"decrby", 3, 0, sim_cmd_decrby},
    {"del", -2, 0, sim_cmd_del},
    {"delifeq", 3, SIM_NEWER, sim_cmd_delifeq},
    {"eval", -3, CONNECTION, sim_cmd_eval},
    {"evalsha", -3, CONNECTION, sim_cmd_evalsha},
    {"exists", -2, 0, sim_cmd_exists},
    {"expire", -3, 0, sim_cmd_expire},
    {"flushall", -1, 0, sim_cmd_flushall},
    {"flushdb", -1, 0, sim_cmd_flushdb},
    {"get", 2, 0, sim_cmd_get},
    {"getdel", 2, 0, sim_cmd_getdel},
    {"hdel", -3, 0, sim_cmd_hdel},
    {"hexists", 3, 0, sim_cmd_hexists},
    {"hget", 3, 0, sim_cmd_hget},
    {"hgetall", 2, 0, sim_cmd_hgetall},
    {"hincrby", 4, 0, sim_cmd_hincrby},
    {"hkeys", 2, 0, sim_cmd_hkeys},
    {"hlen", 2, 0, sim_cmd_hlen},
    {"hmget", -3, 0, sim_cmd_hmget},
    {"hscan", -3, 0, sim_cmd_hscan},
    {"hset", -4, 0, sim_cmd_hset},
    {"hsetnx", 4, 0, sim_cmd_hsetnx},
    {"hvals", 2, 0, sim_cmd_hvals},
    {"incr", 2, 0, sim_cmd_incr},
    {"incrby", 3, 0, sim_cmd_incrby},
    {"keys", 2, 0, sim_cmd_keys},
    {"lindex", 3, 0, sim_cmd_lindex},
    {"llen", 2, 0, sim_cmd_llen},
    {"lpop", -2, 0, sim_cmd_lpop},
    {"lpush", -3, 0, sim_cmd_lpush},
    {"lrange", 4, 0, sim_cmd_lrange},
    {"lrem", 4, 0, sim_cmd_lrem},
    {"lset", 4, 0, sim_cmd_lset},
    {"ltrim", 4, 0, sim_cmd_ltrim},
    {"mget", -2, 0, sim_cmd_mget},
    {"persist", 2, 0, sim_cmd_persist},
    {"pexpire", -3, 0, sim_cmd_pexpire},
    {"pexpiretime", 2, 0, sim_cmd_pexpiretime},
    {"ping", -1, SIM_WHEN_SUBSCRIBED, sim_cmd_ping},
    {"pttl", 2, 0, sim_cmd_pttl},
    {"publish", 3, 0, sim_cmd_publish},
    {"pubsub", -2, SIM_CONTAINER, NULL},
    {"pubsub|channels", -2, 0, sim_cmd_pubsub_channels},
    {"pubsub|numsub", -2, 0, sim_cmd_pubsub_numsub},
    {"rpop", -2, 0, sim_cmd_rpop},
    {"rpush", -3, 0, sim_cmd_rpush},
    {"scan", -2, 0, sim_cmd_scan},
    {"script", -2, SIM_CONTAINER, NULL},
    {"script|exists", -3, CONNECTION, sim_cmd_script_exists},
    {"script|flush", -2, CONNECTION, sim_cmd_script_flush},
    {"script|load", 3, CONNECTION, sim_cmd_script_load},
    {"select", 2, 0, sim_cmd_select},
    {"set", -3, 0, sim_cmd_set},
    {"setnx", 3, 0, sim_cmd_setnx},
    {"strlen", 2, 0, sim_cmd_strlen},
    {"subscribe", -2, HEARING, sim_cmd_subscribe},
    {"time", 1, 0, sim_cmd_time},
    {"ttl", 2, 0, sim_cmd_ttl},
    {"type", 2, 0, sim_cmd_type},
    {"unlink", -2, 0, sim_cmd_unlink},
    {"unsubscribe", -1, HEARING, sim_cmd_unsubscribe},
    {"zadd", -4, 0, sim_cmd_zadd},
    {"zcard", 2, 0, sim_cmd_zcard},
    {"zcount", 4, 0, sim_cmd_zcount},
    {"zincrby", 4, 0, sim_cmd_zincrby},
    {"zmscore", -3, 0, sim_cmd_zmscore},
    {"zpopmin", -2, 0, sim_cmd_zpopmin},
    {"zrange", -4, 0, sim_cmd_zrange},
    {"zrangebyscore", -4, 0, sim_cmd_zrangebyscore},
    {"zrank", 3, 0, sim_cmd_zrank},
    {"zrem", -3, 0, sim_cmd_zrem},
    {"zremrangebyrank", 4, 0, sim_cmd_zremrangebyrank},
    {"zremrangebyscore", 4, 0, sim_cmd_zremrangebyscore},
    {"zrevrange", -4, 0, sim_cmd_zrevrange},
    {"zrevrangebyscore", -4, 0, sim_cmd_zrevrangebyscore},
    {"zscore", 3, 0, sim_cmd_zscore},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int compare_name(const void *name, const void *command)
{
    return strcmp(name, ((const struct sim_command *)command)->name);
}

/* Append a word in lower case; false: no command is called so. */
static bool add_lower(char *name, size_t *len, struct hft_piece word)
{
    if (word.length >= LONGEST_NAME - *len ||
        memchr(word.data, '\0', word.length) != NULL) {
        return false;
    }
    for (size_t i = 0; i < word.length; i++) {
        name[(*len)++] = (char)tolower((unsigned char)word.data[i]);
    }
    name[*len] = '\0';
    return true;
}

static const struct sim_command *find(const char *name)
{
    return bsearch(name, commands, COMMANDS, sizeof(commands[0]), compare_name);
}

const struct sim_command *sim_command_find(const struct hft_piece *args,
                                           size_t count)
{
    char name[LONGEST_NAME];
    size_t len = 0;
    const struct sim_command *command;

    if (!add_lower(name, &len, args[0]) || strchr(name, '|') != NULL) {
        return NULL;
    }
    command = find(name);
    if (command == NULL || (command->flags & SIM_CONTAINER) == 0 || count < 2) {
        return command;
    }
    name[len++] = '|';
    return add_lower(name, &len, args[1]) ? find(name) : NULL;
}

bool sim_command_takes(const struct sim_command *command, size_t count)
{
    return command->arity < 0 ? count >= (size_t)-command->arity
                              : count == (size_t)command->arity;
}

static int shown(struct hft_piece word)
{
    return (int)(word.length < LONGEST_SHOWN ? word.length : LONGEST_SHOWN);
}

/* The error to a word that is no command, with the words behind it, as far as
 * LONGEST_SHOWN bytes go. */
static void reply_unknown(struct sim_call *call)
{
    char name[LONGEST_NAME];
    struct hft_bytes words = {.length = 0};
    size_t len = 0;

    if (add_lower(name, &len, call->args[0]) && strchr(name, '|') == NULL &&
        find(name) != NULL) {
        for (size_t i = 0; i < len; i++) {
            name[i] = (char)toupper((unsigned char)name[i]);
        }
        sim_reply_error(call, "ERR unknown subcommand '%.*s'. Try %s HELP.",
                        shown(call->args[1]), call->args[1].data, name);
        return;
    }
    for (size_t i = 1; i < call->count && words.length < LONGEST_SHOWN; i++) {
        size_t left = LONGEST_SHOWN - words.length;
        struct hft_piece word = call->args[i];
        size_t shown_len = strnlen(word.data, word.length);

        hft_bytes_append_text(&words, "'");
        hft_bytes_append(&words, word.data,
                         shown_len < left ? shown_len : left);
        hft_bytes_append_text(&words, "' ");
    }
    sim_reply_error(call,
                    "ERR unknown command '%.*s', with args beginning with: "
                    "%.*s",
                    shown(call->args[0]), call->args[0].data, (int)words.length,
                    words.length > 0 ? words.data : "");
    hft_bytes_free(&words);
}

/* Whether a request may not run; the error is replied then. */
static bool refuse(struct sim_call *call)
{
    const struct sim_command *command = call->command;

    if (command == NULL) {
        reply_unknown(call);
        return true;
    }
    if (!sim_command_takes(command, call->count)) {
        sim_reply_error(call, "ERR wrong number of arguments for '%s' command",
                        command->name);
        return true;
    }
    if (!call->conn->authenticated &&
        (command->flags & SIM_WITHOUT_AUTH) == 0) {
        sim_reply_error(call, "NOAUTH Authentication required.");
        return true;
    }
    if (call->conn->channel_count > 0 &&
        (command->flags & SIM_WHEN_SUBSCRIBED) == 0) {
        sim_reply_error(call,
                        "ERR Can't execute '%s': only (P|S)SUBSCRIBE / "
                        "(P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed "
                        "in this context",
                        command->name);
        return true;
    }
    return false;
}

void sim_command_request(struct sim_call *call)
{
    call->command = sim_command_find(call->args, call->count);
    if (call->command != NULL && (call->command->flags & SIM_NEWER) != 0 &&
        !call->server->config.newer) {
        call->command = NULL;
    }
    if (!refuse(call)) {
        call->server->commands++;
        sim_journal_next(call->server->journal);
        call->command->run(call);
    }
}
