/* SPDX-License-Identifier: MIT */
/* cmd_bench.c - measure holdfast on this machine; the work is in bench/.
 *
 * A server is only measured if --server names it: HOLDFAST_URL is where a
 * machine's locks live, and no place for a benchmark to go by accident.
 */
#include "command.h"
#include "exit_status.h"

#include "bench/command.h"

struct bench_line {
    int rounds;
    int quick;
};

static const struct cli_option options[] = {
    {"rounds", 0, "N", "rounds of each case, of which the median counts",
     cli_set_number, offsetof(struct bench_line, rounds), NULL},
    {"quick", 0, NULL, "a short run, to see that everything works",
     cli_set_flag, offsetof(struct bench_line, quick), NULL},
    CLI_OPTIONS_END,
};

static int run(const struct cli_context *ctx, int argc, char **argv)
{
    struct bench_line o = {0};
    struct cli_line line;
    int result = cli_line_parse(&cli_cmd_bench, ctx, argc, argv, &o, &line);

    if (result == CLI_GO_ON) {
        result = cli_line_expect(&cli_cmd_bench, &line, 0, argc, "CASE");
    }
    if (result != CLI_GO_ON) {
        return result;
    }
    struct bench_options bench = {
        .url = line.ctx.servers > 0 ? line.ctx.url : NULL,
        .password = line.ctx.password,
        .rounds = o.rounds,
        .quick = o.quick != 0,
        .json = line.ctx.json != 0,
        .cases = line.has_rest ? line.rest : line.operands,
        .case_count = line.has_rest ? line.rest_count : line.operand_count,
    };
    return bench_run(&bench);
}

const struct cli_command cli_cmd_bench = {
    .name = "bench",
    .usage = "[options] [CASE...]",
    .summary = "measure holdfast beside bare hiredis, on this machine",
    .options = options,
    .function = run,
};
