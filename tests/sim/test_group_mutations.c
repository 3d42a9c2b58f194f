/* SPDX-License-Identifier: MIT */
/* test_group_mutations.c - each planted mistake is caught, by the right check.
 *
 * As test_mutations.c, in the world of groups.  Each invariant has a mistake
 * that it alone catches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "sim/groups/world.h"
#include "sim/mutate.h"
#include "sync/mutations.h"

#define SEEDS 400 /* at most */

/* A mistake, and the invariants that may be the first to break. */
static const struct mistake {
    const char *name;
    const char *caught_by;
    uint64_t first; /* the seed to begin with: before it, chance has it caught
                     * by another */
} mistakes[] = {
    {"half_is_enough", "exclusive", 1},
    {"lasts_unchecked", "held_truly", 1},
    {"together_believed", "exclusive held_truly", 1},
    {"late_member_stays", "wanted", 22},
    {"undo_forgets", "wanted nothing_remains", 1},
    {"wait_ignored", "calls_end", 1},
    {"limit_ignored", "in_its_limit", 1},
    {"patience_endless", "gets_on", 1},
    {"member_loss_unheard", "told_in_time", 1},
    {"outer_unjudged", "told_in_time", 200},
    {"group_told_again", "told_once", 1},
    {"one_loss_is_all", "told_truly", 1},
    {"never_caught_up", "lease_whole", 1},
    {"settled_never", "fixed_ends", 1},
    {"turn_ignored", "in_order", 1},
    {"outcome_kept", "outcomes_true", 1},
    {"pin_kept", "nothing_remains", 1},
};

#define COUNT (sizeof(mistakes) / sizeof(mistakes[0]))

/* Run histories until one is broken, and see by what. */
static void is_caught(const struct mistake *mistake, bool stumbles)
{
    const char *name = mistake->name;
    const char *caught_by = mistake->caught_by;
    char invariant[64] = "no invariant";
    char text[400] = "";
    uint64_t seed;
    bool whole = true;

    for (seed = mistake->first; seed < mistake->first + SEEDS && whole;
         seed++) {
        struct gw_options options = gw_options_default(seed);
        struct gw_world *world;

        options.stumbles = stumbles;
        world = gw_new(&options);
        whole = gw_history();
        if (!whole) {
            snprintf(invariant, sizeof(invariant), "%s", world->broken);
            snprintf(text, sizeof(text), "%s", world->text);
        }
        gw_free(world);
    }
    printf("%-22s caught by %s, seed %llu\n", name, invariant,
           (unsigned long long)seed - 1);
    fflush(stdout);
    if (strstr(caught_by, invariant) == NULL) {
        fail_msg("%s: expected %s, broken was %s: %s", name, caught_by,
                 invariant, text);
    }
}

static void each_mistake_is_caught(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(sim_mutate(mistakes[i].name));
        is_caught(&mistakes[i], false);
    }
    (void)sim_mutate("none");
}

static void a_script_that_stumbles_is_caught(void **state)
{
    (void)state;
    is_caught(&(struct mistake){"a key too few", "protocol", 1}, true);
}

static void each_invariant_has_a_mistake_that_it_alone_catches(void **state)
{
    (void)state;
    for (int i = 0; i < GW_INVARIANT_COUNT; i++) {
        const char *name = gw_invariant_name((enum gw_invariant)i);
        bool found = strcmp(name, "protocol") == 0; /* above */

        for (size_t k = 0; k < COUNT && !found; k++) {
            found = strcmp(mistakes[k].caught_by, name) == 0;
        }
        if (!found) {
            fail_msg("no planted mistake is caught by %s alone", name);
        }
    }
}

#define ONE(name, text) +1

static void every_mistake_is_tried(void **state)
{
    (void)state;
    assert_int_equal(COUNT, 0 HFI_GROUP_MUTATION_MAP(ONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mistake_is_tried),
        cmocka_unit_test(each_invariant_has_a_mistake_that_it_alone_catches),
        cmocka_unit_test(a_script_that_stumbles_is_caught),
        cmocka_unit_test(each_mistake_is_caught),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
