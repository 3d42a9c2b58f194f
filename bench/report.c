/* SPDX-License-Identifier: MIT */
/* report.c - see report.h. */
#include "bench/report.h"

#include <stdint.h>
#include <stdio.h>

/* Numbers have three decimals: more is noise. */
#define DECIMALS 1000
#define PRECISION 12

static double rounded(double value)
{
    double half = value < 0 ? -0.5 : 0.5;

    return (double)(int64_t)(value * DECIMALS + half) / DECIMALS;
}

void bench_extra(struct bench_result *result, const char *name, double value)
{
    /* A field that does not fit in memory is missing, and that is seen. */
    (void)json_object_set_new(result->extras, name, json_real(rounded(value)));
}

static double ratio_of(const struct bench_result *result)
{
    return result->floor > 0 ? result->holdfast / result->floor : 0;
}

void report_machine(const struct machine *machine)
{
    printf("%ld cores, server %s, holdfast %s, medians of %d rounds\n\n"
           "%-11s %12s %12s %7s  %s\n",
           machine->cores, machine->server, hf_version(), machine->rounds,
           "case", "floor", "holdfast", "ratio", "unit");
}

static void print_extras(json_t *extras)
{
    const char *name;
    json_t *value;
    const char *before = "            ";

    json_object_foreach(extras, name, value)
    {
        printf("%s%s %.6g", before, name, json_real_value(value));
        before = ", ";
    }
    printf("\n");
}

void report_table(const struct bench_case *one,
                  const struct bench_result *result)
{
    const char *better = one->better == BENCH_LOWER ? "lower is better"
                                                    : "higher is better";

    if (result->has_floor) {
        printf("%-11s %12.1f %12.1f %7.2f  %s, %s\n", one->name, result->floor,
               result->holdfast, ratio_of(result), one->unit, better);
    } else {
        printf("%-11s %12s %12.1f %7s  %s, %s\n", one->name, "-",
               result->holdfast, "-", one->unit, better);
    }
    print_extras(result->extras);
    (void)fflush(stdout);
}

static json_t *real_or_null(bool has_value, double value)
{
    return has_value ? json_real(rounded(value)) : json_null();
}

bool report_json(const struct machine *machine, const struct bench_case *one,
                 const struct bench_result *result)
{
    const char *better = one->better == BENCH_LOWER ? "lower" : "higher";
    json_t *line = json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:s, s:i, s:i, s:s}", "case", one->name,
        "unit", one->unit, "floor",
        real_or_null(result->has_floor, result->floor), "holdfast",
        json_real(rounded(result->holdfast)), "ratio",
        real_or_null(result->has_floor, ratio_of(result)), "better", better,
        "rounds", machine->rounds, "cores", (int)machine->cores, "server",
        machine->server);
    bool ok = line != NULL && json_object_update(line, result->extras) == 0 &&
              json_dumpf(line, stdout,
                         JSON_COMPACT | JSON_REAL_PRECISION(PRECISION)) == 0;

    json_decref(line);
    if (ok) {
        printf("\n");
        (void)fflush(stdout);
    }
    return ok;
}
