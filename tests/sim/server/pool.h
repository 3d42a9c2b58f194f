/* SPDX-License-Identifier: MIT */
/* pool.h - the memory of a Lua state.
 *
 * A history is millions of small strings and tables that live for one request:
 * malloc() was a tenth of its time.  What is freed is kept by its size for the
 * next of that size, and all of it goes with the pool.
 */
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include <stddef.h>

struct sim_pool;

struct sim_pool *sim_pool_new(void);
void sim_pool_free(struct sim_pool *pool);

/* A lua_Alloc; `pool` is its context. */
void *sim_pool_realloc(void *pool, void *block, size_t old, size_t wanted);

#endif
