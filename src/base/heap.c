/* SPDX-License-Identifier: MIT */
/* Timers in a heap of four children per node: it is half as deep as a binary
 * one, and the children of a node share a cache line.
 *
 * Invariant: no node's key is less than its parent's, and each node's index is
 * its place in the array.  The array halves when it is three quarters empty, so
 * that a million timers leave nothing behind.  Not thread-safe.
 */
#include "base/heap.h"

#include <stdlib.h>

#define CHILDREN 4
#define CAPACITY_LEAST 64

void hfi_heap_node_init(struct hfi_heap_node *node)
{
    node->key = 0;
    node->index = HFI_HEAP_OUT;
}

static void put(struct hfi_heap *heap, size_t index, struct hfi_heap_node *node)
{
    heap->nodes[index] = node;
    node->index = index;
}

/* Find a node's place between its present one and the root. */
static void move_up(struct hfi_heap *heap, struct hfi_heap_node *node)
{
    size_t index = node->index;

    while (index > 0) {
        size_t parent = (index - 1) / CHILDREN;

        if (heap->nodes[parent]->key <= node->key) {
            break;
        }
        put(heap, index, heap->nodes[parent]);
        index = parent;
    }
    put(heap, index, node);
}

/* The child with the least key; `first` is the first child. */
static size_t least_child(const struct hfi_heap *heap, size_t first)
{
    size_t least = first;
    size_t end = first + CHILDREN;

    if (end > heap->count) {
        end = heap->count;
    }
    for (size_t child = first + 1; child < end; child++) {
        if (heap->nodes[child]->key < heap->nodes[least]->key) {
            least = child;
        }
    }
    return least;
}

/* Find a node's place between its present one and the leaves. */
static void move_down(struct hfi_heap *heap, struct hfi_heap_node *node)
{
    size_t index = node->index;

    for (;;) {
        size_t child = index * CHILDREN + 1;

        if (child >= heap->count) {
            break;
        }
        child = least_child(heap, child);
        if (heap->nodes[child]->key >= node->key) {
            break;
        }
        put(heap, index, heap->nodes[child]);
        index = child;
    }
    put(heap, index, node);
}

static bool resize(struct hfi_heap *heap, size_t capacity)
{
    struct hfi_heap_node **nodes;

    if (capacity > SIZE_MAX / sizeof(struct hfi_heap_node *)) {
        return false;
    }
    nodes = realloc(heap->nodes, capacity * sizeof(struct hfi_heap_node *));
    if (nodes == NULL) {
        return false;
    }
    heap->nodes = nodes;
    heap->capacity = capacity;
    return true;
}

static bool insert(struct hfi_heap *heap, struct hfi_heap_node *node,
                   int64_t key)
{
    if (heap->count == heap->capacity) {
        size_t capacity = heap->capacity < CAPACITY_LEAST ? CAPACITY_LEAST
                                                          : heap->capacity * 2;

        if (!resize(heap, capacity)) {
            return false;
        }
    }
    node->key = key;
    put(heap, heap->count, node);
    heap->count++;
    move_up(heap, node);
    return true;
}

bool hfi_heap_set(struct hfi_heap *heap, struct hfi_heap_node *node,
                  int64_t key)
{
    int64_t before = node->key;

    if (!hfi_heap_node_in(node)) {
        return insert(heap, node, key);
    }
    node->key = key;
    if (key < before) {
        move_up(heap, node);
    } else {
        move_down(heap, node);
    }
    return true;
}

void hfi_heap_remove(struct hfi_heap *heap, struct hfi_heap_node *node)
{
    struct hfi_heap_node *last;
    size_t index = node->index;

    if (!hfi_heap_node_in(node)) {
        return;
    }
    node->index = HFI_HEAP_OUT;
    heap->count--;
    last = heap->nodes[heap->count];
    if (last != node) {
        /* The last node fills the gap.  It may belong above or below it. */
        put(heap, index, last);
        move_up(heap, last);
        move_down(heap, last);
    }
    if (heap->capacity > CAPACITY_LEAST && heap->count < heap->capacity / 4) {
        /* If this fails the larger array does as well. */
        (void)resize(heap, heap->capacity / 2);
    }
}

struct hfi_heap_node *hfi_heap_first(const struct hfi_heap *heap)
{
    return heap->count > 0 ? heap->nodes[0] : NULL;
}

void hfi_heap_free(struct hfi_heap *heap)
{
    for (size_t i = 0; i < heap->count; i++) {
        heap->nodes[i]->index = HFI_HEAP_OUT;
    }
    free(heap->nodes);
    heap->nodes = NULL;
    heap->count = 0;
    heap->capacity = 0;
}
