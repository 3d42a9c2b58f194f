/* SPDX-License-Identifier: MIT */
/* crowd.c - see crowd.h.
 *
 * The clock starts when every thread stands at the gate, so making threads is
 * not measured.  A thread that cannot be made opens the gate with the stop sign
 * up: those that were made leave at once.
 */
#include "bench/crowd.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "bench/clocks.h"
#include "bench/start_gate.h"

#define NS_PER_MS 1000000

struct crowd {
    struct start_gate gate;
    atomic_bool stop;
};

static void *run_member(void *context)
{
    struct crowd_member *member = context;
    enum crowd_turn turn = CROWD_AGAIN;

    start_gate_wait(&member->crowd->gate);
    while (turn == CROWD_AGAIN &&
           !atomic_load_explicit(&member->crowd->stop, memory_order_relaxed)) {
        turn = member->turn(member->context);
        if (turn != CROWD_FAILED) {
            member->ret_turns++;
        }
    }
    member->failed = turn == CROWD_FAILED;
    return NULL;
}

static size_t start_threads(struct crowd *crowd, struct crowd_member *members,
                            size_t count, pthread_t *threads)
{
    size_t made;

    for (made = 0; made < count; made++) {
        members[made].ret_turns = 0;
        members[made].failed = false;
        members[made].crowd = crowd;
        if (pthread_create(&threads[made], NULL, run_member, &members[made]) !=
            0) {
            (void)bench_failed("threads", "one could not be made");
            break;
        }
    }
    start_gate_await_ready(&crowd->gate, made);
    return made;
}

bool crowd_run(struct crowd_member *members, size_t count, int64_t run_ms,
               struct crowd_time *ret_time)
{
    struct crowd crowd = {START_GATE_INIT, false};
    pthread_t *threads = calloc(count, sizeof(*threads));
    struct crowd_time start;
    size_t made;
    bool ok;

    if (threads == NULL) {
        return bench_failed("threads", "out of memory");
    }
    made = start_threads(&crowd, members, count, threads);
    ok = made == count;
    atomic_store(&crowd.stop, !ok);
    start.cpu_ns = clock_process_cpu_ns();
    start.elapsed_ns = clock_now_ns();
    start_gate_open(&crowd.gate);
    if (ok && run_ms > 0) {
        clock_wait_until_ns(start.elapsed_ns + run_ms * NS_PER_MS);
        atomic_store(&crowd.stop, true);
    }
    for (size_t i = 0; i < made; i++) {
        (void)pthread_join(threads[i], NULL);
        ok = ok && !members[i].failed;
    }
    ret_time->elapsed_ns = clock_now_ns() - start.elapsed_ns;
    ret_time->cpu_ns = clock_process_cpu_ns() - start.cpu_ns;
    free(threads);
    return ok;
}
