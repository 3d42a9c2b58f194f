/* SPDX-License-Identifier: MIT */
/* test_heap.c - the heap of timers against a plain array.
 *
 * A failing run prints its seed; HF_SEED in the environment repeats it.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/heap.h"
#include "base/ids.h"

#define NODES 500
#define STEPS 20000

static struct hfi_heap heap;
static struct hfi_heap_node nodes[NODES];

static uint64_t seed_of_this_run(void)
{
    const char *given = getenv("HF_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : hfi_seed_make();

    print_message("HF_SEED=%" PRIu64 "\n", seed);
    return seed;
}

static int64_t least_key(void)
{
    int64_t least = INT64_MAX;

    for (size_t i = 0; i < NODES; i++) {
        if (hfi_heap_node_in(&nodes[i]) && nodes[i].key < least) {
            least = nodes[i].key;
        }
    }
    return least;
}

static void assert_valid(size_t expected_count)
{
    assert_int_equal(heap.count, expected_count);
    for (size_t i = 0; i < heap.count; i++) {
        assert_int_equal(heap.nodes[i]->index, i);
        if (i > 0) {
            assert_true(heap.nodes[(i - 1) / 4]->key <= heap.nodes[i]->key);
        }
    }
    if (expected_count == 0) {
        assert_null(hfi_heap_first(&heap));
    } else {
        assert_true(hfi_heap_first(&heap)->key == least_key());
    }
}

static int64_t some_key(uint64_t *random)
{
    static const int64_t odd[] = {INT64_MIN, INT64_MAX, 0, -1};
    uint64_t number = hfi_random_next(random);

    /* Few different keys, so that equal ones are common. */
    return number % 16 == 0 ? odd[number / 16 % 4]
                            : (int64_t)(number / 16 % 50) - 10;
}

static void the_first_is_the_least_whatever_was_set_and_removed(void **state)
{
    uint64_t random = seed_of_this_run();
    size_t count = 0;

    (void)state;
    for (size_t i = 0; i < NODES; i++) {
        hfi_heap_node_init(&nodes[i]);
    }
    for (size_t step = 0; step < STEPS; step++) {
        struct hfi_heap_node *node = &nodes[hfi_random_next(&random) % NODES];
        bool was_in = hfi_heap_node_in(node);

        if (hfi_random_next(&random) % 3 != 0) {
            int64_t key = some_key(&random);

            assert_true(hfi_heap_set(&heap, node, key));
            assert_true(hfi_heap_node_in(node) && node->key == key);
            count += was_in ? 0 : 1;
        } else {
            hfi_heap_remove(&heap, node);
            assert_false(hfi_heap_node_in(node));
            count -= was_in ? 1 : 0;
        }
        if (step % 16 == 0 || count < 3) {
            assert_valid(count);
        }
    }
    hfi_heap_free(&heap);
    assert_valid(0);
}

static void nodes_come_out_in_the_order_of_their_keys(void **state)
{
    uint64_t random = seed_of_this_run();
    int64_t before = INT64_MIN;

    (void)state;
    for (size_t i = 0; i < NODES; i++) {
        hfi_heap_node_init(&nodes[i]);
        assert_true(hfi_heap_set(&heap, &nodes[i], some_key(&random)));
    }
    for (size_t i = 0; i < NODES; i++) {
        struct hfi_heap_node *first = hfi_heap_first(&heap);

        assert_true(first->key >= before);
        before = first->key;
        hfi_heap_remove(&heap, first);
    }
    assert_valid(0);
    hfi_heap_free(&heap);
}

static void a_million_timers_leave_no_memory_behind(void **state)
{
    size_t many = 1000000;
    struct hfi_heap_node *all = calloc(many, sizeof(*all));

    (void)state;
    assert_non_null(all);
    for (size_t i = 0; i < many; i++) {
        hfi_heap_node_init(&all[i]);
        assert_true(hfi_heap_set(&heap, &all[i], (int64_t)(i * 7919 % many)));
    }
    assert_true(heap.capacity >= many);
    for (size_t i = 0; i < many; i++) {
        hfi_heap_remove(&heap, &all[i]);
    }
    assert_int_equal(heap.count, 0);
    assert_true(heap.capacity <= 64);
    hfi_heap_free(&heap);
    free(all);
}

static void freeing_takes_the_nodes_out(void **state)
{
    (void)state;
    hfi_heap_node_init(&nodes[0]);
    assert_false(hfi_heap_node_in(&nodes[0]));
    hfi_heap_remove(&heap, &nodes[0]);
    assert_true(hfi_heap_set(&heap, &nodes[0], 1));
    hfi_heap_free(&heap);
    assert_false(hfi_heap_node_in(&nodes[0]));
    hfi_heap_free(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_the_least_whatever_was_set_and_removed),
        cmocka_unit_test(nodes_come_out_in_the_order_of_their_keys),
        cmocka_unit_test(a_million_timers_leave_no_memory_behind),
        cmocka_unit_test(freeing_takes_the_nodes_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
