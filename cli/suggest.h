/* SPDX-License-Identifier: MIT */
/* suggest.h - the nearest right thing to a mistyped word. */
#ifndef HOLDFAST_CLI_SUGGEST_H
#define HOLDFAST_CLI_SUGGEST_H

/* A search for the candidate that is nearest to a word. */
struct cli_suggestion {
    const char *word;
    const char *nearest; /* of the candidates offered so far, or NULL */
    int distance;
};

void cli_suggestion_begin(struct cli_suggestion *s, const char *word);
void cli_suggestion_offer(struct cli_suggestion *s, const char *candidate);

/* The nearest candidate if it is near enough to have been meant, else NULL. */
const char *cli_suggestion_get(const struct cli_suggestion *s);

#endif
