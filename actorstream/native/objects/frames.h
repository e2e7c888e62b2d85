/* What frames.c, run.c and received.c share: where the fields of a frame's header lie on a network, as drawn in
 * transports/network/message.py. All numbers are little-endian, as on every machine this runs on. */
#pragma once
#include "objects.h"

#include <stdint.h>

enum { HEAD = 64, PREFIX = 40, SENDER = 8, KIND = 6, FLAGS = 7, SEQ = 40, ACK = 48, CHANNEL = 56, LENGTH = 60 };
enum { FIELDS = 15, CREDIT = 3, SIZE = (FIELDS + CREDIT) * 8, WHOLE = HEAD + SIZE };
enum { NBYTES = 0, SCHEMA = 8, ROWS = 16, FIRST = 24 }; /* of the fields */
enum { DATA = 1, MOST_KIND = 4, APART = 1, SAME = 2, KEEP = 4, FOLLOWED = 8 };

/* A frame of this type whose fields begin at `fields`; `payload` is what it carries. */
PyObject *as_frame_of(PyTypeObject *type, long kind, const uint8_t *fields, PyObject *payload);

/* The jumbo tuple, of this type, that lies from `start` on in what `packet` exports, where `length` bytes are. */
PyObject *as_jumbo_of(PyObject *type, PyObject *trusted, PyObject *packet, Py_ssize_t start, Py_ssize_t length);
