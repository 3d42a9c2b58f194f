/* SPDX-License-Identifier: MIT */
/* commands.h - the commands, one file for each type of data.
 */
#ifndef SIM_COMMANDS_H
#define SIM_COMMANDS_H

#include "call.h"

/* cmd_server.c: connections, time, whole databases */
void sim_cmd_auth(struct sim_call *call);
void sim_cmd_client_getname(struct sim_call *call);
void sim_cmd_client_setname(struct sim_call *call);
void sim_cmd_command_info(struct sim_call *call);
void sim_cmd_dbsize(struct sim_call *call);
void sim_cmd_flushall(struct sim_call *call);
void sim_cmd_flushdb(struct sim_call *call);
void sim_cmd_ping(struct sim_call *call);
void sim_cmd_select(struct sim_call *call);
void sim_cmd_time(struct sim_call *call);

/* cmd_key.c: keys of any type */
void sim_cmd_del(struct sim_call *call);
void sim_cmd_exists(struct sim_call *call);
void sim_cmd_keys(struct sim_call *call);
void sim_cmd_type(struct sim_call *call);
void sim_cmd_unlink(struct sim_call *call);

/* cmd_scan.c: walks */
void sim_cmd_hscan(struct sim_call *call);
void sim_cmd_scan(struct sim_call *call);

/* cmd_expire.c */
void sim_cmd_expire(struct sim_call *call);
void sim_cmd_persist(struct sim_call *call);
void sim_cmd_pexpire(struct sim_call *call);
void sim_cmd_pexpiretime(struct sim_call *call);
void sim_cmd_pttl(struct sim_call *call);
void sim_cmd_ttl(struct sim_call *call);

/* cmd_string.c */
void sim_cmd_decr(struct sim_call *call);
void sim_cmd_decrby(struct sim_call *call);
void sim_cmd_delifeq(struct sim_call *call);
void sim_cmd_get(struct sim_call *call);
void sim_cmd_getdel(struct sim_call *call);
void sim_cmd_incr(struct sim_call *call);
void sim_cmd_incrby(struct sim_call *call);
void sim_cmd_mget(struct sim_call *call);
void sim_cmd_set(struct sim_call *call);
void sim_cmd_setnx(struct sim_call *call);
void sim_cmd_strlen(struct sim_call *call);

/* cmd_hash.c */
void sim_cmd_hdel(struct sim_call *call);
void sim_cmd_hexists(struct sim_call *call);
void sim_cmd_hget(struct sim_call *call);
void sim_cmd_hgetall(struct sim_call *call);
void sim_cmd_hincrby(struct sim_call *call);
void sim_cmd_hkeys(struct sim_call *call);
void sim_cmd_hlen(struct sim_call *call);
void sim_cmd_hmget(struct sim_call *call);
void sim_cmd_hset(struct sim_call *call);
void sim_cmd_hsetnx(struct sim_call *call);
void sim_cmd_hvals(struct sim_call *call);

/* cmd_list.c */
void sim_cmd_lindex(struct sim_call *call);
void sim_cmd_llen(struct sim_call *call);
void sim_cmd_lpop(struct sim_call *call);
void sim_cmd_lpush(struct sim_call *call);
void sim_cmd_lrange(struct sim_call *call);
void sim_cmd_lrem(struct sim_call *call);
void sim_cmd_lset(struct sim_call *call);
void sim_cmd_ltrim(struct sim_call *call);
void sim_cmd_rpop(struct sim_call *call);
void sim_cmd_rpush(struct sim_call *call);

/* cmd_zset.c */
void sim_cmd_zadd(struct sim_call *call);
void sim_cmd_zcard(struct sim_call *call);
void sim_cmd_zincrby(struct sim_call *call);
void sim_cmd_zmscore(struct sim_call *call);
void sim_cmd_zrank(struct sim_call *call);
void sim_cmd_zrem(struct sim_call *call);
void sim_cmd_zscore(struct sim_call *call);

/* cmd_zrange.c */
void sim_cmd_zcount(struct sim_call *call);
void sim_cmd_zrange(struct sim_call *call);
void sim_cmd_zpopmin(struct sim_call *call);
void sim_cmd_zrangebyscore(struct sim_call *call);
void sim_cmd_zremrangebyrank(struct sim_call *call);
void sim_cmd_zremrangebyscore(struct sim_call *call);
void sim_cmd_zrevrange(struct sim_call *call);
void sim_cmd_zrevrangebyscore(struct sim_call *call);

/* channel.c */
void sim_cmd_publish(struct sim_call *call);
void sim_cmd_pubsub_channels(struct sim_call *call);
void sim_cmd_pubsub_numsub(struct sim_call *call);
void sim_cmd_subscribe(struct sim_call *call);
void sim_cmd_unsubscribe(struct sim_call *call);

/* script.c */
void sim_cmd_eval(struct sim_call *call);
void sim_cmd_evalsha(struct sim_call *call);
void sim_cmd_script_exists(struct sim_call *call);
void sim_cmd_script_flush(struct sim_call *call);
void sim_cmd_script_load(struct sim_call *call);

#endif
