/* SPDX-License-Identifier: MIT */
/* base/heap.h - timers: which of many is due first.
 *
 * A node is a part of what it times; the heap only points at it.  Nodes with
 * equal keys come in any order.  Not thread-safe.
 */
#ifndef HFI_BASE_HEAP_H
#define HFI_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HFI_HEAP_OUT SIZE_MAX

struct hfi_heap_node {
    int64_t key;
    size_t index; /* where it is in the array, or HFI_HEAP_OUT */
};

/* All zero is an empty heap. */
struct hfi_heap {
    struct hfi_heap_node **nodes;
    size_t count;
    size_t capacity;
};

/* A node must be initialised before anything else is done with it. */
void hfi_heap_node_init(struct hfi_heap_node *node);

static inline bool hfi_heap_node_in(const struct hfi_heap_node *node)
{
    return node->index != HFI_HEAP_OUT;
}

/* Insert a node, or move it to another key.  Moving never fails; false: out of
 * memory, and nothing has changed. */
bool hfi_heap_set(struct hfi_heap *heap, struct hfi_heap_node *node,
                  int64_t key);

/* Take a node out; nothing happens if it is not in. */
void hfi_heap_remove(struct hfi_heap *heap, struct hfi_heap_node *node);

/* The node with the least key, which stays in; NULL if there is none. */
struct hfi_heap_node *hfi_heap_first(const struct hfi_heap *heap);

/* Free the array; nodes that are still in are taken out. */
void hfi_heap_free(struct hfi_heap *heap);

#endif
