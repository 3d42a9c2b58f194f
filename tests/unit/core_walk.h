/* SPDX-License-Identifier: MIT */
/* core_walk.h - the world of test_core_random.c, and what is looked at after
 * every step. */
#ifndef HFT_CORE_WALK_H
#define HFT_CORE_WALK_H

#include <inttypes.h>

#include "core_bench.h"
#include "core_model.h"
#include "support/seed.h"
#include "sync/state.h"

#define CLIENTS 2
#define OWNERS 2
#define LOCKS 2
#define NUMBERS 8192

/* A copy on its way: in a link, or left over from one that is gone. */
struct flight {
    struct flight *prev, *next;
    struct hfi_copy *copy; /* NULL: given back to the core already */
    struct model_request request;
    struct hfi_value answer;
    bool run;
};

/* What was seen of a number so far. */
struct past {
    bool known;    /* the core had a record of it */
    bool gone;     /* ... and has none any more */
    bool excused;  /* given up while the server was away */
    bool used;     /* it was held, or its End was begun */
    bool stand_in; /* for what is left of a min_hold */
    bool freed;    /* its RELEASE or UNDO deleted its field */
    int told_lost;
};

struct client {
    struct bench bench;
    struct flight *link[HFI_COMMAND_LINKS];
    struct flight *ghosts; /* written into links that are gone; not run */
    bool up[HFI_COMMAND_LINKS];
    bool heard[LOCKS];
    unsigned seen[LOCKS]; /* messages */
    int64_t stopped_until;
    struct past *past;
    struct bench_call *acquiring[OWNERS][LOCKS]; /* the newest such call */
    bool whole[OWNERS];                          /* these are all or nothing */
    struct bench_call *releasing[OWNERS][LOCKS];
    uint64_t releasing_n[OWNERS][LOCKS];
};

struct world {
    uint64_t seed;
    int step;
    struct hft_random random;
    struct model model;
    int64_t now;
    struct client clients[CLIENTS];
    bool calm; /* the end: nothing goes wrong any more */
};

extern struct world world;
extern const char *const lock_names[LOCKS];
extern const char *const uuids[CLIENTS];

#define check(condition, ...)                                                  \
    do {                                                                       \
        if (!(condition)) {                                                    \
            print_error("walk of seed %" PRIu64 ", step %d at %" PRId64 ": ",  \
                        world.seed, world.step, world.now);                    \
            print_error(__VA_ARGS__);                                          \
            print_error("\n");                                                 \
            fail();                                                            \
        }                                                                      \
    } while (0)

/* Look at every invariant, now. */
void look_around(void);

#endif
