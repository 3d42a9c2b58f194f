/* SPDX-License-Identifier: MIT */
/* suggest.c - the nearest right thing to a mistyped word.
 *
 * Nearness is the number of letters to insert, delete, change or swap with
 * their neighbour (optimal string alignment); a beginning of a candidate
 * ("rel" for "release") is as near as one mistake.
 */
#include "suggest.h"

#include <limits.h>
#include <string.h>

/* Our own words are shorter, and a longer one is no slip of the finger. */
#define WORD_MAX 24

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Both are at most WORD_MAX long. */
static int edit_distance(const char *a, const char *b)
{
    int cost[WORD_MAX + 1][WORD_MAX + 1];
    int rows = (int)strlen(a);
    int columns = (int)strlen(b);

    for (int i = 0; i <= rows; i++) {
        cost[i][0] = i;
    }
    for (int j = 0; j <= columns; j++) {
        cost[0][j] = j;
    }
    for (int i = 1; i <= rows; i++) {
        for (int j = 1; j <= columns; j++) {
            int change = a[i - 1] == b[j - 1] ? 0 : 1;
            int best = cost[i - 1][j - 1] + change;
            best = smaller(best, cost[i - 1][j] + 1);
            best = smaller(best, cost[i][j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
                a[i - 2] == b[j - 1]) {
                best = smaller(best, cost[i - 2][j - 2] + 1);
            }
            cost[i][j] = best;
        }
    }
    return cost[rows][columns];
}

void cli_suggestion_begin(struct cli_suggestion *s, const char *word)
{
    s->word = word;
    s->nearest = NULL;
    s->distance = INT_MAX;
}

void cli_suggestion_offer(struct cli_suggestion *s, const char *candidate)
{
    size_t length = strlen(s->word);

    if (length == 0 || length > WORD_MAX || strlen(candidate) > WORD_MAX) {
        return;
    }
    int distance = edit_distance(s->word, candidate);
    if (strncmp(candidate, s->word, length) == 0) {
        distance = smaller(distance, 1);
    }
    /* Nobody is to be talked into taking a lock away: a slip of one letter at
     * most, and not `lock`. */
    if (strcmp(candidate, "unlock") == 0 && distance > 1) {
        return;
    }
    if (distance < s->distance) {
        s->distance = distance;
        s->nearest = candidate;
    }
}

const char *cli_suggestion_get(const struct cli_suggestion *s)
{
    /* A slip in every third letter still looks like the word. */
    if (s->nearest == NULL || s->distance > 1 + (int)(strlen(s->word) / 3)) {
        return NULL;
    }
    return s->nearest;
}
