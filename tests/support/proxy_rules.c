/* SPDX-License-Identifier: MIT */
/* proxy_rules.c - which rule acts on which message.
 *
 * Each rule counts the messages that match it.  It wants to act on those from
 * `nth` on, `times` of them.  The first rule that wants to does, and that is a
 * hit; the others have only counted.  A rule that just counts (HFT_PASS) is
 * never in the way of another.  Requests are counted by command as well.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support/fatal.h"
#include "support/proxy_parts.h"
#include "support/tally.h"

struct rule {
    struct rule *next;
    int id;
    struct hft_rule what; /* its texts point to ours */
    char *texts[3];       /* NULL where the rule has none */
    unsigned matches;
    unsigned hits;
    bool ended;
};

struct hft_rules {
    struct rule *first;
    struct rule **end;
    int last_id;
    struct hft_tally *requests;
    bool trace;
};

struct hft_rules *hft_rules_new(void)
{
    struct hft_rules *rules = hft_alloc(sizeof(*rules));

    rules->end = &rules->first;
    rules->trace = getenv("HFT_PROXY_TRACE") != NULL;
    return rules;
}

void hft_rules_free(struct hft_rules *rules)
{
    struct rule *rule;

    while ((rule = rules->first) != NULL) {
        rules->first = rule->next;
        free(rule->texts[0]);
        free(rule->texts[1]);
        free(rule->texts[2]);
        free(rule);
    }
    hft_tally_free(rules->requests);
    free(rules);
}

static char *copy_if_any(const char *text)
{
    return text == NULL ? NULL : hft_copy_text(text);
}

int hft_rules_add(struct hft_rules *rules, const struct hft_rule *what)
{
    struct rule *rule = hft_alloc(sizeof(*rule));

    rule->id = ++rules->last_id;
    rule->what = *what;
    rule->what.match = rule->texts[0] = copy_if_any(what->match);
    rule->what.contains = rule->texts[1] = copy_if_any(what->contains);
    rule->what.also_contains = rule->texts[2] = copy_if_any(
        what->also_contains);
    rule->what.nth = what->nth == 0 ? 1 : what->nth;
    rule->what.times = what->times == 0 ? 1 : what->times;
    *rules->end = rule;
    rules->end = &rule->next;
    return rule->id;
}

void hft_rules_end(struct hft_rules *rules, int id)
{
    struct rule *rule;

    for (rule = rules->first; rule != NULL; rule = rule->next) {
        if (id == 0 || rule->id == id) {
            rule->ended = true;
        }
    }
}

unsigned hft_rules_hits(const struct hft_rules *rules, int id)
{
    const struct rule *rule;

    for (rule = rules->first; rule != NULL; rule = rule->next) {
        if (rule->id == id) {
            return rule->hits;
        }
    }
    hft_die("the proxy has no rule %d", id);
}

unsigned hft_rules_requests(const struct hft_rules *rules, const char *command)
{
    return hft_tally_of(rules->requests, command);
}

static bool holds(struct hft_piece bytes, const char *text)
{
    return text == NULL || hft_piece_contains(bytes, text);
}

static bool matches(const struct hft_rule *rule, const struct hft_sight *sight)
{
    return rule->direction == sight->direction &&
           (rule->link == 0 || rule->link == sight->link) &&
           (rule->match == NULL || hft_piece_is(sight->command, rule->match)) &&
           holds(sight->request, rule->contains) &&
           holds(sight->request, rule->also_contains);
}

/* Count a match; whether the rule wants to act on it. */
static bool wants_to_act(struct rule *rule, const struct hft_sight *sight)
{
    if (rule->ended || !matches(&rule->what, sight)) {
        return false;
    }
    rule->matches++;
    return rule->matches >= rule->what.nth &&
           rule->matches - rule->what.nth < rule->what.times;
}

static void show(const struct hft_sight *sight, int rule)
{
    fprintf(stderr, "proxy: link %u %s %.*s (%zu bytes)", sight->link,
            sight->direction == HFT_REQUEST ? "asks" : "is answered",
            (int)sight->command.length, sight->command.data,
            sight->request.length);
    if (rule != 0) {
        fprintf(stderr, " rule %d acts", rule);
    }
    fputc('\n', stderr);
}

struct hft_verdict hft_rules_judge(struct hft_rules *rules,
                                   const struct hft_sight *sight)
{
    struct hft_verdict verdict = {.action = HFT_PASS};
    struct rule *rule;

    if (sight->direction == HFT_REQUEST) {
        hft_tally_count(&rules->requests, sight->command);
    }
    for (rule = rules->first; rule != NULL; rule = rule->next) {
        if (!wants_to_act(rule, sight)) {
            continue;
        }
        if (rule->what.action == HFT_PASS) {
            rule->hits++; /* it only counts, and leaves it to the others */
        } else if (verdict.rule == 0) {
            rule->hits++;
            verdict.action = rule->what.action;
            verdict.delay_ms = rule->what.delay_ms;
            verdict.rule = rule->id;
        }
    }
    if (rules->trace) {
        show(sight, verdict.rule);
    }
    return verdict;
}
