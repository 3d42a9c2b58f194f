/* SPDX-License-Identifier: MIT */
/* test_support_proxy_links.c - the fault proxy cuts, closes and keeps links.
 *
 * Above all: a request that the proxy holds outlives its link, as one does
 * that the server's kernel has received before the client closed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <hiredis/hiredis.h>

#include "proxy_fixture.h"
#include "support/redis.h"
#include "support/wait.h"

static void a_cut_before_a_request_keeps_it_from_running(void **state)
{
    redisContext *client = connect_client();

    (void)state;
    (void)act(HFT_REQUEST, "INCR", HFT_CUT_BEFORE);
    send_only(client, "SET m 5");
    freeReplyObject(read_reply(client));
    send_only(client, "INCR n");
    expect_end(client);
    redisFree(client);
    assert_true(hft_wait_int(server, HFT_NIL, 0, "GET n"));
    assert_true(counts("m", 5));
}

static void a_cut_after_a_request_lets_it_run_unanswered(void **state)
{
    redisContext *client = connect_client();

    (void)state;
    (void)act(HFT_REQUEST, "INCR", HFT_CUT_AFTER);
    send_only(client, "INCR n");
    expect_end(client);
    assert_true(counts("n", 1));
    redisFree(client);
}

static void a_cut_before_a_reply_loses_the_answer(void **state)
{
    redisContext *client = connect_client();

    (void)state;
    (void)act(HFT_REPLY, "INCR", HFT_CUT_BEFORE);
    send_only(client, "INCR n");
    expect_end(client);
    assert_int_equal(hft_int(server, "GET n"), 1);
    redisFree(client);
}

static void a_cut_after_a_reply_comes_behind_the_answer(void **state)
{
    redisContext *client = connect_client();

    (void)state;
    (void)act(HFT_REPLY, "INCR", HFT_CUT_AFTER);
    send_only(client, "INCR n");
    send_only(client, "INCR n");
    expect_int(client, 1);
    expect_end(client);
    redisFree(client);
}

static void a_cut_link_is_closed_towards_the_server_too(void **state)
{
    redisContext *client = connect_client();

    (void)state;
    freeReplyObject(redisCommand(client, "PING"));
    assert_int_equal(hft_links(server, "normal"), 1);
    (void)act(HFT_REQUEST, "INCR", HFT_CUT_BEFORE);
    send_only(client, "INCR n");
    expect_end(client);
    assert_true(hft_wait_links(server, "normal", 0, SOON_MS));
    redisFree(client);
}

static void a_held_request_runs_late_after_its_client_has_left(void **state)
{
    redisContext *leaver = connect_client();
    redisContext *next;
    int id = act(HFT_REQUEST, "APPEND", HFT_HOLD);

    (void)state;
    send_only(leaver, "APPEND log old");
    assert_true(hft_proxy_wait_hits(proxy, id, 1, SOON_MS));
    redisFree(leaver);
    next = connect_client();
    send_only(next, "APPEND log new-");
    expect_int(next, 4);
    /* The old copy's link stands: the server has not seen its end. */
    assert_int_equal(hft_links(server, "normal"), 2);
    hft_proxy_release(proxy, id);
    assert_true(hft_wait_calls(server, "append", 2, SOON_MS));
    assert_string_equal(hft_str(server, "GET log"), "new-old");
    assert_true(hft_wait_links(server, "normal", 1, SOON_MS));
    redisFree(next);
}

static void a_held_request_runs_late_after_all_links_are_cut(void **state)
{
    redisContext *client = connect_client();
    int id = act(HFT_REQUEST, "INCR", HFT_HOLD);

    (void)state;
    send_only(client, "INCR n");
    assert_true(hft_proxy_wait_hits(proxy, id, 1, SOON_MS));
    hft_proxy_cut_all(proxy);
    assert_null(read_reply(client));
    redisFree(client);
    assert_int_equal(hft_calls(server, "incr"), 0);
    hft_proxy_release_all(proxy);
    assert_true(counts("n", 1));
}

static void a_request_on_its_way_runs_though_its_client_has_left(void **state)
{
    redisContext *client = connect_client();

    (void)state;
    freeReplyObject(redisCommand(client, "PING"));
    hft_server_pause(server);
    send_only(client, "INCR n");
    redisFree(client);
    assert_true(hft_proxy_wait_requests(proxy, "INCR", 1, SOON_MS));
    hft_server_resume(server);
    assert_true(counts("n", 1));
}

static void a_black_hole_swallows_one_direction_for_good(void **state)
{
    redisContext *deaf = connect_client();
    redisContext *mute = connect_client();

    (void)state;
    (void)act(HFT_REPLY, "INCR", HFT_BLACK_HOLE);
    send_only(deaf, "INCR n");
    send_only(deaf, "SET k 1");
    expect_nothing(deaf);
    assert_true(counts("n", 1));
    assert_true(counts("k", 1));
    (void)act(HFT_REQUEST, "DECR", HFT_BLACK_HOLE);
    send_only(mute, "DECR n");
    send_only(mute, "SET k 2");
    expect_nothing(mute);
    assert_int_equal(hft_int(server, "GET n"), 1);
    assert_int_equal(hft_int(server, "GET k"), 1);
    redisFree(deaf);
    redisFree(mute);
}

static void a_silent_door_accepts_and_never_answers(void **state)
{
    redisContext *client;

    (void)state;
    hft_proxy_set_door(proxy, HFT_DOOR_SILENT);
    client = connect_client();
    send_only(client, "PING");
    expect_nothing(client);
    redisFree(client);
    hft_proxy_set_door(proxy, HFT_DOOR_OPEN);
    client = connect_client();
    send_only(client, "INCR n");
    expect_int(client, 1);
    redisFree(client);
}

static void a_shut_door_refuses_until_it_is_opened(void **state)
{
    redisContext *inside = connect_client();
    redisContext *client;

    (void)state;
    hft_proxy_set_door(proxy, HFT_DOOR_SHUT);
    client = redisConnect("127.0.0.1", hft_proxy_port(proxy));
    assert_int_not_equal(client->err, 0);
    redisFree(client);
    send_only(inside, "INCR n");
    expect_int(inside, 1);
    hft_proxy_set_door(proxy, HFT_DOOR_OPEN);
    client = connect_client();
    send_only(client, "INCR n");
    expect_int(client, 2);
    redisFree(client);
    redisFree(inside);
}

static void cutting_all_links_lets_clients_come_again(void **state)
{
    redisContext *first = connect_client();
    redisContext *second = connect_client();

    (void)state;
    send_only(first, "INCR n");
    expect_int(first, 1);
    hft_proxy_cut_all(proxy);
    assert_null(read_reply(first));
    assert_null(read_reply(second));
    redisFree(first);
    redisFree(second);
    first = connect_client();
    send_only(first, "INCR n");
    expect_int(first, 2);
    redisFree(first);
}

static void a_proxy_outlives_its_server(void **state)
{
    redisContext *client = connect_client();

    (void)state;
    freeReplyObject(redisCommand(client, "SET n 6"));
    hft_server_restart(server, HFT_KEEP_DATA);
    expect_end(client);
    redisFree(client);
    client = connect_client();
    send_only(client, "INCR n");
    expect_int(client, 7);
    redisFree(client);
}

static void a_network_that_fails_for_a_while_loses_nothing(void **state)
{
    struct hft_rule up = {.action = HFT_HOLD, .times = HFT_ALWAYS};
    struct hft_rule down = {
        .direction = HFT_REPLY, .action = HFT_HOLD, .times = HFT_ALWAYS};
    redisContext *client = connect_client();
    int up_id = hft_proxy_add(proxy, &up);
    int down_id = hft_proxy_add(proxy, &down);

    (void)state;
    send_only(client, "INCR n");
    send_only(client, "INCR n");
    assert_true(hft_proxy_wait_hits(proxy, up_id, 2, SOON_MS));
    assert_int_equal(hft_calls(server, "incr"), 0);
    hft_proxy_release(proxy, up_id);
    assert_true(hft_proxy_wait_hits(proxy, down_id, 2, SOON_MS));
    hft_proxy_release(proxy, down_id);
    expect_int(client, 1);
    expect_int(client, 2);
    redisFree(client);
}

static void a_proxy_serves_a_unix_socket_as_well(void **state)
{
    struct hft_proxy *front = hft_proxy_start_unix(server);
    redisContext *client = redisConnectUnix(hft_proxy_socket(front));

    (void)state;
    assert_int_equal(client->err, 0);
    assert_memory_equal(hft_proxy_url(front), "unix:/", 6);
    send_only(client, "INCR n");
    expect_int(client, 1);
    redisFree(client);
    hft_proxy_stop(front);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROXY_TEST(a_cut_before_a_request_keeps_it_from_running),
        PROXY_TEST(a_cut_after_a_request_lets_it_run_unanswered),
        PROXY_TEST(a_cut_before_a_reply_loses_the_answer),
        PROXY_TEST(a_cut_after_a_reply_comes_behind_the_answer),
        PROXY_TEST(a_cut_link_is_closed_towards_the_server_too),
        PROXY_TEST(a_held_request_runs_late_after_its_client_has_left),
        PROXY_TEST(a_held_request_runs_late_after_all_links_are_cut),
        PROXY_TEST(a_request_on_its_way_runs_though_its_client_has_left),
        PROXY_TEST(a_black_hole_swallows_one_direction_for_good),
        PROXY_TEST(a_silent_door_accepts_and_never_answers),
        PROXY_TEST(a_shut_door_refuses_until_it_is_opened),
        PROXY_TEST(cutting_all_links_lets_clients_come_again),
        PROXY_TEST(a_proxy_outlives_its_server),
        PROXY_TEST(a_network_that_fails_for_a_while_loses_nothing),
        PROXY_TEST(a_proxy_serves_a_unix_socket_as_well),
    };

    return cmocka_run_group_tests(tests, start_all, stop_all);
}
