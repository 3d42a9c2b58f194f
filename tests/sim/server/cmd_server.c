/* SPDX-License-Identifier: MIT */
/* cmd_server.c - connections, time, and databases as a whole. */
#include <stdio.h>
#include <string.h>

#include "commands.h"

void sim_cmd_ping(struct sim_call *call)
{
    if (call->count > 2) {
        sim_reply_error(call,
                        "ERR wrong number of arguments for 'ping' command");
    } else if (call->conn->channel_count > 0) {
        sim_reply_array(call, 2);
        sim_reply_bulk(call, sim_word("pong"));
        sim_reply_bulk(call, call->count == 2 ? call->args[1] : sim_word(""));
    } else if (call->count == 2) {
        sim_reply_bulk(call, call->args[1]);
    } else {
        sim_reply_status(call, "PONG");
    }
}

void sim_cmd_auth(struct sim_call *call)
{
    const char *password = call->server->config.password;
    struct hft_piece given = call->args[call->count - 1];

    if (call->count > 3) {
        sim_reply_syntax_error(call);
        return;
    }
    if (call->count == 2 && password == NULL) {
        sim_reply_error(call, "ERR AUTH <password> called without any password "
                              "configured for the default user. Are you sure "
                              "your configuration is correct?");
        return;
    }
    if ((call->count == 3 && !hft_piece_is(call->args[1], "default")) ||
        (password != NULL &&
         (given.length != strlen(password) ||
          memcmp(given.data, password, given.length) != 0))) {
        sim_reply_error(call, "WRONGPASS invalid username-password pair or "
                              "user is disabled.");
        return;
    }
    call->conn->authenticated = true;
    sim_reply_status(call, "OK");
}

void sim_cmd_select(struct sim_call *call)
{
    int64_t number;

    if (!sim_arg_integer(call, 1, &number)) {
        return;
    }
    if (number < INT32_MIN || number > INT32_MAX) {
        sim_reply_error(call, "ERR value is out of range, value must between "
                              "-2147483648 and 2147483647");
        return;
    }
    if (number < 0 || number >= SIM_DATABASES) {
        sim_reply_error(call, "ERR DB index is out of range");
        return;
    }
    call->conn->db = &call->server->databases[number];
    sim_reply_status(call, "OK");
}

void sim_cmd_client_setname(struct sim_call *call)
{
    struct hft_piece name = call->args[2];

    for (size_t i = 0; i < name.length; i++) {
        if (name.data[i] < '!' || name.data[i] > '~') {
            sim_reply_error(call, "ERR Client names cannot contain spaces, "
                                  "newlines or special characters.");
            return;
        }
    }
    sim_text_free(&call->conn->name);
    call->conn->name = sim_text_copy(name);
    sim_reply_status(call, "OK");
}

void sim_cmd_client_getname(struct sim_call *call)
{
    if (call->conn->name.len == 0) {
        sim_reply_nil(call);
    } else {
        sim_reply_text(call, call->conn->name);
    }
}

static void reply_number(struct sim_call *call, int64_t number)
{
    struct sim_text text = sim_text_format("%lld", (long long)number);

    sim_reply_text(call, text);
    sim_text_free(&text);
}

void sim_cmd_time(struct sim_call *call)
{
    sim_reply_array(call, 2);
    reply_number(call, call->now_ms / 1000);
    reply_number(call, call->now_ms % 1000 * 1000);
}

/* Of a command that there is, its name: nobody here asks for more. */
void sim_cmd_command_info(struct sim_call *call)
{
    sim_reply_array(call, call->count - 2);
    for (size_t i = 2; i < call->count; i++) {
        const struct sim_command *command = sim_command_find(&call->args[i], 1);

        if (command == NULL || ((command->flags & SIM_NEWER) != 0 &&
                                !call->server->config.newer)) {
            sim_reply_nil(call);
        } else {
            sim_reply_array(call, 1);
            sim_reply_bulk(call, call->args[i]);
        }
    }
}

void sim_cmd_dbsize(struct sim_call *call)
{
    /* With those that have expired and that nobody has met since. */
    sim_reply_integer(call, (int64_t)HASH_COUNT(call->db->keys));
}

/* SYNC and ASYNC are the same here. */
static bool takes_flush(struct sim_call *call)
{
    if (call->count == 1 ||
        (call->count == 2 &&
         (sim_arg_is(call, 1, "sync") || sim_arg_is(call, 1, "async")))) {
        return true;
    }
    sim_reply_syntax_error(call);
    return false;
}

void sim_cmd_flushdb(struct sim_call *call)
{
    if (takes_flush(call)) {
        sim_db_clear(call->db);
        sim_reply_status(call, "OK");
    }
}

void sim_cmd_flushall(struct sim_call *call)
{
    if (!takes_flush(call)) {
        return;
    }
    for (unsigned i = 0; i < SIM_DATABASES; i++) {
        sim_db_clear(&call->server->databases[i]);
    }
    sim_reply_status(call, "OK");
}
