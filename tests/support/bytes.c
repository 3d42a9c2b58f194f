/* SPDX-License-Identifier: MIT */
/* bytes.c - a run of bytes that grows at its end and is eaten at its start.
 */
#include "support/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/fatal.h"

#define FIRST_CAPACITY 256
#define RECEIVE_AT_ONCE 65536

void hft_bytes_make_room(struct hft_bytes *bytes, size_t more)
{
    size_t capacity = bytes->capacity;
    char *data;

    if (capacity == 0) {
        capacity = FIRST_CAPACITY;
    }
    while (capacity - bytes->length < more) {
        capacity *= 2;
    }
    if (capacity == bytes->capacity) {
        return;
    }
    data = realloc(bytes->data, capacity);
    if (data == NULL) {
        hft_die("out of memory");
    }
    bytes->data = data;
    bytes->capacity = capacity;
}

void hft_bytes_append(struct hft_bytes *bytes, const char *data, size_t length)
{
    if (length == 0) {
        return;
    }
    hft_bytes_make_room(bytes, length);
    memcpy(bytes->data + bytes->length, data, length);
    bytes->length += length;
}

void hft_bytes_append_text(struct hft_bytes *bytes, const char *text)
{
    hft_bytes_append(bytes, text, strlen(text));
}

void hft_bytes_eat(struct hft_bytes *bytes, size_t length)
{
    if (length == 0) {
        return;
    }
    bytes->length -= length;
    memmove(bytes->data, bytes->data + length, bytes->length);
}

void hft_bytes_free(struct hft_bytes *bytes)
{
    free(bytes->data);
    memset(bytes, 0, sizeof(*bytes));
}

static bool is_passing(int error)
{
    return error == EAGAIN || error == EINTR;
}

bool hft_bytes_receive(struct hft_bytes *bytes, int fd)
{
    ssize_t got;

    hft_bytes_make_room(bytes, RECEIVE_AT_ONCE);
    /* read, not recv: a terminal and a memory file are read with it too. */
    got = read(fd, bytes->data + bytes->length, RECEIVE_AT_ONCE);
    if (got < 0) {
        return is_passing(errno);
    }
    bytes->length += (size_t)got;
    return got > 0;
}

bool hft_bytes_send(struct hft_bytes *bytes, int fd)
{
    ssize_t sent;

    if (bytes->length == 0) {
        return true;
    }
    sent = send(fd, bytes->data, bytes->length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
        return is_passing(errno);
    }
    hft_bytes_eat(bytes, (size_t)sent);
    return true;
}
