/* SPDX-License-Identifier: MIT */
/* script.h - scripts: the cache, the Lua they run in, values both ways.
 *
 * Each server has a Lua state of its own.  What was compiled once stays so: a
 * flush and a restart make the server forget that it knows it, and no script
 * can leave anything else behind (lua_world.c).
 */
#ifndef SIM_SCRIPT_H
#define SIM_SCRIPT_H

#include <lua.h>
#include <uthash.h>

#include "call.h"

#define SIM_SHA1_SIZE 41

struct sim_script;
struct sim_pool;

struct sim_scripts {
    struct sim_server *server;
    lua_State *lua;
    struct sim_pool *pool; /* its memory */
    struct sim_script *table;
    int globals; /* references into Lua's registry */
    int handler;
    /* Of the script that runs. */
    const char *sha1;
    const struct sim_call *caller;
    struct sim_conn conn;   /* its own: SELECT is undone at its end */
    struct hft_bytes reply; /* of the command that it called last */
    struct hft_piece *args;
    size_t args_capacity;
};

struct sim_scripts *sim_scripts_new(struct sim_server *server);
void sim_scripts_free(struct sim_scripts *scripts);
void sim_scripts_flush(struct sim_scripts *scripts);
size_t sim_scripts_count(const struct sim_scripts *scripts);

void sim_sha1(struct hft_piece text, char ret_sha1[SIM_SHA1_SIZE]);

/* lua_world.c: what a script finds: Lua's libraries as far as Redis 7.0 lets
 * scripts see them, the table "redis", and globals that cannot be written. */
void sim_lua_open(struct sim_scripts *scripts);

/* lua_values.c */

/* Push what a reply is to a script; `at` moves behind it.  An error is a table
 * with "err", a status one with "ok", a nil is false. */
void sim_lua_push_reply(lua_State *lua, struct hft_piece reply, size_t *at);
/* Pop a script's result and reply it. */
void sim_lua_pop_result(struct sim_call *call, lua_State *lua);
/* Push the table of an error; "ERR" where the text has no code. */
void sim_lua_push_error(lua_State *lua, const char *text);

#endif
