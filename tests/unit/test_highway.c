/* SPDX-License-Identifier: MIT */
/* test_highway.c - the hash that names the values of a values lock.
 *
 * The vectors are those of docs/wire/values.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/highway.h"

struct vector {
    const char *value;
    uint64_t words[2];
    const char *field;
};

static const struct vector vectors[] = {
    {"",
     {UINT64_C(0xb7aad9c226c6a36b), UINT64_C(0xb2d4e4a63557bca6)},
     "t6rZwibGo2uy1OSmNVe8pg"},
    {"a",
     {UINT64_C(0xab0bc04b5da94740), UINT64_C(0xa0462b5aca912353)},
     "qwvAS12pR0CgRitaypEjUw"},
    {"Jack_001",
     {UINT64_C(0xee93680dd8b3572d), UINT64_C(0xb163bf7631a16ffb)},
     "7pNoDdizVy2xY792MaFv+w"},
    {"Mary_002",
     {UINT64_C(0x9085f60c5397e085), UINT64_C(0x9cb7b1bb2bab55f4)},
     "kIX2DFOX4IWct7G7K6tV9A"},
    {"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
     {UINT64_C(0x7fb26bbba6e49ecd), UINT64_C(0xc65eff734ea4140c)},
     "f7Jru6bkns3GXv9zTqQUDA"},
};

/* spec: values/field-1 */
static void the_published_values_have_their_fields(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        const char *value = vectors[i].value;
        char field[HFI_VALUE_FIELD_BYTES];
        uint64_t words[2];

        hfi_highway_128(value, strlen(value), words);
        assert_true(words[0] == vectors[i].words[0]);
        assert_true(words[1] == vectors[i].words[1]);
        hfi_value_field(value, strlen(value), field);
        assert_memory_equal(field, vectors[i].field, sizeof(field));
    }
}

/* Every length up to two packets, and each byte of it, counts. */
static void every_byte_changes_the_field(void **state)
{
    char text[80];

    (void)state;
    memset(text, 'x', sizeof(text));
    for (size_t len = 1; len < sizeof(text); len++) {
        char whole[HFI_VALUE_FIELD_BYTES];
        char other[HFI_VALUE_FIELD_BYTES];

        hfi_value_field(text, len, whole);
        hfi_value_field(text, len - 1, other);
        assert_memory_not_equal(whole, other, sizeof(whole));
        for (size_t i = 0; i < len; i++) {
            text[i] = 'y';
            hfi_value_field(text, len, other);
            text[i] = 'x';
            assert_memory_not_equal(whole, other, sizeof(whole));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_values_have_their_fields),
        cmocka_unit_test(every_byte_changes_the_field),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
