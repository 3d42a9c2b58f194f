/* SPDX-License-Identifier: MIT */
/* draw.h - random requests for the model and the real server.
 *
 * Few keys and fields, so that commands meet each other's data, also of other
 * types.  TTLs of one round are far from each other, so that the few ms between
 * the two clocks never decide which is the longer.
 */
#ifndef SIM_DRAW_H
#define SIM_DRAW_H

#include "pair.h"
#include "support/seed.h"

/* How answers to a request are to be compared. */
enum sim_manner {
    SIM_EXACT,
    SIM_NUMBERS_ARE_TIMES,
    SIM_NUMBER_IS_SECONDS,
    SIM_IS_TIME,
    SIM_ANY_ORDER,
    SIM_LOCKS_ANY_ORDER /* lock_scan */
};

struct sim_draw {
    struct hft_random random;
    uint64_t ttls;  /* of this round */
    int64_t now_ms; /* for a not_after */
    char texts[SIM_PAIR_WORDS][32];
    size_t text_count;
};

void sim_draw_begin(struct sim_draw *draw, uint64_t seed);

/* A command, or a call of a shipped script; sometimes with a wrong word. */
enum sim_manner sim_draw_request(struct sim_draw *draw,
                                 struct sim_request *ret_request);
/* What the listening connection says. */
void sim_draw_listening(struct sim_draw *draw, struct sim_request *ret_request);
const char *sim_draw_key(struct sim_draw *draw);
bool sim_draw_chance(struct sim_draw *draw, unsigned one_in);

/* Every shipped script has a line here that says how it is called; NULL: the
 * script is unknown, or all are known. */
const char *sim_draw_unknown_script(void);

#endif
