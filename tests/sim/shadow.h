/* SPDX-License-Identifier: MIT */
/* shadow.h - what the world knows of a number, beside what its client does. */
#ifndef SIM_SHADOW_H
#define SIM_SHADOW_H

#include "sync/state.h"

#include "sim/world.h"

/* What a calm network and a busy thread may take together. */
#define SIM_PROMPT_US 200000

struct sim_shadow {
    int lock;
    bool excused;    /* what it holds may be given away early */
    bool may_remain; /* its field may stand without a living cause */
    bool adopted;    /* it was imported ... */
    size_t by;       /* ... by this client */
    const struct hfi_owner *owner; /* whose it was last */
    bool released;                 /* a RELEASE of it ran and found its field */
    bool final;                    /* its End is over, by an answered UNDO */
    bool held;                     /* after the last event */
    bool over;                     /* it was lost, or its RELEASE was sent */
    int64_t excused_us;
    int64_t caused_us;       /* its record was there, and not over, last */
    int64_t deadline_ms;     /* after the last event; on its client's clock */
    int64_t end_us;          /* its End was first seen */
    int64_t give_up_us;      /* of its End */
    int64_t again_us;        /* who left a queue looks at it again then */
    int64_t life_us;         /* of its last copies, at most */
    uint32_t keeps_pending;  /* that can still run */
    uint32_t calls;          /* ENTER, LEAVE, EXTEND with the driver */
    int64_t call_over_us;    /* when the last of them was given back */
    uint64_t overlapping;    /* the newest RENEW that was sent meanwhile */
    struct sim_call *change; /* it is a request to change how many there are */
    uint64_t keep_sent;      /* the newest */
    uint64_t keep_ran;       /* the last that ran ... */
    bool keep_alone;         /* ... and no other could any more */
};

/* The node stayed away for longer than anything of it could stand there. */
bool sim_given_up(const struct sim_world *world,
                  const struct sim_shadow *shadow);

/* "index-uuid:n": how many bytes of it were read; 0: it is none of ours. */
size_t sim_identity_read(const char *text, size_t len,
                         struct sim_identity *ret_id);
struct sim_identity sim_identity_of(const struct sim_client *client,
                                    const struct hfi_number *number);
struct sim_shadow *sim_shadow_get(struct sim_world *world, size_t client,
                                  uint64_t n, int lock);

struct sim_shadow *sim_excuse_number(struct sim_world *world, size_t client,
                                     uint64_t n, int lock);
void sim_image_read(struct sim_world *world, struct sim_lock *lock);

#endif
