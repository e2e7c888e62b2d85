/* Metered: an iterator that stops once what is made of its items has so many bytes. It is asked for an item before the next
 * one is made, and counts then what lists have got since the last one. */
#include "objects.h"

/* A list that grows, and what each of its items counts. */
typedef struct {
    PyObject *list;
    PyObject *names; /* of the fields of an item that are measured; NULL: the item itself is */
    Py_ssize_t each; /* bytes that an item counts beside them */
    Py_ssize_t seen; /* items that were counted */
} growing;

typedef struct {
    PyObject_HEAD PyObject *source;
    PyObject *measure;
    Py_ssize_t each; /* bytes that an item of the source counts */
    Py_ssize_t room; /* bytes that are left */
    Py_ssize_t lists;
    growing *growing;
    char full;
} metered;

static int growing_of(growing *made, PyObject *given) {
    PyObject *list, *names;
    if (!PyTuple_Check(given) || !PyArg_ParseTuple(given, "O!On", &PyList_Type, &list, &names, &made->each)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "Metered: a list is described by (list, names or None, bytes)");
        return -1;
    }
    if (names != Py_None && !PyTuple_Check(names)) {
        PyErr_SetString(PyExc_TypeError, "Metered: names are a tuple, or None");
        return -1;
    }
    made->list = Py_NewRef(list);
    made->names = names == Py_None ? NULL : Py_NewRef(names);
    made->seen = PyList_GET_SIZE(list);
    return 0;
}

static PyObject *metered_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *source, *lists, *measure;
    Py_ssize_t room, each;
    if (keywords != NULL && PyDict_GET_SIZE(keywords)) {
        PyErr_SetString(PyExc_TypeError, "Metered takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OnnO!O", &source, &room, &each, &PyTuple_Type, &lists, &measure))
        return NULL;
    if (!PyIter_Check(source))
        return PyErr_Format(PyExc_TypeError, "Metered needs an iterator, not a %s", Py_TYPE(source)->tp_name);
    metered *own = (metered *)type->tp_alloc(type, 0);
    if (own == NULL)
        return NULL;
    own->source = Py_NewRef(source);
    own->measure = Py_NewRef(measure);
    own->each = each;
    own->room = room;
    own->growing = PyMem_Calloc((size_t)PyTuple_GET_SIZE(lists) + 1, sizeof *own->growing);
    if (own->growing == NULL) {
        Py_DECREF(own);
        return PyErr_NoMemory();
    }
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(lists); at++) {
        own->lists = at + 1;
        if (growing_of(&own->growing[at], PyTuple_GET_ITEM(lists, at)) < 0) {
            Py_DECREF(own);
            return NULL;
        }
    }
    return (PyObject *)own;
}

static int metered_traverse(PyObject *self, visitproc visit, void *arg) {
    metered *own = (metered *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(own->source);
    Py_VISIT(own->measure);
    for (Py_ssize_t at = 0; at < own->lists; at++) {
        Py_VISIT(own->growing[at].list);
        Py_VISIT(own->growing[at].names);
    }
    return 0;
}

static int metered_clear(PyObject *self) {
    metered *own = (metered *)self;
    Py_CLEAR(own->source);
    Py_CLEAR(own->measure);
    for (Py_ssize_t at = 0; at < own->lists; at++) {
        Py_CLEAR(own->growing[at].list);
        Py_CLEAR(own->growing[at].names);
    }
    own->lists = 0;
    return 0;
}

static void metered_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    metered_clear(self);
    PyMem_Free(((metered *)self)->growing);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Counts the items that a list has got. -1: an error is set. */
static int count(metered *own, growing *list) {
    while (list->seen < PyList_GET_SIZE(list->list)) {
        PyObject *item = Py_NewRef(PyList_GET_ITEM(list->list, list->seen));
        list->seen++;
        const Py_ssize_t bytes =
            list->names == NULL ? as_bytes_of(item, own->measure) : as_bytes_of_fields(item, list->names, own->measure);
        Py_DECREF(item);
        if (bytes < 0)
            return -1;
        own->room -= list->each + bytes;
    }
    list->seen = PyList_GET_SIZE(list->list);
    return 0;
}

static PyObject *metered_next(PyObject *self) {
    metered *own = (metered *)self;
    for (Py_ssize_t at = 0; at < own->lists; at++)
        if (own->growing[at].seen != PyList_GET_SIZE(own->growing[at].list) && count(own, &own->growing[at]) < 0)
            return NULL;
    if (own->room <= 0) {
        own->full = 1;
        return NULL;
    }
    if (own->source == NULL)
        return NULL;
    own->room -= own->each;
    return Py_TYPE(own->source)->tp_iternext(own->source);
}

static PyMemberDef members[] = {
    {"full", T_BOOL, offsetof(metered, full), READONLY, "Whether it has stopped because there was no room left."},
    {"room", T_PYSSIZET, offsetof(metered, room), READONLY, "Bytes that are left."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, metered_new},
    {Py_tp_traverse, metered_traverse},
    {Py_tp_clear, metered_clear},
    {Py_tp_dealloc, metered_dealloc},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, metered_next},
    {Py_tp_members, members},
    {Py_tp_doc,
     "Metered(source, room, each, lists, measure): items of an iterator until what is made of them fills `room`."},
    {0, NULL},
};

PyType_Spec as_metered_spec = {
    .name = "actorstream.native._objects.Metered",
    .basicsize = sizeof(metered),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
