/* SPDX-License-Identifier: MIT */
/* faults.c - what goes wrong in a random history. */
#include "sim/groups/world.h"

static void comes_back(struct gw_event *event)
{
    struct gw_server *server = event->who;

    server->up = true;
    gw_say("S%zu    is back", server->index);
}

void gw_server_stalls(struct gw_server *server, int64_t ms)
{
    int64_t until = gw->now_us + ms * 1000;

    gw_say("S%zu    stalls for %lld ms", server->index, (long long)ms);
    if (until > server->stalled_us) {
        server->stalled_us = until;
    }
}

void gw_server_restarts(struct gw_server *server, bool empty, size_t forget,
                        int64_t away_ms)
{
    struct gw_wire *wire;

    gw_say("S%zu    restarts, %s, away for %lld ms", server->index,
           empty        ? "empty"
           : forget > 0 ? "without its last writes"
                        : "with its data",
           (long long)away_ms);
    for (wire = gw->wires; wire != NULL; wire = wire->next) {
        if (wire->server == server && wire->conn != NULL) {
            sim_conn_close(wire->conn);
            wire->conn = NULL;
            if (!wire->closed) {
                gw_wire_cut(wire);
            }
        }
    }
    if (empty) {
        sim_server_restart_empty(server->model);
        server->forgot_us = gw->now_us;
        server->rolled_back = false;
    } else if (sim_server_restart(server->model, forget) > 0) {
        server->forgot_us = gw->now_us;
        server->rolled_back = true;
    }
    server->up = false;
    (void)gw_at(gw->now_us + away_ms * 1000, comes_back, server, 0);
}

/* ---- by chance ---- */

static struct gw_process *somebody(void)
{
    size_t alive = 0;
    struct gw_process *process;
    int64_t which;

    for (process = gw->processes; process != NULL; process = process->next) {
        alive += process->alive;
    }
    which = gw_below((int64_t)alive);
    for (process = gw->processes; !process->alive || which-- > 0;
         process = process->next) {
    }
    return process;
}

static void cut_a_wire(void)
{
    struct gw_client *own =
        &somebody()->clients[gw_below((int64_t)gw->options.servers)];
    struct gw_wire *wire = own->wires[gw_below(HFI_LINKS)];

    if (wire != NULL) {
        gw_wire_cut(wire);
    }
}

static void replace(struct gw_process *process)
{
    struct gw_process *other;

    gw_say("P%zu    is killed", process->index);
    gw->killed = true;
    gw_process_kill(process);
    other = gw_process_new();
    for (size_t i = 0; i < gw->options.users; i++) {
        gw_user_lives(&other->users[i]);
    }
}

static void trouble(struct gw_event *event)
{
    struct gw_server *server =
        &gw->servers[gw_below((int64_t)gw->options.servers)];
    int64_t whim = gw_below(100);

    if (gw->ending) {
        return;
    }
    gw->figures.faults++;
    if (whim < 30) {
        gw_server_stalls(server, gw_below(4) == 0 ? gw_between(500, 6000)
                                                  : gw_between(1, 300));
    } else if (whim < 38 && server->up) {
        gw_server_restarts(server, false, 0, gw_between(0, 1500));
    } else if (whim < 43 && server->up) {
        gw_server_restarts(server, true, 0, gw_between(0, 3000));
    } else if (whim < 48 && server->up) {
        gw_server_restarts(server, false, (size_t)gw_between(1, 3),
                           gw_between(0, 100));
    } else if (whim < 72) {
        cut_a_wire();
    } else if (whim < 84) {
        gw_process_stop(somebody(), gw_below(3) == 0 ? gw_between(500, 12000)
                                                     : gw_between(1, 400));
    } else if (whim < 88) {
        replace(somebody());
    } else {
        sim_server_script_flush(server->model);
    }
    gw_again(event, gw->now_us + gw_between(20000, 800000));
}

void gw_trouble_begins(void)
{
    gw->weather = (struct gw_weather){.slow = 4000,
                                      .hole = 500,
                                      .reset = 500,
                                      .deaf = 20000,
                                      .late = 500000,
                                      .slow_ms = 3000,
                                      .late_ms = 20000,
                                      .base_us = 60,
                                      .extra_us = 400};
    gw->fair_us = GW_NEVER;
    (void)gw_at(gw->now_us + 100000, trouble, NULL, 0);
}
