/* SPDX-License-Identifier: MIT */
/* pair.h - the model and a real server side by side, asked the same.
 *
 * Both have a connection that asks and one that listens.  Each request goes to
 * the real server first; the model runs it at the time it was sent.  On the
 * real one keys expire only when they are met, so that both are deterministic.
 * What was asked last is kept, for the message of a test that fails.
 */
#ifndef SIM_PAIR_H
#define SIM_PAIR_H

#include "sim_server.h"
#include "support/bytes.h"
#include "support/resp_scan.h"

#define SIM_PAIR_WORDS 64

/* A request: its words are lent or in `text`. */
struct sim_request {
    struct hft_piece words[SIM_PAIR_WORDS];
    size_t count;
};

void sim_request_add(struct sim_request *request, struct hft_piece word);
void sim_request_add_text(struct sim_request *request, const char *text);
/* The words of a line, which is lent: apart by spaces. */
void sim_request_add_line(struct sim_request *request, const char *line);

/* What both answered, as it travelled; lent until the next request. */
struct sim_answers {
    struct hft_piece real;
    struct hft_piece model;
};

struct sim_pair;

struct sim_pair *sim_pair_new(const char *password);
void sim_pair_free(struct sim_pair *pair);

struct sim_answers sim_pair_ask(struct sim_pair *pair,
                                const struct sim_request *request);
/* Bytes that may be no request, on connections of their own; both answers until
 * the server is silent or closes ("<closed>" at the end then). */
struct sim_answers sim_pair_throw(struct sim_pair *pair, const char *bytes);
/* On the listening connection.  What it has heard since comes first. */
struct sim_answers sim_pair_listen(struct sim_pair *pair,
                                   const struct sim_request *request);

/* The real server's clock. */
int64_t sim_pair_now_ms(void);
/* Until that clock is past an instant. */
void sim_pair_wait_past(int64_t instant_ms);

/* Print what was asked last, and both answers. */
void sim_pair_print(const struct sim_pair *pair);
struct sim_server *sim_pair_model(struct sim_pair *pair);
uint64_t sim_pair_asked(const struct sim_pair *pair);

#endif
