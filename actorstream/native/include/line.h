/*
 * Line: words of control memory that one process writes and others read, such as a worker's state. A reader that sees a
 * word sees all that the writer stored before it. Any thread may call these; neither waits for another.
 */
#ifndef ACTORSTREAM_LINE_H
#define ACTORSTREAM_LINE_H
#include "status.h"
/* cffi: begin */
/* The word; acquire, partner: as_line_write. */
uint32_t as_line_read(const uint32_t *word);
/* Release; partner: as_line_read. */
void as_line_write(uint32_t *word, uint32_t value);
/* cffi: end */
#endif
