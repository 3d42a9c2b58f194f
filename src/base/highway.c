/* SPDX-License-Identifier: MIT */
/* base/highway.c - the HighwayHash of 128 bits.
 *
 * Four lanes of 64 bits, each with two words of state and two of multipliers.
 * 32 bytes are taken at a time; what is left at the end is spread over a last
 * packet together with its length.  Six rounds with the lanes crossed finish it.
 * docs/wire/values.md says what it is used for, and has vectors.
 */
#include "base/highway.h"

#include <string.h>

#define LANES 4
#define PACKET 32
#define FINAL_ROUNDS 6

struct state {
    uint64_t v0[LANES], v1[LANES], mul0[LANES], mul1[LANES];
};

static const uint64_t key[LANES] = {
    UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xf39cc0605cedc834),
    UINT64_C(0x1082276bf3a27251), UINT64_C(0xf86c6a11d0c18e95)};

static const uint64_t first_mul0[LANES] = {
    UINT64_C(0xdbe6d5d5fe4cce2f), UINT64_C(0xa4093822299f31d0),
    UINT64_C(0x13198a2e03707344), UINT64_C(0x243f6a8885a308d3)};

static const uint64_t first_mul1[LANES] = {
    UINT64_C(0x3bd39e10cb0ef593), UINT64_C(0xc0acf169b5f18a8c),
    UINT64_C(0xbe5466cf34e90c6c), UINT64_C(0x452821e638d01377)};

static uint64_t swap_halves(uint64_t word)
{
    return word >> 32 | word << 32;
}

static void init(struct state *s)
{
    for (int i = 0; i < LANES; i++) {
        s->mul0[i] = first_mul0[i];
        s->mul1[i] = first_mul1[i];
        s->v0[i] = first_mul0[i] ^ key[i];
        s->v1[i] = first_mul1[i] ^ swap_halves(key[i]);
    }
}

/* Byte `from` of a word, moved to place `to`. */
static uint64_t byte_to(uint64_t word, int from, int to)
{
    return (word >> (8 * from) & 0xff) << (8 * to);
}

/* Add to a pair of words the bytes of another, in an order that spreads those
 * that multiplication mixes best. */
static void zip(const uint64_t from[2], uint64_t to[2])
{
    uint64_t low = from[0], high = from[1];

    to[0] += byte_to(low, 3, 0) | byte_to(high, 4, 1) | byte_to(low, 2, 2) |
             byte_to(low, 5, 3) | byte_to(high, 6, 4) | byte_to(low, 1, 5) |
             byte_to(high, 7, 6) | byte_to(low, 0, 7);
    to[1] += byte_to(high, 3, 0) | byte_to(low, 4, 1) | byte_to(high, 2, 2) |
             byte_to(high, 5, 3) | byte_to(high, 1, 4) | byte_to(low, 6, 5) |
             byte_to(high, 0, 6) | byte_to(low, 7, 7);
}

static void update(struct state *s, const uint64_t lanes[LANES])
{
    for (int i = 0; i < LANES; i++) {
        s->v1[i] += s->mul0[i] + lanes[i];
        s->mul0[i] ^= (s->v1[i] & 0xffffffff) * (s->v0[i] >> 32);
        s->v0[i] += s->mul1[i];
        s->mul1[i] ^= (s->v0[i] & 0xffffffff) * (s->v1[i] >> 32);
    }
    zip(&s->v1[0], &s->v0[0]);
    zip(&s->v1[2], &s->v0[2]);
    zip(&s->v0[0], &s->v1[0]);
    zip(&s->v0[2], &s->v1[2]);
}

static void take_packet(struct state *s, const unsigned char *packet)
{
    uint64_t lanes[LANES] = {0};

    for (int i = 0; i < PACKET; i++) {
        lanes[i / 8] |= (uint64_t)packet[i] << (8 * (i % 8));
    }
    update(s, lanes);
}

static uint64_t rotate(uint64_t half, unsigned by)
{
    return (half << by | half >> (32 - by)) & 0xffffffff;
}

/* 1 to 31 bytes. */
static void take_rest(struct state *s, const unsigned char *bytes, size_t len)
{
    unsigned char packet[PACKET] = {0};
    const unsigned char *odd = bytes + (len & ~(size_t)3);
    size_t odd_len = len & 3;

    for (int i = 0; i < LANES; i++) {
        s->v0[i] += ((uint64_t)len << 32) + len;
        s->v1[i] = rotate(s->v1[i] & 0xffffffff, (unsigned)len) |
                   rotate(s->v1[i] >> 32, (unsigned)len) << 32;
    }
    memcpy(packet, bytes, (size_t)(odd - bytes));
    if ((len & 16) != 0) {
        memcpy(packet + 28, bytes + len - 4, 4);
    } else if (odd_len > 0) {
        packet[16] = odd[0];
        packet[17] = odd[odd_len >> 1];
        packet[18] = odd[odd_len - 1];
    }
    take_packet(s, packet);
}

static void cross_lanes(struct state *s)
{
    uint64_t lanes[LANES];

    for (int i = 0; i < LANES; i++) {
        lanes[i] = swap_halves(s->v0[(i + 2) % LANES]);
    }
    update(s, lanes);
}

void hfi_highway_128(const void *bytes, size_t len, uint64_t ret_words[2])
{
    const unsigned char *at = bytes;
    struct state s;

    init(&s);
    for (; len >= PACKET; len -= PACKET, at += PACKET) {
        take_packet(&s, at);
    }
    if (len > 0) {
        take_rest(&s, at, len);
    }
    for (int i = 0; i < FINAL_ROUNDS; i++) {
        cross_lanes(&s);
    }
    for (int i = 0; i < 2; i++) {
        ret_words[i] = s.v0[i] + s.mul0[i] + s.v1[i + 2] + s.mul1[i + 2];
    }
}

void hfi_value_field(const void *value, size_t len,
                     char ret_field[HFI_VALUE_FIELD_BYTES])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char hash[17] = {0}; /* one more, as if it went on with zeros */
    uint64_t words[2];

    hfi_highway_128(value, len, words);
    for (int i = 0; i < 16; i++) {
        hash[i] = (unsigned char)(words[i / 8] >> (56 - 8 * (i % 8)));
    }
    for (int i = 0; i < HFI_VALUE_FIELD_BYTES; i++) {
        int bit = 6 * i;
        unsigned pair = (unsigned)hash[bit / 8] << 8 | hash[bit / 8 + 1];

        ret_field[i] = digits[pair >> (10 - bit % 8) & 63];
    }
}
