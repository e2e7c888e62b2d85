/*
 * Panes: cells by group and pane, a pane being a run of event time that no window divides (AIR section 4.2;
 * panes as in FlatFAT). A row is added to one cell, however much windows overlap; a window that closes is the
 * merge of its panes. One owner at a time; a call runs without the GIL and waits for nobody.
 *
 * Operands of a batch lie one behind the other: time, the program's order columns, the key columns, the value
 * columns. Columns of bytes are found in texts that the panes keep.
 */
#ifndef ACTORSTREAM_PANES_H
#define ACTORSTREAM_PANES_H
#include "cells.h"
#include "groups.h"
/* cffi: begin */
typedef struct as_panes as_panes;
/* Takes over `groups` of `keys` key columns. Pane n is [origin + n * width, origin + (n + 1) * width), origin
   <= 0; width 0: all rows are in pane 0, whatever their time, and the time operand may have no data. NULL with errno ENOMEM or EINVAL (then groups
   stay the caller's). */
as_panes *as_panes_create(as_groups *groups, uint32_t keys, const as_program *program, int64_t origin, int64_t width);
void as_panes_destroy(as_panes *panes);
/* Adds `rows` rows to their panes with `tag`: INT64_MIN, or the first window (as the caller numbers them)
   that takes them. No event time is below `known_least` or above `known_greatest`, unless that is the smaller
   one: then nothing is known. AS_OK | AS_AGAIN: an event time is below `low` or 2^62 or more, nothing was changed |
   AS_E_ARGUMENT: a column cannot be read as the program says, nothing was changed | AS_E_MEMORY. */
int as_panes_add(as_panes *panes, const as_operand *operand, int64_t rows, int64_t low, int64_t tag,
                 int64_t known_least, int64_t known_greatest);
/* The same as a job of a pool (pool.h): the arguments of as_panes_add, what it has answered, and as_user_answer() of the
   thread that ran it. The job answers 0. */
typedef struct as_panes_work {
    as_panes *panes;
    const as_operand *operand;
    int64_t rows, low, tag, known_least, known_greatest;
    int32_t status, answer;
} as_panes_work;
int32_t as_panes_job(void *work);
/* The same function, as the step that ends a chain calls it (chain.h). Returns what as_panes_add returned. */
int32_t as_panes_take_in(void *work, int64_t rows);
/* With width 0: the greatest event time of all rows whose time operand had data; INT64_MIN: none had. */
int64_t as_panes_latest(const as_panes *panes);
/* Numbers of panes with rows, ascending, each once; answers how many there are. `number` NULL: only that. */
int64_t as_panes_numbers(const as_panes *panes, int64_t *number);
/* Marks the groups of rows that are added from now on, per pane, until as_panes_unmark. */
void as_panes_mark(as_panes *panes);
void as_panes_unmark(as_panes *panes);
/* Merges panes first .. first + count - 1 whose tag is at most `window`; only marked groups where `marked`.
   Then as_panes_take reads them. Answers how many groups that has at the most, 0: none; or AS_E_MEMORY. */
int64_t as_panes_open(as_panes *panes, int64_t first, int64_t count, int64_t window, int marked);
/* The next groups in the order of their keys, at most `most`: their numbers, and cells of as_panes_words
   words. Answers how many; 0: there are no more. Groups must not be added between. */
int64_t as_panes_take(as_panes *panes, int64_t most, uint32_t *group, uint64_t *cell);
/* The values' quantile `q` (0 .. 1, linear between the two nearest) of a VALUES step, of groups that the last
   as_panes_take answered; NaN where there is no value. AS_OK | AS_E_MEMORY. */
int as_panes_quantile(as_panes *panes, uint32_t step, double q, const uint32_t *group, int64_t rows, double *out);
/* The sums of a FLOATS step, rounded, of groups that the last as_panes_take answered: of any, also those whose cells do
   not hold them (their second word is NaN). */
void as_panes_sums(const as_panes *panes, uint32_t step, const uint32_t *group, int64_t rows, double *out);
/* The words of a ROWS step of groups that the last as_panes_take answered: offsets[rows + 1] from 0, in words, and with
   `value` != NULL the words. Answers how many. */
int64_t as_panes_rows(const as_panes *panes, uint32_t step, const uint32_t *group, int64_t rows, int64_t *offsets,
                      uint64_t *value);
/* Drops panes below `pane`, and groups and texts that no pane has any more once they are many. AS_OK |
   AS_E_MEMORY. */
int as_panes_drop(as_panes *panes, int64_t pane);
/* Words of a cell as as_panes_take writes them: with the high words of the sums. */
uint32_t as_panes_words(const as_panes *panes);
uint64_t as_panes_bytes(const as_panes *panes);
as_groups *as_panes_groups(as_panes *panes);
/* Texts of a value column of bytes, by number: as as_groups_texts. */
int64_t as_panes_texts(const as_panes *panes, uint32_t value, const uint64_t *number, int64_t rows, int64_t *offsets,
                       uint8_t *data);
/* -- for checkpoints: one pane after the other -- */
/* Panes, those of the same number with different tags counted each. */
int64_t as_panes_count(const as_panes *panes);
/* Opens pane `at` alone; answers how many groups as_panes_take has at the most. *bound: what no sum in it
   passes. */
int64_t as_panes_select(as_panes *panes, int64_t at, int64_t *number, int64_t *tag, double *bound);
/* Whether groups are marked in the open pane: one byte a group. */
void as_panes_marked(const as_panes *panes, const uint32_t *group, int64_t rows, uint8_t *marked);
/* The pairs of a DISTINCT step of the open pane; answers how many. `group` NULL: only that. */
int64_t as_panes_pairs(const as_panes *panes, uint32_t step, uint32_t *group, uint64_t *value);
/* The values of a VALUES step of some groups of the open pane: offsets[rows + 1] from 0, and with `value`
   != NULL the values. Answers how many. */
int64_t as_panes_lists(const as_panes *panes, uint32_t step, const uint32_t *group, int64_t rows, int64_t *offsets,
                       uint64_t *value);
/* What the cells of groups that the last as_panes_take answered do not hold of a FLOATS step: offsets[rows + 1] from 0,
   and with `part` != NULL pairs of words: v and bit, worth v * 2^(bit - 1074), v signed. Answers how many words; of
   sums that have some the cell's own words say nothing. */
int64_t as_panes_parts(const as_panes *panes, uint32_t step, const uint32_t *group, int64_t rows, int64_t *offsets,
                       uint64_t *part);
/* How many texts there are of a value column. */
int64_t as_panes_text_count(const as_panes *panes, uint32_t value);
/* Puts them back, in their order, before anything else. AS_OK | AS_E_MEMORY. */
int as_panes_put_texts(as_panes *panes, uint32_t value, const as_operand *text, int64_t rows);
/* Merges cells (as as_panes_take wrote them; `bound`: no sum in them, nor of all of them, passes it) into those
   that groups with these keys have, without what lies beside them. Says the groups' numbers: of a block of
   AS_GROUPS_BLOCK rows, or of all where no rows were ever added. AS_OK | AS_E_ARGUMENT: a key cannot be read, or a sum
   lies beside its cell | AS_E_MEMORY. */
int as_panes_put(as_panes *panes, int64_t number, int64_t tag, double bound, const as_operand *key, int64_t rows,
                 const uint64_t *cell, uint32_t *group);
/* Gives groups new numbers if that makes finding them faster: for who puts cells again and again. AS_OK |
   AS_E_MEMORY. */
int as_panes_settle(as_panes *panes);
int as_panes_put_pairs(as_panes *panes, int64_t number, int64_t tag, uint32_t step, const uint32_t *group,
                       const uint64_t *value, int64_t rows);
int as_panes_put_lists(as_panes *panes, int64_t number, int64_t tag, uint32_t step, const uint32_t *group, int64_t rows,
                       const int64_t *offsets, const uint64_t *value);
/* Adds what as_panes_parts wrote to the sums of groups, numbered as as_panes_put said last. AS_OK | AS_E_ARGUMENT |
   AS_E_MEMORY. */
int as_panes_put_parts(as_panes *panes, int64_t number, int64_t tag, uint32_t step, const uint32_t *group, int64_t rows,
                       const int64_t *offsets, const uint64_t *part);
/* cffi: end */
#endif
