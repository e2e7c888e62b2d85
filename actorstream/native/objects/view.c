/* View: the bytes of a hold of the core, as Python's buffers see them. The core's functions are called by their addresses,
 * since this module is another library. */
#include "objects.h"

#include <stdint.h>

typedef struct {
    PyObject_HEAD void *hold;
    void (*release)(void *hold);
    char *data;
    Py_ssize_t nbytes;
    int readonly;
    PyObject *keep; /* what the hold lives by; may be NULL */
} view;

typedef struct {
    PyObject_HEAD uint8_t *(*data)(void *hold);
    uint64_t (*bytes)(void *hold);
    void (*release)(void *hold);
} views;

static PyTypeObject *view_type; /* kept for the process, as the module is */

static int get_buffer(PyObject *self, Py_buffer *buffer, int flags) {
    view *own = (view *)self;
    return PyBuffer_FillInfo(buffer, self, own->data, own->nbytes, own->readonly, flags);
}

static void dealloc(PyObject *self) {
    view *own = (view *)self;
    own->release(own->hold);
    Py_XDECREF(own->keep);
    PyTypeObject *kind = Py_TYPE(self);
    kind->tp_free(self);
    Py_DECREF(kind);
}

PyObject *as_view(void *hold, void (*release)(void *), void *data, Py_ssize_t nbytes, int readonly, PyObject *keep) {
    view *made = (view *)view_type->tp_alloc(view_type, 0);
    if (made == NULL) {
        release(hold);
        return NULL;
    }
    made->hold = hold;
    made->release = release;
    made->data = data;
    made->nbytes = nbytes;
    made->readonly = readonly;
    made->keep = Py_XNewRef(keep);
    return (PyObject *)made;
}

static PyObject *views_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    unsigned long long data, bytes, release;
    if (keywords != NULL && PyDict_GET_SIZE(keywords)) {
        PyErr_SetString(PyExc_TypeError, "Views takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "KKK", &data, &bytes, &release))
        return NULL;
    if (!data || !bytes || !release) {
        PyErr_SetString(PyExc_ValueError, "Views: an address is 0");
        return NULL;
    }
    views *own = (views *)type->tp_alloc(type, 0);
    if (own == NULL)
        return NULL;
    own->data = (uint8_t *(*)(void *))(uintptr_t)data;
    own->bytes = (uint64_t (*)(void *))(uintptr_t)bytes;
    own->release = (void (*)(void *))(uintptr_t)release;
    return (PyObject *)own;
}

static PyObject *of(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    const views *own = (views *)self;
    if (count != 3)
        return PyErr_Format(PyExc_TypeError, "of takes a hold, whether it may be written, and what it lives by");
    void *hold = PyLong_AsVoidPtr(args[0]);
    if (hold == NULL)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "Views: the hold is 0");
    return as_view(hold, own->release, own->data(hold), (Py_ssize_t)own->bytes(hold), args[1] != Py_True, args[2]);
}

static PyMethodDef methods[] = {
    {"of", (PyCFunction)(void (*)(void))of, METH_FASTCALL,
     "of($self, hold, writable, keep, /)\n--\n\n"
     "The bytes of a hold, whose one use it takes over. `keep` lives as long."},
    {NULL, NULL, 0, NULL},
};
static PyMemberDef members[] = {
    {"nbytes", T_PYSSIZET, offsetof(view, nbytes), READONLY, "How many bytes there are."},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot view_slots[] = {
    {Py_tp_doc, "The bytes of a hold, which ends its use when the last buffer over them is gone."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_members, members},
    {Py_bf_getbuffer, get_buffer},
    {0, NULL},
};
static PyType_Spec view_spec = {
    .name = "actorstream.native._objects.View",
    .basicsize = sizeof(view),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = view_slots,
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Makes views of holds."},
    {Py_tp_new, views_new},
    {Py_tp_methods, methods},
    {0, NULL},
};
PyType_Spec as_views_spec = {
    .name = "actorstream.native._objects.Views",
    .basicsize = sizeof(views),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

int as_add_view(PyObject *module) {
    if (view_type == NULL && (view_type = (PyTypeObject *)PyType_FromSpec(&view_spec)) == NULL)
        return -1;
    return PyModule_AddType(module, view_type);
}
