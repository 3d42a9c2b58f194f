/* SPDX-License-Identifier: MIT */
/* notify.h - telling a service manager how we are. */
#ifndef HOLDFAST_CLI_NOTIFY_H
#define HOLDFAST_CLI_NOTIFY_H

/* Send a state ("READY=1") to the socket that NOTIFY_SOCKET names, as
 * systemd's sd_notify() does.  Without the variable it does nothing. */
void cli_notify(const char *state);

#endif
