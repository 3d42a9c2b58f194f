/* SPDX-License-Identifier: MIT */
/* script.c - the cache of scripts, and running one; see script.h. */
#include "script.h"

#include <ctype.h>
#include <lauxlib.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "pool.h"
#include "support/fatal.h"

struct sim_script {
    UT_hash_handle hh;
    char sha1[SIM_SHA1_SIZE];
    int function; /* a reference into Lua's registry */
    bool known;   /* since the last flush; else kept to spare its compiling */
};

void sim_sha1(struct hft_piece text, char ret_sha1[SIM_SHA1_SIZE])
{
    unsigned char digest[SHA_DIGEST_LENGTH];

    SHA1((const unsigned char *)text.data, text.length, digest);
    for (size_t i = 0; i < sizeof(digest); i++) {
        (void)snprintf(ret_sha1 + 2 * i, 3, "%02x", digest[i]);
    }
}

struct sim_scripts *sim_scripts_new(struct sim_server *server)
{
    struct sim_scripts *scripts = hft_alloc(sizeof(*scripts));

    scripts->server = server;
    scripts->conn.server = server;
    scripts->conn.authenticated = true;
    scripts->pool = sim_pool_new();
    scripts->lua = lua_newstate(sim_pool_realloc, scripts->pool);
    if (scripts->lua == NULL) {
        hft_die("out of memory");
    }
    sim_lua_open(scripts);
    return scripts;
}

void sim_scripts_flush(struct sim_scripts *scripts)
{
    struct sim_script *script;

    for (script = scripts->table; script != NULL; script = script->hh.next) {
        script->known = false;
    }
}

void sim_scripts_free(struct sim_scripts *scripts)
{
    struct sim_script *script;
    struct sim_script *next;

    HASH_ITER (hh, scripts->table, script, next) {
        HASH_DELETE(hh, scripts->table, script);
        free(script);
    }
    lua_close(scripts->lua);
    sim_pool_free(scripts->pool);
    hft_bytes_free(&scripts->reply);
    free(scripts->args);
    free(scripts);
}

size_t sim_scripts_count(const struct sim_scripts *scripts)
{
    const struct sim_script *script;
    size_t count = 0;

    for (script = scripts->table; script != NULL; script = script->hh.next) {
        count += script->known ? 1 : 0;
    }
    return count;
}

static struct sim_script *find(const struct sim_scripts *scripts,
                               const char *sha1)
{
    struct sim_script *script;

    HASH_FIND(hh, scripts->table, sha1, SIM_SHA1_SIZE - 1, script);
    return script;
}

/* The script of a digest as a client writes it, if it is known, or NULL. */
static struct sim_script *find_word(const struct sim_scripts *scripts,
                                    struct hft_piece word)
{
    char sha1[SIM_SHA1_SIZE] = "";
    struct sim_script *script;

    if (word.length != SIM_SHA1_SIZE - 1) {
        return NULL;
    }
    for (size_t i = 0; i < word.length; i++) {
        sha1[i] = (char)tolower((unsigned char)word.data[i]);
    }
    script = find(scripts, sha1);
    return script != NULL && script->known ? script : NULL;
}

/* The script with that text, compiled if it is new; NULL: it cannot be, and the
 * error is replied. */
static struct sim_script *compile(struct sim_call *call, struct hft_piece text)
{
    struct sim_scripts *scripts = call->server->scripts;
    lua_State *lua = scripts->lua;
    struct sim_script *script;
    char sha1[SIM_SHA1_SIZE];

    sim_sha1(text, sha1);
    script = find(scripts, sha1);
    if (script != NULL) {
        script->known = true;
        return script;
    }
    if (luaL_loadbuffer(lua, text.data, text.length, "@user_script") != 0) {
        sim_reply_error(call, "ERR Error compiling script (new function): %s",
                        lua_tostring(lua, -1));
        lua_pop(lua, 1);
        return NULL;
    }
    script = hft_alloc(sizeof(*script));
    memcpy(script->sha1, sha1, sizeof(sha1));
    script->known = true;
    script->function = luaL_ref(lua, LUA_REGISTRYINDEX);
    HASH_ADD(hh, scripts->table, sha1, SIM_SHA1_SIZE - 1, script);
    return script;
}

/* ---- running ---- */

static void set_global(struct sim_scripts *scripts, const char *name,
                       const struct hft_piece *words, size_t count)
{
    lua_State *lua = scripts->lua;

    lua_rawgeti(lua, LUA_REGISTRYINDEX, scripts->globals);
    lua_pushstring(lua, name);
    lua_createtable(lua, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        lua_pushlstring(lua, words[i].data, words[i].length);
        lua_rawseti(lua, -2, (int)i + 1);
    }
    lua_rawset(lua, -3);
    lua_pop(lua, 1);
}

static bool read_keys(struct sim_call *call, size_t *ret_keys)
{
    int64_t keys;

    if (!sim_arg_integer(call, 2, &keys)) {
        return false;
    }
    if (keys > (int64_t)call->count - 3) {
        sim_reply_error(call, "ERR Number of keys can't be greater than number "
                              "of args");
        return false;
    }
    if (keys < 0) {
        sim_reply_error(call, "ERR Number of keys can't be negative");
        return false;
    }
    *ret_keys = (size_t)keys;
    return true;
}

static void run(struct sim_call *call, const struct sim_script *script,
                size_t keys)
{
    struct sim_scripts *scripts = call->server->scripts;
    lua_State *lua = scripts->lua;
    const struct hft_piece *words = call->args + 3;

    scripts->sha1 = script->sha1;
    scripts->caller = call;
    scripts->conn.db = call->conn->db;
    set_global(scripts, "KEYS", words, keys);
    set_global(scripts, "ARGV", words + keys, call->count - 3 - keys);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, scripts->handler);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, script->function);
    if (lua_pcall(lua, 0, 1, -2) == 0) {
        sim_lua_pop_result(call, lua);
    } else {
        const char *text = lua_tostring(lua, -1);

        sim_reply_error(call, "%s", text != NULL ? text : "ERR no text");
        lua_pop(lua, 1);
    }
    lua_pop(lua, 1);
    scripts->caller = NULL;
}

void sim_cmd_eval(struct sim_call *call)
{
    const struct sim_script *script;
    size_t keys = 0;

    if (!read_keys(call, &keys)) {
        return;
    }
    script = compile(call, call->args[1]);
    if (script != NULL) {
        run(call, script, keys);
    }
}

void sim_cmd_evalsha(struct sim_call *call)
{
    const struct sim_script *script = find_word(call->server->scripts,
                                                call->args[1]);
    size_t keys = 0;

    /* A digest of another length is refused before the keys are counted. */
    if (call->args[1].length == SIM_SHA1_SIZE - 1 && !read_keys(call, &keys)) {
        return;
    }
    if (script == NULL) {
        sim_reply_error(call, "NOSCRIPT No matching script. Please use EVAL.");
        return;
    }
    run(call, script, keys);
}

void sim_cmd_script_load(struct sim_call *call)
{
    const struct sim_script *script = compile(call, call->args[2]);

    if (script != NULL) {
        sim_reply_bulk(call, sim_word(script->sha1));
    }
}

void sim_cmd_script_exists(struct sim_call *call)
{
    sim_reply_array(call, call->count - 2);
    for (size_t i = 2; i < call->count; i++) {
        sim_reply_integer(
            call, find_word(call->server->scripts, call->args[i]) != NULL);
    }
}

void sim_cmd_script_flush(struct sim_call *call)
{
    if (call->count > 3 || (call->count == 3 && !sim_arg_is(call, 2, "sync") &&
                            !sim_arg_is(call, 2, "async"))) {
        sim_reply_error(call, "ERR SCRIPT FLUSH only support SYNC|ASYNC "
                              "option");
        return;
    }
    sim_scripts_flush(call->server->scripts);
    sim_reply_status(call, "OK");
}
