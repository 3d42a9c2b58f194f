/* SPDX-License-Identifier: MIT */
/* options.h - reading a command line, from tables of options.
 *
 * An option says what it is called, what it takes, how that is read, and where
 * in the command's own struct it goes.  Global options are understood behind
 * the command's name as well.  Long options are not abbreviated: an
 * abbreviation that works today would be ambiguous tomorrow.
 */
#ifndef HOLDFAST_CLI_OPTIONS_H
#define HOLDFAST_CLI_OPTIONS_H

#include <stddef.h>

#include "context.h"

struct cli_command;

/* What cli_set_kind() reads, for the help: the second line begins where the
 * explanations do. */
#define CLI_KINDS_HELP                                                         \
    "lock (default), fair, read, write, fenced, spin,\n"                       \
    "                            nonreentrant, nonreentrant-fair, token or\n"  \
    "                            values"

/* Most options that a command can have, with the global ones. */
#define CLI_OPTIONS_MAX 40

/* Read `value` (NULL for an option without an argument) into `field`.  Returns
 * NULL, or what is wrong with it, in words that follow "--option 'value': ". */
typedef const char *(*cli_option_fn)(const char *value, void *field);

struct cli_option {
    const char *name;     /* the long form, without "--" */
    char letter;          /* the short form, or 0 */
    const char *argument; /* its name in the help, or NULL: takes none */
    const char *help;
    cli_option_fn set;
    size_t offset; /* of the field in the command's struct */
    /* In the last record, which has no name: the table that goes on from here,
     * or NULL.  Its fields are in the same struct. */
    const struct cli_option *more;
};

/* The last record of a table. */
#define CLI_OPTIONS_END                                                        \
    {                                                                          \
        NULL, 0, NULL, NULL, NULL, 0, NULL                                     \
    }
#define CLI_OPTIONS_GO_ON(table)                                               \
    {                                                                          \
        NULL, 0, NULL, NULL, NULL, 0, table                                    \
    }

/* The record behind this one, of whatever table; NULL at the end. */
const struct cli_option *cli_option_next(const struct cli_option *option);

/* What an option collects that can be given several times. */
#define CLI_WORDS_MAX 1000
struct cli_words {
    const char *words[CLI_WORDS_MAX]; /* of the command line */
    size_t count;
};

/* The readers. */
const char *cli_set_flag(const char *value, void *field);     /* int */
const char *cli_set_text(const char *value, void *field);     /* const char * */
const char *cli_set_duration(const char *value, void *field); /* int64_t */
const char *cli_set_positive(const char *value, void *field); /* int64_t > 0 */
const char *cli_set_lease(const char *value, void *field);    /* int64_t */
const char *cli_set_exit(const char *value, void *field);     /* int, 0-255 */
const char *cli_set_number(const char *value, void *field);   /* int > 0 */
const char *cli_set_kind(const char *value, void *field);     /* hf_kind */
const char *cli_add_word(const char *value, void *field); /* struct cli_words */

/* A command line, taken apart. */
struct cli_line {
    struct cli_context ctx; /* settled */
    char **operands;        /* what stands before "--" and is no option */
    int operand_count;
    char **rest; /* what stands behind "--"; NULL-terminated */
    int rest_count;
    bool has_rest; /* there was a "--" */
};

/* Take a command's line apart: options into `target`, everything else into
 * `ret_line`.  argv is re-arranged.  Returns CLI_GO_ON, or the exit status if
 * there is nothing more to do (wrong usage, --help). */
int cli_line_parse(const struct cli_command *command,
                   const struct cli_context *ctx, int argc, char **argv,
                   void *target, struct cli_line *ret_line);

/* Take apart what stands before the command.  `ret_index` is where the command
 * stands in argv (argc if there is none). */
int cli_globals_parse(int argc, char **argv, struct cli_context *ret_ctx,
                      int *ret_index);

/* The word of that index among the operands and what stands behind a "--"
 * (where a name may begin with a dash), or NULL. */
const char *cli_line_word(const struct cli_line *line, int index);

/* All of them; free() it.  NULL: no memory, and that was said. */
char **cli_line_words(const struct cli_line *line);

/* Complain unless there are `least` to `most` such words (`what`: the name of
 * the missing one).  Returns CLI_GO_ON or an exit status. */
int cli_line_expect(const struct cli_command *command,
                    const struct cli_line *line, int least, int most,
                    const char *what);

/* The options that stand before the command; for the help. */
extern const struct cli_option cli_global_options[];

#endif
