/* SPDX-License-Identifier: MIT */
/* pool.c - the memory of a Lua state; see pool.h. */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

#include "support/fatal.h"

#define STEP 16 /* sizes are multiples of it, and so are addresses */
#define CLASSES 17
#define LARGEST ((CLASSES - 1) * STEP) /* what is larger is malloc()'s */
#define SLAB_BYTES 65536

struct block {
    struct block *next;
};

struct slab {
    struct slab *next;
    _Alignas(STEP) char bytes[SLAB_BYTES];
};

struct sim_pool {
    struct block *idle[CLASSES]; /* by size in steps */
    struct slab *slabs;
    size_t used; /* of the first slab */
};

struct sim_pool *sim_pool_new(void)
{
    struct sim_pool *pool = hft_alloc(sizeof(*pool));

    pool->used = SLAB_BYTES;
    return pool;
}

void sim_pool_free(struct sim_pool *pool)
{
    struct slab *slab;

    while ((slab = pool->slabs) != NULL) {
        pool->slabs = slab->next;
        free(slab);
    }
    free(pool);
}

static size_t steps_of(size_t size)
{
    return (size + STEP - 1) / STEP;
}

static void *cut(struct sim_pool *pool, size_t steps)
{
    void *bytes;

    if (SLAB_BYTES - pool->used < steps * STEP) {
        struct slab *slab = malloc(sizeof(*slab));

        if (slab == NULL) {
            hft_die("out of memory");
        }
        slab->next = pool->slabs;
        pool->slabs = slab;
        pool->used = 0;
    }
    bytes = pool->slabs->bytes + pool->used;
    pool->used += steps * STEP;
    return bytes;
}

static void *take(struct sim_pool *pool, size_t size)
{
    size_t steps = steps_of(size);
    struct block *block;

    if (size > LARGEST) {
        return malloc(size);
    }
    block = pool->idle[steps];
    if (block == NULL) {
        return cut(pool, steps);
    }
    pool->idle[steps] = block->next;
    return block;
}

static void give(struct sim_pool *pool, void *bytes, size_t size)
{
    struct block *block = bytes;

    if (size > LARGEST) {
        free(bytes);
        return;
    }
    block->next = pool->idle[steps_of(size)];
    pool->idle[steps_of(size)] = block;
}

void *sim_pool_realloc(void *pool, void *block, size_t old, size_t wanted)
{
    void *bytes = NULL;

    if (old > LARGEST && wanted > LARGEST) {
        return realloc(block, wanted);
    }
    if (old > 0 && wanted > 0 && steps_of(old) == steps_of(wanted)) {
        return block;
    }
    if (wanted > 0) {
        bytes = take(pool, wanted);
    }
    if (old > 0 && bytes != NULL) {
        memcpy(bytes, block, old < wanted ? old : wanted);
    }
    if (old > 0 && (bytes != NULL || wanted == 0)) {
        give(pool, block, old);
    }
    return bytes;
}
