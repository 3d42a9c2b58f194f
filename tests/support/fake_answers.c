/* SPDX-License-Identifier: MIT */
/* fake_answers.c - what the fake server says to a request.
 *
 * First the test's own answers, the last one first; then those of a handshake,
 * as a real server gives them; then an error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/fake_parts.h"
#include "support/fatal.h"

struct answer {
    struct answer *next; /* added before this one */
    char *command;       /* NULL: any */
    struct hft_bytes bytes;
    struct hft_answer how;
    unsigned matches;
};

struct hft_script {
    struct answer *last;
};

struct hft_script *hft_script_new(void)
{
    return hft_alloc(sizeof(struct hft_script));
}

void hft_script_free(struct hft_script *script)
{
    struct answer *answer;

    while ((answer = script->last) != NULL) {
        script->last = answer->next;
        hft_bytes_free(&answer->bytes);
        free(answer->command);
        free(answer);
    }
    free(script);
}

void hft_script_add(struct hft_script *script, const struct hft_answer *how)
{
    struct answer *answer = hft_alloc(sizeof(*answer));

    answer->how = *how;
    if (how->nth == 0) {
        answer->how.nth = 1;
    }
    if (how->command != NULL) {
        answer->command = hft_copy_text(how->command);
    }
    if (how->text != NULL) {
        hft_bytes_append(&answer->bytes, how->text,
                         how->length != 0 ? how->length : strlen(how->text));
    }
    answer->next = script->last;
    script->last = answer;
}

/* Whether a request is the command, which may be two words. */
static bool is_command(struct hft_piece request, const char *command)
{
    struct hft_piece first = hft_resp_first_word(request);
    const char *space = strchr(command, ' ');
    struct hft_piece second;
    struct hft_piece wanted;

    if (space == NULL) {
        return hft_piece_is(first, command);
    }
    wanted.data = command;
    wanted.length = (size_t)(space - command);
    return hft_piece_same(first, wanted) &&
           hft_resp_element(request, 1, &second) &&
           hft_piece_is(second, space + 1);
}

static bool is_given(struct answer *answer, struct hft_piece request)
{
    const struct hft_answer *how = &answer->how;

    /* What is sent on connecting is no answer to "any". */
    if (answer->command == NULL ? request.data[0] == '('
                                : !is_command(request, answer->command)) {
        return false;
    }
    answer->matches++;
    return answer->matches >= how->nth &&
           (how->times == 0 || answer->matches - how->nth < how->times);
}

static void say(struct hft_bytes *out, struct hft_piece bytes)
{
    hft_bytes_append(out, bytes.data, bytes.length);
}

static void say_number(struct hft_bytes *out, const char *before, size_t number)
{
    char *text = hft_format("%s%zu\r\n", before, number);

    hft_bytes_append_text(out, text);
    free(text);
}

/* Confirm each channel of a SUBSCRIBE or UNSUBSCRIBE, as "so many are left". */
static void confirm(struct hft_piece request, struct hft_bytes *out)
{
    struct hft_piece kind = hft_resp_first_word(request);
    bool adds = kind.length == strlen("subscribe");
    size_t count = hft_resp_count(request);
    struct hft_piece name;
    size_t i;

    for (i = 1; i < count && hft_resp_element(request, i, &name); i++) {
        hft_bytes_append_text(out, adds ? "*3\r\n$9\r\nsubscribe\r\n"
                                        : "*3\r\n$11\r\nunsubscribe\r\n");
        say_number(out, "$", name.length);
        say(out, name);
        hft_bytes_append_text(out, "\r\n");
        say_number(out, ":", adds ? i : count - 1 - i);
    }
}

static void tell_time(struct hft_piece request, struct hft_bytes *out)
{
    struct timespec now;
    char *text;

    (void)request;
    clock_gettime(CLOCK_REALTIME, &now);
    text = hft_format("*2\r\n$10\r\n%010lld\r\n$6\r\n%06ld\r\n",
                      (long long)now.tv_sec, now.tv_nsec / 1000);
    hft_bytes_append_text(out, text);
    free(text);
}

static void echo(struct hft_piece request, struct hft_bytes *out)
{
    struct hft_piece text = {"", 0};

    (void)hft_resp_element(request, 1, &text);
    say_number(out, "$", text.length);
    say(out, text);
    hft_bytes_append_text(out, "\r\n");
}

/* As a real server would; a digest of the script is beyond it. */
static const struct {
    const char *command;
    const char *text; /* NULL: it takes a function */
    void (*say)(struct hft_piece request, struct hft_bytes *out);
} usual[] = {
    {"AUTH", "+OK\r\n", NULL},
    {"CLIENT ID", ":1\r\n", NULL},
    {"CLIENT", "+OK\r\n", NULL},
    {"ECHO", NULL, echo},
    {"PING", "+PONG\r\n", NULL},
    {"QUIT", "+OK\r\n", NULL},
    {"SCRIPT LOAD", "$40\r\nffffffffffffffffffffffffffffffffffffffff\r\n",
     NULL},
    {"SELECT", "+OK\r\n", NULL},
    {"SUBSCRIBE", NULL, confirm},
    {"TIME", NULL, tell_time},
    {"UNSUBSCRIBE", NULL, confirm},
};

static void answer_as_usual(struct hft_piece request, struct hft_bytes *out)
{
    size_t i;

    for (i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        if (!is_command(request, usual[i].command)) {
            continue;
        }
        if (usual[i].text != NULL) {
            hft_bytes_append_text(out, usual[i].text);
        } else {
            usual[i].say(request, out);
        }
        return;
    }
    hft_bytes_append_text(out, "-ERR unknown command\r\n");
}

enum hft_manner hft_script_answer(struct hft_script *script,
                                  struct hft_piece request,
                                  struct hft_bytes *out)
{
    struct answer *answer;

    for (answer = script->last; answer != NULL; answer = answer->next) {
        if (is_given(answer, request)) {
            hft_bytes_append(out, answer->bytes.data, answer->bytes.length);
            return answer->how.manner;
        }
    }
    if (!hft_piece_is(request, HFT_ON_CONNECT)) {
        answer_as_usual(request, out);
    }
    return HFT_THEN_GO_ON;
}
