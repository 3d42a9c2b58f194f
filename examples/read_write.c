/* SPDX-License-Identifier: MIT */
/* read_write.c - many read a catalogue at once, one changes it alone.
 *
 * The two locks are the halves of one object on the server.  Whoever changes
 * the catalogue may go on reading what he made of it before anybody else can
 * change it again: he takes the read lock while he writes, and then gives up
 * writing.
 */
#include <stdio.h>

#include <holdfast/holdfast.h>

static hf_lock *reading, *writing;

/* Try once, and say what came of it. */
static hf_status try_it(const char *who, hf_lock *lock, hf_owner *owner)
{
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_error err;
    hf_status status;

    how.owner = owner;
    how.wait_ms = 0;
    status = hf_lock_acquire(lock, &how, &err);
    printf("%s %s: %s\n", who, lock == reading ? "reads" : "writes",
           hf_status_text(status));
    return status;
}

static void leave(const char *who, hf_lock *lock, hf_owner *owner)
{
    if (hf_lock_release(lock, owner, NULL) == HF_OK) {
        printf("%s no longer %s\n", who, lock == reading ? "reads" : "writes");
    }
}

int main(int argc, char **argv)
{
    hf_client *client;
    hf_owner *anna, *ben;
    hf_error err;

    if (hf_client_open(argc > 1 ? argv[1] : "local:examples", NULL, &client,
                       &err) != HF_OK ||
        hf_read_lock_new(client, "catalogue", &reading, &err) != HF_OK ||
        hf_write_lock_new(client, "catalogue", &writing, &err) != HF_OK ||
        hf_owner_new(client, &anna, &err) != HF_OK ||
        hf_owner_new(client, &ben, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    /* Both read; nobody can write, not even who reads himself. */
    try_it("anna", reading, anna);
    try_it("ben", reading, ben);
    try_it("ben", writing, ben);
    leave("anna", reading, anna);
    leave("ben", reading, ben);

    /* Ben writes, and nobody reads; then he only reads, and anna comes in. */
    try_it("ben", writing, ben);
    try_it("anna", reading, anna);
    try_it("ben", reading, ben);
    leave("ben", writing, ben);
    try_it("anna", reading, anna);
    leave("anna", reading, anna);
    leave("ben", reading, ben);

    hf_client_close(client);
    hf_lock_free(reading);
    hf_lock_free(writing);
    hf_owner_free(anna);
    hf_owner_free(ben);
    return 0;
}
