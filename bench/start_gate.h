/* SPDX-License-Identifier: MIT */
/* start_gate.h - threads that are all ready before the first one starts. */
#ifndef BENCH_START_GATE_H
#define BENCH_START_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct start_gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t ready;
    bool is_open;
};

#define START_GATE_INIT                                                        \
    {                                                                          \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false          \
    }

/* For a thread that is to start: wait until the gate opens. */
void start_gate_wait(struct start_gate *gate);

/* Wait until that many threads wait. */
void start_gate_await_ready(struct start_gate *gate, size_t count);

void start_gate_open(struct start_gate *gate);

#endif
