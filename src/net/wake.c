/* SPDX-License-Identifier: MIT */
/* Waking a thread that polls: an eventfd, which counts how often it was fired
 * and is emptied by one read.  Firing is a single write, so a signal handler
 * may do it; a counter that is full is readable already.
 */
#include "net/wake.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fail.h"

hf_status hfi_wake_open(struct hfi_wake *ret_wake, hf_error *reterr)
{
    ret_wake->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ret_wake->fd < 0) {
        return hfi_fail_errno(reterr, HF_SYSTEM, errno,
                              "no wake-up descriptor");
    }
    return HF_OK;
}

void hfi_wake_fire(const struct hfi_wake *wake)
{
    static const uint64_t one = 1;
    int saved_errno = errno;

    if (wake->fd >= 0) {
        while (write(wake->fd, &one, sizeof(one)) < 0 && errno == EINTR) {
        }
    }
    errno = saved_errno;
}

void hfi_wake_drain(const struct hfi_wake *wake)
{
    uint64_t count;
    int saved_errno = errno;

    if (wake->fd >= 0) {
        while (read(wake->fd, &count, sizeof(count)) < 0 && errno == EINTR) {
        }
    }
    errno = saved_errno;
}

void hfi_wake_close(struct hfi_wake *wake)
{
    if (wake->fd >= 0) {
        close(wake->fd);
        wake->fd = -1;
    }
}
