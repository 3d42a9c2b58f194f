/* SPDX-License-Identifier: MIT */
/* start_gate.c - see start_gate.h. */
#include "bench/start_gate.h"

void start_gate_wait(struct start_gate *gate)
{
    (void)pthread_mutex_lock(&gate->mutex);
    gate->ready++;
    (void)pthread_cond_broadcast(&gate->changed);
    while (!gate->is_open) {
        (void)pthread_cond_wait(&gate->changed, &gate->mutex);
    }
    (void)pthread_mutex_unlock(&gate->mutex);
}

void start_gate_await_ready(struct start_gate *gate, size_t count)
{
    (void)pthread_mutex_lock(&gate->mutex);
    while (gate->ready < count) {
        (void)pthread_cond_wait(&gate->changed, &gate->mutex);
    }
    (void)pthread_mutex_unlock(&gate->mutex);
}

void start_gate_open(struct start_gate *gate)
{
    (void)pthread_mutex_lock(&gate->mutex);
    gate->is_open = true;
    (void)pthread_cond_broadcast(&gate->changed);
    (void)pthread_mutex_unlock(&gate->mutex);
}
