/* SPDX-License-Identifier: MIT */
/* test_fencing.c - the recipes of docs/guide/fencing.md, each driven by two
 * holders of which the first has been overtaken.
 *
 * Rows: T42, T44.
 */
#include "world.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <sqlite3.h>

/* Two tokens: of a hold that was taken away, and of the one after it. */
struct two {
    int64_t overtaken;
    int64_t newest;
};

static struct two two_holders(struct world *w)
{
    struct two two = {0, 0};
    hf_owner *first = an_owner(w);
    hf_owner *second = an_owner(w);
    hf_lock *lock;

    assert_ok(hf_fenced_lock_new(w->client, "report", &lock, &problem));
    keep_lock(w, lock);
    assert_ok(try_once(lock, first));
    assert_ok(hf_lock_token(lock, first, &two.overtaken, &problem));
    assert_ok(hf_lock_force_release(lock, NULL, &problem));
    assert_true(state_becomes(lock, first, HF_STATE_LOST, BOUND_MS));
    assert_ok(try_once(lock, second));
    assert_ok(hf_lock_token(lock, second, &two.newest, &problem));
    assert_ok(leave(lock, second));
    assert_true(two.newest > two.overtaken);
    return two;
}

/* ---- SQL ---- */

static void sql(sqlite3 *database, const char *text)
{
    assert_int_equal(sqlite3_exec(database, text, NULL, NULL, NULL), SQLITE_OK);
}

/* Rows that were changed. */
static int update(sqlite3 *database, int64_t token, const char *body)
{
    sqlite3_stmt *statement;

    assert_int_equal(
        sqlite3_prepare_v2(database,
                           "UPDATE report SET body = :body, token = :token "
                           "WHERE id = :id AND token <= :token",
                           -1, &statement, NULL),
        SQLITE_OK);
    sqlite3_bind_text(statement, 1, body, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, token);
    sqlite3_bind_int64(statement, 3, 1);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
    return sqlite3_changes(database);
}

static void a_row_refuses_a_token_that_was_overtaken(void **world)
{
    struct two two = two_holders(*world);
    sqlite3 *database;

    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    sql(database, "CREATE TABLE report (id INTEGER PRIMARY KEY, body TEXT, "
                  "token INTEGER NOT NULL)");
    sql(database, "INSERT INTO report VALUES (1, 'empty', 0)");
    assert_int_equal(update(database, two.overtaken, "in time"), 1);
    assert_int_equal(update(database, two.newest, "of the next"), 1);
    assert_int_equal(update(database, two.newest, "again"), 1);
    assert_int_equal(update(database, two.overtaken, "too late"), 0);
    sqlite3_close(database);
}

/* ---- a value in Redis ---- */

static int64_t put(struct world *w, int64_t token, const char *body)
{
    static const char script[] =
        "local newest = tonumber(redis.call('hget', KEYS[1], 'token') or '0') "
        "if newest > tonumber(ARGV[1]) then return 0 end "
        "redis.call('hset', KEYS[1], 'token', ARGV[1], 'body', ARGV[2]) "
        "return 1";

    return hft_int(w->server, "EVAL %s 1 value %lld %s", script,
                   (long long)token, body);
}

static void a_value_refuses_a_token_that_was_overtaken(void **world)
{
    struct world *w = *world;
    struct two two = two_holders(w);

    assert_int_equal(put(w, two.overtaken, "in-time"), 1);
    assert_int_equal(put(w, two.newest, "of-the-next"), 1);
    assert_int_equal(put(w, two.overtaken, "too-late"), 0);
    assert_string_equal(hft_str(w->server, "HGET value body"), "of-the-next");
    hft_int(w->server, "DEL value");
}

/* ---- a file ---- */

static bool write_file(int fd, int64_t token, const char *body)
{
    size_t body_bytes = strlen(body);
    int64_t newest = 0;
    bool refused = false;

    assert_int_equal(flock(fd, LOCK_EX), 0);
    if (pread(fd, &newest, sizeof(newest), 0) == (ssize_t)sizeof(newest) &&
        newest > token) {
        refused = true;
    } else {
        assert_int_equal(pwrite(fd, &token, sizeof(token), 0), sizeof(token));
        assert_int_equal(pwrite(fd, body, body_bytes, sizeof(token)),
                         body_bytes);
    }
    assert_int_equal(flock(fd, LOCK_UN), 0);
    return !refused;
}

static void a_file_refuses_a_token_that_was_overtaken(void **world)
{
    struct two two = two_holders(*world);
    char path[] = "/tmp/holdfast-fencing.XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    unlink(path);
    assert_true(write_file(fd, two.overtaken, "in time"));
    assert_true(write_file(fd, two.newest, "of the next"));
    assert_false(write_file(fd, two.overtaken, "too late"));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_row_refuses_a_token_that_was_overtaken),
        world_test(a_value_refuses_a_token_that_was_overtaken),
        world_test(a_file_refuses_a_token_that_was_overtaken),
    };

    return cmocka_run_group_tests_name("fencing", tests, world_up, world_down);
}
