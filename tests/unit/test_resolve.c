/* SPDX-License-Identifier: MIT */
/* test_resolve.c - names become addresses, and nobody waits for it.
 *
 * getaddrinfo() is ours here: it answers names of the domain "test" at once, or
 * when it is told to, so that no name server has a say and a slow one can be
 * had.  Everything else goes to the real one.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/resolve.h"
#include "support/wait.h"

#define SOON_MS 5000

static atomic_int running;     /* questions in our getaddrinfo() now */
static atomic_int asked;       /* so far */
static atomic_bool held;       /* keep answers back */
static atomic_bool saw_signal; /* a signal was not blocked */

static int no_such_name(int flags)
{
    return (flags & AI_NUMERICHOST) != 0 ? EAI_NONAME : EAI_AGAIN;
}

typedef int lookup_fn(const char *, const char *, const struct addrinfo *,
                      struct addrinfo **);

static lookup_fn *real_getaddrinfo(void)
{
    static lookup_fn *found;
    void *symbol;

    if (found == NULL) {
        symbol = dlsym(RTLD_NEXT, "getaddrinfo");
        memcpy(&found, &symbol, sizeof(found));
    }
    return found;
}

static void look_at_signals(void)
{
    sigset_t blocked;

    if (pthread_sigmask(SIG_SETMASK, NULL, &blocked) != 0 ||
        sigismember(&blocked, SIGTERM) != 1 ||
        sigismember(&blocked, SIGCHLD) != 1) {
        atomic_store(&saw_signal, true);
    }
}

static int our_answer(const char *host, const char *port,
                      const struct addrinfo *hints, struct addrinfo **found)
{
    struct addrinfo numeric = *hints;

    if (strcmp(host, "none.test") == 0) {
        return EAI_NONAME;
    }
    if (strcmp(host, "broken.test") == 0) {
        errno = EIO;
        return EAI_SYSTEM;
    }
    numeric.ai_flags |= AI_NUMERICHOST;
    return real_getaddrinfo()("127.0.0.1", port, &numeric, found);
}

/* The system's header has names that only it may use. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int getaddrinfo(const char *host, const char *port,
                const struct addrinfo *hints, struct addrinfo **found)
{
    size_t len = strlen(host);
    int code;

    if (len < 5 || strcmp(host + len - 5, ".test") != 0) {
        return real_getaddrinfo()(host, port, hints, found);
    }
    if ((hints->ai_flags & AI_NUMERICHOST) != 0) {
        return no_such_name(hints->ai_flags);
    }
    look_at_signals();
    atomic_fetch_add(&asked, 1);
    atomic_fetch_add(&running, 1);
    while (atomic_load(&held)) {
        (void)poll(NULL, 0, 1);
    }
    code = our_answer(host, port, hints, found);
    atomic_fetch_sub(&running, 1);
    return code;
}

static struct hfi_wake wake = HFI_WAKE_CLOSED;
static struct hfi_resolver *resolver;

static int set_up(void **state)
{
    (void)state;
    atomic_store(&held, false);
    atomic_store(&asked, 0);
    return hfi_wake_open(&wake, NULL) == HF_OK &&
                   hfi_resolver_new(&wake, &resolver, NULL) == HF_OK
               ? 0
               : -1;
}

static bool is_running(void *expected)
{
    return atomic_load(&running) == *(int *)expected;
}

static void wait_for_running(int expected)
{
    assert_true(hft_wait_until(is_running, &expected, SOON_MS));
}

static int tear_down(void **state)
{
    (void)state;
    hfi_resolver_free(resolver);
    resolver = NULL;
    hfi_wake_close(&wake);
    atomic_store(&held, false);
    wait_for_running(0);
    return 0;
}

static bool is_awake(int bound_ms)
{
    struct pollfd one = {.fd = wake.fd, .events = POLLIN};

    return poll(&one, 1, bound_ms) == 1;
}

struct taken {
    struct hfi_address addresses[HFI_RESOLVE_MAX];
    size_t count;
    hf_status status;
    hf_error error;
};

static bool take(struct taken *taken)
{
    memset(taken, 0, sizeof(*taken));
    return hfi_resolver_take(resolver, taken->addresses, HFI_RESOLVE_MAX,
                             &taken->count, &taken->status, &taken->error);
}

static void take_soon(struct taken *taken)
{
    assert_true(is_awake(SOON_MS));
    hfi_wake_drain(&wake);
    assert_true(take(taken));
}

static void a_number_is_answered_at_once(void **state)
{
    struct taken taken;

    (void)state;
    assert_int_equal(hfi_resolver_start(resolver, "127.0.0.1", 6379, NULL),
                     HF_OK);
    assert_true(is_awake(0));
    assert_true(take(&taken));
    assert_int_equal(taken.status, HF_OK);
    assert_int_equal(taken.count, 1);
    assert_string_equal(taken.addresses[0].text, "127.0.0.1:6379");
    assert_int_equal(taken.addresses[0].addr.ss_family, AF_INET);

    assert_int_equal(hfi_resolver_start(resolver, "::1", 7, NULL), HF_OK);
    assert_true(take(&taken));
    assert_int_equal(taken.status, HF_OK);
    assert_string_equal(taken.addresses[0].text, "[::1]:7");
    assert_int_equal(taken.addresses[0].addr.ss_family, AF_INET6);
}

static void an_answer_is_taken_once(void **state)
{
    struct taken taken;

    (void)state;
    assert_false(take(&taken));
    assert_int_equal(hfi_resolver_start(resolver, "127.0.0.1", 1, NULL), HF_OK);
    assert_true(take(&taken));
    assert_false(take(&taken));
}

static void a_name_is_answered_later_and_fires_the_wake(void **state)
{
    struct taken taken;

    (void)state;
    atomic_store(&held, true);
    assert_int_equal(hfi_resolver_start(resolver, "a.test", 80, NULL), HF_OK);
    wait_for_running(1);
    assert_false(take(&taken));
    assert_false(is_awake(0));
    atomic_store(&held, false);
    take_soon(&taken);
    assert_int_equal(taken.status, HF_OK);
    assert_string_equal(taken.addresses[0].text, "127.0.0.1:80");
    assert_false(atomic_load(&saw_signal));
}

static void the_real_localhost_is_found(void **state)
{
    struct taken taken;

    (void)state;
    assert_int_equal(hfi_resolver_start(resolver, "localhost", 80, NULL),
                     HF_OK);
    take_soon(&taken);
    assert_int_equal(taken.status, HF_OK);
    assert_true(taken.count >= 1);
}

static void only_so_many_addresses_as_wanted_are_given(void **state)
{
    struct taken taken;

    (void)state;
    assert_int_equal(hfi_resolver_start(resolver, "127.0.0.1", 1, NULL), HF_OK);
    memset(&taken, 0, sizeof(taken));
    assert_true(hfi_resolver_take(resolver, taken.addresses, 0, &taken.count,
                                  &taken.status, NULL));
    assert_int_equal(taken.count, 0);
}

static void a_failure_names_the_host(void **state)
{
    struct taken taken;

    (void)state;
    assert_int_equal(hfi_resolver_start(resolver, "none.test", 80, NULL),
                     HF_OK);
    take_soon(&taken);
    assert_int_equal(taken.status, HF_UNREACHABLE);
    assert_int_equal(taken.error.status, HF_UNREACHABLE);
    assert_int_equal(taken.count, 0);
    assert_non_null(strstr(taken.error.message, "none.test"));

    assert_int_equal(hfi_resolver_start(resolver, "broken.test", 80, NULL),
                     HF_OK);
    take_soon(&taken);
    assert_int_equal(taken.status, HF_UNREACHABLE);
    assert_int_equal(taken.error.sys_errno, EIO);
}

static void the_same_question_is_asked_once_at_a_time(void **state)
{
    struct taken taken;

    (void)state;
    atomic_store(&held, true);
    assert_int_equal(hfi_resolver_start(resolver, "a.test", 80, NULL), HF_OK);
    assert_int_equal(hfi_resolver_start(resolver, "a.test", 80, NULL), HF_OK);
    assert_int_equal(hfi_resolver_start(resolver, "b.test", 80, NULL),
                     HF_INTERNAL);
    assert_int_equal(hfi_resolver_start(resolver, "a.test", 81, NULL),
                     HF_INTERNAL);
    wait_for_running(1);
    atomic_store(&held, false);
    take_soon(&taken);
    assert_int_equal(atomic_load(&asked), 1);
    /* One that was answered and not taken is dropped. */
    assert_int_equal(hfi_resolver_start(resolver, "127.0.0.1", 1, NULL), HF_OK);
    assert_int_equal(hfi_resolver_start(resolver, "127.0.0.1", 2, NULL), HF_OK);
    assert_true(take(&taken));
    assert_string_equal(taken.addresses[0].text, "127.0.0.1:2");
}

static void freeing_does_not_wait_for_a_slow_name_server(void **state)
{
    struct hfi_wake other = HFI_WAKE_CLOSED;
    struct pollfd one;
    int64_t start_ms = hft_now_ms();

    (void)state;
    atomic_store(&held, true);
    assert_int_equal(hfi_resolver_start(resolver, "a.test", 80, NULL), HF_OK);
    wait_for_running(1);
    hfi_resolver_free(resolver);
    resolver = NULL;
    hfi_wake_close(&wake);
    /* This one has the descriptor's number now; it must not be fired. */
    assert_int_equal(hfi_wake_open(&other, NULL), HF_OK);
    assert_true(hft_now_ms() - start_ms < SOON_MS);
    atomic_store(&held, false);
    wait_for_running(0);
    one = (struct pollfd){.fd = other.fd, .events = POLLIN};
    assert_int_equal(poll(&one, 1, 20), 0);
    hfi_wake_close(&other);
}

static void a_child_of_a_fork_frees_a_resolver_that_is_asking(void **state)
{
    int outcome = 0;
    pid_t child;

    (void)state;
    atomic_store(&held, true);
    assert_int_equal(hfi_resolver_start(resolver, "a.test", 80, NULL), HF_OK);
    wait_for_running(1);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        hfi_resolver_free(resolver);
        _exit(7);
    }
    assert_int_equal(waitpid(child, &outcome, 0), child);
    assert_true(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 7);
}

/* Bad days: no descriptor is left. */
static void no_descriptor_left_is_a_status_of_its_own(void **state)
{
    struct taken taken;
    struct rlimit before;
    struct rlimit none;
    hf_error error;
    hf_status status;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 3; /* with 0 the kernel says EINVAL instead */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    status = hfi_resolver_start(resolver, "a.test", 80, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, HF_SYSTEM);
    assert_int_equal(error.sys_errno, EMFILE);
    assert_false(take(&taken));
    assert_int_equal(hfi_resolver_start(resolver, "a.test", 80, NULL), HF_OK);
    take_soon(&taken);
    assert_int_equal(taken.status, HF_OK);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_number_is_answered_at_once),
        EACH(an_answer_is_taken_once),
        EACH(a_name_is_answered_later_and_fires_the_wake),
        EACH(the_real_localhost_is_found),
        EACH(only_so_many_addresses_as_wanted_are_given),
        EACH(a_failure_names_the_host),
        EACH(the_same_question_is_asked_once_at_a_time),
        EACH(freeing_does_not_wait_for_a_slow_name_server),
        EACH(a_child_of_a_fork_frees_a_resolver_that_is_asking),
        EACH(no_descriptor_left_is_a_status_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
