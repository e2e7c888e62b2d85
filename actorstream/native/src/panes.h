/* The struct behind panes.h. Private to panes*.c. */
#ifndef ACTORSTREAM_PANES_PRIVATE_H
#define ACTORSTREAM_PANES_PRIVATE_H
#include "../include/panes.h"
#include "cells.h"

#define NEAR 1024  /* panes of one batch that are looked up in a table */
#define TABLE 1024 /* groups that counting in tables is for */
#define TABLES 4   /* so that rows of one group in a row do not wait for each other */

/* What is known of the groups of a key column of few rows. */
typedef struct as_places {
    as_column column; /* of which `bytes` are a copy */
    uint32_t few;     /* its rows; 0: nothing is known */
    uint8_t *bytes;   /* offsets (of bytes), then values */
    uint64_t size, room;
    uint32_t group[TABLE]; /* UNKNOWN, or that of each row */
} as_places;

typedef struct as_pane {
    int64_t number, tag;
    uint64_t *cells;
    uint64_t room;   /* cells */
    uint8_t *marked; /* `room` flags, or NULL */
    bool some_marked;
    double bound; /* no integer sum in it is larger */
    as_beside beside;
} as_pane;

struct as_panes {
    as_groups *groups;
    as_program program;
    uint32_t keys;
    int64_t origin;
    uint64_t width;
    int64_t latest; /* with width 0: the greatest event time of the rows that had one */
    bool wide, marking;
    as_pane **pane; /* ascending by (number, tag) */
    uint64_t count, room;
    as_pane *last; /* found last */
    as_texts texts[AS_PROGRAM_VALUES];
    as_chunk *chunk;
    int64_t same; /* the first rows of the chunk, which have the same cell */
    as_pane *near[NEAR];
    as_pane *of_row[CHUNK];
    uint64_t time[CHUNK];
    uint32_t (*table)[TABLE]; /* TABLES of them */
    as_pane *counted;         /* whose rows are in the tables */
    as_places places;
    /* the window that is open */
    as_pane **open;
    uint64_t opened, open_room;
    const uint64_t *source; /* its cells: of its only pane, or merged */
    const as_beside *source_beside;
    uint64_t groups_open, at;
    uint64_t *merged;
    uint64_t merged_bytes;
    as_beside merged_beside; /* exact sums only */
    uint8_t *chosen; /* groups to take, or NULL: all */
    const uint32_t *order;
    uint64_t *values;
    uint64_t values_room;
    uint64_t found; /* groups that the last window had */
};

static inline uint64_t pane_words(const as_panes *panes) {
    return cell_words(&panes->program, panes->wide);
}
/* The pane, made if it is not there; NULL: no memory. */
as_pane *as_pane_find(as_panes *panes, int64_t number, int64_t tag);
/* Cells for all groups there are. AS_OK | AS_E_MEMORY. */
int as_pane_reserve(as_panes *panes, as_pane *pane);
void as_pane_free(as_panes *panes, as_pane *pane);
/* The groups of at most CHUNK rows, into chunk->group; groups get new numbers where that is due. */
int as_panes_groups_of(as_panes *panes, const as_operand *key, int64_t row, int64_t rows);
/* Counts rows of `panes->counted` by their groups, which are below TABLE; as_panes_counted adds that to its cells. */
void as_panes_count_groups(as_panes *panes, const uint32_t *group, int64_t rows);
void as_panes_counted(as_panes *panes);
/* Whether rows that are all of one pane can be counted by where their key lies. */
bool as_panes_counts_places(const as_panes *panes, const as_operand *key, int64_t rows);
/* Counts them. AS_OK | AS_E_MEMORY. */
int as_panes_count_places(as_panes *panes, const as_operand *key, int64_t rows, int64_t number, int64_t tag);
/* Gives groups new numbers in every pane; those without rows are dropped. AS_OK | AS_E_MEMORY. */
int as_panes_renumber(as_panes *panes);
/* Makes the cells of all panes wide. AS_OK | AS_E_MEMORY. */
int as_panes_widen(as_panes *panes);
/* Forgets texts that rows have had and no cell refers to any more, once they are many: between batches, amortised O(1) a
   text. AS_OK | AS_E_MEMORY. */
int as_panes_forget_texts(as_panes *panes);
#endif
