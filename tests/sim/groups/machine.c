/* SPDX-License-Identifier: MIT */
/* machine.c - the clock, chance and threads of simulated programs.
 *
 * The linker puts what stands here in the place of the real ones.  There are no
 * threads: nobody blocks, and what only a thread would call ends the world.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/ids.h"
#include "sim/groups/world.h"

/* ---- in place of the operating system ---- */

/* The linker wants them called so.
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
int64_t __wrap_hfi_clock_ms(void);
int64_t __wrap_hfi_clock_us(void);
bool __wrap_hfi_uuid_make(char ret_uuid[HFI_UUID_SIZE]);
uint64_t __wrap_hfi_seed_make(void);
hf_status __wrap_hfi_keeper_start(struct hf_client *client, hf_error *reterr);
void __wrap_hfi_keeper_stop(struct hf_client *client);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *at);

int64_t __wrap_hfi_clock_ms(void)
{
    return gw->acting == NULL ? gw->now_us / 1000 : gw_process_ms(gw->acting);
}

int64_t __wrap_hfi_clock_us(void)
{
    return __wrap_hfi_clock_ms() * 1000;
}

bool __wrap_hfi_uuid_make(char ret_uuid[HFI_UUID_SIZE])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < HFI_UUID_SIZE - 1; i++) {
        ret_uuid[i] = i == 8 || i == 13 || i == 18 || i == 23
                          ? '-'
                          : digits[gw_below(16)];
    }
    ret_uuid[HFI_UUID_SIZE - 1] = '\0';
    return true;
}

uint64_t __wrap_hfi_seed_make(void)
{
    return hft_random_next(&gw->random);
}

hf_status __wrap_hfi_keeper_start(struct hf_client *client, hf_error *reterr)
{
    (void)reterr;
    client->opened = true; /* it connects in a moment */
    return HF_OK;
}

void __wrap_hfi_keeper_stop(struct hf_client *client)
{
    (void)client;
}

/* Only a client that closes waits, and nothing reaches it any more. */
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *at)
{
    (void)cond;
    (void)mutex;
    (void)at;
    gw->acting->skip_ms += 1001;
    return 0;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* ---- threads that wait: there are none ---- */

void hfi_pass_main_link_on(struct hf_client *client)
{
    client->links[HFI_LINK_MAIN].driver = HFI_KEEPER;
}

bool hfi_main_link_owes(const struct hf_client *client)
{
    return client->links[HFI_LINK_MAIN].call_count > 0;
}

void hfi_write_as_guest(struct hf_client *client)
{
    (void)client;
    abort();
}

void hfi_drive_async(struct hf_client *client)
{
    (void)client;
    abort();
}

void hfi_async_away(struct hf_client *client)
{
    (void)client;
    abort();
}

void hfi_async_wake(struct hf_client *client)
{
    (void)client;
}

bool hfi_async_is_away(const struct hf_client *client)
{
    (void)client;
    return false;
}

int64_t hfi_async_due(const struct hf_client *client)
{
    (void)client;
    return INT64_MAX;
}

int64_t hfi_left_due(const struct hf_client *client)
{
    (void)client;
    return INT64_MAX;
}

void hfi_news_choose_driver(struct hf_client *client)
{
    (void)client;
}

void hfi_claim_main_link(struct hf_client *client, struct hfi_waiter *waiter)
{
    (void)client;
    (void)waiter;
    abort();
}

void hfi_drive(struct hf_client *client, struct hfi_waiter *waiter)
{
    (void)client;
    (void)waiter;
    abort();
}

void hfi_drive_many(struct hf_client *const *clients, size_t count,
                    struct hfi_waiter *waiter)
{
    (void)clients;
    (void)count;
    (void)waiter;
    abort();
}

/* What the keeper's thread would call. */
bool hfi_link_take_output(struct hfi_link *link)
{
    (void)link;
    abort();
}

bool hfi_link_write(struct hfi_link *link)
{
    (void)link;
    abort();
}

void hfi_link_wrote(struct hfi_link *link, int64_t now)
{
    (void)link;
    (void)now;
    abort();
}

void hfi_link_read(struct hfi_link *link, struct hfi_input *ret_input)
{
    (void)link;
    (void)ret_input;
    abort();
}

bool hfi_link_may_spin(struct hfi_link *link)
{
    (void)link;
    abort();
}

bool hfi_link_spin(struct hfi_link *link, struct hfi_input *ret_input)
{
    (void)link;
    (void)ret_input;
    abort();
}

void hfi_link_spun(struct hfi_link *link, bool found)
{
    (void)link;
    (void)found;
    abort();
}

void hfi_link_deliver(struct hfi_link *link, struct hfi_input *input,
                      int64_t now)
{
    (void)link;
    (void)input;
    (void)now;
    abort();
}

void hfi_link_ping(struct hfi_link *link, int64_t now)
{
    (void)link;
    (void)now;
    abort();
}

void hfi_connect_writable(struct hfi_link *link, int64_t now)
{
    (void)link;
    (void)now;
    abort();
}

void hfi_connect_greeted(struct hfi_link *link, int64_t now)
{
    (void)link;
    (void)now;
    abort();
}
