/* SPDX-License-Identifier: MIT */
/* test_rw_many.c - many readers and writers at once, and a writer never with
 * anybody.
 *
 * Who is inside is counted as it happens; writers change a plain number by
 * separate steps, which loses an update whenever two are inside.  Rows: RW-04,
 * RW-28 to RW-30, RW-45, RW-48; T38.
 */
#include "world.h"

#include <stdatomic.h>
#include <string.h>

#include "support/crew.h"

#define NAME "{test}:abc:key"
#define MOST_CLIENTS 100

/* What a crew works on.  `counter` is a plain number on purpose. */
struct work {
    hf_lock *read[MOST_CLIENTS];
    hf_lock *write[MOST_CLIENTS];
    unsigned clients;
    int rounds;
    unsigned writes_of_ten;
    int64_t hold_ms;
    uint64_t seed;
    volatile long counter;
    atomic_int reading;
    atomic_int writing;
    atomic_int most_reading;
    atomic_long written;
};

static struct work *work_of(struct world *w, unsigned clients)
{
    static struct work work;

    memset(&work, 0, sizeof(work));
    work.clients = clients;
    work.seed = chance().state;
    for (unsigned i = 0; i < clients; i++) {
        hf_client *client = i == 0 ? w->client : a_client(w);

        work.read[i] = a_kind_of_lock(w, client, HF_KIND_READ, NAME);
        work.write[i] = a_kind_of_lock(w, client, HF_KIND_WRITE, NAME);
    }
    return &work;
}

static void read_a_while(struct hft_member *me, struct work *work)
{
    long seen = work->counter;
    int inside = atomic_fetch_add(&work->reading, 1) + 1;
    int most = atomic_load(&work->most_reading);

    while (inside > most &&
           !atomic_compare_exchange_weak(&work->most_reading, &most, inside)) {
    }
    HFT_CHECK(me, atomic_load(&work->writing) == 0);
    hft_let_pass_ms(work->hold_ms);
    HFT_CHECK(me, work->counter == seen);
    (void)atomic_fetch_sub(&work->reading, 1);
}

static void write_a_while(struct hft_member *me, struct work *work)
{
    long seen = work->counter;

    HFT_CHECK(me, atomic_fetch_add(&work->writing, 1) == 0);
    HFT_CHECK(me, atomic_load(&work->reading) == 0);
    hft_let_pass_ms(work->hold_ms);
    work->counter = seen + 1;
    (void)atomic_fetch_add(&work->written, 1);
    (void)atomic_fetch_sub(&work->writing, 1);
}

static void read_and_write(struct hft_member *me)
{
    struct work *work = me->context;
    struct hft_random random = {.state = work->seed + me->index};
    unsigned at = me->index % work->clients;

    for (int i = 0; i < work->rounds; i++) {
        bool writes = hft_random_below(&random, 10) < work->writes_of_ten;
        hf_lock *lock = writes ? work->write[at] : work->read[at];

        if (!HFT_CHECK(me, wait_up_to(lock, NULL, 60000) == HF_OK)) {
            hft_member_note(me, "%s", problem.message);
            return;
        }
        (writes ? write_a_while : read_a_while)(me, work);
        HFT_CHECK(me, leave(lock, NULL) == HF_OK);
    }
}

static void run(struct work *work, unsigned members)
{
    struct hft_crew *crew = hft_crew_start(members, read_and_write, work);

    assert_null(hft_crew_join(crew, 100000));
    hft_crew_free(crew);
    assert_int_equal(work->counter, atomic_load(&work->written));
}

/* RW-04, RW-28. */
static void threads_of_one_client_never_mix_the_halves(void **world)
{
    struct work *work = work_of(*world, 1);

    work->rounds = 30;
    work->writes_of_ten = 5;
    run(work, 10);
    assert_int_equal(hft_int(((struct world *)*world)->server, "DBSIZE"), 0);
}

/* RW-29: no wake-up is lost between the halves. */
static void many_clients_never_mix_the_halves(void **world)
{
    struct work *work = work_of(*world, 16);

    work->rounds = 100;
    work->writes_of_ten = 5;
    run(work, 16);
    assert_int_equal(hft_int(((struct world *)*world)->server, "DBSIZE"), 0);
}

/* RW-30. */
static void a_hundred_clients_have_a_turn_each(void **world)
{
    struct work *work = work_of(*world, MOST_CLIENTS);

    work->rounds = 1;
    work->writes_of_ten = 5;
    run(work, MOST_CLIENTS);
    assert_int_equal(hft_int(((struct world *)*world)->server, "DBSIZE"), 0);
}

/* RW-45, RW-48: one write in ten; and readers really are together. */
static void readers_really_are_together(void **world)
{
    struct work *work = work_of(*world, 8);

    work->rounds = 25;
    work->writes_of_ten = 1;
    work->hold_ms = 4;
    run(work, 16);
    assert_true(atomic_load(&work->most_reading) > 1);
}

static hf_lock *a_lock_with_way(struct world *w, hf_client *client,
                                hf_kind kind)
{
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    hf_lock *lock = NULL;

    options.kind = kind;
    options.prefer_writers = 1;
    assert_ok(
        hf_lock_new_as(client, &options, NAME, strlen(NAME), &lock, &problem));
    keep_lock(w, lock);
    return lock;
}

static void read_without_end(struct hft_member *me)
{
    struct work *work = me->context;
    hf_lock *lock = work->read[me->index % work->clients];

    while (!hft_member_should_stop(me)) {
        if (!HFT_CHECK(me, wait_up_to(lock, NULL, 60000) == HF_OK)) {
            return;
        }
        read_a_while(me, work);
        HFT_CHECK(me, leave(lock, NULL) == HF_OK);
    }
}

/* T38: eight readers of four clients, never all of them out at once, and each
 * time that somebody wants to write he has it soon. */
static void writers_get_in_under_a_stream_of_readers(void **world)
{
    struct world *w = *world;
    struct work *work = work_of(w, 4);
    struct hft_crew *crew;
    hf_lock *write = a_lock_with_way(w, w->client, HF_KIND_WRITE);

    work->hold_ms = 30;
    for (unsigned i = 0; i < 4; i++) {
        hf_client *client = i == 0 ? w->client : w->more_clients[i - 1];

        work->read[i] = a_lock_with_way(w, client, HF_KIND_READ);
    }
    crew = hft_crew_start(8, read_without_end, work);
    for (int i = 0; i < 10; i++) {
        assert_ok(wait_up_to(write, NULL, 5000));
        assert_int_equal(atomic_load(&work->reading), 0);
        work->counter++;
        assert_ok(leave(write, NULL));
        hft_let_pass_ms(20);
    }
    hft_crew_stop(crew);
    assert_null(hft_crew_join(crew, 100000));
    hft_crew_free(crew);
    assert_true(atomic_load(&work->most_reading) > 1);
}

/* A thousand holds of one client, each its own hold key, renewed in batches. */
static void a_crowd_of_readers_is_renewed(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_kind_of_lock(w, w->client, HF_KIND_READ, NAME);
    hf_lock *write = a_kind_of_lock(w, w->client, HF_KIND_WRITE, NAME);
    hf_owner *owners[500];

    for (int i = 0; i < 500; i++) {
        owners[i] = an_owner(w);
        assert_ok(try_once(lock, owners[i]));
    }
    hft_let_pass_ms(2 * W_MS + W_MS / 2);
    assert_int_equal(hft_int(w->server, "HLEN " NAME), 501);
    for (int i = 0; i < 500; i++) {
        assert_true(hf_lock_is_held(lock, owners[i]));
        assert_ok(leave(lock, owners[i]));
    }
    assert_ok(try_once(write, NULL));
    assert_ok(leave(write, NULL));
    assert_int_equal(hft_int(w->server, "DBSIZE"), 0);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        world_test(threads_of_one_client_never_mix_the_halves),
        world_test(many_clients_never_mix_the_halves),
        world_test(a_hundred_clients_have_a_turn_each),
        world_test(readers_really_are_together),
        world_test(writers_get_in_under_a_stream_of_readers),
        world_test(a_crowd_of_readers_is_renewed),
    };

    (void)hft_seed(argc, argv);
    return cmocka_run_group_tests(tests, world_up, world_down);
}
