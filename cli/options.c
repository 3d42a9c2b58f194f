/* SPDX-License-Identifier: MIT */
/* options.c - reading a command line, from tables of options.
 *
 * getopt_long() does the walking; its tables are made from ours, the command's
 * own options first and the global ones behind them.  Operands are collected
 * in their order until "--", because `run` has to know which words stand
 * before it.  Every complaint is one line, and ends with the nearest right
 * thing if there is one.
 */
#include "options.h"

#include "command.h"
#include "complain.h"
#include "exit_status.h"
#include "help.h"
#include "suggest.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What getopt_long() answers for the long option of an index; apart from every
 * letter, and from what it answers itself. */
#define LONG_BASE 256

/* An operand, in getopt_long()'s "in order" mode. */
#define OPERAND 1

struct parser {
    const struct cli_command *command; /* NULL: before the command */
    const struct cli_option *options[CLI_OPTIONS_MAX];
    void *targets[CLI_OPTIONS_MAX];
    int count;
    struct option longs[CLI_OPTIONS_MAX + 1];
    char letters[2 * CLI_OPTIONS_MAX + 4];
    struct cli_line *line;
};

const struct cli_option cli_global_options[] = {
    {"server", 0, "URL", "the server: redis://host, unix:/path or local:NAME",
     cli_set_text, offsetof(struct cli_context, url), NULL},
    {"password-file", 0, "FILE", "read the server's password from FILE",
     cli_set_text, offsetof(struct cli_context, password_file), NULL},
    {"timeout", 0, "DUR", "how long the server may take (default 3s)",
     cli_set_positive, offsetof(struct cli_context, timeout_ms), NULL},
    {"json", 0, NULL, "print for programs: one JSON object a line",
     cli_set_flag, offsetof(struct cli_context, json), NULL},
    {"verbose", 'v', NULL, "say on stderr what is done", cli_set_flag,
     offsetof(struct cli_context, verbose), NULL},
    {"help", 'h', NULL, "print this help", cli_set_flag,
     offsetof(struct cli_context, help), NULL},
    {"version", 'V', NULL, "print the version", cli_set_flag,
     offsetof(struct cli_context, version), NULL},
    CLI_OPTIONS_END,
};

const struct cli_option *cli_option_next(const struct cli_option *option)
{
    option++;
    return option->name != NULL ? option : option->more;
}

/* ---- making getopt_long()'s tables from ours ------------------------------ */

static void add_options(struct parser *parser, const struct cli_option *options,
                        void *target)
{
    for (; options != NULL && parser->count < CLI_OPTIONS_MAX;
         options = cli_option_next(options)) {
        int i = parser->count++;
        int takes = options->argument == NULL ? no_argument : required_argument;

        parser->options[i] = options;
        parser->targets[i] = target;
        parser->longs[i] = (struct option){options->name, takes, NULL,
                                           LONG_BASE + i};
        if (options->letter != 0) {
            char *end = parser->letters + strlen(parser->letters);
            end[0] = options->letter;
            end[1] = takes == no_argument ? '\0' : ':';
            end[2] = '\0';
        }
    }
}

static void parser_init(struct parser *parser,
                        const struct cli_command *command, void *target,
                        struct cli_line *line)
{
    memset(parser, 0, sizeof(*parser));
    parser->command = command;
    parser->line = line;
    /* '-': operands in their order; '+': stop at the first, which is the
     * command.  ':': a missing argument is answered apart. */
    parser->letters[0] = command == NULL ? '+' : '-';
    parser->letters[1] = ':';
    if (command != NULL) {
        add_options(parser, command->options, target);
    }
    add_options(parser, cli_global_options, &line->ctx);
}

/* The index of the option behind getopt_long()'s answer, or -1. */
static int option_index(const struct parser *parser, int answer)
{
    if (answer >= LONG_BASE) {
        return answer - LONG_BASE;
    }
    for (int i = 0; i < parser->count; i++) {
        if (parser->options[i]->letter == answer) {
            return i;
        }
    }
    return -1;
}

/* ---- complaints ------------------------------------------------------------ */

/* "run: " or "". */
static const char *where(const struct parser *parser, char *buf, size_t size)
{
    buf[0] = '\0';
    if (parser->command != NULL) {
        snprintf(buf, size, "%s: ", parser->command->name);
    }
    return buf;
}

/* An unknown long option: name the nearest one. */
static int complain_unknown_long(const struct parser *parser, const char *word)
{
    struct cli_suggestion nearest;
    char name[64];
    char place[32];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
    cli_suggestion_begin(&nearest, name);
    for (int i = 0; i < parser->count; i++) {
        cli_suggestion_offer(&nearest, parser->options[i]->name);
    }
    const char *meant = cli_suggestion_get(&nearest);
    where(parser, place, sizeof(place));
    if (meant != NULL) {
        cli_complain("%sthere is no option '--%s'; did you mean '--%s'?", place,
                     name, meant);
    } else {
        cli_complain("%sthere is no option '--%s'; see 'holdfast%s%s --help'",
                     place, name, parser->command == NULL ? "" : " ",
                     parser->command == NULL ? "" : parser->command->name);
    }
    return CLI_USAGE;
}

/* Whether this looks like a command's own option, in a line without "--". */
static bool is_in_command(const struct parser *parser)
{
    return parser->command != NULL && parser->line->operand_count > 1 &&
           strstr(parser->command->usage, "-- ") != NULL;
}

static int complain_answer(const struct parser *parser, int answer,
                           const char *word)
{
    char place[32];
    int index = option_index(parser, optopt);

    where(parser, place, sizeof(place));
    if (is_in_command(parser)) {
        cli_complain("%sput -- before the command: holdfast %s %s", place,
                     parser->command->name, parser->command->usage);
    } else if (answer == ':' && index >= 0) {
        cli_complain("%s--%s needs an argument: %s", place,
                     parser->options[index]->name,
                     parser->options[index]->argument);
    } else if (index >= 0 && optopt >= LONG_BASE) {
        cli_complain("%s--%s takes no argument", place,
                     parser->options[index]->name);
    } else if (optopt != 0) {
        cli_complain("%sthere is no option '-%c'; see 'holdfast%s%s --help'",
                     place, optopt, parser->command == NULL ? "" : " ",
                     parser->command == NULL ? "" : parser->command->name);
    } else {
        return complain_unknown_long(parser, word);
    }
    return CLI_USAGE;
}

/* ---- the walk --------------------------------------------------------------- */

/* The word that named a long option which getopt_long() has just read. */
static const char *word_of_option(char **argv)
{
    if (optarg != NULL && optarg == argv[optind - 1]) {
        return argv[optind - 2];
    }
    return argv[optind - 1];
}

static const char *note_server(struct cli_context *ctx)
{
    if (ctx->servers == CLI_SERVERS_MAX) {
        return "is one server too many";
    }
    for (int i = 0; i < ctx->servers; i++) {
        if (strcmp(ctx->urls[i], ctx->url) == 0) {
            return "is the same server as one before";
        }
    }
    ctx->urls[ctx->servers++] = ctx->url;
    return NULL;
}

static int apply(const struct parser *parser, int answer, char **argv)
{
    int index = option_index(parser, answer);
    const struct cli_option *option = parser->options[index];
    char place[32];
    char *field = (char *)parser->targets[index] + option->offset;

    if (answer >= LONG_BASE) {
        const char *word = word_of_option(argv);
        if (strcspn(word + 2, "=") != strlen(option->name)) {
            return complain_unknown_long(parser, word);
        }
    }
    const char *wrong = option->set(optarg, field);
    if (wrong == NULL && field == (char *)&parser->line->ctx.url) {
        wrong = note_server(&parser->line->ctx);
        if (wrong != NULL) { /* a password in the URL is not shown */
            cli_complain("--server no. %d %s", parser->line->ctx.servers + 1,
                         wrong);
            return CLI_USAGE;
        }
    }
    if (wrong != NULL) {
        cli_complain("%s--%s '%.80s' %s", where(parser, place, sizeof(place)),
                     option->name, optarg, wrong);
        return CLI_USAGE;
    }
    return CLI_GO_ON;
}

static int walk(struct parser *parser, int argc, char **argv)
{
    struct cli_line *line = parser->line;

    optind = 0; /* begin anew, for the second walk of a process too */
    opterr = 0;
    line->operands = argv + 1;
    for (;;) {
        int word = optind == 0 ? 1 : optind;
        int answer = getopt_long(argc, argv, parser->letters, parser->longs,
                                 NULL);
        int result = CLI_GO_ON;
        if (answer == -1) {
            break;
        }
        if (answer == OPERAND) {
            /* Never over a word that is still to be read: an operand moves to
             * the left or stays. */
            line->operands[line->operand_count++] = optarg;
        } else if (answer == '?' || answer == ':') {
            result = complain_answer(parser, answer, argv[word]);
        } else {
            result = apply(parser, answer, argv);
        }
        if (result != CLI_GO_ON) {
            return result;
        }
    }
    line->has_rest = optind > 1 && strcmp(argv[optind - 1], "--") == 0;
    line->rest = argv + optind;
    line->rest_count = argc - optind;
    return CLI_GO_ON;
}

int cli_globals_parse(int argc, char **argv, struct cli_context *ret_ctx,
                      int *ret_index)
{
    struct parser parser;
    struct cli_line line;

    memset(&line, 0, sizeof(line));
    parser_init(&parser, NULL, NULL, &line);
    int result = walk(&parser, argc, argv);
    if (result == CLI_GO_ON) {
        *ret_ctx = line.ctx;
        *ret_index = optind;
    }
    return result;
}

int cli_line_parse(const struct cli_command *command,
                   const struct cli_context *ctx, int argc, char **argv,
                   void *target, struct cli_line *ret_line)
{
    struct parser parser;

    memset(ret_line, 0, sizeof(*ret_line));
    ret_line->ctx = *ctx;
    parser_init(&parser, command, target, ret_line);
    int result = walk(&parser, argc, argv);
    if (result != CLI_GO_ON) {
        return result;
    }
    if (ret_line->ctx.help) {
        cli_help_command(command);
        return CLI_OK;
    }
    if (ret_line->ctx.servers > 1 && !command->takes_servers) {
        cli_complain("%s: several --server are for --quorum, of run, hold and "
                     "acquire; give one",
                     command->name);
        return CLI_USAGE;
    }
    return cli_context_settle(&ret_line->ctx);
}

const char *cli_line_word(const struct cli_line *line, int index)
{
    if (index < line->operand_count) {
        return line->operands[index];
    }
    index -= line->operand_count;
    return index < line->rest_count ? line->rest[index] : NULL;
}

int cli_line_expect(const struct cli_command *command,
                    const struct cli_line *line, int least, int most,
                    const char *what)
{
    int count = line->operand_count + line->rest_count;

    if (count < least) {
        cli_complain("%s: %s is missing; usage: holdfast %s %s", command->name,
                     what, command->name, command->usage);
        return CLI_USAGE;
    }
    if (count > most) {
        cli_complain("%s: '%.80s' is one word too many; usage: holdfast %s %s",
                     command->name, cli_line_word(line, most), command->name,
                     command->usage);
        return CLI_USAGE;
    }
    return CLI_GO_ON;
}

char **cli_line_words(const struct cli_line *line)
{
    size_t operands = (size_t)line->operand_count;
    size_t rest = (size_t)line->rest_count;
    char **words = calloc(operands + rest, sizeof(*words));

    if (words == NULL) {
        cli_complain("out of memory");
        return NULL;
    }
    memcpy(words, line->operands, operands * sizeof(*words));
    memcpy(words + operands, line->rest, rest * sizeof(*words));
    return words;
}
