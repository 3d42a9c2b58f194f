/* SPDX-License-Identifier: MIT */
/* lua_world.c - what a script finds around itself, as in Redis 7.0.
 *
 * The names that a script may read live in a table that it cannot reach: what
 * it takes for its globals is an empty one in front of it, so that each write
 * of a global comes to our function, and so does the read of one that is not
 * there.  The libraries are guarded the same way.  Not offered are cjson,
 * struct, cmsgpack, bit, and random numbers: no script of ours uses them.
 */
#include <lauxlib.h>
#include <lualib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "script.h"

#define LONGEST_NUMBER 64
#define MOST_WHOLE 1e15 /* all below has less than 17 digits */

/* ---- calling commands ---- */

static struct sim_scripts *scripts_of(lua_State *lua)
{
    return lua_touserdata(lua, lua_upvalueindex(1));
}

/* A number as Redis writes it for a command: "%.17g", and most of them have no
 * fraction.  (Lua itself would write but 14 digits.) */
static void push_number(lua_State *lua, lua_Number number)
{
    char text[LONGEST_NUMBER];

    if (number > -MOST_WHOLE && number < MOST_WHOLE &&
        (lua_Number)(int64_t)number == number &&
        (number != 0 || !signbit(number))) {
        lua_pushlstring(lua, text, sim_write_integer((int64_t)number, text));
        return;
    }
    (void)snprintf(text, sizeof(text), "%.17g", number);
    lua_pushstring(lua, text);
}

/* The words of a call, on the stack from 1 on; false: one is no word. */
static bool read_words(struct sim_scripts *scripts, lua_State *lua, int count)
{
    for (int i = 1; i <= count; i++) {
        struct hft_piece word;

        if (lua_type(lua, i) == LUA_TNUMBER) {
            push_number(lua, lua_tonumber(lua, i));
            lua_replace(lua, i);
        } else if (lua_type(lua, i) != LUA_TSTRING) {
            return false;
        }
        word.data = lua_tolstring(lua, i, &word.length);
        scripts->args = sim_grow(scripts->args, (size_t)i - 1,
                                 &scripts->args_capacity, sizeof(word));
        scripts->args[i - 1] = word;
    }
    return true;
}

/* Run the words' command; NULL, or why it may not run in a script. */
static const char *run(struct sim_scripts *scripts, size_t count)
{
    struct sim_call call = {.server = scripts->server,
                            .conn = &scripts->conn,
                            .db = scripts->conn.db,
                            .args = scripts->args,
                            .count = count,
                            .now_ms = scripts->caller->now_ms,
                            .out = &scripts->reply};

    call.command = sim_command_find(call.args, count);
    if (call.command == NULL) {
        return "ERR Unknown Redis command called from script";
    }
    if (!sim_command_takes(call.command, count)) {
        return "ERR Wrong number of args calling Redis command from script";
    }
    if ((call.command->flags & SIM_NOT_IN_SCRIPTS) != 0) {
        return "ERR This Redis command is not allowed from script";
    }
    scripts->server->commands++;
    call.command->run(&call);
    return NULL;
}

/* Call a command and push what it replied; false: an error table. */
static bool call_command(lua_State *lua)
{
    struct sim_scripts *scripts = scripts_of(lua);
    int count = lua_gettop(lua);
    size_t at = 0;
    const char *wrong;

    scripts->reply.length = 0;
    if (count == 0) {
        wrong = "ERR Please specify at least one argument for this redis lib "
                "call";
    } else if (!read_words(scripts, lua, count)) {
        wrong = "ERR Lua redis lib command arguments must be strings or "
                "integers";
    } else {
        wrong = run(scripts, (size_t)count);
    }
    if (wrong != NULL) {
        sim_lua_push_error(lua, wrong);
        return false;
    }
    sim_lua_push_reply(
        lua, (struct hft_piece){scripts->reply.data, scripts->reply.length},
        &at);
    return scripts->reply.data[0] != '-';
}

static int redis_call(lua_State *lua)
{
    if (!call_command(lua)) {
        return lua_error(lua);
    }
    return 1;
}

static int redis_pcall(lua_State *lua)
{
    (void)call_command(lua);
    return 1;
}

/* ---- the rest of the table "redis" ---- */

static int single_text(lua_State *lua)
{
    if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
        sim_lua_push_error(lua, "ERR wrong number or type of arguments");
        return 0;
    }
    return 1;
}

static int redis_error_reply(lua_State *lua)
{
    if (single_text(lua)) {
        sim_lua_push_error(lua, lua_tostring(lua, 1));
    }
    return 1;
}

static int redis_status_reply(lua_State *lua)
{
    if (single_text(lua)) {
        lua_createtable(lua, 0, 1);
        lua_pushvalue(lua, 1);
        lua_setfield(lua, -2, "ok");
    }
    return 1;
}

static int redis_sha1hex(lua_State *lua)
{
    char sha1[SIM_SHA1_SIZE];
    struct hft_piece text;

    if (lua_gettop(lua) != 1) {
        sim_lua_push_error(lua, "ERR wrong number of arguments");
        return lua_error(lua);
    }
    text.data = luaL_checklstring(lua, 1, &text.length);
    sim_sha1(text, sha1);
    lua_pushstring(lua, sha1);
    return 1;
}

/* ---- the libraries ---- */

/* Redis' pcall() gives an error table's text, not the table. */
static int protected_call(lua_State *lua)
{
    int status;

    luaL_checkany(lua, 1);
    status = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0);
    if (status != 0 && lua_istable(lua, -1)) {
        lua_getfield(lua, -1, "err");
        if (lua_type(lua, -1) != LUA_TSTRING) {
            lua_pop(lua, 1);
        }
    }
    lua_pushboolean(lua, status == 0);
    if (status != 0) {
        lua_insert(lua, -2);
        return 2;
    }
    lua_insert(lua, 1);
    return lua_gettop(lua);
}

static int refuse_write(lua_State *lua)
{
    return luaL_error(lua, "Attempt to modify a readonly table");
}

static int refuse_read(lua_State *lua)
{
    return luaL_error(lua,
                      "Script attempted to access nonexistent global variable "
                      "'%s'",
                      luaL_checkstring(lua, 2));
}

/* Replace the table on the stack by an empty one that shows it. */
static void guard(lua_State *lua)
{
    lua_newtable(lua);
    lua_newtable(lua);
    lua_pushvalue(lua, -3);
    lua_setfield(lua, -2, "__index");
    lua_pushcfunction(lua, refuse_write);
    lua_setfield(lua, -2, "__newindex");
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
    lua_setmetatable(lua, -2);
    lua_remove(lua, -2);
}

static void open_library(lua_State *lua, lua_CFunction open, const char *name)
{
    lua_pushcfunction(lua, open);
    lua_pushstring(lua, name);
    lua_call(lua, 1, 0);
}

static void guard_library(lua_State *lua, const char *name)
{
    lua_getglobal(lua, name);
    guard(lua);
    lua_setglobal(lua, name);
}

static void add_function(struct sim_scripts *scripts, const char *name,
                         lua_CFunction function)
{
    lua_pushlightuserdata(scripts->lua, scripts);
    lua_pushcclosure(scripts->lua, function, 1);
    lua_setfield(scripts->lua, -2, name);
}

static void open_redis(struct sim_scripts *scripts)
{
    lua_newtable(scripts->lua);
    add_function(scripts, "call", redis_call);
    add_function(scripts, "pcall", redis_pcall);
    add_function(scripts, "error_reply", redis_error_reply);
    add_function(scripts, "status_reply", redis_status_reply);
    add_function(scripts, "sha1hex", redis_sha1hex);
    lua_setglobal(scripts->lua, "redis");
}

static void take_away(lua_State *lua)
{
    static const char *const names[] = {"dofile",   "getfenv", "loadfile",
                                        "newproxy", "print",   "setfenv"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        lua_pushnil(lua);
        lua_setglobal(lua, names[i]);
    }
    lua_getglobal(lua, "math");
    lua_pushnil(lua);
    lua_setfield(lua, -2, "random");
    lua_pushnil(lua);
    lua_setfield(lua, -2, "randomseed");
    lua_pop(lua, 1);
}

/* What a script dies of becomes the text of its error reply, with the line of
 * the script that was running. */
static int describe_error(lua_State *lua)
{
    struct sim_scripts *scripts = scripts_of(lua);
    lua_Debug where;

    if (lua_istable(lua, 1)) {
        lua_getfield(lua, 1, "err");
    } else {
        lua_getglobal(lua, "tostring");
        lua_pushvalue(lua, 1);
        lua_call(lua, 1, 1);
        lua_pushfstring(lua, "ERR %s", lua_tostring(lua, -1));
    }
    if (lua_getstack(lua, 1, &where)) {
        lua_getinfo(lua, "Sl", &where);
        if (strcmp(where.what, "C") == 0 && lua_getstack(lua, 2, &where)) {
            lua_getinfo(lua, "Sl", &where);
        }
        lua_pushfstring(lua, "%s script: %s, on %s:%d.", lua_tostring(lua, -1),
                        scripts->sha1, where.source, where.currentline);
    }
    return 1;
}

void sim_lua_open(struct sim_scripts *scripts)
{
    static const char *const guarded[] = {"string", "table", "math",
                                          "coroutine", "redis"};
    lua_State *lua = scripts->lua;

    open_library(lua, luaopen_base, "");
    open_library(lua, luaopen_table, LUA_TABLIBNAME);
    open_library(lua, luaopen_string, LUA_STRLIBNAME);
    open_library(lua, luaopen_math, LUA_MATHLIBNAME);
    open_redis(scripts);
    take_away(lua);
    lua_pushcfunction(lua, protected_call);
    lua_setglobal(lua, "pcall");
    for (size_t i = 0; i < sizeof(guarded) / sizeof(guarded[0]); i++) {
        guard_library(lua, guarded[i]);
    }

    lua_pushlightuserdata(lua, scripts);
    lua_pushcclosure(lua, describe_error, 1);
    scripts->handler = luaL_ref(lua, LUA_REGISTRYINDEX);

    /* A name that the real globals lack is an error. */
    lua_newtable(lua);
    lua_pushcfunction(lua, refuse_read);
    lua_setfield(lua, -2, "__index");
    lua_pushvalue(lua, LUA_GLOBALSINDEX);
    lua_insert(lua, -2);
    lua_setmetatable(lua, -2);
    lua_pushvalue(lua, -1);
    scripts->globals = luaL_ref(lua, LUA_REGISTRYINDEX);

    guard(lua);
    lua_pushvalue(lua, -1);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, scripts->globals);
    lua_insert(lua, -2);
    lua_setfield(lua, -2, "_G");
    lua_pop(lua, 1);
    lua_replace(lua, LUA_GLOBALSINDEX);
}
