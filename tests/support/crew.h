/* SPDX-License-Identifier: MIT */
/* crew.h - threads that work at once, and report instead of asserting.
 *
 * cmocka asserts on the main thread only.  A member of a crew notes what went
 * wrong; the main thread joins the crew and asserts that nothing did:
 *
 *     struct hft_crew *crew = hft_crew_start(8, work, &shared);
 *     assert_null(hft_crew_join(crew, 10000));
 *     hft_crew_free(crew);
 */
#ifndef HFT_CREW_H
#define HFT_CREW_H

#include <stdbool.h>
#include <stdint.h>

struct hft_crew;

struct hft_member {
    struct hft_crew *crew;
    unsigned index; /* from 0 */
    void *context;  /* the same for all */
    int64_t result; /* the member's to set */
};

typedef void hft_work(struct hft_member *me);

/* Start the members; they begin together, when all of them exist. */
struct hft_crew *hft_crew_start(unsigned count, hft_work *work, void *context);

/* Wait for the end of all.  Returns NULL, or what was first noted as wrong
 * (lent until the free).  If they are not done in time, the test program ends:
 * threads that are stuck cannot be cleaned up. */
const char *hft_crew_join(struct hft_crew *crew, int64_t bound_ms);

/* Wait until at least so many members have ended. */
bool hft_crew_wait_ended(struct hft_crew *crew, unsigned at_least,
                         int64_t bound_ms);

/* What a member set; after the join. */
int64_t hft_crew_result(const struct hft_crew *crew, unsigned index);

/* Tell the members to stop; they see it in hft_member_should_stop(). */
void hft_crew_stop(struct hft_crew *crew);

/* After the join.  NULL: fine. */
void hft_crew_free(struct hft_crew *crew);

/* For members. */
bool hft_member_should_stop(const struct hft_member *me);
void hft_member_note(struct hft_member *me, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Note that a condition does not hold; whether it does. */
#define HFT_CHECK(me, condition)                                               \
    hft_member_check((me), (condition), #condition, __FILE__, __LINE__)

bool hft_member_check(struct hft_member *me, bool holds, const char *condition,
                      const char *file, int line);

#endif
