/* SPDX-License-Identifier: MIT */
/* scratch.h - folders that go away with the test, and ports of our own.
 */
#ifndef HFT_SCRATCH_H
#define HFT_SCRATCH_H

/* Make a folder only we can read, in $TMPDIR or /tmp.  Returned, end it with
 * hft_scratch_delete().  A folder that a failed test forgets is deleted when
 * the program exits. */
char *hft_scratch_new(void);

/* Delete the folder with all that is in it, and free the path.  NULL: fine. */
void hft_scratch_delete(char *path);

/* Delete a folder inside a scratch folder, with all that is in it. */
void hft_scratch_delete_inner(const char *path);

/* A TCP port on 127.0.0.1 on which nobody listens, reserved among test
 * programs until this process ends or gives it back.  It stays ours while the
 * server on it is down, which a port from bind(0) does not: it lies outside
 * the range from which the kernel picks ports for outgoing connections. */
struct hft_port {
    int number;
    int reservation; /* a descriptor, closed on exec */
};

struct hft_port hft_port_reserve(void);
void hft_port_give_back(struct hft_port *port);

#endif
