/* Rooms: memory of an arena for bytes that are to come, at a tenth of what a call through cffi costs. The core's functions
 * are called by their addresses, since this module is another library. */
#include "objects.h"

#include <stdint.h>

typedef struct {
    PyObject_HEAD PyObject *keep; /* what the arena lives by */
    void *arena;
    void *(*allocate)(void *arena, uint64_t bytes);
    uint8_t *(*data)(void *hold);
    void (*release)(void *hold);
} rooms;

static PyObject *rooms_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *keep;
    unsigned long long arena, allocate, data, release;
    if (keywords != NULL && PyDict_GET_SIZE(keywords)) {
        PyErr_SetString(PyExc_TypeError, "Rooms takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OKKKK", &keep, &arena, &allocate, &data, &release))
        return NULL;
    if (!arena || !allocate || !data || !release) {
        PyErr_SetString(PyExc_ValueError, "Rooms: an address is 0");
        return NULL;
    }
    rooms *own = (rooms *)type->tp_alloc(type, 0);
    if (own == NULL)
        return NULL;
    own->keep = Py_NewRef(keep);
    own->arena = (void *)(uintptr_t)arena;
    own->allocate = (void *(*)(void *, uint64_t))(uintptr_t)allocate;
    own->data = (uint8_t *(*)(void *))(uintptr_t)data;
    own->release = (void (*)(void *))(uintptr_t)release;
    return (PyObject *)own;
}

static void rooms_dealloc(PyObject *self) {
    Py_XDECREF(((rooms *)self)->keep);
    PyTypeObject *kind = Py_TYPE(self);
    kind->tp_free(self);
    Py_DECREF(kind);
}

static PyObject *take(PyObject *self, PyObject *number) {
    rooms *own = (rooms *)self;
    const Py_ssize_t nbytes = PyLong_AsSsize_t(number);
    if (nbytes < 0) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "Rooms: %zd bytes; allowed: 0 or more", nbytes);
        return NULL;
    }
    void *hold = own->allocate(own->arena, (uint64_t)nbytes);
    if (hold == NULL)
        return PyByteArray_FromStringAndSize(NULL, nbytes);
    return as_view(hold, own->release, own->data(hold), nbytes, 0, NULL);
}

static PyMethodDef methods[] = {
    {"take", take, METH_O,
     "take($self, nbytes, /)\n--\n\n"
     "Writable memory of so many bytes; from the heap if the arena has none left."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Memory of an arena for bytes that are to come."},
    {Py_tp_new, rooms_new},
    {Py_tp_dealloc, rooms_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};
PyType_Spec as_rooms_spec = {
    .name = "actorstream.native._objects.Rooms",
    .basicsize = sizeof(rooms),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
