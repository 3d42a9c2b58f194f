/* SPDX-License-Identifier: MIT */
/* journal.h - what keys were before the last writes.
 *
 * A write is one command, or one script, that changed something.  Of each key
 * that it changed there is a note of what the key was; undoing the notes of the
 * last k writes, newest first, is the server that never got them to its disk.
 */
#ifndef SIM_JOURNAL_H
#define SIM_JOURNAL_H

#include "keyspace.h"

struct sim_journal *sim_journal_new(size_t keep_writes);
void sim_journal_free(struct sim_journal *journal);

/* What is noted from now on belongs to a write of its own. */
void sim_journal_next(struct sim_journal *journal);
uint64_t sim_journal_writes(const struct sim_journal *journal);

/* The number of the write that is being made; called before a change. */
uint64_t sim_journal_open(struct sim_journal *journal);
void sim_journal_note(struct sim_journal *journal, const struct sim_db *db,
                      const struct sim_key *key);
void sim_journal_note_absent(struct sim_journal *journal,
                             const struct sim_db *db, struct hft_piece name);

/* Undo the last writes; returns how many were there to undo. */
size_t sim_journal_undo(struct sim_journal *journal, struct sim_db *databases,
                        size_t writes);
void sim_journal_forget(struct sim_journal *journal);

#endif
