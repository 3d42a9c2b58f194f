/* SPDX-License-Identifier: MIT */
/* net/resolve.h - from a host's name to addresses, without blocking the caller.
 *
 * getaddrinfo() blocks, for tens of seconds if a name server is down, and
 * cannot be stopped.  It runs on a thread of its own, at most one per resolver;
 * a resolver that is freed meanwhile leaves the thread to end by itself.
 * One thread at a time may use a resolver.
 */
#ifndef HFI_NET_RESOLVE_H
#define HFI_NET_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "holdfast/status.h"
#include "net/socket.h"
#include "net/wake.h"

/* More addresses of one name than this are not looked at. */
#define HFI_RESOLVE_MAX 16

struct hfi_resolver;

/* @param when_done     kept; fired each time an answer is there.
 * @param ret_resolver  returned, free with hfi_resolver_free().
 * @retval HF_OK, HF_NOMEM */
hf_status hfi_resolver_new(const struct hfi_wake *when_done,
                           struct hfi_resolver **ret_resolver,
                           hf_error *reterr);

/* Ask for the addresses of a host.  Returns at once; a number ("127.0.0.1",
 * "::1") is answered before it returns (and fires the wake all the same).  If
 * a question for the same host and port is still open, this is that one.
 * An answer that was not taken is dropped.
 * @param host  borrowed; without brackets.
 * @retval HF_OK, HF_NOMEM, HF_SYSTEM (no thread or descriptor)
 * @retval HF_INTERNAL  a question for another host is still open. */
hf_status hfi_resolver_start(struct hfi_resolver *resolver, const char *host,
                             uint16_t port, hf_error *reterr);

/* Take the answer, if there is one: true, once for each question.
 * @param ret_addresses  `max` of them, in the order in which to try them.
 * @param ret_count      how many were filled in; 0 unless *ret_status is HF_OK.
 * @param ret_status     HF_OK; HF_UNREACHABLE: the name is unknown, or no name
 *                       server answered; HF_NOMEM, HF_SYSTEM.
 * @param ret_error      filled in unless *ret_status is HF_OK; may be NULL. */
bool hfi_resolver_take(struct hfi_resolver *resolver,
                       struct hfi_address *ret_addresses, size_t max,
                       size_t *ret_count, hf_status *ret_status,
                       hf_error *ret_error);

/* Free it, at any time; never blocks.  `when_done` is not touched any more
 * after this.  NULL is fine.  In the child of a fork too. */
void hfi_resolver_free(struct hfi_resolver *resolver);

#endif
