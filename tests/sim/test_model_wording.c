/* SPDX-License-Identifier: MIT */
/* test_model_wording.c - what chance does not find: odd words, error texts.
 *
 * Lists of requests that go to the model of a server and to a real one, whose
 * answers are to be the same, byte by byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "server/pair.h"
#include "server/same.h"

static void compare(struct sim_pair *pair, const struct sim_request *request)
{
    if (!sim_same_bytes(sim_pair_ask(pair, request))) {
        sim_pair_print(pair);
        fail();
    }
}

static void compare_line(struct sim_pair *pair, const char *line)
{
    struct sim_request request = {.count = 0};

    sim_request_add_line(&request, line);
    compare(pair, &request);
}

static void compare_lines(const char *const *lines, size_t count)
{
    struct sim_pair *pair = sim_pair_new(NULL);

    for (size_t i = 0; i < count; i++) {
        compare_line(pair, lines[i]);
    }
    sim_pair_free(pair);
}

#define COMPARE_LINES(lines)                                                   \
    compare_lines(lines, sizeof(lines) / sizeof((lines)[0]))

static const char *const errors[] = {
    "foo a b c",
    "foo",
    "get",
    "client foo",
    "client setname",
    "client",
    "client setname \x01",
    "client getname",
    "client setname ok",
    "client getname",
    "client setname ",
    "client getname",
    "script foo x",
    "script flush foo",
    "script flush sync",
    "script load )",
    "pubsub foo",
    "pubsub channels a b",
    "pubsub numsub",
    "pubsub|numsub a",
    "auth x",
    "auth a b",
    "auth default b",
    "auth a b c",
    "select 16",
    "select a",
    "select -1",
    "ping a b",
    "flushall foo",
    "flushall sync",
    "flushdb async",
    "dbsize x",
    "unsubscribe",
    "unsubscribe x",
    "subscribe",
    "scan a",
    "scan 0 count x",
    "scan 0 count 0",
    "scan 0 type",
    "scan 0 type foo",
    "hscan none a",
    "hscan none 0 foo",
    "evalsha abc 0",
    "evalsha abc x",
    "evalsha ffffffffffffffffffffffffffffffffffffffff 0",
    "evalsha ffffffffffffffffffffffffffffffffffffffff 2",
    "eval x y",
    "eval x 1",
    "eval x -1",
    "script exists a b",
};

static void errors_are_worded_alike(void **state)
{
    (void)state;
    COMPARE_LINES(errors);
}

static const char *const odd_arguments[] = {
    "set a b px 0",
    "set a b px -1",
    "set a b px a",
    "set a b px",
    "set a b nx xx",
    "set a b ex 9223372036854775807",
    "set a b px 9223372036854775807",
    "set a b keepttl px 1000",
    "set a b px 1000 keepttl",
    "set a b px 1000 ex 1",
    "set a b px 100000 get",
    "set a c keepttl",
    "set a c nx get",
    "set a c xx get",
    "set a c get get",
    "pexpire a 9223372036854775807",
    "expire a 9223372036854775807",
    "expire a -9223372036854775808",
    "pexpire a x",
    "pexpire a 1 nx xx",
    "pexpire a 1 nx gt",
    "pexpire a 1 gt lt",
    "pexpire a 1 nx nx foo",
    "incrby a x",
    "decrby a -9223372036854775808",
    "set a 9223372036854775807",
    "incr a",
    "decrby a -1",
    "set a 007",
    "incr a",
    "set a -0",
    "incr a",
    "set a -9223372036854775808",
    "decr a",
    "incr a",
    "hset h f 1 g",
    "hset h f x",
    "hset h f x h",
    "hincrby h f 1",
    "hincrby h g x",
    "hset h f 9223372036854775807",
    "hincrby h f 1",
    "hincrby h new -5",
    "hscan h 0 count 0",
    "hscan h 0 match f*",
    "hscan h 12345",
    "hget a f",
    "rpush l a b c d a a",
    "lpop l 0",
    "lpop l -1",
    "lpop l x",
    "lpop l 1 2",
    "lpop none",
    "lpop none 2",
    "rpop none 0",
    "lpop l 2",
    "lrem l -1 a",
    "lrem l x a",
    "lrem l 5 a",
    "lindex l x",
    "lindex none x",
    "lindex l -1",
    "lindex l 10",
    "lrange l a b",
    "lrange l -100 100",
    "lrange l 5 1",
    "rpop l 100",
    "exists l",
    "zadd z 1",
    "zadd z x a",
    "zadd z 1 a 2",
    "zadd z nx xx 1 a",
    "zadd z gt lt 1 a",
    "zadd z nx gt 1 a",
    "zadd z incr 1 a 2 b",
    "zadd z nan a",
    "zadd z xx 1 a",
    "zadd z xx incr 1 a",
    "exists z",
    "zadd z 1 a 2 b 1 b",
    "zadd z incr 0.1 a",
    "zadd z ch 5 a",
    "zadd z ch inf c -inf d 1e20 e 1e17 f 3.0 g 0x10 h -0 i 1e-7 j",
    "zrange z 0 -1 withscores",
    "zadd z incr -inf c",
    "zincrby z -inf c",
    "zincrby z x a",
    "zincrby z nx a",
    "zscore z none",
    "zscore z d",
    "zrange z 0 -1 foo",
    "zrange z 0 x",
    "zrange z -3 -2 withscores withscores",
    "zrangebyscore z (1 +inf",
    "zrangebyscore z x 1",
    "zrangebyscore z ( 5",
    "zrangebyscore z 5 (5",
    "zrangebyscore z -inf +inf withscores limit 1 2",
    "zrangebyscore z -inf +inf limit 1",
    "zrangebyscore z -inf +inf limit a 2",
    "zrangebyscore z -inf +inf limit 0 -1",
    "zrangebyscore z -inf +inf limit -1 2",
    "zrangebyscore z -inf +inf limit 3 0",
    "zrangebyscore none x 2",
    "zcount z (5 5",
    "zcount z a b",
    "zcount z -inf +inf",
    "zrem z b none",
    "zadd z nx 9 a 8 aaa 8 aa 8 a",
    "zadd z xx incr 1 none",
    "zadd z nx incr 1 aa",
    "zadd z gt incr -1 aa",
    "zrange z 0 -1",
    "zrem z a c d e f g h i j aa aaa",
    "exists z",
    "type none",
    "ttl none",
    "persist none",
    "del h none",
    "keys [",
    "keys [a-",
    "keys [z-a]",
    "keys \\",
    "keys [^b",
    "keys [\\\\a]",
    "del a h",
    "dbsize",
};

static void odd_arguments_are_answered_alike(void **state)
{
    (void)state;
    COMPARE_LINES(odd_arguments);
}

static const char *const scripts[] = {
    "return 1",
    "return 3.99",
    "return -3.99",
    "return 1e300",
    "return -1e300",
    "return 'x'",
    "return ''",
    "return nil",
    "return true",
    "return false",
    "return {}",
    "return {1,nil,2}",
    "return {1,{2,{'x',{}}},false,true}",
    "return {true,false,1.5,'x',{ok='OK'},{err='E x'},{a=1}}",
    "return {ok='a\\r\\nb'}",
    "return {err='a\\r\\nb'}",
    "return {err='ERR'}",
    "return {err=1}",
    "return function() end",
    "return {KEYS, ARGV}",
    "return KEYS.x",
    "KEYS[1]=3 return KEYS[1]",
    "return #ARGV .. ARGV[1]",
    "return ARGV[1] + 1",
    "return tostring(1e15)",
    "return {1e15 .. '', 2^53 .. '', 0.1 .. ''}",
    "return string.format('%d %s %5.2f', 3.7, 'x', 1/3)",
    "return ('x'):rep(3)",
    "return table.concat({1,2.5,3}, ',')",
    "return math.floor(-1.5)",
    "return {tonumber('0x10'), tonumber('1e3'), tonumber(' 5 ')}",
    "return tonumber('x')",
    "return string.find('a{b}', '{', 1, true)",
    "return loadstring('return 7')()",
    "return {unpack({1,2,3}, 2)}",
    "local t = {} for i, v in ipairs({4,5}) do t[i] = v * i end return t",
    "return _VERSION",
    "return type(_G)",
    "return x",
    "return print",
    "return redis.nothing",
    "x=1",
    "_G.x=1",
    "redis.call=1",
    "redis.foo=1",
    "string.x=1",
    "return a b",
    "return 'x",
    "error('boom')",
    "error('boom', 0)",
    "error('boom', 2)",
    "error()",
    "error(5)",
    "error(true)",
    "error({err='ERR boom'})",
    "error({err='boom'})",
    "error(redis.error_reply('boom'))",
    "local x = nil\nreturn x.y",
    "local x = nil return x()",
    "return nil .. 'x'",
    "return 1 < 'x'",
    "return {} + 1",
    "local function f() error('x') end\nlocal function g() f() end g()",
    "assert(false)",
    "assert(false, 'no')",
    "assert(nil, {err='ERR table'})",
    "return pcall(error, 'x')",
    "return {pcall(error, 'x')}",
    "return {pcall(function() return 1, 2 end)}",
    "return {pcall(error)}",
    "local ok, e = pcall(error, {err='E y'}) return {type(e), e}",
    "return tostring(select('#', pcall(function() return 1, 2 end)))",
    "return redis.error_reply('a')",
    "return redis.error_reply('A b')",
    "return redis.error_reply('-A b')",
    "return redis.error_reply('')",
    "return redis.error_reply('-')",
    "return redis.error_reply('a ')",
    "return {redis.error_reply('abc')}",
    "return redis.error_reply()",
    "return redis.error_reply(1)",
    "return redis.status_reply('A b')",
    "return redis.status_reply(1)",
    "return redis.sha1hex('')",
    "return redis.sha1hex()",
    "return redis.call()",
    "return redis.pcall()",
    "return redis.call({})",
    "return redis.call(true)",
    "return redis.call(nil)",
    "return redis.call('get', nil)",
    "return redis.pcall('get', {})",
    "return redis.call('foo')",
    "return redis.pcall('foo')",
    "return redis.call('pubsub', 'foo')",
    "return redis.call('pubsub')",
    "return redis.call('get')",
    "return redis.call('get', 'k', 'x', 'y')",
    "return redis.pcall('hset', 'h', 'a')",
    "return redis.call('subscribe', 'x')",
    "return redis.call('eval', 'return 1', 0)",
    "return redis.call('client', 'setname', 'a')",
    "return redis.call('script', 'flush')",
    "return redis.call('auth', 'x')",
    "return redis.call('ping')",
    "return redis.call('ping').ok",
    "return redis.call('set', 'k', 'v')",
    "return redis.call('incr', 'k')",
    "return redis.pcall('incr', 'k')",
    "\n\nreturn redis.call('hset', 'k', 'a', 'b')",
    "return redis.pcall('hset', 'k', 'a', 'b')",
    "return redis.pcall('hset', 'k', 'a', 'b').err",
    "local function f()\nreturn redis.call('incr', 'k')\nend\nreturn f()",
    "return {pcall(redis.call, 'hset', 'k', 'a', 'b')}",
    "return {pcall(redis.call, 'get')}",
    "return {pcall(redis.pcall, 'get')}",
    "return type(redis.call('get', 'none'))",
    "return redis.call('get', 'none')",
    "return {redis.call('get', 'none'), 1}",
    "return type(redis.call('lpop', 'none', 1))",
    "return redis.call('set', 'n', 1/3)",
    "return redis.call('get', 'n')",
    "redis.call('set', 'n', 1e15) return redis.call('get', 'n')",
    "redis.call('set', 'n', 1e17) return redis.call('get', 'n')",
    "redis.call('set', 'n', -0.0) return redis.call('get', 'n')",
    "redis.call('set','n',12345678901234) return redis.call('get','n')",
    "return redis.call('incrby', 'i', 2.0)",
    "return redis.call('incrby', 'i', 2.5)",
    "return redis.call('incrby', 'i', 9007199254740993)",
    "return redis.call('zadd', 'z', 0.1, 'm')",
    "return redis.call('zscore', 'z', 'm')",
    "return redis.call('zscore', 'z', 'm') + 1",
    "return redis.call('zadd', 'z', 'x', 'm')",
    "return redis.call('hgetall', 'none')",
    "return #redis.call('hgetall', 'none')",
    "return redis.call('SELECT', 3)",
    "redis.call('select', 3) return redis.call('set', 'k3', 'v')",
    "return redis.call('exists', 'k3')",
    "redis.call('set', 'half', 'v') error('then')",
    "return redis.call('exists', 'half')",
    "return redis.call('publish', 'nobody', 'x')",
    "return redis.call('del', 'a\\0b')",
    "return redis.call('time')[3]",
};

static void scripts_are_answered_alike(void **state)
{
    struct sim_pair *pair = sim_pair_new(NULL);

    (void)state;
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        struct sim_request request = {.count = 0};

        sim_request_add_text(&request, "EVAL");
        sim_request_add_text(&request, scripts[i]);
        sim_request_add_line(&request, "1 key 10 x");
        compare(pair, &request);
    }
    sim_pair_free(pair);
}

static void a_password_is_asked_for_alike(void **state)
{
    static const char *const lines[] = {"foo",
                                        "get",
                                        "get a",
                                        "ping",
                                        "auth wrong",
                                        "auth a secret",
                                        "subscribe c",
                                        "time x",
                                        "client setname x",
                                        "auth default wrong",
                                        "ping",
                                        "auth default secret",
                                        "ping",
                                        "auth wrong",
                                        "ping"};
    struct sim_pair *pair = sim_pair_new("secret");

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        compare_line(pair, lines[i]);
    }
    sim_pair_free(pair);
}

static void what_is_no_request_is_refused_alike(void **state)
{
    static const char *const thrown[] = {
        "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n",
        "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPI",
        "*0\r\n*-1\r\n*1\r\n$4\r\nPING\r\n",
        "*a\r\n",
        "*2147483648\r\n",
        "*1\r\n:1\r\n",
        "*1\r\n$-1\r\n",
        "*1\r\n$x\r\n",
        "*1\r\n$600000000\r\n",
        "*2\r\n$4\r\nPING\r\n*",
    };
    struct sim_pair *pair = sim_pair_new(NULL);

    (void)state;
    for (size_t i = 0; i < sizeof(thrown) / sizeof(thrown[0]); i++) {
        struct sim_answers answers = sim_pair_throw(pair, thrown[i]);

        if (!sim_same_bytes(answers)) {
            fprintf(stderr, "%s\nreal:  %.*s\nmodel: %.*s\n", thrown[i],
                    (int)answers.real.length, answers.real.data,
                    (int)answers.model.length, answers.model.data);
            fail();
        }
    }
    sim_pair_free(pair);
}

static void whoever_listens_is_answered_alike(void **state)
{
    static const char *const lines[] = {
        "subscribe c",   "ping",        "ping x",      "get a",
        "foo",           "get",         "publish c x", "unsubscribe",
        "unsubscribe",   "ping",        "get a",       "subscribe a b a",
        "unsubscribe b", "unsubscribe", "subscribe",
    };
    struct sim_pair *pair = sim_pair_new(NULL);

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        compare_line(pair, lines[i]);
    }
    sim_pair_free(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_worded_alike),
        cmocka_unit_test(odd_arguments_are_answered_alike),
        cmocka_unit_test(scripts_are_answered_alike),
        cmocka_unit_test(a_password_is_asked_for_alike),
        cmocka_unit_test(what_is_no_request_is_refused_alike),
        cmocka_unit_test(whoever_listens_is_answered_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
