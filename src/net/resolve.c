/* SPDX-License-Identifier: MIT */
/* Name resolution on a thread that nobody waits for.
 *
 * A question (struct question) belongs to two: the resolver that asked and the
 * thread that runs getaddrinfo().  The thread writes the answer into it, marks
 * it answered and fires the wake; the resolver reads it after it has seen the
 * mark.  Whoever lets go of it last frees it.  So a resolver can be freed at any
 * time, and the thread ends whenever getaddrinfo() lets it.
 *
 * The thread fires a duplicate of the wake's descriptor, because the wake may be
 * closed before it is done; and it takes no mutex, because after a fork a
 * thread that held one does not exist in the child.  There the question has no
 * thread any more and is freed at once.
 *
 * The thread blocks all signals: they are the application's.
 */
#include "net/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"

struct question {
    atomic_int owners; /* 2 while thread and resolver have it */
    atomic_bool answered;
    pid_t process; /* in which the thread is */
    struct hfi_wake wake;
    uint16_t port;
    char *host;

    /* The answer; the thread's until `answered`, the resolver's after it. */
    hf_status status;
    hf_error error;
    size_t count;
    struct hfi_address addresses[HFI_RESOLVE_MAX];
};

struct hfi_resolver {
    const struct hfi_wake *when_done;
    struct question *question; /* asked and not taken, or NULL */
};

static void free_question(struct question *question)
{
    hfi_wake_close(&question->wake);
    free(question->host);
    free(question);
}

static void let_go(struct question *question)
{
    if (atomic_fetch_sub(&question->owners, 1) == 1) {
        free_question(question);
    }
}

static struct question *new_question(const char *host, uint16_t port)
{
    struct question *question = calloc(1, sizeof(*question));

    if (question == NULL) {
        return NULL;
    }
    question->wake.fd = -1;
    question->host = strdup(host);
    if (question->host == NULL) {
        free(question);
        return NULL;
    }
    atomic_init(&question->owners, 1);
    atomic_init(&question->answered, false);
    question->process = getpid();
    question->port = port;
    return question;
}

/* "10.0.0.7:6379" or "[::1]:6379" */
static void name_address(struct hfi_address *address)
{
    char host[NI_MAXHOST] = "?";
    char port[NI_MAXSERV] = "?";

    (void)getnameinfo((const struct sockaddr *)&address->addr, address->len,
                      host, sizeof(host), port, sizeof(port),
                      NI_NUMERICHOST | NI_NUMERICSERV);
    if (address->addr.ss_family == AF_INET6) {
        char bracketed[NI_MAXHOST + NI_MAXSERV + 4];

        (void)snprintf(bracketed, sizeof(bracketed), "[%s]:%s", host, port);
        hfi_printable(address->text, sizeof(address->text), bracketed,
                      strlen(bracketed));
    } else {
        (void)snprintf(address->text, sizeof(address->text), "%.48s:%.8s", host,
                       port);
    }
}

static void keep_addresses(struct question *question,
                           const struct addrinfo *found)
{
    for (; found != NULL && question->count < HFI_RESOLVE_MAX;
         found = found->ai_next) {
        struct hfi_address *address = &question->addresses[question->count];

        if (found->ai_addrlen > sizeof(address->addr)) {
            continue;
        }
        memcpy(&address->addr, found->ai_addr, found->ai_addrlen);
        address->len = found->ai_addrlen;
        name_address(address);
        question->count++;
    }
}

static void keep_failure(struct question *question, int code, int sys_errno)
{
    char host[128];

    hfi_printable(host, sizeof(host), question->host, strlen(question->host));
    if (code == EAI_MEMORY) {
        question->status = HF_NOMEM;
    } else if (code == EAI_SYSTEM &&
               (sys_errno == EMFILE || sys_errno == ENFILE)) {
        question->status = HF_SYSTEM;
    } else {
        question->status = HF_UNREACHABLE;
    }
    if (code == EAI_SYSTEM) {
        (void)hfi_fail_errno(&question->error, question->status, sys_errno,
                             "cannot look up %s", host);
    } else {
        (void)hfi_fail(&question->error, question->status,
                       "cannot look up %s: %s", host, gai_strerror(code));
    }
    hfi_error_node(&question->error, host);
}

/* Ask the system; returns getaddrinfo()'s code, 0 for success. */
static int look_up(struct question *question, int flags)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = flags | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char port[8];
    int code;

    (void)snprintf(port, sizeof(port), "%u", (unsigned)question->port);
    code = getaddrinfo(question->host, port, &hints, &found);
    if (code == 0) {
        keep_addresses(question, found);
        freeaddrinfo(found);
    }
    return code;
}

static void answer(struct question *question)
{
    atomic_store(&question->answered, true);
    hfi_wake_fire(&question->wake);
}

static void *run_question(void *context)
{
    struct question *question = context;
    int code = look_up(question, 0);

    if (code != 0) {
        keep_failure(question, code, errno);
    } else if (question->count == 0) {
        keep_failure(question, EAI_NONAME, 0);
    }
    answer(question);
    let_go(question);
    return NULL;
}

/* The thread inherits the signal mask that its maker has at that moment. */
static int start_detached(struct question *question)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    int code = pthread_attr_init(&attributes);

    if (code != 0) {
        return code;
    }
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(&thread, &attributes, run_question, question);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return code;
}

static hf_status start_thread(struct hfi_resolver *resolver,
                              struct question *question, hf_error *reterr)
{
    int code;

    question->wake.fd = fcntl(resolver->when_done->fd, F_DUPFD_CLOEXEC, 0);
    if (question->wake.fd < 0) {
        return hfi_fail_errno(reterr, HF_SYSTEM, errno,
                              "no descriptor for a name's resolution");
    }
    atomic_store(&question->owners, 2);
    code = start_detached(question);
    if (code != 0) {
        atomic_store(&question->owners, 1);
        return hfi_fail_errno(reterr, HF_SYSTEM, code,
                              "no thread for a name's resolution");
    }
    return HF_OK;
}

static void drop_question(struct hfi_resolver *resolver)
{
    struct question *question = resolver->question;

    resolver->question = NULL;
    if (question == NULL) {
        return;
    }
    if (question->process != getpid()) {
        free_question(question);
        return;
    }
    let_go(question);
}

hf_status hfi_resolver_new(const struct hfi_wake *when_done,
                           struct hfi_resolver **ret_resolver, hf_error *reterr)
{
    *ret_resolver = calloc(1, sizeof(**ret_resolver));
    if (*ret_resolver == NULL) {
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    (*ret_resolver)->when_done = when_done;
    return HF_OK;
}

/* Whether a question is still with its thread. */
static bool is_open(const struct question *question)
{
    return question != NULL && question->process == getpid() &&
           !atomic_load(&question->answered);
}

hf_status hfi_resolver_start(struct hfi_resolver *resolver, const char *host,
                             uint16_t port, hf_error *reterr)
{
    struct question *question = resolver->question;
    hf_status status;

    if (is_open(question)) {
        if (question->port == port && strcmp(question->host, host) == 0) {
            return HF_OK;
        }
        return hfi_fail(reterr, HF_INTERNAL,
                        "another name is still being looked up");
    }
    drop_question(resolver);
    question = new_question(host, port);
    if (question == NULL) {
        return hfi_fail(reterr, HF_NOMEM, "out of memory");
    }
    if (look_up(question, AI_NUMERICHOST) == 0) {
        atomic_store(&question->answered, true);
        hfi_wake_fire(resolver->when_done);
    } else {
        status = start_thread(resolver, question, reterr);
        if (status != HF_OK) {
            let_go(question);
            return status;
        }
    }
    resolver->question = question;
    return HF_OK;
}

bool hfi_resolver_take(struct hfi_resolver *resolver,
                       struct hfi_address *ret_addresses, size_t max,
                       size_t *ret_count, hf_status *ret_status,
                       hf_error *ret_error)
{
    struct question *question = resolver->question;
    size_t count;

    if (question == NULL || !atomic_load(&question->answered)) {
        return false;
    }
    count = question->count < max ? question->count : max;
    memcpy(ret_addresses, question->addresses,
           count * sizeof(question->addresses[0]));
    *ret_count = count;
    *ret_status = question->status;
    if (question->status != HF_OK && ret_error != NULL) {
        *ret_error = question->error;
    }
    drop_question(resolver);
    return true;
}

void hfi_resolver_free(struct hfi_resolver *resolver)
{
    if (resolver != NULL) {
        drop_question(resolver);
        free(resolver);
    }
}
