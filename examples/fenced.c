/* SPDX-License-Identifier: MIT */
/* fenced.c - a resource that refuses a writer whose lock is over.
 *
 * A lock tells its holder when it is lost, but a write that is already on its
 * way cannot be called back.  Each hold of a fenced lock has a token, larger
 * than all before; what the lock protects remembers the largest it has seen and
 * refuses smaller ones.
 */
#include <inttypes.h>
#include <stdio.h>

#include <holdfast/holdfast.h>

/* Stands for a database or a device: it knows nothing of the lock. */
struct resource {
    int64_t newest_token;
    const char *content;
};

static void write_to(struct resource *resource, int64_t token,
                     const char *content)
{
    if (token < resource->newest_token) {
        printf("refused: '%s'\n", content);
        return;
    }
    resource->newest_token = token;
    resource->content = content;
    printf("written: '%s'\n", content);
}

static int take(hf_lock *lock, hf_owner *owner, int64_t *ret_token)
{
    hf_acquire how = HF_ACQUIRE_INIT;
    hf_error err;

    how.owner = owner;
    how.wait_ms = 10000;
    if (hf_lock_acquire(lock, &how, &err) != HF_OK ||
        hf_lock_token(lock, owner, ret_token, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    struct resource resource = {0, ""};
    int64_t old_token, new_token;
    hf_client *client;
    hf_lock *lock;
    hf_owner *first, *second;
    hf_error err;

    if (hf_client_open(argc > 1 ? argv[1] : "local:examples", NULL, &client,
                       &err) != HF_OK ||
        hf_fenced_lock_new(client, "report", &lock, &err) != HF_OK ||
        hf_owner_new(client, &first, &err) != HF_OK ||
        hf_owner_new(client, &second, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    if (!take(lock, first, &old_token)) {
        return 1;
    }
    write_to(&resource, old_token, "from the first");
    /* An operator thinks that the first has died, and takes its lock away. */
    hf_lock_force_release(lock, NULL, NULL);
    if (!take(lock, second, &new_token)) {
        return 1;
    }
    write_to(&resource, new_token, "from the second");
    /* A late write of the first, which has not noticed yet. */
    write_to(&resource, old_token, "late, from the first");
    printf("it has: '%s'\n", resource.content);
    hf_lock_release(lock, second, NULL);
    hf_client_close(client); /* ends what the first still believes in */
    hf_lock_free(lock);
    hf_owner_free(first);
    hf_owner_free(second);
    return 0;
}
