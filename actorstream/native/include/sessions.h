/*
 * Sessions: cells of runs of rows of one group, which rows begin, extend and join: session windows, and
 * windows of so many rows. One owner at a time; a call runs without the GIL and waits for nobody. Operands as
 * in panes.h.
 *
 * A session is [start, last + gap]: a row exactly one gap later still belongs to it. It is over at a
 * watermark above last + gap + lateness; a row joins only sessions that are not over at its own watermark,
 * and is late if it finds none and one of its own would be over.
 *
 * Distinct values are kept as lists here, since sessions merge.
 */
#ifndef ACTORSTREAM_SESSIONS_H
#define ACTORSTREAM_SESSIONS_H
#include "cells.h"
#include "groups.h"
/* cffi: begin */
typedef struct as_sessions as_sessions;
/* Takes over `groups` of `keys` key columns. `size` 0: sessions. Above: a window is over after so many rows
   of its group, or like a session; `gap` -1: only then, and rows need no time. `timed`: whether the time
   operand is there. NULL with errno ENOMEM or EINVAL (then groups stay the caller's). */
as_sessions *as_sessions_create(as_groups *groups, uint32_t keys, const as_program *program, int64_t gap,
                                int64_t lateness, uint32_t size, int timed);
void as_sessions_destroy(as_sessions *sessions);
/* Adds `rows` rows. watermark[i] is that of row i's partition before it; NULL: `frontier` for all. late[i] is
   set to 1 for rows that were late, else 0. Answers how many were late | AS_E_ARGUMENT: an event time is
   negative or 2^62 or more, or a column cannot be read as the program says, nothing was changed |
   AS_E_MEMORY. */
int64_t as_sessions_add(as_sessions *sessions, const as_operand *operand, int64_t rows, const int64_t *watermark,
                        int64_t frontier, uint8_t *late);
/* Takes out what is over: last + gap < bound (the watermark less the lateness), and all windows that are
   full. INT64_MAX: everything. Answers how many wait to be read; or AS_E_MEMORY. */
int64_t as_sessions_due(as_sessions *sessions, int64_t bound);
/* Of those: group, time of the first and last row (without times: numbers of rows in their group, from 0). */
void as_sessions_bounds(const as_sessions *sessions, uint32_t *group, int64_t *start, int64_t *last);
/* Their cells of as_sessions_words words, of numbers `which` in the order of as_sessions_bounds. */
void as_sessions_cells(const as_sessions *sessions, const uint32_t *which, int64_t count, uint64_t *cell);
/* As as_panes_quantile, and how many distinct values there are. */
int as_sessions_quantile(as_sessions *sessions, uint32_t step, double q, const uint32_t *which, int64_t count,
                         double *out);
int as_sessions_distinct(as_sessions *sessions, uint32_t step, const uint32_t *which, int64_t count, int64_t *out);
/* As as_panes_sums. */
void as_sessions_sums(const as_sessions *sessions, uint32_t step, const uint32_t *which, int64_t count, double *out);
/* Forgets those that were read, and groups and texts that nobody has any more once they are many. AS_OK |
   AS_E_MEMORY. */
int as_sessions_release(as_sessions *sessions);
uint32_t as_sessions_words(const as_sessions *sessions);
uint64_t as_sessions_bytes(const as_sessions *sessions);
/* Sessions that are not over. */
uint64_t as_sessions_open(const as_sessions *sessions);
as_groups *as_sessions_groups(as_sessions *sessions);
int64_t as_sessions_texts(const as_sessions *sessions, uint32_t value, const uint64_t *number, int64_t rows,
                          int64_t *offsets, uint8_t *data);
/* -- for checkpoints -- */
/* Lists all sessions that are not over, for as_sessions_bounds, _cells and _lists to read;
   as_sessions_forget ends that. */
int64_t as_sessions_peek(as_sessions *sessions);
void as_sessions_forget(as_sessions *sessions);
/* The values of a VALUES or DISTINCT step: offsets[count + 1] from 0, and with `value` != NULL the values.
   Answers how many. */
int64_t as_sessions_lists(const as_sessions *sessions, uint32_t step, const uint32_t *which, int64_t count,
                          int64_t *offsets, uint64_t *value);
/* As as_panes_parts. */
int64_t as_sessions_parts(const as_sessions *sessions, uint32_t step, const uint32_t *which, int64_t count,
                          int64_t *offsets, uint64_t *part);
/* Without times: how many rows each of so many groups, from 0, has had. `seen` NULL: only how many groups. */
int64_t as_sessions_seen(const as_sessions *sessions, uint64_t *seen);
int64_t as_sessions_text_count(const as_sessions *sessions, uint32_t value);
int as_sessions_put_texts(as_sessions *sessions, uint32_t value, const as_operand *text, int64_t rows);
/* Puts sessions with these keys back, without their lists, and says their numbers. AS_OK | AS_E_ARGUMENT |
   AS_E_MEMORY. */
int as_sessions_put(as_sessions *sessions, const as_operand *key, int64_t rows, const int64_t *start,
                    const int64_t *last, const uint64_t *cell, uint32_t *number);
int as_sessions_put_lists(as_sessions *sessions, uint32_t step, const uint32_t *number, int64_t rows,
                          const int64_t *offsets, const uint64_t *value);
int as_sessions_put_parts(as_sessions *sessions, uint32_t step, const uint32_t *number, int64_t rows,
                          const int64_t *offsets, const uint64_t *part);
int as_sessions_put_seen(as_sessions *sessions, const as_operand *key, int64_t rows, const uint64_t *seen);
/* cffi: end */
#endif
