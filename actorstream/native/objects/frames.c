/* pack_frame, unpack_frame, unpack_run: the bytes of a frame's header on a network, from a Frame and back. The layout is
 * drawn in transports/network/message.py; a test compares the two. All numbers are little-endian, as on every machine
 * this runs on. */
#include "objects.h"

#include <stdint.h>
#include <string.h>

enum { HEAD = 64, PREFIX = 40, KIND = 6, FLAGS = 7, SEQ = 40, ACK = 48, CHANNEL = 56, LENGTH = 60 };
enum { FIELDS = 15, CREDIT = 3, SIZE = (FIELDS + CREDIT) * 8 };

static const char *const names[FIELDS] = {"nbytes",   "schema",   "rows",      "first",     "producer",
                                          "sequence", "serial",   "piece",     "pieces",    "barrier",
                                          "min_time", "max_time", "min_entry", "max_entry", "began"};
enum { UNSIGNED = 2 }; /* so many fields, the first ones, and the credit are unsigned */
static PyObject *interned[FIELDS], *kind_name, *payload_name;

static int intern(void) {
    if (payload_name != NULL)
        return 0;
    for (int i = 0; i < FIELDS; i++)
        if (interned[i] == NULL && (interned[i] = PyUnicode_InternFromString(names[i])) == NULL)
            return -1;
    if (kind_name == NULL && (kind_name = PyUnicode_InternFromString("kind")) == NULL)
        return -1;
    payload_name = PyUnicode_InternFromString("payload");
    return payload_name == NULL ? -1 : 0;
}

static int put_field(uint8_t *to, PyObject *frame, PyObject *name, int is_unsigned) {
    PyObject *value = PyObject_GetAttr(frame, name);
    if (value == NULL)
        return -1;
    uint64_t bits = is_unsigned ? PyLong_AsUnsignedLongLong(value) : (uint64_t)PyLong_AsLongLong(value);
    Py_DECREF(value);
    if (bits == UINT64_MAX && PyErr_Occurred())
        return -1;
    memcpy(to, &bits, sizeof bits);
    return 0;
}

static int put_number(uint8_t *to, PyObject *value, size_t bytes) {
    const uint64_t bits = PyLong_AsUnsignedLongLong(value);
    if (bits == UINT64_MAX && PyErr_Occurred())
        return -1;
    if (bytes < sizeof bits && bits >> (8 * bytes)) {
        PyErr_Format(PyExc_OverflowError, "%llu does not fit into %zu bytes", (unsigned long long)bits, bytes);
        return -1;
    }
    memcpy(to, &bits, bytes);
    return 0;
}

PyObject *as_pack_frame(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 10 || !PyBytes_Check(args[0]) || PyBytes_GET_SIZE(args[0]) != PREFIX)
        return PyErr_Format(PyExc_TypeError, "pack_frame takes 40 bytes, a frame and 8 numbers");
    PyObject *made = PyBytes_FromStringAndSize(NULL, HEAD + SIZE);
    if (made == NULL || intern() < 0)
        goto failed;
    uint8_t *bytes = (uint8_t *)PyBytes_AS_STRING(made), *credit = bytes + HEAD + FIELDS * 8;
    memcpy(bytes, PyBytes_AS_STRING(args[0]), PREFIX);
    PyObject *kind = PyObject_GetAttr(args[1], kind_name);
    if (kind == NULL)
        goto failed;
    const int status = put_number(bytes + KIND, kind, 1);
    Py_DECREF(kind);
    if (status < 0 || put_number(bytes + FLAGS, args[2], 1) < 0 || put_number(bytes + SEQ, args[3], 8) < 0 ||
        put_number(bytes + ACK, args[4], 8) < 0 || put_number(bytes + CHANNEL, args[5], 4) < 0 ||
        put_number(bytes + LENGTH, args[6], 4) < 0)
        goto failed;
    for (int i = 0; i < FIELDS; i++)
        if (put_field(bytes + HEAD + i * 8, args[1], interned[i], i < UNSIGNED) < 0)
            goto failed;
    for (int i = 0; i < CREDIT; i++)
        if (put_number(credit + i * 8, args[7 + i], 8) < 0)
            goto failed;
    return made;
failed:
    Py_XDECREF(made);
    return NULL;
}

static int set_field(PyObject *frame, PyObject *name, const uint8_t *from, int is_unsigned) {
    uint64_t bits;
    memcpy(&bits, from, sizeof bits);
    PyObject *value = is_unsigned ? PyLong_FromUnsignedLongLong(bits) : PyLong_FromLongLong((int64_t)bits);
    if (value == NULL)
        return -1;
    const int status = PyObject_SetAttr(frame, name, value);
    Py_DECREF(value);
    return status;
}

static PyObject *frame_of(PyTypeObject *type, PyObject *kind, const uint8_t *bytes) {
    PyObject *frame = type->tp_alloc(type, 0);
    if (frame == NULL || intern() < 0)
        goto failed;
    if (PyObject_SetAttr(frame, kind_name, kind) < 0 || PyObject_SetAttr(frame, payload_name, Py_None) < 0)
        goto failed;
    for (int i = 0; i < FIELDS; i++)
        if (set_field(frame, interned[i], bytes + i * 8, i < UNSIGNED) < 0)
            goto failed;
    return frame;
failed:
    Py_XDECREF(frame);
    return NULL;
}

PyObject *as_unpack_frame(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 4 || !PyType_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "unpack_frame takes a type, a kind, bytes and where they begin");
    const Py_ssize_t at = PyLong_AsSsize_t(args[3]);
    Py_buffer view;
    if ((at == -1 && PyErr_Occurred()) || PyObject_GetBuffer(args[2], &view, PyBUF_SIMPLE) < 0)
        return NULL;
    if (at < 0 || view.len < SIZE || at > view.len - SIZE) {
        PyErr_Format(PyExc_ValueError, "no %d bytes at %zd of %zd", (int)SIZE, at, view.len);
        PyBuffer_Release(&view);
        return NULL;
    }
    const uint8_t *bytes = (const uint8_t *)view.buf + at;
    uint64_t credit[CREDIT];
    memcpy(credit, bytes + FIELDS * 8, sizeof credit);
    PyObject *frame = frame_of((PyTypeObject *)args[0], args[1], bytes);
    PyBuffer_Release(&view);
    if (frame == NULL)
        return NULL;
    return Py_BuildValue("(N(KKK))", frame, (unsigned long long)credit[0], (unsigned long long)credit[1],
                         (unsigned long long)credit[2]);
}

enum { LEAST_KIND = 1, MOST_KIND = 4, APART = 1, SAME = 2, KEEP = 4, WHOLE = HEAD + SIZE };

/* What unpack_run gives of the frame at `bytes`. */
static PyObject *part_of_run(PyTypeObject *type, const uint8_t *bytes, Py_ssize_t start, uint32_t length) {
    uint32_t channel;
    uint64_t ack, credit[CREDIT];
    memcpy(&channel, bytes + CHANNEL, sizeof channel);
    memcpy(&ack, bytes + ACK, sizeof ack);
    memcpy(credit, bytes + HEAD + FIELDS * 8, sizeof credit);
    PyObject *kind = PyLong_FromLong(bytes[KIND]);
    PyObject *frame = kind == NULL ? NULL : frame_of(type, kind, bytes + HEAD);
    Py_XDECREF(kind);
    if (frame == NULL)
        return NULL;
    return Py_BuildValue("(NiIK(KKK)nI)", frame, (int)bytes[FLAGS], (unsigned)channel, (unsigned long long)ack,
                         (unsigned long long)credit[0], (unsigned long long)credit[1], (unsigned long long)credit[2],
                         start, (unsigned)length);
}

/* Whether a frame that may be taken in without a further look begins at `bytes`, of which there are `left`; `end`: where
   it ends, from its beginning. */
static int is_next(const uint8_t *bytes, Py_ssize_t left, const uint8_t *prefix, uint64_t seq, uint32_t *length,
                   Py_ssize_t *end) {
    uint64_t found;
    if (left < WHOLE || memcmp(bytes, prefix, KIND) != 0 ||
        memcmp(bytes + FLAGS + 1, prefix + FLAGS + 1, PREFIX - FLAGS - 1) != 0)
        return 0;
    memcpy(&found, bytes + SEQ, sizeof found);
    memcpy(length, bytes + LENGTH, sizeof *length);
    const int flags = bytes[FLAGS];
    if (bytes[KIND] < LEAST_KIND || bytes[KIND] > MOST_KIND || found != seq || (flags & ~(APART | SAME | KEEP)) ||
        ((flags & SAME) && ((flags & APART) || *length)))
        return 0;
    const Py_ssize_t body = flags & APART ? 0 : (Py_ssize_t)*length;
    *end = WHOLE + body + (-body & 7);
    return left - WHOLE >= body;
}

PyObject *as_unpack_run(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 5 || !PyType_Check(args[0]) || !PyBytes_Check(args[3]) || PyBytes_GET_SIZE(args[3]) != PREFIX)
        return PyErr_Format(PyExc_TypeError, "unpack_run takes a type, bytes, where they begin, 40 bytes and a number");
    Py_ssize_t at = PyLong_AsSsize_t(args[2]);
    uint64_t seq = PyLong_AsUnsignedLongLong(args[4]);
    Py_buffer view;
    if (PyErr_Occurred() || PyObject_GetBuffer(args[1], &view, PyBUF_SIMPLE) < 0)
        return NULL;
    PyObject *run = PyList_New(0);
    uint32_t length;
    Py_ssize_t end;
    while (run != NULL && at >= 0 && at < view.len) {
        const uint8_t *bytes = (const uint8_t *)view.buf + at;
        if (!is_next(bytes, view.len - at, (const uint8_t *)PyBytes_AS_STRING(args[3]), seq, &length, &end))
            break;
        PyObject *part = part_of_run((PyTypeObject *)args[0], bytes, at + WHOLE, length);
        if (part == NULL || PyList_Append(run, part) < 0)
            Py_CLEAR(run);
        Py_XDECREF(part);
        at += end;
        seq++;
    }
    PyBuffer_Release(&view);
    return run == NULL ? NULL : Py_BuildValue("(Nn)", run, at);
}
