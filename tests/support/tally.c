/* SPDX-License-Identifier: MIT */
/* tally.c - how often each command was asked for.
 */
#include "support/tally.h"

#include <stdlib.h>
#include <string.h>

#include "support/fatal.h"

struct hft_tally {
    struct hft_tally *next;
    char *command;
    unsigned requests;
};

void hft_tally_count(struct hft_tally **tally, struct hft_piece command)
{
    struct hft_tally *entry;

    for (entry = *tally; entry != NULL; entry = entry->next) {
        if (hft_piece_is(command, entry->command)) {
            entry->requests++;
            return;
        }
    }
    entry = hft_alloc(sizeof(*entry));
    entry->command = hft_format("%.*s", (int)command.length, command.data);
    entry->requests = 1;
    entry->next = *tally;
    *tally = entry;
}

unsigned hft_tally_of(const struct hft_tally *tally, const char *command)
{
    unsigned requests = 0;

    for (; tally != NULL; tally = tally->next) {
        struct hft_piece name = {tally->command, strlen(tally->command)};

        if (command == NULL || hft_piece_is(name, command)) {
            requests += tally->requests;
        }
    }
    return requests;
}

void hft_tally_free(struct hft_tally *tally)
{
    struct hft_tally *next;

    for (; tally != NULL; tally = next) {
        next = tally->next;
        free(tally->command);
        free(tally);
    }
}
