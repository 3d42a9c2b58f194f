/* SPDX-License-Identifier: MIT */
/* draw.c - random requests; see draw.h.
 *
 * A request is drawn from a line: words in upper case are themselves, a small
 * letter is a word of a kind (draw_word() has them).
 */
#include "draw.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scripts_data.h"
#include "support/fatal.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define LONGEST_WORD 32

#define TTL_LEAST_MS 1000000
#define TTL_STEP_MS 10000 /* longer than a round takes */
#define TTL_STEPS 9973    /* a prime, so that slots come in no order */
#define TTL_STRIDE 6197

#define OWNER_1 "01234567-89ab-cdef-0123-456789abcdef:1"
#define OWNER_2 "01234567-89ab-cdef-0123-456789abcdef:2"
#define OWNER_3 "01234567-89ab-cdef-0123-456789abcdef:3"
#define PREFIX "redisson_lock__channel"

/* A listpack's texts are short, and so have an order in Redis too. */
static const char *const keys[] = {"a", "b", "c", "d"};
static const char *const locks[] = {"lock:1", "lock{2}"};
static const char *const owners[] = {OWNER_1, OWNER_2, OWNER_3};
static const char *const writers[] = {OWNER_1 ":write", OWNER_2 ":write"};
#define HOLDS "{h}:" /* how the hold keys of readers begin */
#define HOLD_OF(owner) HOLDS owner ":rwlock_timeout:1"
static const char *const holds[] = {HOLD_OF(OWNER_1), HOLD_OF(OWNER_2),
                                    HOLD_OF(OWNER_3)};
static const char *const fields[] = {"f1", "f2", "f3", "m", OWNER_1};
static const char *const values[] = {
    "",    "0",   "1",     "10",    "-5", "x", "9223372036854775807",
    "1.5", "007", "v\r\n", "value", " 1"};
static const char *const integers[] = {"0", "1", "2", "3", "-1", "-2", "5"};
static const char *const scores[] = {"0",   "1",    "2.5", "-1", "inf",
                                     "0.1", "-inf", "1e3", "2"};
static const char *const bounds[] = {"-inf", "+inf", "0",    "(1",
                                     "2",    "(2.5", "1000", "(0"};
#define CHANNEL_1 PREFIX ":{lock:1}"
#define CHANNEL_2 PREFIX ":lock{2}"
static const char *const channels[] = {CHANNEL_1, CHANNEL_2, "news"};
static const char *const patterns[] = {"*",   "lock*", "[ab]", "?",
                                       "\\a", "[^a]",  "*:*",  "news"};
static const char *const counts[] = {"1", "2", "3"};
static const char *const wrong[] = {"",
                                    "x",
                                    "-1",
                                    "0",
                                    "1.5",
                                    " 1",
                                    "01",
                                    "nan",
                                    "(1",
                                    "1e3",
                                    "9223372036854775807",
                                    "9223372036854775808",
                                    "-9223372036854775808",
                                    "WITHSCORES",
                                    "NX"};

struct line {
    const char *line;
    enum sim_manner manner;
};

static const struct line commands[] = {
    {"PING", SIM_EXACT},
    {"TIME", SIM_IS_TIME},
    {"DEL k", SIM_EXACT},
    {"DEL k k", SIM_EXACT},
    {"UNLINK k k", SIM_EXACT},
    {"EXISTS k k k", SIM_EXACT},
    {"TYPE k", SIM_EXACT},
    {"DBSIZE", SIM_EXACT},
    {"KEYS p", SIM_ANY_ORDER},
    {"TTL k", SIM_NUMBER_IS_SECONDS},
    {"PTTL k", SIM_NUMBERS_ARE_TIMES},
    {"PTTL l", SIM_NUMBERS_ARE_TIMES},
    {"PEXPIRE k t", SIM_EXACT},
    {"PEXPIRE l t", SIM_EXACT},
    {"PEXPIRE k t NX", SIM_EXACT},
    {"PEXPIRE k t XX", SIM_EXACT},
    {"PEXPIRE k t GT", SIM_EXACT},
    {"PEXPIRE k t LT", SIM_EXACT},
    {"PEXPIRE k t XX LT", SIM_EXACT},
    {"PEXPIRE k 0", SIM_EXACT},
    {"PEXPIRETIME k", SIM_NUMBERS_ARE_TIMES},
    {"EXPIRE k u", SIM_EXACT},
    {"PERSIST k", SIM_EXACT},
    {"GET k", SIM_EXACT},
    {"GETDEL k", SIM_EXACT},
    {"MGET k k k", SIM_EXACT},
    {"STRLEN k", SIM_EXACT},
    {"SETNX k v", SIM_EXACT},
    {"SET k v", SIM_EXACT},
    {"SET k v PX t", SIM_EXACT},
    {"SET k v EX u", SIM_EXACT},
    {"SET k v NX", SIM_EXACT},
    {"SET k v NX PX t", SIM_EXACT},
    {"SET k v XX", SIM_EXACT},
    {"SET k v KEEPTTL", SIM_EXACT},
    {"SET k v GET", SIM_EXACT},
    {"INCR k", SIM_EXACT},
    {"DECR k", SIM_EXACT},
    {"INCRBY k i", SIM_EXACT},
    {"DECRBY k i", SIM_EXACT},
    {"HSET k f v", SIM_EXACT},
    {"HSET k f v f v", SIM_EXACT},
    {"HSET l o c", SIM_EXACT},
    {"HGET k f", SIM_EXACT},
    {"HMGET k f f", SIM_EXACT},
    {"HSETNX k f v", SIM_EXACT},
    {"HVALS k", SIM_EXACT},
    {"HDEL k f", SIM_EXACT},
    {"HDEL k f f", SIM_EXACT},
    {"HEXISTS k f", SIM_EXACT},
    {"HGETALL k", SIM_EXACT},
    {"HGETALL l", SIM_EXACT},
    {"HKEYS k", SIM_EXACT},
    {"HLEN k", SIM_EXACT},
    {"HINCRBY k f i", SIM_EXACT},
    {"HINCRBY k f v", SIM_EXACT},
    {"HSCAN k 0", SIM_EXACT},
    {"HSCAN k 0 MATCH p COUNT c", SIM_EXACT},
    {"LPUSH k v", SIM_EXACT},
    {"LPUSH k v v", SIM_EXACT},
    {"RPUSH k v v", SIM_EXACT},
    {"RPUSH k c c c c", SIM_EXACT},
    {"LPOP k", SIM_EXACT},
    {"RPOP k", SIM_EXACT},
    {"LPOP k i", SIM_EXACT},
    {"RPOP k c", SIM_EXACT},
    {"LINDEX k i", SIM_EXACT},
    {"LLEN k", SIM_EXACT},
    {"LRANGE k i i", SIM_EXACT},
    {"LREM k i v", SIM_EXACT},
    {"LREM k i c", SIM_EXACT},
    {"LSET k i v", SIM_EXACT},
    {"LTRIM k i i", SIM_EXACT},
    {"ZADD k s f", SIM_EXACT},
    {"ZADD k s f s f s f", SIM_EXACT},
    {"ZADD k NX s f", SIM_EXACT},
    {"ZADD k XX CH s f s f", SIM_EXACT},
    {"ZADD k GT CH s f", SIM_EXACT},
    {"ZADD k LT s f", SIM_EXACT},
    {"ZADD k INCR s f", SIM_EXACT},
    {"ZADD k NX INCR s f", SIM_EXACT},
    {"ZREM k f", SIM_EXACT},
    {"ZREM k f f", SIM_EXACT},
    {"ZSCORE k f", SIM_EXACT},
    {"ZMSCORE k f f", SIM_EXACT},
    {"ZRANK k f", SIM_EXACT},
    {"ZPOPMIN k", SIM_EXACT},
    {"ZPOPMIN k i", SIM_EXACT},
    {"ZREMRANGEBYRANK k i i", SIM_EXACT},
    {"ZREMRANGEBYSCORE k b b", SIM_EXACT},
    {"ZINCRBY k s f", SIM_EXACT},
    {"ZRANGE k i i", SIM_EXACT},
    {"ZRANGE k 0 -1 WITHSCORES", SIM_EXACT},
    {"ZRANGE k i i REV", SIM_EXACT},
    {"ZRANGE k b b BYSCORE LIMIT i i", SIM_EXACT},
    {"ZRANGE k b b BYSCORE REV WITHSCORES", SIM_EXACT},
    {"ZRANGE k i i LIMIT i i", SIM_EXACT},
    {"ZREVRANGE k i i WITHSCORES", SIM_EXACT},
    {"ZRANGEBYSCORE k b b", SIM_EXACT},
    {"ZRANGEBYSCORE k b b WITHSCORES", SIM_EXACT},
    {"ZRANGEBYSCORE k b b LIMIT i i", SIM_EXACT},
    {"ZREVRANGEBYSCORE k b b LIMIT i i", SIM_EXACT},
    {"ZCARD k", SIM_EXACT},
    {"ZCOUNT k b b", SIM_EXACT},
    {"PUBLISH n v", SIM_EXACT},
    {"PUBSUB NUMSUB n n", SIM_EXACT},
    {"PUBSUB CHANNELS", SIM_ANY_ORDER},
    {"PUBSUB CHANNELS p", SIM_ANY_ORDER},
    {"SELECT 0", SIM_EXACT},
    {"SELECT 0", SIM_EXACT},
    {"SELECT 1", SIM_EXACT},
    {"COMMAND INFO DELIFEQ DELEX", SIM_EXACT},
    {"CLIENT SETNAME f", SIM_EXACT},
    {"CLIENT GETNAME", SIM_EXACT},
    {"SCRIPT EXISTS x x", SIM_EXACT},
};

/* A script is called with keys, "|", arguments; those of a group are repeated
 * for each item. */
struct script_line {
    const char *name;
    const char *keys;
    const char *args;
    enum sim_manner manner;
};

static const struct script_line scripts[] = {
    {"count_fence", "k k", "a t", SIM_NUMBERS_ARE_TIMES},
    {"latch_change", "k k k", "set c a t n o", SIM_NUMBERS_ARE_TIMES},
    {"latch_change", "k k k k", "down c a t n o", SIM_NUMBERS_ARE_TIMES},
    {"latch_change", "k k k", "delete c a t n o", SIM_NUMBERS_ARE_TIMES},
    {"latch_look", "k k", "n", SIM_NUMBERS_ARE_TIMES},
    {"fair_acquire", "l QUEUE SCORES ALIVE WAITS MEMBERS SCRATCH",
     "o t a n q t", SIM_NUMBERS_ARE_TIMES},
    {"fair_force", "l QUEUE SCORES ALIVE WAITS MEMBERS SCRATCH", "o a n",
     SIM_NUMBERS_ARE_TIMES},
    {"fair_release", "l QUEUE SCORES ALIVE WAITS MEMBERS SCRATCH", "o n",
     SIM_NUMBERS_ARE_TIMES},
    {"fair_release_later", "l QUEUE SCORES ALIVE WAITS MEMBERS SCRATCH",
     "o n o t", SIM_NUMBERS_ARE_TIMES},
    {"fair_show", "l QUEUE SCORES ALIVE WAITS MEMBERS SCRATCH", "c",
     SIM_NUMBERS_ARE_TIMES},
    {"fair_undo", "l QUEUE SCORES ALIVE WAITS MEMBERS SCRATCH", "o n",
     SIM_NUMBERS_ARE_TIMES},
    {"lock_acquire", "l", "o t a", SIM_NUMBERS_ARE_TIMES},
    {"lock_acquire_fenced", "l k", "o t a 0 e", SIM_NUMBERS_ARE_TIMES},
    {"lock_adopt_fenced", "l k", "o c e 0 e", SIM_NUMBERS_ARE_TIMES},
    {"lock_enter_counting", "l k", "o c e 0 e", SIM_NUMBERS_ARE_TIMES},
    {"lock_force", "l", "o a n", SIM_NUMBERS_ARE_TIMES},
    {"lock_keep", "l", "o c e", SIM_NUMBERS_ARE_TIMES},
    {"lock_keep_group", "l", "o c e", SIM_NUMBERS_ARE_TIMES},
    {"lock_release", "l", "o n", SIM_NUMBERS_ARE_TIMES},
    {"lock_release_later", "l", "o n o t", SIM_NUMBERS_ARE_TIMES},
    {"lock_scan", "", "0 p z", SIM_LOCKS_ANY_ORDER},
    {"lock_show", "l", "n", SIM_NUMBERS_ARE_TIMES},
    {"lock_show_fenced", "l k", "n", SIM_NUMBERS_ARE_TIMES},
    {"lock_undo", "l", "o n", SIM_NUMBERS_ARE_TIMES},
    {"read_acquire", "l h", "o t a w", SIM_NUMBERS_ARE_TIMES},
    {"read_acquire", "l h k", "o t a w", SIM_NUMBERS_ARE_TIMES},
    {"read_keep", "l h", "o c e", SIM_NUMBERS_ARE_TIMES},
    {"read_keep_group", "l h", "o c e", SIM_NUMBERS_ARE_TIMES},
    {"rw_force", "l", "o a n 0 v", SIM_NUMBERS_ARE_TIMES},
    {"rw_force", "l", "w a n 1 v", SIM_NUMBERS_ARE_TIMES},
    {"rw_release", "l h", "o n 0 " HOLDS " release", SIM_NUMBERS_ARE_TIMES},
    {"rw_release", "l h", "o n 0 " HOLDS " undo", SIM_NUMBERS_ARE_TIMES},
    {"rw_release", "l h h", "o n 0 " HOLDS " release o t",
     SIM_NUMBERS_ARE_TIMES},
    {"rw_release", "l", "w n 1 " HOLDS " release", SIM_NUMBERS_ARE_TIMES},
    {"rw_release", "l k", "w n 1 " HOLDS " undo", SIM_NUMBERS_ARE_TIMES},
    {"rw_release", "l", "w n 1 " HOLDS " release w t", SIM_NUMBERS_ARE_TIMES},
    {"rw_show", "l", "n read", SIM_NUMBERS_ARE_TIMES},
    {"rw_show", "l", "n write", SIM_NUMBERS_ARE_TIMES},
    {"together_acquire", "l l", "t a lock o - 0 lock o - 0",
     SIM_NUMBERS_ARE_TIMES},
    {"together_acquire", "l k k", "t a lock o 0 e token o - 0",
     SIM_NUMBERS_ARE_TIMES},
    {"together_acquire", "l l k", "t a write w - 0 lock o 0 e",
     SIM_NUMBERS_ARE_TIMES},
    {"together_acquire", "k l k k k", "t a token o 0 e write w 0 e lock o - 0",
     SIM_NUMBERS_ARE_TIMES},
    {"token_acquire", "k", "o t a", SIM_NUMBERS_ARE_TIMES},
    {"token_acquire_fenced", "k k", "o t a 0 e", SIM_NUMBERS_ARE_TIMES},
    {"token_adopt_fenced", "k k", "o c e 0 e", SIM_NUMBERS_ARE_TIMES},
    {"token_force", "k", "o a n", SIM_NUMBERS_ARE_TIMES},
    {"token_keep", "k", "o c e", SIM_NUMBERS_ARE_TIMES},
    {"token_keep_group", "k", "o c e", SIM_NUMBERS_ARE_TIMES},
    {"token_release", "k", "o n", SIM_NUMBERS_ARE_TIMES},
    {"token_release_group", "k", "o n", SIM_NUMBERS_ARE_TIMES},
    {"token_release_later", "k", "o n o t", SIM_NUMBERS_ARE_TIMES},
    {"token_show", "k", "n", SIM_NUMBERS_ARE_TIMES},
    {"token_show_fenced", "k k", "n", SIM_NUMBERS_ARE_TIMES},
    {"token_undo", "k", "o n", SIM_NUMBERS_ARE_TIMES},
    {"permits_acquire", "k k", "o t a n 1", SIM_NUMBERS_ARE_TIMES},
    {"permits_acquire", "k k", OWNER_1 OWNER_2 " t a n 2",
     SIM_NUMBERS_ARE_TIMES},
    {"permits_lease", "k k", "o t a", SIM_NUMBERS_ARE_TIMES},
    {"permits_keep", "k", "o c e", SIM_NUMBERS_ARE_TIMES},
    {"permits_keep_group", "k", "o c e", SIM_NUMBERS_ARE_TIMES},
    {"permits_release", "k k", "o n release", SIM_NUMBERS_ARE_TIMES},
    {"permits_release", "k k", "o n undo", SIM_NUMBERS_ARE_TIMES},
    {"permits_show", "k k", "n o", SIM_NUMBERS_ARE_TIMES},
    {"permits_change", "k k k", "set c a t n t o", SIM_NUMBERS_ARE_TIMES},
    {"permits_change", "k k k", "set c a t n 0 o", SIM_NUMBERS_ARE_TIMES},
    {"permits_change", "k k k", "total c a t n 0 o", SIM_NUMBERS_ARE_TIMES},
    {"permits_change", "k k k k", "add i a t n 0 o", SIM_NUMBERS_ARE_TIMES},
    {"permits_change", "k k k", "delete 0 a t n 0 o", SIM_NUMBERS_ARE_TIMES},
    {"permits_change", "k k k", "free 1 a t n 0 o", SIM_NUMBERS_ARE_TIMES},
    {"permits_change", "k k k", "free 2 a t n 0 " OWNER_1 OWNER_3,
     SIM_NUMBERS_ARE_TIMES},
    {"permits_change", "k k k", "lease 1 a t n t o", SIM_NUMBERS_ARE_TIMES},
    {"permits_change", "k k k k", "extend 1 a t n t o", SIM_NUMBERS_ARE_TIMES},
    {"semaphore_change", "k k", "release c a t n 0", SIM_NUMBERS_ARE_TIMES},
    {"semaphore_change", "k k k", "return c a t n 0", SIM_NUMBERS_ARE_TIMES},
    {"semaphore_change", "k k", "set c a t n t", SIM_NUMBERS_ARE_TIMES},
    {"semaphore_change", "k k", "add i a t n 0", SIM_NUMBERS_ARE_TIMES},
    {"semaphore_change", "k k", "drain 0 a t n 0", SIM_NUMBERS_ARE_TIMES},
    {"semaphore_change", "k k k", "delete 0 a t n 0", SIM_NUMBERS_ARE_TIMES},
    {"semaphore_show", "k", "n", SIM_NUMBERS_ARE_TIMES},
    {"semaphore_take", "k k", "c a t", SIM_NUMBERS_ARE_TIMES},
    {"semaphore_take", "k k k k", "c a t", SIM_NUMBERS_ARE_TIMES},
    {"semaphore_undo", "k k", "c a t n", SIM_NUMBERS_ARE_TIMES},
    {"server_time", "l", "", SIM_NUMBERS_ARE_TIMES},
    {"write_acquire", "l", "w t a", SIM_NUMBERS_ARE_TIMES},
    {"write_acquire", "l k", "w t a e", SIM_NUMBERS_ARE_TIMES},
    {"write_acquire_fenced", "l k", "w t a 0 e", SIM_NUMBERS_ARE_TIMES},
    {"write_acquire_fenced", "l k k", "w t a 0 e t", SIM_NUMBERS_ARE_TIMES},
    {"write_keep", "l", "w c e", SIM_NUMBERS_ARE_TIMES},
    {"write_keep_group", "l", "w c e", SIM_NUMBERS_ARE_TIMES},
    {"values_acquire", "VALUES", "o t a AAAAAAAAAAAAAAAAAAAAAA",
     SIM_NUMBERS_ARE_TIMES},
    {"values_acquire", "VALUES",
     "o t a AAAAAAAAAAAAAAAAAAAAAABBBBBBBBBBBBBBBBBBBBBB",
     SIM_NUMBERS_ARE_TIMES},
    {"values_force", "VALUES", "o a n BBBBBBBBBBBBBBBBBBBBBB",
     SIM_NUMBERS_ARE_TIMES},
    {"values_keep", "VALUES",
     "o c e AAAAAAAAAAAAAAAAAAAAAABBBBBBBBBBBBBBBBBBBBBB",
     SIM_NUMBERS_ARE_TIMES},
    {"values_keep", "VALUES", "o c e AAAAAAAAAAAAAAAAAAAAAA adopt",
     SIM_NUMBERS_ARE_TIMES},
    {"values_keep_group", "VALUES", "o c e AAAAAAAAAAAAAAAAAAAAAA",
     SIM_NUMBERS_ARE_TIMES},
    {"values_release", "VALUES",
     "o n AAAAAAAAAAAAAAAAAAAAAABBBBBBBBBBBBBBBBBBBBBB release",
     SIM_NUMBERS_ARE_TIMES},
    {"values_release", "VALUES", "o n BBBBBBBBBBBBBBBBBBBBBB undo",
     SIM_NUMBERS_ARE_TIMES},
    {"values_show", "VALUES", "n AAAAAAAAAAAAAAAAAAAAAABBBBBBBBBBBBBBBBBBBBBB",
     SIM_NUMBERS_ARE_TIMES},
};

void sim_draw_begin(struct sim_draw *draw, uint64_t seed)
{
    draw->random = (struct hft_random){seed};
    draw->ttls = hft_random_below(&draw->random, TTL_STEPS);
}

bool sim_draw_chance(struct sim_draw *draw, unsigned one_in)
{
    return hft_random_below(&draw->random, one_in) == 0;
}

#define ONE_OF(draw, array) one_of(draw, array, COUNT_OF(array))

static const char *one_of(struct sim_draw *draw, const char *const *array,
                          size_t count)
{
    return array[hft_random_below(&draw->random, count)];
}

const char *sim_draw_key(struct sim_draw *draw)
{
    return sim_draw_chance(draw, 5) ? ONE_OF(draw, locks) : ONE_OF(draw, keys);
}

static const char *write_number(struct sim_draw *draw, int64_t number)
{
    char *text = draw->texts[draw->text_count++ % SIM_PAIR_WORDS];

    (void)snprintf(text, LONGEST_WORD, "%" PRId64, number);
    return text;
}

/* None is drawn twice in a round of less than TTL_STEPS. */
static int64_t draw_ttl_ms(struct sim_draw *draw)
{
    uint64_t slot = draw->ttls++ * TTL_STRIDE % TTL_STEPS;

    return TTL_LEAST_MS + (int64_t)slot * TTL_STEP_MS;
}

static const char *draw_script_sha1(struct sim_draw *draw)
{
    return hfi_scripts[hft_random_below(&draw->random, HFI_SCRIPT_COUNT)].sha1;
}

/* A not_after: ahead, or past. */
static const char *draw_not_after(struct sim_draw *draw)
{
    int64_t distance_ms = sim_draw_chance(draw, 4) ? -1000000 : 1000000;

    return write_number(draw, draw->now_ms + distance_ms);
}

static const char *draw_word(struct sim_draw *draw, char kind)
{
    switch (kind) {
    case 'a':
        return draw_not_after(draw);
    case 'b':
        return ONE_OF(draw, bounds);
    case 'c':
        return ONE_OF(draw, counts);
    case 'e': /* a lease, or none */
        return sim_draw_chance(draw, 4) ? "0"
                                        : write_number(draw, draw_ttl_ms(draw));
    case 'f':
        return ONE_OF(draw, fields);
    case 'h':
        return ONE_OF(draw, holds);
    case 'i':
        return ONE_OF(draw, integers);
    case 'k':
        return sim_draw_key(draw);
    case 'l':
        return sim_draw_chance(draw, 8) ? ONE_OF(draw, keys)
                                        : ONE_OF(draw, locks);
    case 'n':
        return ONE_OF(draw, channels);
    case 'o':
        return ONE_OF(draw, owners);
    case 'p':
        return ONE_OF(draw, patterns);
    case 's':
        return ONE_OF(draw, scores);
    case 't':
        return write_number(draw, draw_ttl_ms(draw));
    case 'u':
        return write_number(draw, draw_ttl_ms(draw) / 1000);
    case 'v':
        return ONE_OF(draw, values);
    case 'w':
        return ONE_OF(draw, writers);
    case 'q': /* a wait in a queue, or none */
        return sim_draw_chance(draw, 4) ? "0"
                                        : write_number(draw, draw_ttl_ms(draw));
    case 'x':
        return draw_script_sha1(draw);
    case 'z':
        return PREFIX;
    default:
        hft_die("no such kind of word: %c", kind);
    }
}

static bool is_kind(struct hft_piece word)
{
    return word.length == 1 && word.data[0] >= 'a' && word.data[0] <= 'z';
}

static void draw_line(struct sim_draw *draw, const char *line,
                      struct sim_request *request)
{
    size_t first = request->count;

    sim_request_add_line(request, line);
    for (size_t i = first; i < request->count; i++) {
        struct hft_piece *word = &request->words[i];

        if (is_kind(*word)) {
            word->data = draw_word(draw, word->data[0]);
            word->length = strlen(word->data);
        }
    }
}

/* ---- scripts ---- */

static const struct hfi_script *find_script(const char *name)
{
    for (size_t i = 0; i < HFI_SCRIPT_COUNT; i++) {
        if (strcmp(hfi_scripts[i].name, name) == 0) {
            return &hfi_scripts[i];
        }
    }
    hft_die("no script is called %s", name);
}

const char *sim_draw_unknown_script(void)
{
    for (size_t i = 0; i < HFI_SCRIPT_COUNT; i++) {
        bool known = false;

        for (size_t n = 0; n < COUNT_OF(scripts); n++) {
            known = known || strcmp(scripts[n].name, hfi_scripts[i].name) == 0;
        }
        if (!known) {
            return hfi_scripts[i].name;
        }
    }
    return NULL;
}

static void add_script(struct sim_draw *draw, const struct hfi_script *script,
                       struct sim_request *request)
{
    if (sim_draw_chance(draw, 20)) {
        sim_request_add_text(request, "EVAL");
        sim_request_add(request,
                        (struct hft_piece){script->text, script->len_bytes});
    } else {
        sim_request_add_text(request, "EVALSHA");
        sim_request_add_text(request, script->sha1);
    }
}

static enum sim_manner draw_script(struct sim_draw *draw,
                                   struct sim_request *request)
{
    const struct script_line *line =
        &scripts[hft_random_below(&draw->random, COUNT_OF(scripts))];
    bool is_group = strstr(line->name, "_group") != NULL;
    uint64_t items = is_group ? 1 + hft_random_below(&draw->random, 4) : 1;
    size_t count_at;

    add_script(draw, find_script(line->name), request);
    count_at = request->count;
    sim_request_add_text(request, "");
    for (uint64_t i = 0; i < items; i++) {
        draw_line(draw, line->keys, request);
    }
    request->words[count_at].data = write_number(
        draw, (int64_t)(request->count - count_at - 1));
    request->words[count_at].length = strlen(request->words[count_at].data);
    for (uint64_t i = 0; i < items; i++) {
        draw_line(draw, line->args, request);
    }
    return line->manner;
}

/* SCRIPT LOAD of one of ours, or (seldom) SCRIPT FLUSH. */
static enum sim_manner draw_cache(struct sim_draw *draw,
                                  struct sim_request *request)
{
    const struct hfi_script *script =
        &hfi_scripts[hft_random_below(&draw->random, HFI_SCRIPT_COUNT)];

    if (sim_draw_chance(draw, 30)) {
        sim_request_add_line(request, "SCRIPT FLUSH");
    } else {
        sim_request_add_line(request, "SCRIPT LOAD");
        sim_request_add(request,
                        (struct hft_piece){script->text, script->len_bytes});
    }
    return SIM_EXACT;
}

/* ---- mistakes ---- */

static struct hft_piece draw_wrong(struct sim_draw *draw)
{
    const char *word = ONE_OF(draw, wrong);

    return (struct hft_piece){word, strlen(word)};
}

/* Spoil a word behind the command's, leave the last one out, or add one. */
static void make_mistake(struct sim_draw *draw, struct sim_request *request)
{
    uint64_t at = hft_random_below(&draw->random, request->count);

    switch (hft_random_below(&draw->random, 4)) {
    case 0:
        request->count -= request->count > 1 ? 1 : 0;
        break;
    case 1:
        sim_request_add(request, draw_wrong(draw));
        break;
    default:
        if (at > 0) {
            request->words[at] = draw_wrong(draw);
        }
        break;
    }
}

enum sim_manner sim_draw_request(struct sim_draw *draw,
                                 struct sim_request *ret_request)
{
    uint64_t dice = hft_random_below(&draw->random, 100);
    enum sim_manner manner;

    ret_request->count = 0;
    draw->now_ms = sim_pair_now_ms();
    if (dice < 4) {
        return draw_cache(draw, ret_request);
    }
    if (dice < 50) {
        manner = draw_script(draw, ret_request);
    } else {
        const struct line *line =
            &commands[hft_random_below(&draw->random, COUNT_OF(commands))];

        manner = line->manner;
        draw_line(draw, line->line, ret_request);
    }
    /* A cursor that nobody was given means another place to each server. */
    if (manner != SIM_LOCKS_ANY_ORDER && sim_draw_chance(draw, 15)) {
        make_mistake(draw, ret_request);
    }
    return manner;
}

void sim_draw_listening(struct sim_draw *draw, struct sim_request *ret_request)
{
    static const char *const lines[] = {
        "SUBSCRIBE n", "SUBSCRIBE n n", "UNSUBSCRIBE n",
        "PING",        "PING v",        "GET k",
    };

    ret_request->count = 0;
    draw_line(draw, ONE_OF(draw, lines), ret_request);
}
