/* SPDX-License-Identifier: MIT */
/* Finding a private server: in the runtime directory, unless one lives in the
 * folder that was the runtime directory before the user's first login (a cron
 * job may have started it).  Two servers of one name would be two locks of one
 * name, so the one that lives is the one that is meant.
 */
#include "net/local_place.h"

#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "net/local_ask.h"
#include "net/runtime_dir.h"

static hf_status fill(const char *name, const char *dir,
                      struct hfi_local_place *place, hf_error *reterr)
{
    size_t room = HFI_LOCAL_SOCKET_SIZE;
    size_t needed = strlen(dir) + strlen("/") + strlen(name) + strlen(".sock");

    memset(place, 0, sizeof(*place));
    if (needed >= room) {
        return hfi_fail(reterr, HF_BAD_NAME,
                        "the socket %s/%s.sock would have %zu bytes; this "
                        "system allows %zu",
                        dir, name, needed, room - 1);
    }
    (void)snprintf(place->name, sizeof(place->name), "%s", name);
    (void)snprintf(place->dir, room, "%s", dir);
    (void)snprintf(place->socket, room, "%s/%s.sock", dir, name);
    (void)snprintf(place->lock, room, "%s/%s.lock", dir, name);
    (void)snprintf(place->pid, room, "%s/%s.pid", dir, name);
    (void)snprintf(place->log, room, "%s/%s.log", dir, name);
    return hfi_address_unix(place->socket, &place->address, reterr);
}

static bool somebody_listens(const struct hfi_local_place *place)
{
    enum hfi_presence presence;
    int64_t pid;

    return hfi_local_ask(&place->address, 0, &presence, &pid, NULL) == HF_OK &&
           presence != HFI_ABSENT;
}

hf_status hfi_local_place_find(const char *name,
                               struct hfi_local_place *ret_place,
                               hf_error *reterr)
{
    struct hfi_local_place earlier;
    char dir[256];
    hf_status status;

    if (name == NULL || !hfi_local_name_is_valid(name)) {
        return hfi_fail(reterr, HF_BAD_NAME,
                        "the name of a private server must be 1 to %d letters, "
                        "digits, '.', '_' or '-'",
                        HFI_LOCAL_NAME_MAX);
    }
    status = hfi_runtime_dir(dir, sizeof(dir), reterr);
    if (status != HF_OK) {
        return status;
    }
    status = fill(name, dir, ret_place, reterr);
    if (status != HF_OK) {
        return status;
    }
    if (hfi_runtime_dir_earlier(dir, sizeof(dir)) &&
        fill(name, dir, &earlier, NULL) == HF_OK &&
        somebody_listens(&earlier) && !somebody_listens(ret_place)) {
        *ret_place = earlier;
    }
    return HF_OK;
}
