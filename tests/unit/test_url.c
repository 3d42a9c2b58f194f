/* SPDX-License-Identifier: MIT */
/* test_url.c - what a URL means, and what is said of a wrong one.
 *
 * Malformed URLs each end in HF_BAD_URL and one line that names the wrong part;
 * no line ever shows a password.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/url.h"

/* Stands in every password of the tables, and in no message. */
#define SECRET "s3cr3t"
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct good {
    const char *text;
    const char *shown;
    struct hfi_url url;
};

#define TCP(host_, port_) .kind = HFI_URL_TCP, .host = host_, .port = port_
#define UNIX(path_) .kind = HFI_URL_UNIX, .path = path_
#define LOCAL(name_) .kind = HFI_URL_LOCAL, .name = name_

/* Arrays, because the fields are not const. */
static char localhost[] = "localhost";
static char numeric[] = "10.0.0.7";
static char dotted[] = "a-b_c.example.org";
static char ipv6[] = "::1";
static char zoned[] = "fe80::1%eth0";
static char path[] = "/run/redis.sock";
static char odd_path[] = "/run/a b?c%d";
static char user[] = "ann";
static char secret[] = SECRET;
static char odd_user[] = "a:n@n/";
static char odd_secret[] = SECRET "@:/?#%\xff";
static char colons[] = SECRET ":x@y";
static char empty[] = "";
static char name[] = "default";
static char odd_name[] = "A.b_c-9";

static const struct good goods[] = {
    {"redis://localhost", "localhost:6379/0", {TCP(localhost, 6379)}},
    {"redis://localhost/", "localhost:6379/0", {TCP(localhost, 6379)}},
    {"redis://localhost:1", "localhost:1/0", {TCP(localhost, 1)}},
    {"redis://localhost:65535/", "localhost:65535/0", {TCP(localhost, 65535)}},
    {"redis://10.0.0.7:6380/3",
     "10.0.0.7:6380/3",
     {TCP(numeric, 6380), .database = 3}},
    {"redis://10.0.0.7/2147483647",
     "10.0.0.7:6379/2147483647",
     {TCP(numeric, 6379), .database = 2147483647}},
    {"redis://a-b_c.example.org",
     "a-b_c.example.org:6379/0",
     {TCP(dotted, 6379)}},
    {"redis://[::1]", "[::1]:6379/0", {TCP(ipv6, 6379)}},
    {"redis://[::1]:7/1", "[::1]:7/1", {TCP(ipv6, 7), .database = 1}},
    {"redis://[fe80::1%25eth0]:7", "[fe80::1%eth0]:7/0", {TCP(zoned, 7)}},
    {"redis://ann@localhost",
     "localhost:6379/0",
     {TCP(localhost, 6379), .user = user}},
    {"redis://ann:" SECRET "@localhost",
     "localhost:6379/0",
     {TCP(localhost, 6379), .user = user, .password = secret}},
    {"redis://:" SECRET "@[::1]:7",
     "[::1]:7/0",
     {TCP(ipv6, 7), .password = secret}},
    {"redis://ann:@localhost",
     "localhost:6379/0",
     {TCP(localhost, 6379), .user = user, .password = empty}},
    {"redis://a%3an%40n%2F:" SECRET "%40%3A%2f%3f%23%25%ff@localhost",
     "localhost:6379/0",
     {TCP(localhost, 6379), .user = odd_user, .password = odd_secret}},
    /* The host has neither, so these can only be the password's. */
    {"redis://ann:" SECRET ":x@y@localhost",
     "localhost:6379/0",
     {TCP(localhost, 6379), .user = user, .password = colons}},
    {"unix:/run/redis.sock", "unix:/run/redis.sock", {UNIX(path)}},
    {"unix:///run/redis.sock", "unix:/run/redis.sock", {UNIX(path)}},
    {"unix:/run/redis.sock?db=0", "unix:/run/redis.sock", {UNIX(path)}},
    {"unix:///run/redis.sock?db=15",
     "unix:/run/redis.sock?db=15",
     {UNIX(path), .database = 15}},
    {"unix:/run/a%20b%3Fc%25d", "unix:/run/a b?c%d", {UNIX(odd_path)}},
    {"unix://ann:" SECRET "@/run/redis.sock?db=2",
     "unix:/run/redis.sock?db=2",
     {UNIX(path), .user = user, .password = secret, .database = 2}},
    {"unix://:" SECRET "@/run/redis.sock",
     "unix:/run/redis.sock",
     {UNIX(path), .password = secret}},
    {"local:default", "local:default", {LOCAL(name)}},
    {"local:A.b_c-9", "local:A.b_c-9", {LOCAL(odd_name)}},
};

struct bad {
    const char *text;
    const char *says; /* in the message: the part that is wrong */
};

#define AT_PASSWORD "redis://ann:" SECRET "@"

static const struct bad bads[] = {
    {NULL, "empty"},
    {"", "empty"},
    {SECRET, "does not begin with"},
    {"://" SECRET, "does not begin with"},
    {"ann:" SECRET "@localhost", "does not begin with"},
    {SECRET "@localhost:6379", "does not begin with"},
    {"redis:/localhost", "does not begin with"},
    {"redis:localhost", "does not begin with"},
    {"REDIS://localhost", "REDIS://"},
    {"http://ann:" SECRET "@localhost", "http:// is not known"},
    {"redis+unix://x", "redis+unix:// is not known"},
    {"rediss://ann:" SECRET "@localhost", "rediss:// is not supported by this"},
    {"redis+sentinel://a,b/m", "redis+sentinel:// is not supported by this"},
    {"redis+cluster://a,b", "redis+cluster:// is not supported by this"},
    {" redis://localhost", "does not begin with"},
    {"redis://localhost\n", "control character"},
    {"redis://local\x01host", "control character"},
    {AT_PASSWORD "localhost\x7f", "control character"},

    {"redis://", "host is empty"},
    {"redis:///3", "host is empty"},
    {"redis://:6379", "host is empty"},
    {AT_PASSWORD, "host is empty"},
    {AT_PASSWORD ":6379", "host is empty"},
    {AT_PASSWORD "/3", "host is empty"},
    {"redis://@localhost", "before the @ is empty"},
    {"redis://:@localhost", "before the @ is empty"},

    {AT_PASSWORD "localhost:", "port"},
    {AT_PASSWORD "localhost:0", "port"},
    {AT_PASSWORD "localhost:65536", "port"},
    {AT_PASSWORD "localhost:99999999999999999999", "port"},
    {AT_PASSWORD "localhost:-1", "port"},
    {AT_PASSWORD "localhost:+1", "port"},
    {AT_PASSWORD "localhost: 1", "port"},
    {AT_PASSWORD "localhost:1x", "port"},
    {AT_PASSWORD "localhost:redis", "port"},

    {AT_PASSWORD "localhost/x", "database"},
    {AT_PASSWORD "localhost/-1", "database"},
    {AT_PASSWORD "localhost/2147483648", "database"},
    {AT_PASSWORD "localhost/1/", "database"},
    {AT_PASSWORD "localhost/1 ", "database"},
    {AT_PASSWORD "localhost//", "database"},

    {AT_PASSWORD "local host", "host is neither"},
    {AT_PASSWORD "local,host", "host is neither"},
    {AT_PASSWORD "-localhost", "host is neither"},
    {AT_PASSWORD ".", "host is neither"},
    {AT_PASSWORD "10.0.0.256", "host is neither"},
    {AT_PASSWORD "10.0.0", "host is neither"},
    {AT_PASSWORD "10", "host is neither"},
    {AT_PASSWORD "h\xc3\xb6st", "host is neither"},
    {AT_PASSWORD "%6c", "host is neither"},
    {AT_PASSWORD "::1", "brackets"},
    {AT_PASSWORD "fe80::1:6379", "brackets"},
    {AT_PASSWORD "[::1", "without a ]"},
    {AT_PASSWORD "[]", "no IPv6"},
    {AT_PASSWORD "[::g]", "no IPv6"},
    {AT_PASSWORD "[10.0.0.7]", "no IPv6"},
    {AT_PASSWORD "[::1%25]", "no IPv6"},
    {AT_PASSWORD "[::1%25a/b]", "without a ]"},
    {AT_PASSWORD "[::1%eth0]", "%25"},
    {AT_PASSWORD "[::1]x", "may follow the ]"},
    {AT_PASSWORD "[::1]x:1", "may follow the ]"},
    {AT_PASSWORD "[::1]:", "port"},

    {AT_PASSWORD "localhost?db=1", "%3F"},
    {AT_PASSWORD "localhost/1?x=" SECRET, "%3F"},
    {AT_PASSWORD "localhost#x", "%23"},
    /* A password with what ends a URL's part: the rest must not be shown. */
    {"redis://ann:x/" SECRET "@localhost", "%2F"},
    {"redis://:x?" SECRET "@localhost", "%3F"},
    {"redis://:x#" SECRET "@localhost", "%23"},
    {"redis://ann:" SECRET "%@localhost", "password has a %"},
    {"redis://ann:" SECRET "%4@localhost", "password has a %"},
    {"redis://ann:" SECRET "%4x@localhost", "password has a %"},
    {"redis://ann:" SECRET "%00@localhost", "password has a %"},
    {"redis://a%zz:" SECRET "@localhost", "user has a %"},
    {"redis://" SECRET "[", "host is neither"},

    {"unix:", "path"},
    {"unix:/", "path"},
    {"unix://", "path"},
    {"unix:run/redis.sock", "path"},
    {"unix://run/redis.sock", "path"},
    {"unix://ann:" SECRET "/run/redis.sock", "path"},
    {"unix://ann:" SECRET "@", "path"},
    {"unix://ann:" SECRET "@run", "path"},
    {"unix://@/run/redis.sock", "before the @ is empty"},
    {"unix:?db=1", "path"},
    {"unix:/run/a%", "path has a %"},
    {"unix:/run/a%0Ab", "path contains a control"},
    {"unix:/run/redis.sock?", "?db=N"},
    {"unix:/run/redis.sock?db", "?db=N"},
    {"unix:/run/redis.sock?DB=1", "?db=N"},
    {"unix:/run/redis.sock?dbx=1", "?db=N"},
    {"unix:/run/redis.sock?password=" SECRET, "?db=N"},
    {"unix:/run/redis.sock?db=", "database"},
    {"unix:/run/redis.sock?db=x", "database"},
    {"unix:/run/redis.sock?db=1&db=2", "database"},

    {"local:", "local:"},
    {"local:a b", "local:"},
    {"local:a/b", "local:"},
    {"local://default", "local:"},
    {"local:default?db=1", "local:"},
    {"local:h\xc3\xb6st", "local:"},
    {"local:"
     "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggggg",
     "1 to 64"},
};

static void assert_same(const char *got, const char *expected)
{
    if (expected == NULL) {
        assert_null(got);
    } else {
        assert_non_null(got);
        assert_string_equal(got, expected);
    }
}

static void a_good_url_is_read_in_all_its_parts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(goods); i++) {
        const struct hfi_url *expected = &goods[i].url;
        struct hfi_url url;

        print_message("%s\n", goods[i].text);
        assert_int_equal(hfi_url_parse(goods[i].text, &url, NULL), HF_OK);
        assert_int_equal(url.kind, expected->kind);
        assert_same(url.host, expected->host);
        assert_int_equal(url.port, expected->port);
        assert_same(url.path, expected->path);
        assert_same(url.name, expected->name);
        assert_same(url.user, expected->user);
        assert_same(url.password, expected->password);
        assert_int_equal(url.database, expected->database);
        hfi_url_free(&url);
    }
}

static void a_url_is_shown_without_its_password(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(goods); i++) {
        struct hfi_url url;
        char shown[128];

        assert_int_equal(hfi_url_parse(goods[i].text, &url, NULL), HF_OK);
        assert_int_equal(hfi_url_describe(&url, shown, sizeof(shown)),
                         strlen(goods[i].shown));
        assert_string_equal(shown, goods[i].shown);
        hfi_url_free(&url);
    }
}

static void a_bad_url_is_refused_with_the_part_that_is_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bads); i++) {
        static const struct hfi_url nothing;
        struct hfi_url url;
        hf_error error;

        memset(&url, 'x', sizeof(url));
        memset(&error, 'x', sizeof(error));
        if (hfi_url_parse(bads[i].text, &url, &error) != HF_BAD_URL) {
            fail_msg("%s was not refused", bads[i].text);
        }
        if (strstr(error.message, bads[i].says) == NULL) {
            fail_msg("%s: %s", bads[i].text, error.message);
        }
        assert_null(strstr(error.message, SECRET));
        assert_null(strchr(error.message, '\n'));
        assert_int_equal(error.status, HF_BAD_URL);
        assert_memory_equal(&url, &nothing, sizeof(url));
        assert_int_equal(hfi_url_parse(bads[i].text, &url, NULL), HF_BAD_URL);
    }
}

static void a_url_of_any_length_is_refused_or_read(void **state)
{
    static char text[HFI_URL_MAX + 100];
    struct hfi_url url;
    hf_error error;
    size_t start = strlen("redis://:");
    size_t end = strlen("@h");

    (void)state;
    /* The longest there is, all of it password. */
    memset(text, 'p', sizeof(text));
    memcpy(text, "redis://:", start);
    memcpy(text + HFI_URL_MAX - end, "@h", end + 1);
    assert_int_equal(hfi_url_parse(text, &url, NULL), HF_OK);
    assert_int_equal(strlen(url.password), HFI_URL_MAX - start - end);
    hfi_url_free(&url);

    memset(text, 'p', sizeof(text));
    memcpy(text, "redis://:", start);
    memcpy(text + HFI_URL_MAX + 1 - end, "@h", end + 1);
    assert_int_equal(hfi_url_parse(text, &url, &error), HF_BAD_URL);
    assert_non_null(strstr(error.message, "longer than 4096"));

    memset(text, 'h', sizeof(text));
    memcpy(text, "redis://", strlen("redis://"));
    text[strlen("redis://") + 256] = '\0';
    assert_int_equal(hfi_url_parse(text, &url, &error), HF_BAD_URL);
    assert_non_null(strstr(error.message, "host is too long"));
    text[strlen("redis://") + 255] = '\0';
    assert_int_equal(hfi_url_parse(text, &url, &error), HF_OK);
    hfi_url_free(&url);
}

/* Every good URL with one byte replaced: whatever comes of it, no crash (under
 * the sanitizers), no secret in a message. */
static void a_damaged_url_never_shows_its_password(void **state)
{
    static const char damage[] = "@:/?#[]% \x01\xff.x0";

    (void)state;
    for (size_t i = 0; i < COUNT_OF(goods); i++) {
        size_t len = strlen(goods[i].text);

        for (size_t at = 0; at < len; at++) {
            for (size_t d = 0; d < sizeof(damage) - 1; d++) {
                char text[128];
                struct hfi_url url;
                hf_error error = {.message = ""};

                (void)snprintf(text, sizeof(text), "%s", goods[i].text);
                text[at] = damage[d];
                if (hfi_url_parse(text, &url, &error) == HF_OK) {
                    hfi_url_free(&url);
                }
                assert_null(strstr(error.message, SECRET));
            }
        }
    }
}

static void a_description_is_cut_to_its_buffer(void **state)
{
    struct hfi_url url;
    char shown[6];

    (void)state;
    assert_int_equal(hfi_url_parse("redis://localhost", &url, NULL), HF_OK);
    assert_int_equal(hfi_url_describe(&url, shown, sizeof(shown)),
                     strlen("localhost:6379/0"));
    assert_string_equal(shown, "local");
    hfi_url_free(&url);
    hfi_url_free(&url);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_url_is_read_in_all_its_parts),
        cmocka_unit_test(a_url_is_shown_without_its_password),
        cmocka_unit_test(a_bad_url_is_refused_with_the_part_that_is_wrong),
        cmocka_unit_test(a_url_of_any_length_is_refused_or_read),
        cmocka_unit_test(a_damaged_url_never_shows_its_password),
        cmocka_unit_test(a_description_is_cut_to_its_buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
