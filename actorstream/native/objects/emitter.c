/* Emitter: lists of events by output, and `emit` that appends to them. Anything but an event for a list that is there goes
 * to the method `_emit` of the subclass. */
#include "objects.h"

typedef struct {
    PyObject_HEAD PyObject *events; /* dict: output -> list, or something else that `_emit` knows */
    PyObject *kind; /* the class of events */
    char touched;
} emitter;

static PyObject *name_to, *name_default, *name_slow;

static int emitter_init(PyObject *self, PyObject *args, PyObject *keywords) {
    emitter *own = (emitter *)self;
    PyObject *events, *kind;
    if (keywords != NULL && PyDict_GET_SIZE(keywords)) {
        PyErr_SetString(PyExc_TypeError, "Emitter takes no keywords");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "O!O!", &PyDict_Type, &events, &PyType_Type, &kind))
        return -1;
    Py_XSETREF(own->events, Py_NewRef(events));
    Py_XSETREF(own->kind, Py_NewRef(kind));
    own->touched = 0;
    return 0;
}

static int emitter_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((emitter *)self)->events);
    Py_VISIT(((emitter *)self)->kind);
    return 0;
}

static int emitter_clear(PyObject *self) {
    Py_CLEAR(((emitter *)self)->events);
    Py_CLEAR(((emitter *)self)->kind);
    return 0;
}

static void emitter_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    emitter_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* The list that an output's events go to if all is as usual; NULL: `_emit` decides, or an error is set. */
static PyObject *list_of(emitter *own, PyObject *const *args, Py_ssize_t given, PyObject *names) {
    if (own->events == NULL || given < 1)
        return NULL;
    PyObject *to = name_default;
    if (names != NULL) {
        if (given != 1 || PyTuple_GET_SIZE(names) != 1 || PyTuple_GET_ITEM(names, 0) != name_to)
            return NULL;
        to = args[1];
    } else if (given == 2) {
        to = args[1];
    } else if (given != 1) {
        return NULL;
    }
    if (!PyObject_TypeCheck(args[0], (PyTypeObject *)own->kind))
        return NULL;
    PyObject *list = PyDict_GetItemWithError(own->events, to);
    return list != NULL && PyList_CheckExact(list) ? list : NULL;
}

static PyObject *emitter_emit(PyObject *self, PyObject *const *args, Py_ssize_t given, PyObject *names) {
    emitter *own = (emitter *)self;
    PyObject *list = list_of(own, args, given, names);
    if (list != NULL) {
        own->touched = 1;
        if (PyList_Append(list, args[0]) < 0)
            return NULL;
        Py_RETURN_NONE;
    }
    if (PyErr_Occurred())
        return NULL;
    PyObject *slow = PyObject_GetAttr(self, name_slow);
    if (slow == NULL)
        return NULL;
    PyObject *done = PyObject_Vectorcall(slow, args, (size_t)given, names);
    Py_DECREF(slow);
    return done;
}

static PyMethodDef methods[] = {
    {"emit", (PyCFunction)(void (*)(void))emitter_emit, METH_FASTCALL | METH_KEYWORDS,
     "emit($self, item, to='default')\n--\n\nTakes one event, or a batch, for output `to`."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"events", T_OBJECT_EX, offsetof(emitter, events), READONLY, "Output -> the list of its events."},
    {"touched", T_BOOL, offsetof(emitter, touched), 0, "Whether something was emitted since it was set to False."},
    {NULL, 0, 0, 0, NULL},
};

static int emitter_ready(void) {
    if (name_to == NULL)
        name_to = PyUnicode_InternFromString("to");
    if (name_default == NULL)
        name_default = PyUnicode_InternFromString("default");
    if (name_slow == NULL)
        name_slow = PyUnicode_InternFromString("_emit");
    return name_to != NULL && name_default != NULL && name_slow != NULL;
}

static PyObject *emitter_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)args;
    (void)keywords;
    return emitter_ready() ? type->tp_alloc(type, 0) : NULL;
}

static PyType_Slot slots[] = {
    {Py_tp_new, emitter_new},
    {Py_tp_init, emitter_init},
    {Py_tp_traverse, emitter_traverse},
    {Py_tp_clear, emitter_clear},
    {Py_tp_dealloc, emitter_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_doc,
     "Emitter(events, kind): `emit` appends events, instances of `kind`, to the lists in the dict `events`."},
    {0, NULL},
};

PyType_Spec as_emitter_spec = {
    .name = "actorstream.native._objects.Emitter",
    .basicsize = sizeof(emitter),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
