/* pack_frame, unpack_frame: the bytes of a frame's header on a network, from a Frame and back. The layout is drawn in
 * transports/network/message.py; a test compares the two. entry_frame: the same from an entry of a channel's ring. */
#include "frames.h"
#include "../include/channel.h"

#include <string.h>

static const char *const names[FIELDS] = {"nbytes",   "schema",   "rows",      "first",     "producer",
                                          "sequence", "serial",   "piece",     "pieces",    "barrier",
                                          "min_time", "max_time", "min_entry", "max_entry", "began"};
enum { UNSIGNED = 2 }; /* so many fields, the first ones, and the credit are unsigned */
static PyObject *interned[FIELDS], *kind_name, *payload_name;

/* The slots of frames of one type lie at these offsets, so that they need not be looked up each time. */
static PyTypeObject *known;
static Py_ssize_t offsets[FIELDS], kind_offset, payload_offset;

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

/* The offset of a slot; -1: the type has no such slot. */
static Py_ssize_t slot_of(PyTypeObject *type, PyObject *name) {
    PyObject *found = PyObject_GetAttr((PyObject *)type, name);
    Py_ssize_t offset = -1;
    if (found != NULL && Py_IS_TYPE(found, &PyMemberDescr_Type) && PyDescr_TYPE(found) == type &&
        ((PyMemberDescrObject *)found)->d_member->type == T_OBJECT_EX)
        offset = ((PyMemberDescrObject *)found)->d_member->offset;
    Py_XDECREF(found);
    PyErr_Clear();
    return offset;
}

/* Whether the slots of this type are known from now on. */
static int is_known(PyTypeObject *type) {
    if (type == known)
        return 1;
    if (known != NULL || intern() < 0)
        return 0;
    for (int i = 0; i < FIELDS; i++)
        if ((offsets[i] = slot_of(type, interned[i])) < 0)
            return 0;
    if ((kind_offset = slot_of(type, kind_name)) < 0 || (payload_offset = slot_of(type, payload_name)) < 0)
        return 0;
    known = (PyTypeObject *)Py_NewRef((PyObject *)type);
    return 1;
}

/* The value of a field, by its slot if that is known; a new reference. */
static PyObject *field_of(PyObject *frame, PyObject *name, Py_ssize_t offset) {
    PyObject *value = Py_TYPE(frame) == known ? *(PyObject **)((char *)frame + offset) : NULL;
    return value != NULL ? Py_NewRef(value) : PyObject_GetAttr(frame, name);
}

static int set_value(PyObject *frame, PyObject *name, Py_ssize_t offset, PyObject *value) {
    if (Py_TYPE(frame) != known) {
        const int status = PyObject_SetAttr(frame, name, value);
        Py_DECREF(value);
        return status;
    }
    PyObject **slot = (PyObject **)((char *)frame + offset);
    Py_XDECREF(*slot);
    *slot = value;
    return 0;
}

static int put_field(uint8_t *to, PyObject *frame, int field) {
    PyObject *value = field_of(frame, interned[field], offsets[field]);
    if (value == NULL)
        return -1;
    uint64_t bits = field < UNSIGNED ? PyLong_AsUnsignedLongLong(value) : (uint64_t)PyLong_AsLongLong(value);
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
    is_known(Py_TYPE(args[1]));
    uint8_t *bytes = (uint8_t *)PyBytes_AS_STRING(made), *credit = bytes + HEAD + FIELDS * 8;
    memcpy(bytes, PyBytes_AS_STRING(args[0]), PREFIX);
    PyObject *kind = field_of(args[1], kind_name, kind_offset);
    if (kind == NULL)
        goto failed;
    const int status = put_number(bytes + KIND, kind, 1);
    Py_DECREF(kind);
    if (status < 0 || put_number(bytes + FLAGS, args[2], 1) < 0 || put_number(bytes + SEQ, args[3], 8) < 0 ||
        put_number(bytes + ACK, args[4], 8) < 0 || put_number(bytes + CHANNEL, args[5], 4) < 0 ||
        put_number(bytes + LENGTH, args[6], 4) < 0)
        goto failed;
    for (int i = 0; i < FIELDS; i++)
        if (put_field(bytes + HEAD + i * 8, args[1], i) < 0)
            goto failed;
    for (int i = 0; i < CREDIT; i++)
        if (put_number(credit + i * 8, args[7 + i], 8) < 0)
            goto failed;
    return made;
failed:
    Py_XDECREF(made);
    return NULL;
}

static int set_field(PyObject *frame, int field, const uint8_t *from) {
    uint64_t bits;
    memcpy(&bits, from, sizeof bits);
    PyObject *value = field < UNSIGNED ? PyLong_FromUnsignedLongLong(bits) : PyLong_FromLongLong((int64_t)bits);
    return value == NULL ? -1 : set_value(frame, interned[field], offsets[field], value);
}

PyObject *as_frame_of(PyTypeObject *type, long kind, const uint8_t *fields, PyObject *payload) {
    if (intern() < 0)
        return NULL;
    is_known(type);
    PyObject *frame = type->tp_alloc(type, 0), *number = PyLong_FromLong(kind);
    if (frame == NULL || number == NULL) {
        Py_XDECREF(number);
        goto failed;
    }
    if (set_value(frame, kind_name, kind_offset, number) < 0 ||
        set_value(frame, payload_name, payload_offset, Py_NewRef(payload)) < 0)
        goto failed;
    for (int i = 0; i < FIELDS; i++)
        if (set_field(frame, i, fields + i * 8) < 0)
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
    const long kind = PyLong_AsLong(args[1]);
    PyObject *frame =
        kind == -1 && PyErr_Occurred() ? NULL : as_frame_of((PyTypeObject *)args[0], kind, bytes, Py_None);
    PyBuffer_Release(&view);
    if (frame == NULL)
        return NULL;
    return Py_BuildValue("(N(KKK))", frame, (unsigned long long)credit[0], (unsigned long long)credit[1],
                         (unsigned long long)credit[2]);
}

/* When the first operator took the rows; 0: that is not known. The flags have the microseconds since `max_entry`, plus one. */
static uint64_t began_of(const as_entry *entry) {
    const uint64_t waited = entry->flags >> 1;
    return waited ? (uint64_t)entry->max_entry + (waited - 1) * 1000 : 0;
}

PyObject *as_entry_frame(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 2 || !PyType_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "entry_frame takes a type and the bytes of an entry");
    Py_buffer view;
    if (PyObject_GetBuffer(args[1], &view, PyBUF_SIMPLE) < 0)
        return NULL;
    as_entry entry;
    if (view.len != sizeof entry) {
        PyErr_Format(PyExc_ValueError, "an entry has %zu bytes, not %zd", sizeof entry, view.len);
        PyBuffer_Release(&view);
        return NULL;
    }
    memcpy(&entry, view.buf, sizeof entry);
    PyBuffer_Release(&view);
    const uint64_t fields[FIELDS] = {entry.bytes,
                                     entry.schema,
                                     (uint64_t)entry.rows,
                                     (uint64_t)entry.first,
                                     entry.producer,
                                     entry.sequence,
                                     entry.serial,
                                     entry.piece,
                                     entry.pieces,
                                     0,
                                     (uint64_t)entry.min_time,
                                     (uint64_t)entry.max_time,
                                     (uint64_t)entry.min_entry,
                                     (uint64_t)entry.max_entry,
                                     began_of(&entry)};
    PyObject *frame = as_frame_of((PyTypeObject *)args[0], entry.kind, (const uint8_t *)fields, Py_None);
    return frame == NULL ? NULL
                         : Py_BuildValue("(NIKI)", frame, entry.flags, (unsigned long long)entry.offset, entry.arena);
}
