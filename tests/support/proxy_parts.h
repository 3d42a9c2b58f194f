/* SPDX-License-Identifier: MIT */
/* proxy_parts.h - what the files of the proxy know of each other.
 *
 * proxy.c has the thread and the public functions, proxy_link.c carries the
 * messages of one link, proxy_rules.c judges them.  All of it is under the
 * proxy's mutex, which the thread holds except while it polls.
 */
#ifndef HFT_PROXY_PARTS_H
#define HFT_PROXY_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "support/bytes.h"
#include "support/proxy.h"
#include "support/resp_scan.h"

/* A message on its way to be judged. */
struct hft_sight {
    enum hft_direction direction;
    unsigned link;
    struct hft_piece command;
    struct hft_piece request; /* or the pub/sub message */
};

/* What is to be done with it. */
struct hft_verdict {
    enum hft_action action;
    int64_t delay_ms;
    int rule; /* its id; 0: no rule acts */
};

struct hft_rules;

struct hft_rules *hft_rules_new(void);
void hft_rules_free(struct hft_rules *rules);
int hft_rules_add(struct hft_rules *rules, const struct hft_rule *what);
void hft_rules_end(struct hft_rules *rules, int id); /* 0: all */
unsigned hft_rules_hits(const struct hft_rules *rules, int id);
struct hft_verdict hft_rules_judge(struct hft_rules *rules,
                                   const struct hft_sight *sight);

/* Requests seen, of a command or (NULL) of all. */
unsigned hft_rules_requests(const struct hft_rules *rules, const char *command);

struct hft_link;

/* Take a client's descriptor and one connected to the server; -1 for the
 * latter makes a link that stays silent. */
struct hft_link *hft_link_new(unsigned index, int client_fd, int server_fd);
void hft_link_free(struct hft_link *link);

int hft_link_client_fd(const struct hft_link *link); /* -1: closed */
int hft_link_server_fd(const struct hft_link *link);
bool hft_link_has_for_client(const struct hft_link *link);
bool hft_link_has_for_server(const struct hft_link *link);

/* A descriptor can be read: take what is there and judge it. */
void hft_link_read_client(struct hft_link *link, struct hft_rules *rules);
void hft_link_read_server(struct hft_link *link, struct hft_rules *rules);

/* Let go of what the rule holds (0: of all). */
void hft_link_release(struct hft_link *link, int rule);

/* Close the client's side at once. */
void hft_link_break(struct hft_link *link);

/* Pass on what is due, send what the sockets take, and end what has ended.
 * False when both sides are closed: free it then. */
bool hft_link_carry(struct hft_link *link, int64_t now_ms);

/* When a delayed message is due; INT64_MAX: none is. */
int64_t hft_link_due_ms(const struct hft_link *link);

#endif
