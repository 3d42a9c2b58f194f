/* SPDX-License-Identifier: MIT */
/* cmd_list.c - lists. */
#include "commands.h"

static void push(struct sim_call *call, bool at_head)
{
    struct sim_key *key;

    if (!sim_arg_key_made(call, 1, SIM_LIST, &key)) {
        return;
    }
    for (size_t i = 2; i < call->count; i++) {
        sim_value_insert(
            &key->value, at_head ? 0 : key->value.count,
            (struct sim_row){.value = sim_text_copy(call->args[i])});
    }
    sim_reply_integer(call, (int64_t)key->value.count);
}

void sim_cmd_lpush(struct sim_call *call)
{
    push(call, true);
}

void sim_cmd_rpush(struct sim_call *call)
{
    push(call, false);
}

static void pop_one(struct sim_call *call, struct sim_key *key, bool at_head)
{
    size_t at = at_head ? 0 : key->value.count - 1;

    sim_reply_text(call, key->value.rows[at].value);
    sim_value_remove(&key->value, at);
}

static void pop_many(struct sim_call *call, struct sim_key *key, int64_t count,
                     bool at_head)
{
    if (count > (int64_t)key->value.count) {
        count = (int64_t)key->value.count;
    }
    sim_reply_array(call, (size_t)count);
    if (count > 0) {
        sim_key_touch(call->db, key);
    }
    while (count-- > 0) {
        pop_one(call, key, at_head);
    }
}

static bool read_pop_count(struct sim_call *call, int64_t *ret_count)
{
    if (sim_read_integer(call->args[2], ret_count) && *ret_count >= 0) {
        return true;
    }
    sim_reply_error(call, "ERR value is out of range, must be positive");
    return false;
}

static void pop(struct sim_call *call, bool at_head)
{
    bool has_count = call->count == 3;
    int64_t count = 1;
    struct sim_key *key;

    if (call->count > 3) {
        sim_reply_error(call, "ERR wrong number of arguments for '%s' command",
                        call->command->name);
        return;
    }
    if ((has_count && !read_pop_count(call, &count)) ||
        !sim_arg_key(call, 1, SIM_LIST, &key)) {
        return;
    }
    if (key == NULL) {
        if (has_count) {
            sim_reply_nil_array(call);
        } else {
            sim_reply_nil(call);
        }
        return;
    }
    if (has_count) {
        pop_many(call, key, count, at_head);
    } else {
        sim_key_touch(call->db, key);
        pop_one(call, key, at_head);
    }
    sim_key_tidy(call->db, key);
}

void sim_cmd_lpop(struct sim_call *call)
{
    pop(call, true);
}

void sim_cmd_rpop(struct sim_call *call)
{
    pop(call, false);
}

void sim_cmd_llen(struct sim_call *call)
{
    struct sim_key *key;

    if (sim_arg_key(call, 1, SIM_LIST, &key)) {
        sim_reply_integer(call, key == NULL ? 0 : (int64_t)key->value.count);
    }
}

void sim_cmd_lindex(struct sim_call *call)
{
    struct sim_key *key;
    int64_t index;

    if (!sim_arg_key(call, 1, SIM_LIST, &key)) {
        return;
    }
    if (key == NULL) {
        sim_reply_nil(call);
        return;
    }
    if (!sim_arg_integer(call, 2, &index)) {
        return;
    }
    if (index < 0) {
        index += (int64_t)key->value.count;
    }
    if (index < 0 || index >= (int64_t)key->value.count) {
        sim_reply_nil(call);
    } else {
        sim_reply_text(call, key->value.rows[index].value);
    }
}

void sim_cmd_lrange(struct sim_call *call)
{
    struct sim_key *key;
    int64_t start;
    int64_t stop;
    size_t first;
    size_t past;

    if (!sim_arg_integer(call, 2, &start) || !sim_arg_integer(call, 3, &stop) ||
        !sim_arg_key(call, 1, SIM_LIST, &key)) {
        return;
    }
    if (key == NULL) {
        sim_reply_array(call, 0);
        return;
    }
    sim_range(start, stop, key->value.count, &first, &past);
    sim_reply_array(call, past - first);
    for (size_t i = first; i < past; i++) {
        sim_reply_text(call, key->value.rows[i].value);
    }
}

/* Remove what equals the third word: `most` of them (0: all), from the tail if
 * that is negative. */
static int64_t remove_equal(struct sim_call *call, struct sim_key *key,
                            int64_t most)
{
    struct sim_value *value = &key->value;
    size_t at = most < 0 ? value->count : 0;
    int64_t removed = 0;

    while (most < 0 ? at > 0 : at < value->count) {
        size_t here = most < 0 ? at - 1 : at;

        if (sim_same(value->rows[here].value, call->args[3])) {
            sim_key_touch(call->db, key);
            sim_value_remove(value, here);
            removed++;
            at = here;
        } else {
            at = most < 0 ? here : here + 1;
        }
        if (most != 0 && (removed == most || removed == -most)) {
            break;
        }
    }
    return removed;
}

void sim_cmd_lrem(struct sim_call *call)
{
    struct sim_key *key;
    int64_t most;
    int64_t removed = 0;

    if (!sim_arg_integer(call, 2, &most) ||
        !sim_arg_key(call, 1, SIM_LIST, &key)) {
        return;
    }
    if (key != NULL) {
        removed = remove_equal(call, key, most);
    }
    if (removed > 0) {
        sim_key_tidy(call->db, key);
    }
    sim_reply_integer(call, removed);
}

void sim_cmd_lset(struct sim_call *call)
{
    struct sim_key *key;
    int64_t index;

    if (!sim_arg_key(call, 1, SIM_LIST, &key)) {
        return;
    }
    if (key == NULL) {
        sim_reply_error(call, "ERR no such key");
        return;
    }
    if (!sim_arg_integer(call, 2, &index)) {
        return;
    }
    if (index < 0) {
        index += (int64_t)key->value.count;
    }
    if (index < 0 || index >= (int64_t)key->value.count) {
        sim_reply_error(call, "ERR index out of range");
        return;
    }
    sim_key_touch(call->db, key);
    sim_value_set_text(&key->value, (size_t)index,
                       sim_text_copy(call->args[3]));
    sim_reply_status(call, "OK");
}

void sim_cmd_ltrim(struct sim_call *call)
{
    struct sim_key *key;
    int64_t start;
    int64_t stop;
    size_t first;
    size_t past;

    if (!sim_arg_integer(call, 2, &start) || !sim_arg_integer(call, 3, &stop) ||
        !sim_arg_key(call, 1, SIM_LIST, &key)) {
        return;
    }
    if (key != NULL) {
        sim_range(start, stop, key->value.count, &first, &past);
        sim_key_touch(call->db, key);
        while (key->value.count > past) {
            sim_value_remove(&key->value, key->value.count - 1);
        }
        while (first-- > 0 && key->value.count > 0) {
            sim_value_remove(&key->value, 0);
        }
        sim_key_tidy(call->db, key);
    }
    sim_reply_status(call, "OK");
}
