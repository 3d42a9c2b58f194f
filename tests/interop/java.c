/* SPDX-License-Identifier: MIT */
/* java.c - a Java program that uses Redisson; see java.h.
 *
 * The agent's output is a text that only grows, in which an answer is found by
 * its number.  What goes wrong in the machinery ends the test program, with
 * what Java said on its standard error.
 */
#include "java.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/child.h"
#include "support/fatal.h"
#include "support/wait.h"

/* A virtual machine on a busy computer takes its time. */
#define START_BOUND_MS 60000
#define ASK_BOUND_MS 60000
#define LENT 16

enum edition edition;
const char *const *java_environment;

static struct hft_child *agent;
static unsigned last_asked;

void java_choose(int argc, char **argv)
{
    if (argc != 2 ||
        (strcmp(argv[1], "newest") != 0 && strcmp(argv[1], "oldest") != 0)) {
        hft_die("usage: %s newest|oldest", argv[0]);
    }
    edition = strcmp(argv[1], "newest") == 0 ? NEWEST : OLDEST;
}

/* Text of a small file without its line's end. */
static char *first_line_of(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;

    if (file == NULL) {
        hft_die("%s is not there: tests/interop/build-java makes it", path);
    }
    length = getline(&line, &capacity, file);
    if (length <= 0) {
        hft_die("%s is empty", path);
    }
    line[length - 1] = '\0';
    (void)fclose(file);
    return line;
}

void agent_start(const char *const *argv)
{
    const struct hft_child_options options = {
        .argv = argv, .env = java_environment, .stdio = HFT_STDIO_PIPE};

    agent = hft_child_start(&options);
    if (!hft_child_wait_out(agent, "ready ", START_BOUND_MS)) {
        hft_die("the agent did not start: %s", hft_child_err(agent));
    }
}

void java_start(void)
{
    const char *build = getenv("HOLDFAST_BUILD");
    char *path = hft_format("%s/interop-java/%s/classpath",
                            build != NULL ? build : ".",
                            edition == NEWEST ? "newest" : "oldest");
    char *classpath = first_line_of(path);
    /* It starts sooner with little, and needs little. */
    const char *const argv[] = {"java",
                                "-Xshare:auto",
                                "-XX:TieredStopAtLevel=1",
                                "-XX:+UseSerialGC",
                                "-Xmx256m",
                                "-cp",
                                classpath,
                                "holdfast.interop.Agent",
                                NULL};

    agent_start(argv);
    free(classpath);
    free(path);
}

void java_stop(void)
{
    hft_child_free(agent);
    agent = NULL;
}

static unsigned send_line(const char *format, va_list arguments)
{
    char what[1024];
    char *line;

    (void)vsnprintf(what, sizeof(what), format, arguments);
    last_asked++;
    line = hft_format("%u %s\n", last_asked, what);
    hft_child_type(agent, line);
    free(line);
    return last_asked;
}

unsigned java_send(const char *format, ...)
{
    va_list arguments;
    unsigned asked;

    va_start(arguments, format);
    asked = send_line(format, arguments);
    va_end(arguments);
    return asked;
}

/* An answer that is looked for, and where it was found. */
struct sought {
    char *start; /* "\n7 " */
    char *found;
};

static bool is_found(void *context)
{
    struct sought *sought = context;
    const char *begin = strstr(hft_child_out(agent), sought->start);
    const char *end;

    if (!hft_child_runs(agent)) {
        hft_die("the agent has ended: %s", hft_child_err(agent));
    }
    if (begin == NULL) {
        return false;
    }
    begin += strlen(sought->start);
    end = strchr(begin, '\n');
    if (end == NULL) {
        return false;
    }
    sought->found = strndup(begin, (size_t)(end - begin));
    return true;
}

const char *java_answer(unsigned asked, int64_t bound_ms)
{
    static char *lent[LENT];
    static unsigned next;
    struct sought sought = {hft_format("\n%u ", asked), NULL};

    (void)hft_wait_until(is_found, &sought, bound_ms);
    free(sought.start);
    next = (next + 1) % LENT;
    free(lent[next]);
    lent[next] = sought.found;
    return sought.found;
}

const char *java_ask(const char *format, ...)
{
    va_list arguments;
    unsigned asked;

    va_start(arguments, format);
    asked = send_line(format, arguments);
    va_end(arguments);
    return java_answer(asked, ASK_BOUND_MS);
}

void java_check(const char *expected, const char *answer, bool whole,
                const char *what, const char *file, int line)
{
    if (answer != NULL &&
        (whole ? strcmp(answer, expected) == 0
               : strncmp(answer, expected, strlen(expected)) == 0)) {
        return;
    }
    print_error("%s\n  is \"%s\", not \"%s\"%s\n", what,
                answer != NULL ? answer : "(no answer)", expected,
                whole ? "" : " and more");
    _fail(file, line);
}

const char *java_text(const char *answer)
{
    assert_java_begins("ok ", answer);
    return answer + strlen("ok ");
}

int64_t java_number(const char *answer)
{
    return strtoll(java_text(answer), NULL, 10);
}
