/* SPDX-License-Identifier: MIT */
/* lua_values.c - replies become Lua values, and Lua values replies.
 *
 * The rules are those of https://redis.io/docs/interact/programmability/
 * lua-api/ for RESP2: what a script cannot be told exactly is rounded, cut or
 * false.
 */
#include <lauxlib.h>
#include <string.h>

#include "script.h"

#define DEEPEST 64 /* tables in a result */

/* ---- replies to Lua ---- */

static void push_field(lua_State *lua, const char *field, struct hft_piece text)
{
    lua_createtable(lua, 0, 1);
    lua_pushlstring(lua, text.data, text.length);
    lua_setfield(lua, -2, field);
}

static int64_t number_of(struct hft_piece line)
{
    int64_t number = 0;

    (void)sim_read_integer(line, &number);
    return number;
}

static void push_bulk(lua_State *lua, struct hft_piece reply, int64_t len,
                      size_t *at)
{
    if (len < 0) {
        lua_pushboolean(lua, 0);
        return;
    }
    lua_pushlstring(lua, reply.data + *at, (size_t)len);
    *at += (size_t)len + 2;
}

static void push_array(lua_State *lua, struct hft_piece reply, int64_t count,
                       size_t *at)
{
    if (count < 0) {
        lua_pushboolean(lua, 0);
        return;
    }
    luaL_checkstack(lua, 2, "a reply is too deep");
    lua_createtable(lua, (int)count, 0);
    for (int64_t i = 1; i <= count; i++) {
        sim_lua_push_reply(lua, reply, at);
        lua_rawseti(lua, -2, (int)i);
    }
}

void sim_lua_push_reply(lua_State *lua, struct hft_piece reply, size_t *at)
{
    const char *start = reply.data + *at;
    const char *end = memchr(start, '\r', reply.length - *at);
    struct hft_piece line = {start + 1, (size_t)(end - start) - 1};

    *at += line.length + 3;
    switch (*start) {
    case '+':
        push_field(lua, "ok", line);
        break;
    case '-':
        push_field(lua, "err", line);
        break;
    case ':':
        lua_pushnumber(lua, (lua_Number)number_of(line));
        break;
    case '$':
        push_bulk(lua, reply, number_of(line), at);
        break;
    default:
        push_array(lua, reply, number_of(line), at);
        break;
    }
}

void sim_lua_push_error(lua_State *lua, const char *text)
{
    if (*text == '-') {
        text++;
    }
    lua_createtable(lua, 0, 1);
    if (strchr(text, ' ') == NULL) {
        lua_pushfstring(lua, "ERR %s", text);
    } else {
        lua_pushstring(lua, text);
    }
    lua_setfield(lua, -2, "err");
}

/* ---- Lua to replies; each leaves the stack as it was ---- */

static void reply_value(struct sim_call *call, lua_State *lua, int depth);

/* A table with the field as a text is that text: an error or a status. */
static bool reply_as(struct sim_call *call, lua_State *lua, const char *field,
                     char type)
{
    bool has_field;

    lua_pushstring(lua, field);
    lua_rawget(lua, -2);
    has_field = lua_type(lua, -1) == LUA_TSTRING;
    if (has_field && type == '-') {
        sim_reply_error(call, "%s", lua_tostring(lua, -1));
    } else if (has_field) {
        size_t at = call->out->length;

        sim_reply_status(call, lua_tostring(lua, -1));
        for (; at < call->out->length - 2; at++) {
            char *byte = &call->out->data[at];

            *byte = *byte == '\r' || *byte == '\n' ? ' ' : *byte;
        }
    }
    lua_pop(lua, 1);
    return has_field;
}

/* A table is an array up to its first nil. */
static void reply_array(struct sim_call *call, lua_State *lua, int depth)
{
    int count = 0;

    for (;;) {
        lua_rawgeti(lua, -1, count + 1);
        if (lua_isnil(lua, -1)) {
            lua_pop(lua, 1);
            break;
        }
        lua_pop(lua, 1);
        count++;
    }
    sim_reply_array(call, (size_t)count);
    for (int i = 1; i <= count; i++) {
        lua_rawgeti(lua, -1, i);
        reply_value(call, lua, depth + 1);
        lua_pop(lua, 1);
    }
}

static void reply_table(struct sim_call *call, lua_State *lua, int depth)
{
    if (depth > DEEPEST || !lua_checkstack(lua, 4)) {
        sim_reply_error(call, "ERR reached lua stack limit");
        return;
    }
    if (!reply_as(call, lua, "err", '-') && !reply_as(call, lua, "ok", '+')) {
        reply_array(call, lua, depth);
    }
}

/* As C casts on amd64: what is no such integer is the least one. */
static int64_t whole(lua_Number number)
{
    const lua_Number limit = 9223372036854775808.0;

    return number >= -limit && number < limit ? (int64_t)number : INT64_MIN;
}

static void reply_value(struct sim_call *call, lua_State *lua, int depth)
{
    size_t len;
    const char *text;

    switch (lua_type(lua, -1)) {
    case LUA_TSTRING:
        text = lua_tolstring(lua, -1, &len);
        sim_reply_bulk(call, (struct hft_piece){text, len});
        break;
    case LUA_TNUMBER:
        sim_reply_integer(call, whole(lua_tonumber(lua, -1)));
        break;
    case LUA_TBOOLEAN:
        if (lua_toboolean(lua, -1)) {
            sim_reply_integer(call, 1);
        } else {
            sim_reply_nil(call);
        }
        break;
    case LUA_TTABLE:
        reply_table(call, lua, depth);
        break;
    default:
        sim_reply_nil(call);
        break;
    }
}

void sim_lua_pop_result(struct sim_call *call, lua_State *lua)
{
    reply_value(call, lua, 0);
    lua_pop(lua, 1);
}
