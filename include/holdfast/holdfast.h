/* SPDX-License-Identifier: MIT */
/* holdfast/holdfast.h - everything: the one header to include.
 *
 *     hf_client *client;
 *     hf_lock *lock;
 *     hf_error err;
 *
 *     if (hf_client_open("redis://10.0.0.7", NULL, &client, &err) != HF_OK ||
 *         hf_lock_new(client, "orders:42", &lock, &err) != HF_OK ||
 *         hf_lock_acquire(lock, NULL, &err) != HF_OK) {
 *         fprintf(stderr, "%s\n", err.message);
 *         return 1;
 *     }
 *     ... the work; hf_lock_is_held(lock, NULL) before what must not be late
 *     hf_lock_release(lock, NULL, NULL);
 *     hf_lock_free(lock);
 *     hf_client_close(client);
 */
#ifndef HOLDFAST_HOLDFAST_H
#define HOLDFAST_HOLDFAST_H

#include "holdfast/client.h"
#include "holdfast/inspect.h"
#include "holdfast/latch.h"
#include "holdfast/lock.h"
#include "holdfast/multi.h"
#include "holdfast/permits.h"
#include "holdfast/semaphore.h"
#include "holdfast/server.h"
#include "holdfast/status.h"
#include "holdfast/version.h"

#endif /* HOLDFAST_HOLDFAST_H */
