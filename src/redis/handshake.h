/* SPDX-License-Identifier: MIT */
/* redis/handshake.h - what is said when a connection is new.
 *
 * AUTH if there is a password, SELECT if there is a database, CLIENT SETNAME so
 * that an operator sees who it is, TIME for the estimate of the server's clock:
 * all in one write, their answers in order.  Pure.
 */
#ifndef HFI_REDIS_HANDSHAKE_H
#define HFI_REDIS_HANDSHAKE_H

#include "base/buffer.h"
#include "base/url.h"
#include "base/value.h"
#include "holdfast/status.h"
#include "redis/command.h"

#define HFI_HANDSHAKE_STEPS 4

enum hfi_handshake_step {
    HFI_STEP_AUTH,
    HFI_STEP_SELECT,
    HFI_STEP_NAME,
    HFI_STEP_TIME
};

struct hfi_handshake {
    enum hfi_handshake_step steps[HFI_HANDSHAKE_STEPS];
    size_t count;
    size_t answered;
    int64_t server_ms; /* what TIME answered */
};

/** Write it all to @p out.  false: out of memory. */
bool hfi_handshake_begin(struct hfi_handshake *handshake,
                         const struct hfi_url *url, const char *password,
                         const char *client_name, struct hfi_command *scratch,
                         struct hfi_buffer *out);

/** Take the next answer.
 *  @retval HF_OK  go on; over when hfi_handshake_done()
 *  @retval other  the connection is of no use; @p reterr says why */
hf_status hfi_handshake_answer(struct hfi_handshake *handshake,
                               const struct hfi_value *value, hf_error *reterr);

bool hfi_handshake_done(const struct hfi_handshake *handshake);

#endif
