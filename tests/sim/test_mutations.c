/* SPDX-License-Identifier: MIT */
/* test_mutations.c - each planted mistake is caught, and by the right check.
 *
 * A mistake of src/sync/mutations.h, or of mutants.c in a script, is planted,
 * and random histories run until an invariant is broken.  What needs a coincidence
 * that random histories hardly ever have is made to happen by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "sim/mutate.h"
#include "sim/world.h"
#include "sync/mutations.h"

#define SEEDS 400 /* at most */

/* A mistake, and the invariants that may be the first to break. */
struct mistake {
    const char *name;
    const char *caught_by;
};

static const struct mistake mistakes[] = {
    {"no_not_after", "nothing_left"},
    {"deadline_from_reading", "field_stands exclusive"},
    {"no_margin", "field_stands head_start"},
    {"late_grant_held", "told_truly"},
    {"late_grant_stays", "nothing_left"},
    {"unclean_give_up_stays", "nothing_left"},
    {"number_used_twice", "burned"},
    {"any_undo_final", "nothing_left"},
    {"undo_not_repeated", "nothing_left"},
    {"maybe_release_stays", "nothing_left"},
    {"loss_stays", "nothing_left"},
    {"undo_at_deadline", "head_start"},
    {"held_until_answered", "field_stands"},
    {"absent_is_gone", "gone_truly"},
    {"answer_after_deadline", "never_revived head_start field_stands"},
    {"absent_ignored", "told_of_excused"},
    {"renewed_after_release", "nothing_kept_after"},
    {"fixed_renewed", "fixed_stays"},
    {"deadline_unarmed", "lost_in_time"},
    {"loss_untold", "told_truly"},
    {"loss_told_again", "told_once"},
    {"lost_held_again", "never_revived"},
    {"busy_believed", "exclusive tokens_grow gone_truly"},
    {"undo_linkless", "ends_end"},
    {"end_kept", "ends_once"},
    {"owner_let_in_again", "refused"},
    {"spin_sleeps", "waiter_runs"},
    {"half_handed_on", "exclusive"},
    {"upgrade_waits", "refused"},
    {"no_cap", "field_stands"},
    {"bare_overtakes", "only_extended"},
    {"name_kept", "nothing_remains"},
    {"no_try_after_subscribing", "waiter_runs"},
    {"wake_forgotten", "waiter_runs"},
    {"turn_kept", "waiter_runs"},
    {"no_retry", "waiter_runs"},
    {"lifo", "fifo"},
    {"channel_kept", "subscriptions"},
    {"no_time_limit", "calls_end"},
    {"enter_uncounted", "count_mirrored"},
};

/* Run histories until one is broken. */
static void is_caught(const char *name, const char *caught_by,
                      const struct sim_mutant *mutant)
{
    char invariant[64] = "no invariant";
    char text[400] = "";
    uint64_t seed;

    for (seed = 1; seed <= SEEDS; seed++) {
        struct sim_options options = sim_options_default(seed);
        struct sim_world *world;
        bool is_whole;

        options.mutant = mutant;
        world = sim_world_new(&options);
        is_whole = sim_history(world);
        if (!is_whole) {
            snprintf(invariant, sizeof(invariant), "%s",
                     world->broken.invariant);
            snprintf(text, sizeof(text), "%s", world->broken.text);
        }
        sim_world_free(world);
        if (!is_whole) {
            break;
        }
    }
    printf("%-26s caught by %s, seed %llu\n", name, invariant,
           (unsigned long long)seed);
    fflush(stdout);
    if (strstr(caught_by, invariant) == NULL) {
        fail_msg("%s: expected %s, broken was %s: %s", name, caught_by,
                 invariant, text);
    }
}

static void each_mistake_of_the_core_is_caught(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        assert_true(sim_mutate(mistakes[i].name));
        is_caught(mistakes[i].name, mistakes[i].caught_by, NULL);
    }
    (void)sim_mutate("none");
}

/* What needs a coincidence has a scene below. */
static bool is_by_hand(const struct sim_mutant *mutant)
{
    return strcmp(mutant->name, "acquire_resets") == 0;
}

static void each_mistake_of_a_script_is_caught(void **state)
{
    (void)state;
    (void)sim_mutate("none");
    for (const struct sim_mutant *mutant = sim_mutants; mutant->name != NULL;
         mutant++) {
        if (!is_by_hand(mutant)) {
            is_caught(mutant->name, mutant->caught_by, mutant);
        }
    }
}

/* ---- by hand ---- */

struct stage {
    struct sim_world *world;
    struct sim_client *client;
    struct sim_owner *owner;
};

static struct stage begin_with(const char *mistake, const char *mutant)
{
    struct sim_options options = sim_options_default(1);
    struct stage stage;

    options.drift_ppm = 0;
    options.weather = (struct sim_weather){
        .late_ms = 1, .slow_ms = 1, .base_us = 100, .extra_us = 0};
    options.mutant = mutant == NULL ? NULL : sim_mutant_of(mutant);
    assert_true(sim_mutate(mistake));
    stage.world = sim_world_new(&options);
    stage.client = sim_client_ready_with(stage.world, 1500, 1000);
    sim_scripts_known(stage.client);
    stage.owner = sim_owner_new(stage.client);
    return stage;
}

static struct stage begin(const char *mistake)
{
    return begin_with(mistake, NULL);
}

/* Ask on a main link that holds it up, and cut that: a copy will be late, the
 * next goes by another link. */
static struct sim_call *ask_twice(struct stage *stage)
{
    struct sim_ask take = {
        .what = SIM_ACQUIRE, .wait_ms = 4000, .lease_ms = 3000};
    struct sim_call *call;

    sim_wire_stall(stage->client->links[HFI_LINK_MAIN].wire, true, 600);
    call = sim_ask(stage->owner, &take, NULL);
    (void)sim_pass_ms(stage->world, 5);
    sim_link_end_of_file(&stage->client->links[HFI_LINK_MAIN]);
    (void)sim_pass_ms(stage->world, 50);
    return call;
}

static void ends_broken(struct stage *stage, const char *invariant)
{
    (void)sim_pass_ms(stage->world, 20000);
    assert_non_null(stage->world->broken.invariant);
    assert_string_equal(stage->world->broken.invariant, invariant);
    sim_world_free(stage->world);
    (void)sim_mutate("none");
}

/* The ACQUIRE's first copy is late; its second is granted, and released. */
static void no_end_after_an_unclean_release_is_caught(void **state)
{
    struct stage stage = begin("unclean_release_stays");
    struct sim_ask let_go = {.what = SIM_RELEASE};

    (void)state;
    (void)ask_twice(&stage);
    (void)sim_ask(stage.owner, &let_go, NULL);
    ends_broken(&stage, "nothing_left");
}

/* The second copy is told BUSY, the first is late and finds the lock free. */
static void busy_for_the_answer_to_all_copies_is_caught(void **state)
{
    struct stage stage = begin("busy_answers_all");
    struct sim_client *client = sim_client_ready_with(stage.world, 1500, 1000);
    struct sim_owner *other = sim_owner_new(client);
    struct sim_ask take = {.what = SIM_ACQUIRE, .lease_ms = 3000};
    struct sim_ask let_go = {.what = SIM_RELEASE};

    (void)state;
    (void)sim_ask(other, &take, NULL);
    (void)sim_pass_ms(stage.world, 5);
    sim_cancel(ask_twice(&stage));
    (void)sim_ask(other, &let_go, NULL);
    ends_broken(&stage, "nothing_left");
}

/* The second copy is granted, and the owner re-enters before the first runs. */
static void an_acquire_that_resets_the_count_is_caught(void **state)
{
    struct stage stage = begin_with("none", "acquire_resets");
    struct sim_ask take = {.what = SIM_ACQUIRE, .lease_ms = 3000};

    (void)state;
    (void)ask_twice(&stage);
    (void)sim_ask(stage.owner, &take, NULL);
    ends_broken(&stage, "acquire_keeps_count");
}

/* The number is handed on and released, and then its first copy runs. */
static void an_export_that_does_not_wait_is_caught(void **state)
{
    struct stage stage = begin("exported_at_once");
    struct sim_client *client = sim_client_ready_with(stage.world, 1500, 1000);
    struct sim_owner *heir = sim_owner_new(client);
    struct sim_ask hand_on = {.what = SIM_EXPORT};
    struct sim_ask adopt = {.what = SIM_IMPORT};
    struct sim_ask let_go = {.what = SIM_RELEASE};

    (void)state;
    (void)ask_twice(&stage);
    (void)sim_ask(stage.owner, &hand_on, NULL);
    (void)sim_ask(heir, &adopt, NULL);
    (void)sim_pass_ms(stage.world, 20);
    (void)sim_ask(heir, &let_go, NULL);
    ends_broken(&stage, "nothing_left");
}

/* The UNDO runs before the ACQUIRE, and is answered after it. */
static void clean_judged_when_the_undo_is_read_is_caught(void **state)
{
    struct stage stage = begin("clean_when_read");
    struct sim_ask take = {
        .what = SIM_ACQUIRE, .wait_ms = 4000, .lease_ms = 3000};
    struct sim_call *call;

    (void)state;
    sim_wire_stall(stage.client->links[HFI_LINK_MAIN].wire, true, 100);
    sim_wire_stall(stage.client->links[HFI_LINK_KEEPER].wire, false, 300);
    call = sim_ask(stage.owner, &take, NULL);
    (void)sim_pass_ms(stage.world, 5);
    sim_cancel(call);
    ends_broken(&stage, "nothing_left");
}

/* An answer that is a second late sets the estimate of the server's clock back
 * between two copies: the older one may run longer than the newer. */
static void the_newest_not_after_for_the_largest_is_caught(void **state)
{
    struct stage stage = begin("newest_not_after");
    struct sim_owner *other = sim_owner_new(stage.client);
    struct sim_ask take = {
        .what = SIM_ACQUIRE, .wait_ms = 4000, .lease_ms = 3000};
    struct sim_ask take_other = {
        .what = SIM_ACQUIRE, .lock = 1, .lease_ms = 3000, .fixed = true};
    struct sim_ask let_go = {.what = SIM_RELEASE};

    (void)state;
    (void)sim_ask(other, &take_other, NULL);
    (void)sim_pass_ms(stage.world, 5);
    sim_wire_stall(stage.client->links[HFI_LINK_KEEPER].wire, false, 1000);
    sim_owner_gone(other);
    (void)sim_pass_ms(stage.world, 990);
    sim_wire_stall(stage.client->links[HFI_LINK_MAIN].wire, true, 1400);
    (void)sim_ask(stage.owner, &take, NULL);
    (void)sim_pass_ms(stage.world, 20);
    sim_link_end_of_file(&stage.client->links[HFI_LINK_MAIN]);
    (void)sim_pass_ms(stage.world, 20);
    (void)sim_ask(stage.owner, &let_go, NULL);
    ends_broken(&stage, "nothing_left");
}

/* What the scenes above see broken, beside those of mutants.c. */
#define BY_HAND "nothing_left"

static bool has_its_mistake(const char *invariant)
{
    if (strcmp(invariant, BY_HAND) == 0) {
        return true;
    }
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        if (strcmp(mistakes[i].caught_by, invariant) == 0) {
            return true;
        }
    }
    for (const struct sim_mutant *mutant = sim_mutants; mutant->name != NULL;
         mutant++) {
        if (strcmp(mutant->caught_by, invariant) == 0) {
            return true;
        }
    }
    return false;
}

static void each_invariant_has_a_mistake_that_it_alone_catches(void **state)
{
    (void)state;
    for (int i = 0; i < SIM_INVARIANT_COUNT; i++) {
        const char *name = sim_invariant_name((enum sim_invariant)i);

        if (!has_its_mistake(name)) {
            fail_msg("no planted mistake is caught by %s alone", name);
        }
    }
}

#define ONE(name, text) +1

static void every_mistake_is_tried(void **state)
{
    size_t count = sizeof(mistakes) / sizeof(mistakes[0]);

    (void)state;
    /* Five by hand; groups have a test of their own. */
    assert_int_equal(count + 5, 0 HFI_CORE_MUTATION_MAP(ONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mistake_is_tried),
        cmocka_unit_test(each_invariant_has_a_mistake_that_it_alone_catches),
        cmocka_unit_test(no_end_after_an_unclean_release_is_caught),
        cmocka_unit_test(busy_for_the_answer_to_all_copies_is_caught),
        cmocka_unit_test(an_acquire_that_resets_the_count_is_caught),
        cmocka_unit_test(an_export_that_does_not_wait_is_caught),
        cmocka_unit_test(clean_judged_when_the_undo_is_read_is_caught),
        cmocka_unit_test(the_newest_not_after_for_the_largest_is_caught),
        cmocka_unit_test(each_mistake_of_the_core_is_caught),
        cmocka_unit_test(each_mistake_of_a_script_is_caught),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
