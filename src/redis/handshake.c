/* SPDX-License-Identifier: MIT */
/* redis/handshake.c - the first words on a connection; see handshake.h. */
#include "redis/handshake.h"

#include <string.h>

#include "base/fail.h"

/* No clock shows more: some 30,000 years. */
#define SECONDS_MAX INT64_C(1000000000000)

static void add_step(struct hfi_handshake *handshake,
                     enum hfi_handshake_step step)
{
    handshake->steps[handshake->count++] = step;
}

static bool say_auth(struct hfi_handshake *handshake, const char *user,
                     const char *password, struct hfi_command *scratch,
                     struct hfi_buffer *out)
{
    bool done;

    if (password == NULL) {
        return true;
    }
    add_step(handshake, HFI_STEP_AUTH);
    hfi_command_begin(scratch);
    hfi_command_add_text(scratch, "AUTH");
    if (user != NULL && user[0] != '\0') {
        hfi_command_add_text(scratch, user);
    }
    hfi_command_add_text(scratch, password);
    done = hfi_command_end(scratch, out);
    hfi_wipe(scratch->text.bytes, scratch->text.len);
    return done;
}

static bool say_select(struct hfi_handshake *handshake, int database,
                       struct hfi_command *scratch, struct hfi_buffer *out)
{
    if (database == 0) {
        return true;
    }
    add_step(handshake, HFI_STEP_SELECT);
    hfi_command_begin(scratch);
    hfi_command_add_text(scratch, "SELECT");
    hfi_command_add_number(scratch, database);
    return hfi_command_end(scratch, out);
}

static bool say_name(struct hfi_handshake *handshake, const char *name,
                     struct hfi_command *scratch, struct hfi_buffer *out)
{
    add_step(handshake, HFI_STEP_NAME);
    hfi_command_begin(scratch);
    hfi_command_add_text(scratch, "CLIENT");
    hfi_command_add_text(scratch, "SETNAME");
    hfi_command_add_text(scratch, name);
    return hfi_command_end(scratch, out);
}

static bool say_time(struct hfi_handshake *handshake,
                     struct hfi_command *scratch, struct hfi_buffer *out)
{
    add_step(handshake, HFI_STEP_TIME);
    hfi_command_begin(scratch);
    hfi_command_add_text(scratch, "TIME");
    return hfi_command_end(scratch, out);
}

bool hfi_handshake_begin(struct hfi_handshake *handshake,
                         const struct hfi_url *url, const char *password,
                         const char *client_name, struct hfi_command *scratch,
                         struct hfi_buffer *out)
{
    memset(handshake, 0, sizeof(*handshake));
    return say_auth(handshake, url->user, password, scratch, out) &&
           say_select(handshake, url->database, scratch, out) &&
           say_name(handshake, client_name, scratch, out) &&
           say_time(handshake, scratch, out);
}

/* A server's error to a step, as a status and a line. */
static hf_status refused(enum hfi_handshake_step step,
                         const struct hfi_value *value, hf_error *reterr)
{
    static const char *const what[HFI_HANDSHAKE_STEPS] = {
        [HFI_STEP_AUTH] = "the user or password",
        [HFI_STEP_SELECT] = "the database",
        [HFI_STEP_NAME] = "CLIENT SETNAME",
        [HFI_STEP_TIME] = "TIME",
    };

    if (value->refusal == HFI_REFUSAL_UNAVAILABLE) {
        return hfi_fail(reterr, HF_UNAVAILABLE,
                        "the server refuses service for now: %s", value->text);
    }
    if (strncmp(value->text, "NOAUTH", 6) == 0) {
        return hfi_fail(reterr, HF_PERMISSION,
                        "the server wants a password: %s", value->text);
    }
    if (value->refusal == HFI_REFUSAL_PERMISSION || step == HFI_STEP_AUTH ||
        step == HFI_STEP_SELECT) {
        return hfi_fail(reterr, HF_PERMISSION, "the server refuses %s: %s",
                        what[step], value->text);
    }
    return hfi_fail(reterr, HF_PROTOCOL, "the server does not know %s: %s",
                    what[step], value->text);
}

hf_status hfi_handshake_answer(struct hfi_handshake *handshake,
                               const struct hfi_value *value, hf_error *reterr)
{
    enum hfi_handshake_step step = handshake->steps[handshake->answered++];
    int64_t seconds = -1;

    if (value->kind == HFI_ERROR) {
        /* A name is a courtesy: an ACL may deny it. */
        bool fatal = step != HFI_STEP_NAME ||
                     value->refusal == HFI_REFUSAL_UNAVAILABLE ||
                     strncmp(value->text, "NOAUTH", 6) == 0;

        return fatal ? refused(step, value, reterr) : HF_OK;
    }
    if (step != HFI_STEP_TIME) {
        return HF_OK;
    }
    if (value->kind == HFI_ARRAY && value->count == 2) {
        seconds = hfi_value_number(&value->items[0], -1);
    }
    if (seconds < 0 || seconds > SECONDS_MAX) {
        return hfi_fail(reterr, HF_PROTOCOL,
                        "the server's answer to TIME is not understood");
    }
    handshake->server_ms = seconds * 1000 +
                           hfi_value_number(&value->items[1], 0) / 1000;
    return HF_OK;
}

bool hfi_handshake_done(const struct hfi_handshake *handshake)
{
    return handshake->answered == handshake->count;
}
