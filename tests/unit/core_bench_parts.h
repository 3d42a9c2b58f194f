/* SPDX-License-Identifier: MIT */
/* core_bench_parts.h - what the files of the bench share. */
#ifndef HFT_CORE_BENCH_PARTS_H
#define HFT_CORE_BENCH_PARTS_H

#include "core_bench.h"

struct bench_taken {
    struct bench_taken *prev, *next;
    struct hfi_copy *copy;
};

/* Carry out what the core decided, but for its copies. */
void bench_settle(struct bench *bench);
void bench_channel_change(struct bench *bench, struct hfi_listener *listener);
void bench_channels_free(struct bench *bench);

#endif
