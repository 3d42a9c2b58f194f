/* SPDX-License-Identifier: MIT */
/* test_fair_soak.c - a fair lock for as long as one likes, by five processes
 * that come, give up, are cancelled, let their leases end, are stopped and are
 * killed (T22).
 *
 *     test_server_fair_soak --seconds 3600
 *
 * Who is inside writes that into memory which all processes share, with the end
 * that its hold has there: whoever gets in before that end, and before the other
 * has left, has met it inside.  All the while the keys are looked at (till.h),
 * and somebody has to get in every now and then.  When all have left, nothing
 * may be left of the queue.
 */
#include "world.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/child.h"
#include "support/fatal.h"
#include "till.h"

#define PROCESSES 5
#define THREADS 2 /* of each */
#define SECONDS 8 /* unless others are asked for */
#define LEASE_MS 1000
#define DEAD_MS 1000
#define FOREVER_MS 30000 /* nobody gets in for so long: it hangs */
#define NAP_MS 50

/* What the processes tell each other. */
struct board {
    atomic_llong inside;   /* until when and who (stamp), 0: nobody */
    atomic_llong visitors; /* numbers given so far */
    atomic_llong meetings; /* two were inside */
    atomic_llong turns;
    atomic_llong timeouts;
    atomic_llong cancelled;
    atomic_llong lost;
    atomic_llong unsure;
    atomic_llong strange;        /* any other status */
    atomic_llong strange_status; /* the last of these */
};

static int64_t seconds = SECONDS;

static struct board *board_at(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct board *board;

    if (file < 0 || ftruncate(file, (off_t)sizeof(*board)) != 0) {
        hft_die("%s cannot be made", path);
    }
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, file,
                 0);
    if (board == MAP_FAILED) {
        hft_die("%s cannot be shared", path);
    }
    (void)close(file);
    return board;
}

/* ---- a visitor: one of the threads of a process --------------------------- */

struct visitor {
    struct board *board;
    hf_client *client;
    hf_lock *lock;
    long long id;
    long long stamp; /* what it wrote when it went in */
    struct hft_random random;
    atomic_bool *leave; /* the process is to end */
    pthread_t thread;
};

static int64_t below(struct visitor *me, uint64_t limit)
{
    return (int64_t)hft_random_below(&me->random, limit);
}

#define VISITOR_BITS 20

/* Both in one word, so that who was stopped in between cannot mix them up. */
static long long stamp(const struct visitor *me, int64_t until_ms)
{
    return (long long)until_ms << VISITOR_BITS |
           (me->id & ((1LL << VISITOR_BITS) - 1));
}

/* The clock is read before what is left, so the sum is never too late. */
static void go_in(struct visitor *me)
{
    int64_t now_ms = hft_now_ms();
    int64_t until_ms = now_ms + hf_lock_remaining_ms(me->lock, NULL);
    long long other;

    me->stamp = stamp(me, until_ms);
    other = atomic_exchange(&me->board->inside, me->stamp);
    now_ms = hft_now_ms();
    if (now_ms < until_ms && now_ms < other >> VISITOR_BITS) {
        atomic_fetch_add(&me->board->meetings, 1);
    }
    atomic_fetch_add(&me->board->turns, 1);
}

static void come_out(struct visitor *me)
{
    (void)atomic_compare_exchange_strong(&me->board->inside, &me->stamp, 0);
}

/* Fires after a while. */
struct second_thought {
    hf_cancel *cancel;
    int64_t after_ms;
    pthread_t thread;
};

static void *think_again(void *context)
{
    struct second_thought *thought = context;

    hft_let_pass_ms(thought->after_ms);
    hf_cancel_fire(thought->cancel);
    return NULL;
}

static hf_status ask(struct visitor *me, hf_acquire *how)
{
    struct second_thought thought = {.after_ms = below(me, 300)};
    hf_status status;

    if (below(me, 8) != 0 ||
        hf_cancel_new(me->client, &thought.cancel, NULL) != HF_OK) {
        return hf_lock_acquire(me->lock, how, NULL);
    }
    how->cancel = thought.cancel;
    if (pthread_create(&thought.thread, NULL, think_again, &thought) != 0) {
        hft_die("no more threads");
    }
    status = hf_lock_acquire(me->lock, how, NULL);
    (void)pthread_join(thought.thread, NULL);
    hf_cancel_free(thought.cancel);
    return status;
}

static void note_failure(struct board *board, hf_status status)
{
    if (status == HF_TIMEOUT || status == HF_BUSY) {
        atomic_fetch_add(&board->timeouts, 1);
    } else if (status == HF_CANCELLED) {
        atomic_fetch_add(&board->cancelled, 1);
    } else if (status == HF_UNKNOWN || status == HF_NOT_DONE) {
        /* Stopped in mid call for longer than its request was good for. */
        atomic_fetch_add(&board->unsure, 1);
    } else {
        atomic_fetch_add(&board->strange, 1);
        atomic_store(&board->strange_status, (long long)status);
    }
}

/* Who was stopped in mid call for longer than he had the lock finds it gone. */
static void go_home(struct visitor *me)
{
    int64_t until_ms = hft_now_ms() + hf_lock_remaining_ms(me->lock, NULL);
    hf_status status = hf_lock_release(me->lock, NULL, NULL);

    if (status == HF_LOST) {
        atomic_fetch_add(&me->board->lost, 1);
    } else if (status == HF_GONE && hft_now_ms() >= until_ms) {
        atomic_fetch_add(&me->board->unsure, 1);
    } else if (status != HF_OK) {
        note_failure(me->board, status);
    }
}

static void pay_a_visit(struct visitor *me)
{
    hf_acquire how = HF_ACQUIRE_INIT;
    bool forgetful = below(me, 20) == 0;
    hf_status status;

    how.wait_ms = below(me, 10) == 0 ? 0 : below(me, 4000);
    if (forgetful) { /* the end of its lease hands it on */
        how.lease_ms = 200;
        how.renew = 0;
    }
    status = ask(me, &how);
    if (status != HF_OK) {
        note_failure(me->board, status);
        return;
    }
    go_in(me);
    if (forgetful) {
        hft_let_pass_ms(250);
    } else {
        hft_let_pass_ms(below(me, 20));
    }
    come_out(me);
    go_home(me);
}

static void *visit(void *context)
{
    struct visitor *me = context;

    while (!atomic_load(me->leave)) {
        pay_a_visit(me);
        hft_let_pass_ms(below(me, 40));
    }
    return NULL;
}

/* ---- a process ------------------------------------------------------------ */

static void open_visitors(struct visitor *visitors, char **words)
{
    hf_options options = HF_OPTIONS_INIT;
    hf_lock_options lock_options = HF_LOCK_OPTIONS_INIT;
    hf_client *client = NULL;

    options.lease_ms = LEASE_MS;
    lock_options.kind = HF_KIND_FAIR;
    lock_options.fair_dead_ms = DEAD_MS;
    if (hf_client_open(words[1], &options, &client, NULL) != HF_OK) {
        hft_die("no client");
    }
    for (int i = 0; i < THREADS; i++) {
        struct visitor *me = &visitors[i];

        me->client = client;
        me->board = board_at(words[2]);
        me->random = (struct hft_random){strtoul(words[3], NULL, 10) +
                                         (uint64_t)i};
        me->id = atomic_fetch_add(&me->board->visitors, 1);
        if (hf_lock_new_as(client, &lock_options, TILL, strlen(TILL), &me->lock,
                           NULL) != HF_OK) {
            hft_die("no lock");
        }
    }
}

/* Until its input ends. */
static _Noreturn void be_a_process(char **words)
{
    static struct visitor visitors[THREADS];
    static atomic_bool leave;
    char line[8];

    open_visitors(visitors, words);
    for (int i = 0; i < THREADS; i++) {
        visitors[i].leave = &leave;
        if (pthread_create(&visitors[i].thread, NULL, visit, &visitors[i]) !=
            0) {
            hft_die("no more threads");
        }
    }
    (void)puts("ready");
    (void)fflush(stdout);
    while (fgets(line, sizeof(line), stdin) != NULL) {
    }
    atomic_store(&leave, true);
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(visitors[i].thread, NULL);
        (void)hf_lock_free(visitors[i].lock);
    }
    exit(hf_client_close(visitors[0].client) == HF_OK ? 0 : 4);
}

/* ---- who watches them ----------------------------------------------------- */

struct soak {
    struct world *w;
    struct board *board;
    char *board_path;
    struct hft_random random;
    struct hft_child *processes[PROCESSES];
    int64_t wakes_ms[PROCESSES]; /* when one that is stopped goes on; 0: runs */
    long long kills, stops, looks;
    long long turns;
    int64_t turn_ms; /* when the number of turns was last seen to grow */
    int64_t longest_ms;
    int64_t longest_queue;
};

static void start_process(struct soak *soak, int at)
{
    char *seed = hft_format("%" PRIu64, hft_random_next(&soak->random));
    const char *argv[] = {
        "/proc/self/exe", "visitors", hft_server_url(soak->w->server),
        soak->board_path, seed,       NULL};
    struct hft_child_options options = {.argv = argv, .stdio = HFT_STDIO_PIPE};

    soak->processes[at] = hft_child_start(&options);
    soak->wakes_ms[at] = 0;
    free(seed);
}

static void disturb(struct soak *soak)
{
    int at = (int)hft_random_below(&soak->random, PROCESSES);

    if (soak->wakes_ms[at] != 0) {
        return;
    }
    if (hft_random_below(&soak->random, 3) == 0) {
        hft_child_signal(soak->processes[at], SIGSTOP);
        soak->wakes_ms[at] = hft_now_ms() +
                             (int64_t)hft_random_below(&soak->random, 3000);
        soak->stops++;
        return;
    }
    hft_child_free(soak->processes[at]);
    start_process(soak, at);
    soak->kills++;
}

static void wake_those_whose_time_has_come(struct soak *soak, int64_t now_ms)
{
    for (int i = 0; i < PROCESSES; i++) {
        if (soak->wakes_ms[i] != 0 && soak->wakes_ms[i] <= now_ms) {
            hft_child_signal(soak->processes[i], SIGCONT);
            soak->wakes_ms[i] = 0;
        }
    }
}

static void look(struct soak *soak)
{
    long long turns = atomic_load(&soak->board->turns);
    int64_t length = hft_int(soak->w->server,
                             "LLEN redisson_lock_queue:{till}");
    int64_t now_ms = hft_now_ms();

    assert_string_equal(what_is_wrong_with_the_till(soak->w, 0), "");
    assert_int_equal(atomic_load(&soak->board->meetings), 0);
    if (atomic_load(&soak->board->strange) != 0) {
        fail_msg("a call ended with %s", hf_status_name((hf_status)atomic_load(
                                             &soak->board->strange_status)));
    }
    if (now_ms - soak->turn_ms > soak->longest_ms) {
        soak->longest_ms = now_ms - soak->turn_ms;
        assert_true(soak->longest_ms < FOREVER_MS);
    }
    if (turns != soak->turns) {
        soak->turns = turns;
        soak->turn_ms = now_ms;
    }
    if (length > soak->longest_queue) {
        soak->longest_queue = length;
    }
    soak->looks++;
}

static void say_how_it_goes(const struct soak *soak, int64_t since_ms)
{
    const struct board *board = soak->board;

    print_message(
        "%6" PRId64 " s: %lld turns, %lld timeouts, %lld cancelled, "
        "%lld lost, %lld unsure; %lld killed, %lld stopped; longest without a "
        "turn %" PRId64 " ms, longest queue %" PRId64 ", %" PRId64 " keys\n",
        since_ms / 1000, atomic_load(&board->turns),
        atomic_load(&board->timeouts), atomic_load(&board->cancelled),
        atomic_load(&board->lost), atomic_load(&board->unsure), soak->kills,
        soak->stops, soak->longest_ms, soak->longest_queue,
        hft_int(soak->w->server, "DBSIZE"));
}

static void begin(struct soak *soak, struct world *w)
{
    memset(soak, 0, sizeof(*soak));
    soak->w = w;
    soak->random = chance();
    soak->board_path = hft_format("%s/board", hft_server_folder(w->server));
    soak->board = board_at(soak->board_path);
    soak->turn_ms = hft_now_ms();
    for (int i = 0; i < PROCESSES; i++) {
        start_process(soak, i);
    }
}

static void all_leave(struct soak *soak)
{
    wake_those_whose_time_has_come(soak, INT64_MAX);
    for (int i = 0; i < PROCESSES; i++) {
        hft_child_close_input(soak->processes[i]);
    }
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(hft_child_finish(soak->processes[i], FOREVER_MS), 0);
        hft_child_free(soak->processes[i]);
    }
    free(soak->board_path);
}

/* T22, T21; 15.20, 15.22. */
static void whatever_happens_to_visitors_the_queue_is_whole(void **world)
{
    struct world *w = *world;
    hf_lock *lock = a_kind_of_lock(w, w->client, HF_KIND_FAIR, TILL);
    struct soak soak;
    int64_t begun_ms = hft_now_ms();
    int64_t next_ms = begun_ms + 1000;
    int64_t told_ms = begun_ms;
    int64_t now_ms = begun_ms;

    begin(&soak, w);
    while (now_ms < begun_ms + seconds * 1000) {
        look(&soak);
        wake_those_whose_time_has_come(&soak, now_ms);
        if (now_ms >= next_ms) {
            disturb(&soak);
            next_ms = now_ms + 50 +
                      (int64_t)hft_random_below(&soak.random, 2000);
        }
        if (now_ms >= told_ms + 60000) {
            say_how_it_goes(&soak, now_ms - begun_ms);
            told_ms = now_ms;
        }
        hft_let_pass_ms(NAP_MS);
        now_ms = hft_now_ms();
    }
    all_leave(&soak);
    look(&soak);
    say_how_it_goes(&soak, hft_now_ms() - begun_ms);
    assert_true(atomic_load(&soak.board->turns) > seconds);
    /* Whoever was killed last is dead by now, or soon. */
    assert_ok(wait_up_to(lock, NULL, FOREVER_MS));
    assert_ok(leave(lock, NULL));
    assert_true(hft_wait_int(w->server, 0, BOUND_MS, "EXISTS " TILL_KEYS));
}

static void read_arguments(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "visitors") == 0) {
        be_a_process(argv + 1);
    }
    if (argc == 3 && strcmp(argv[1], "--seconds") == 0) {
        seconds = strtoll(argv[2], NULL, 10);
    }
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        world_test(whatever_happens_to_visitors_the_queue_is_whole),
    };

    read_arguments(argc, argv);
    return cmocka_run_group_tests(tests, world_up, world_down);
}
