/* SPDX-License-Identifier: MIT */
/* net/local_place.h - where the private server of a name lives.
 */
#ifndef HFI_NET_LOCAL_PLACE_H
#define HFI_NET_LOCAL_PLACE_H

#include "base/url.h"
#include "holdfast/status.h"
#include "net/local_server.h"
#include "net/socket.h"

/* Every path is as long as the socket's, or shorter. */
struct hfi_local_place {
    char name[HFI_LOCAL_NAME_MAX + 1];
    char dir[HFI_LOCAL_SOCKET_SIZE];
    char socket[HFI_LOCAL_SOCKET_SIZE];
    char lock[HFI_LOCAL_SOCKET_SIZE];
    char pid[HFI_LOCAL_SOCKET_SIZE];
    char log[HFI_LOCAL_SOCKET_SIZE];
    struct hfi_address address; /* the socket's */
};

/* Find it.  Makes the folder if there is none.
 * @retval HF_OK, HF_BAD_NAME, HF_PERMISSION, HF_SYSTEM: see local_server.h */
hf_status hfi_local_place_find(const char *name,
                               struct hfi_local_place *ret_place,
                               hf_error *reterr);

#endif
