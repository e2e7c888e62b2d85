/* Received: bytes that have come, as the block of a jumbo tuple. They are a part of what a buffer exports, which lives as
 * long as this object, and this object as long as any array over it. */
#include "frames.h"

#include <string.h>

enum { LEAST_BLOCK = 64, ALIGNED = 8, AT_ROWS = 16 };

typedef struct {
    PyObject_HEAD Py_buffer whole;
    char *data;
    Py_ssize_t nbytes;
    PyObject *references; /* weak ones */
} received;

static PyTypeObject *type; /* kept for the process, as the module is */

static int get_buffer(PyObject *self, Py_buffer *view, int flags) {
    received *own = (received *)self;
    return PyBuffer_FillInfo(view, self, own->data, own->nbytes, 1, flags);
}

static void dealloc(PyObject *self) {
    received *own = (received *)self;
    if (own->references != NULL)
        PyObject_ClearWeakRefs(self);
    PyBuffer_Release(&own->whole);
    PyTypeObject *kind = Py_TYPE(self);
    kind->tp_free(self);
    Py_DECREF(kind);
}

/* A part of what `packet` exports, which has those bytes. */
static PyObject *part_of(PyObject *packet, Py_ssize_t start, Py_ssize_t length) {
    received *own = (received *)type->tp_alloc(type, 0);
    if (own == NULL)
        return NULL;
    if (PyObject_GetBuffer(packet, &own->whole, PyBUF_SIMPLE) < 0) {
        Py_DECREF(own);
        return NULL;
    }
    own->data = (char *)own->whole.buf + start;
    own->nbytes = length;
    return (PyObject *)own;
}

/* As `part_of`; bytes that cannot be read where they lie are copied. */
static PyObject *block_of(PyObject *packet, Py_ssize_t start, Py_ssize_t length) {
    PyObject *part = part_of(packet, start, length);
    if (part == NULL)
        return NULL;
    const char *data = ((received *)part)->data;
    if ((uintptr_t)data % ALIGNED == 0 && length >= LEAST_BLOCK)
        return part;
    PyObject *copy = PyBytes_FromStringAndSize(NULL, length > LEAST_BLOCK ? length : LEAST_BLOCK);
    if (copy != NULL) {
        memset(PyBytes_AS_STRING(copy), 0, (size_t)PyBytes_GET_SIZE(copy));
        memcpy(PyBytes_AS_STRING(copy), data, (size_t)length);
    }
    Py_DECREF(part);
    part = copy == NULL ? NULL : part_of(copy, 0, PyBytes_GET_SIZE(copy));
    Py_XDECREF(copy);
    return part;
}

PyObject *as_jumbo_of(PyObject *make, PyObject *trusted, PyObject *packet, Py_ssize_t start, Py_ssize_t length) {
    PyObject *block = block_of(packet, start, length);
    if (block == NULL)
        return NULL;
    const received *own = (received *)block;
    int64_t rows;
    memcpy(&rows, own->data + AT_ROWS, sizeof rows);
    PyObject *args[] = {block, PyLong_FromLongLong(rows), trusted, PyLong_FromSsize_t(own->nbytes),
                        PyLong_FromVoidPtr(own->data)};
    PyObject *made = NULL;
    if (args[1] != NULL && args[3] != NULL && args[4] != NULL)
        made = PyObject_Vectorcall(make, args, 5, NULL);
    Py_XDECREF(args[1]);
    Py_XDECREF(args[3]);
    Py_XDECREF(args[4]);
    Py_DECREF(block);
    return made;
}

PyObject *as_jumbo_of_bytes(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    Py_buffer view;
    if (count != 3)
        return PyErr_Format(PyExc_TypeError, "received_jumbo takes a type, whether it is trusted, and bytes");
    if (PyObject_GetBuffer(args[2], &view, PyBUF_SIMPLE) < 0)
        return NULL;
    const Py_ssize_t length = view.len;
    PyBuffer_Release(&view);
    return as_jumbo_of(args[0], args[1], args[2], 0, length);
}

static PyObject *export(PyObject *self, PyObject *nothing) {
    (void)nothing;
    return Py_NewRef(self);
}

static PyObject *address(PyObject *self, void *nothing) {
    (void)nothing;
    return PyLong_FromVoidPtr(((received *)self)->data);
}

static PyMemberDef members[] = {
    {"nbytes", T_PYSSIZET, offsetof(received, nbytes), READONLY, "How many bytes there are."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(received, references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyGetSetDef getters[] = {
    {"address", address, NULL, "Where the bytes begin in this process.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef methods[] = {
    {"export", export, METH_NOARGS, "export($self, /)\n--\n\nThis object, over which arrays may be made."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Bytes that have come, as the block of a jumbo tuple."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_members, members},
    {Py_tp_getset, getters},
    {Py_tp_methods, methods},
    {Py_bf_getbuffer, get_buffer},
    {0, NULL},
};
static PyType_Spec spec = {
    .name = "actorstream.native._objects.Received",
    .basicsize = sizeof(received),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

int as_add_received(PyObject *module) {
    if (type == NULL && (type = (PyTypeObject *)PyType_FromSpec(&spec)) == NULL)
        return -1;
    return PyModule_AddType(module, type);
}
