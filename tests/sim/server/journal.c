/* SPDX-License-Identifier: MIT */
/* journal.c - what keys were before the last writes; see journal.h. */
#include "journal.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "support/fatal.h"

struct note {
    struct note *prev, *next;
    uint64_t write;
    unsigned db;
    bool existed;
    struct sim_value value;
    int64_t expires_ms;
    size_t len;
    char name[];
};

struct sim_journal {
    struct note *notes; /* oldest first */
    uint64_t writes;
    size_t keep_writes;
    bool open; /* the present write has changed something */
};

struct sim_journal *sim_journal_new(size_t keep_writes)
{
    struct sim_journal *journal = hft_alloc(sizeof(*journal));

    journal->keep_writes = keep_writes;
    return journal;
}

static void drop(struct sim_journal *journal, struct note *note)
{
    DL_DELETE(journal->notes, note);
    sim_value_free(&note->value);
    free(note);
}

void sim_journal_forget(struct sim_journal *journal)
{
    while (journal->notes != NULL) {
        drop(journal, journal->notes);
    }
}

void sim_journal_free(struct sim_journal *journal)
{
    sim_journal_forget(journal);
    free(journal);
}

void sim_journal_next(struct sim_journal *journal)
{
    journal->open = false;
}

uint64_t sim_journal_writes(const struct sim_journal *journal)
{
    return journal->writes;
}

uint64_t sim_journal_open(struct sim_journal *journal)
{
    if (!journal->open) {
        journal->open = true;
        journal->writes++;
    }
    return journal->writes;
}

static struct note *add_note(struct sim_journal *journal,
                             const struct sim_db *db, struct hft_piece name)
{
    struct note *note;

    while (journal->notes != NULL &&
           journal->notes->write + journal->keep_writes <= journal->writes) {
        drop(journal, journal->notes);
    }
    if (journal->keep_writes == 0) {
        return NULL;
    }
    note = hft_alloc(sizeof(*note) + name.length + 1);
    note->write = journal->writes;
    note->db = db->number;
    note->len = name.length;
    memcpy(note->name, name.data, name.length);
    DL_APPEND(journal->notes, note);
    return note;
}

void sim_journal_note(struct sim_journal *journal, const struct sim_db *db,
                      const struct sim_key *key)
{
    struct note *note = add_note(journal, db,
                                 (struct hft_piece){key->name, key->len});

    if (note != NULL) {
        note->existed = true;
        note->value = sim_value_copy(&key->value);
        note->expires_ms = key->expires_ms;
    }
}

void sim_journal_note_absent(struct sim_journal *journal,
                             const struct sim_db *db, struct hft_piece name)
{
    (void)sim_journal_open(journal);
    (void)add_note(journal, db, name);
}

/* Make the key what the note says it was.  Nothing of this is noted. */
static void undo(struct note *note, struct sim_db *db)
{
    struct hft_piece name = {note->name, note->len};
    struct sim_key *key = sim_db_look(db, name);

    if (key != NULL) {
        sim_key_drop_expired(db, key);
    }
    if (note->existed) {
        key = sim_db_restore(db, name);
        key->value = note->value;
        key->expires_ms = note->expires_ms;
        note->value = (struct sim_value){.rows = NULL};
    }
}

size_t sim_journal_undo(struct sim_journal *journal, struct sim_db *databases,
                        size_t writes)
{
    uint64_t last = 0;
    size_t undone = 0;

    while (journal->notes != NULL) {
        struct note *note = journal->notes->prev; /* the newest */

        if (note->write != last) {
            if (undone == writes) {
                break;
            }
            last = note->write;
            undone++;
        }
        undo(note, &databases[note->db]);
        drop(journal, note);
    }
    return undone;
}
