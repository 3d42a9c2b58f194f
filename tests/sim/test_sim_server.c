/* SPDX-License-Identifier: MIT */
/* test_sim_server.c - what the world does to the model of a server: time,
 * restarts, forgotten writes, messages, and looks inside.
 *
 * Commands and scripts are compared with a real server elsewhere
 * (test_model_against_redis.c, test_model_wording.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/sim_server.h"

#define NOW 1700000000000

struct heard {
    struct hft_bytes bytes;
    struct sim_conn *conn;
};

static void hear(void *context, struct sim_conn *conn, const char *bytes,
                 size_t len)
{
    struct heard *heard = context;

    hft_bytes_append(&heard->bytes, bytes, len);
    heard->conn = conn;
}

static struct sim_server *new_server(struct heard *heard)
{
    struct sim_server_config config = {
        .deliver = hear, .context = heard, .keep_writes = 3};

    *heard = (struct heard){.conn = NULL};
    return sim_server_new(&config);
}

static void end(struct sim_server *server, struct heard *heard)
{
    sim_server_free(server);
    hft_bytes_free(&heard->bytes);
}

/* What a connection is answered; into `out`, terminated. */
static const char *ask(struct sim_conn *conn, const char *bytes,
                       struct hft_bytes *out)
{
    out->length = 0;
    assert_true(sim_server_request(conn, bytes, strlen(bytes), NOW, out));
    hft_bytes_append(out, "", 1);
    return out->data;
}

#define RUN(server, ...) sim_server_run(server, NOW, __VA_ARGS__, NULL)

static void a_request_in_parts_runs_once_it_is_whole(void **state)
{
    struct heard heard;
    struct sim_server *server = new_server(&heard);
    struct sim_conn *conn = sim_conn_open(server, NULL);
    struct hft_bytes out = {.length = 0};

    (void)state;
    assert_string_equal(ask(conn, "*2\r\n$4\r\nIN", &out), "");
    assert_string_equal(ask(conn, "CR\r\n$1\r\nk\r", &out), "");
    assert_string_equal(
        ask(conn, "\n*2\r\n$4\r\nINCR\r\n$1\r\nk\r\n*1\r\n", &out),
        ":1\r\n:2\r\n");
    assert_string_equal(ask(conn, "$4\r\nPING\r\n", &out), "+PONG\r\n");
    hft_bytes_free(&out);
    end(server, &heard);
}

static void a_key_lives_up_to_its_time_and_not_beyond(void **state)
{
    struct heard heard;
    struct sim_server *server = new_server(&heard);
    struct sim_db *db = sim_server_db(server, 0);

    (void)state;
    RUN(server, "SET", "k", "v", "PX", "100");
    assert_int_equal(sim_key_ttl_ms(db, "k", NOW + 30), 70);
    assert_string_equal(sim_server_run(server, NOW + 100, "EXISTS", "k", NULL),
                        ":1\r\n");
    assert_null(sim_key_find(db, "k", NOW + 101));
    assert_int_equal(sim_key_ttl_ms(db, "k", NOW + 101), SIM_TTL_NO_KEY);
    /* A look deletes nothing, so a clock that steps back finds it again. */
    assert_non_null(sim_key_find(db, "k", NOW));
    assert_int_equal(sim_server_active_expire(server, NOW + 100), 0);
    assert_int_equal(sim_server_active_expire(server, NOW + 101), 1);
    assert_null(sim_key_find(db, "k", NOW));
    end(server, &heard);
}

static void a_restart_keeps_data_and_nothing_else(void **state)
{
    struct heard heard;
    struct sim_server *server = new_server(&heard);
    struct sim_conn *conn = sim_conn_open(server, NULL);
    struct hft_bytes out = {.length = 0};

    (void)state;
    ask(conn, "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n", &out);
    RUN(server, "EVAL", "return redis.call('set', KEYS[1], 'v')", "1", "k");
    assert_int_equal(sim_server_scripts(server), 1);
    assert_int_equal(sim_subscribers(server, "c"), 1);
    assert_int_equal(sim_server_restart(server, 0), 0);
    assert_int_equal(sim_server_scripts(server), 0);
    assert_int_equal(sim_subscribers(server, "c"), 0);
    assert_int_equal(sim_server_connections(server), 0);
    assert_string_equal(RUN(server, "GET", "k"), "$1\r\nv\r\n");
    /* The old connection is of no use any more. */
    assert_false(
        sim_server_request(conn, "*1\r\n$4\r\nPING\r\n", 14, NOW, &out));
    sim_conn_close(conn);
    sim_server_restart_empty(server);
    assert_string_equal(RUN(server, "DBSIZE"), ":0\r\n");
    hft_bytes_free(&out);
    end(server, &heard);
}

static void a_restart_forgets_the_last_writes(void **state)
{
    struct heard heard;
    struct sim_server *server = new_server(&heard);
    struct sim_db *db = sim_server_db(server, 0);

    (void)state;
    RUN(server, "HSET", "h", "f", "1");
    RUN(server, "PEXPIRE", "h", "5000");
    RUN(server, "SET", "s", "old");
    RUN(server, "GET", "s"); /* no write */
    RUN(server, "EVAL",
        "redis.call('hset', 'h', 'f', 2) redis.call('hset', 'h', 'g', 3) "
        "redis.call('pexpire', 'h', 9000) redis.call('del', 's') "
        "redis.call('rpush', 'l', 'x')",
        "0");
    assert_int_equal(sim_server_writes(server), 4);
    assert_int_equal(sim_server_restart(server, 1), 1); /* the script */
    assert_string_equal(sim_hash_get(db, "h", "f", NOW), "1");
    assert_null(sim_hash_get(db, "h", "g", NOW));
    assert_int_equal(sim_key_ttl_ms(db, "h", NOW), 5000);
    assert_string_equal(RUN(server, "GET", "s"), "$3\r\nold\r\n");
    assert_null(sim_key_find(db, "l", NOW));
    /* The first write of all is no longer kept. */
    assert_int_equal(sim_server_restart(server, 5), 2);
    assert_int_equal(sim_key_ttl_ms(db, "h", NOW), SIM_TTL_NONE);
    assert_null(sim_key_find(db, "s", NOW));
    end(server, &heard);
}

static void a_forgotten_flush_gives_everything_back(void **state)
{
    struct heard heard;
    struct sim_server *server = new_server(&heard);

    (void)state;
    RUN(server, "RPUSH", "l", "a", "b");
    RUN(server, "ZADD", "z", "2", "b", "1", "a");
    RUN(server, "FLUSHALL");
    assert_int_equal(sim_server_restart(server, 1), 1);
    assert_string_equal(RUN(server, "LRANGE", "l", "0", "-1"),
                        "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
    assert_string_equal(RUN(server, "ZRANGE", "z", "0", "-1"),
                        "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
    end(server, &heard);
}

static void a_script_sees_one_time_and_expires_nothing_midway(void **state)
{
    struct heard heard;
    struct sim_server *server = new_server(&heard);

    (void)state;
    assert_string_equal(
        sim_server_run(server, NOW + 7, "EVAL",
                       "local a = redis.call('time') "
                       "for i = 1, 1000 do redis.call('incr', 'k') end "
                       "local b = redis.call('time') "
                       "return {a[1], a[2], a[2] == b[2]}",
                       "0", NULL),
        "*3\r\n$10\r\n1700000000\r\n$4\r\n7000\r\n:1\r\n");
    end(server, &heard);
}

static void a_message_is_handed_over_for_each_listener(void **state)
{
    struct heard heard;
    struct sim_server *server = new_server(&heard);
    struct sim_conn *conn = sim_conn_open(server, &heard);
    struct hft_bytes out = {.length = 0};

    (void)state;
    ask(conn, "*3\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n$1\r\nd\r\n", &out);
    assert_true(sim_conn_hears(conn, "c"));
    assert_int_equal(sim_conn_channels(conn), 2);
    assert_string_equal(sim_conn_channel(conn, 1), "d");
    assert_string_equal(RUN(server, "PUBLISH", "c", "hello"), ":1\r\n");
    assert_ptr_equal(heard.conn, conn);
    assert_ptr_equal(sim_conn_user(heard.conn), &heard);
    hft_bytes_append(&heard.bytes, "", 1);
    assert_string_equal(heard.bytes.data, "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n"
                                          "$5\r\nhello\r\n");
    sim_conn_close(conn);
    assert_int_equal(sim_subscribers(server, "c"), 0);
    assert_string_equal(RUN(server, "PUBLISH", "c", "hello"), ":0\r\n");
    hft_bytes_free(&out);
    end(server, &heard);
}

static void a_script_flush_makes_the_next_call_fail(void **state)
{
    struct heard heard;
    struct sim_server *server = new_server(&heard);

    (void)state;
    assert_string_equal(RUN(server, "SCRIPT", "LOAD", "return 1"),
                        "$40\r\ne0e1f9fabfc9d4800c877a703b823ac0578ff8db\r\n");
    sim_server_script_flush(server);
    assert_string_equal(
        RUN(server, "EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0"),
        "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    assert_int_equal(sim_server_commands(server), 2);
    end(server, &heard);
}

static void a_look_shows_every_entry(void **state)
{
    struct heard heard;
    struct sim_server *server = new_server(&heard);
    struct sim_db *db = sim_server_db(server, 0);
    struct sim_key *key;
    size_t len;

    (void)state;
    RUN(server, "HSET", "h", "f", "1", "g", "2");
    RUN(server, "ZADD", "z", "1.5", "m");
    RUN(server, "SET", "gone", "x", "PX", "1");
    key = sim_key_next(db, NULL, NOW + 2);
    assert_string_equal(sim_key_name(key, &len), "h");
    assert_int_equal(len, 1);
    assert_null(sim_hash_get(db, "z", "m", NOW));
    assert_int_equal(sim_key_type(key), SIM_HASH);
    assert_int_equal(sim_key_count(key), 2);
    assert_string_equal(sim_key_entry(key, 1).name, "g");
    assert_string_equal(sim_key_entry(key, 1).value, "2");
    assert_int_equal(sim_key_expires_ms(key), -1);
    key = sim_key_next(db, key, NOW + 2);
    assert_string_equal(sim_key_entry(key, 0).name, "m");
    assert_true(sim_key_entry(key, 0).score > 1.4);
    assert_null(sim_key_next(db, key, NOW + 2));
    end(server, &heard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_in_parts_runs_once_it_is_whole),
        cmocka_unit_test(a_key_lives_up_to_its_time_and_not_beyond),
        cmocka_unit_test(a_restart_keeps_data_and_nothing_else),
        cmocka_unit_test(a_restart_forgets_the_last_writes),
        cmocka_unit_test(a_forgotten_flush_gives_everything_back),
        cmocka_unit_test(a_script_sees_one_time_and_expires_nothing_midway),
        cmocka_unit_test(a_message_is_handed_over_for_each_listener),
        cmocka_unit_test(a_script_flush_makes_the_next_call_fail),
        cmocka_unit_test(a_look_shows_every_entry),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
