/* SPDX-License-Identifier: MIT */
/* party.c - another process that takes a lock; see party.h.
 *
 * It answers each word with one line, so the answer to a word is the first line
 * after those that were there before.
 */
#include "party.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "holdfast/holdfast.h"
#include "support/child.h"
#include "support/fatal.h"
#include "support/wait.h"

static void say(const char *text)
{
    (void)fputs(text, stdout);
    (void)fflush(stdout);
}

static void answer(hf_lock *lock, const hf_acquire *how, const char *word)
{
    char text[128] = "what?\n";
    hf_lost_reason reason = HF_NOT_LOST;

    if (strcmp(word, "held") == 0) {
        (void)snprintf(text, sizeof(text), "held=%d\n",
                       hf_lock_is_held(lock, NULL) ? 1 : 0);
    } else if (strcmp(word, "state") == 0) {
        hf_lock_state hold = hf_lock_state_of(lock, NULL, &reason);

        (void)snprintf(text, sizeof(text), "state=%d reason=%d\n", (int)hold,
                       (int)reason);
    } else if (strcmp(word, "release") == 0) {
        (void)snprintf(text, sizeof(text), "release=%s\n",
                       hf_status_name(hf_lock_release(lock, NULL, NULL)));
    } else if (strcmp(word, "take") == 0) {
        (void)snprintf(text, sizeof(text), "take=%s\n",
                       hf_status_name(hf_lock_acquire(lock, how, NULL)));
    }
    say(text);
}

static _Noreturn void be_a_party(char **words)
{
    hf_options options = HF_OPTIONS_INIT;
    hf_lock_options lock_options = HF_LOCK_OPTIONS_INIT;
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    hf_error error;
    char line[64];

    options.lease_ms = strtoll(words[3], NULL, 10);
    if (!hf_kind_of_word(words[4], &lock_options.kind) ||
        hf_client_open(words[1], &options, &client, &error) != HF_OK ||
        hf_lock_new_as(client, &lock_options, words[2], strlen(words[2]), &lock,
                       &error) != HF_OK) {
        (void)fprintf(stderr, "%s\n", error.message);
        exit(3);
    }
    say("ready\n");
    answer(lock, &how, "take");
    while (fgets(line, sizeof(line), stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        answer(lock, &how, line);
    }
    _exit(0);
}

void party_main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "party") == 0) {
        be_a_party(argv + 1);
    }
}

struct hft_child *party_start(const char *url, const char *name,
                              int64_t lease_ms)
{
    return party_start_as(url, name, lease_ms, "lock", NULL);
}

struct hft_child *party_start_as(const char *url, const char *name,
                                 int64_t lease_ms, const char *kind,
                                 const char *const *env)
{
    char *lease = hft_format("%" PRId64, lease_ms);
    const char *argv[] = {
        "/proc/self/exe", "party", url, name, lease, kind, NULL};
    struct hft_child_options options = {
        .argv = argv, .env = env, .stdio = HFT_STDIO_PIPE};
    struct hft_child *party = hft_child_start(&options);

    free(lease);
    return party;
}

/* Occurrences of a text in another. */
static int occurrences(const char *text, const char *of)
{
    int count = 0;

    while ((text = strstr(text, of)) != NULL) {
        text += strlen(of);
        count++;
    }
    return count;
}

bool party_says(struct hft_child *party, const char *word, const char *expected)
{
    int before = occurrences(hft_child_out(party), "\n");
    char *line = hft_format("%s\n", word);
    int64_t end_ms = hft_now_ms() + 10000;
    const char *last;

    hft_child_type(party, line);
    free(line);
    while (occurrences(hft_child_out(party), "\n") == before) {
        if (hft_now_ms() > end_ms) {
            return false;
        }
        hft_let_pass_ms(1);
    }
    last = hft_child_out(party);
    for (; before > 0; before--) {
        last = strchr(last, '\n') + 1;
    }
    if (strncmp(last, expected, strlen(expected)) != 0) {
        (void)fprintf(stderr, "the party says %s, not %s\n", last, expected);
        return false;
    }
    return true;
}
