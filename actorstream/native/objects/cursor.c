/* Cursor: events of the rows of columns, each made as it is taken, by a call of the class with the values of its fields. */
#include "texts_seen.h"

#define FEW 16 /* of fewer rows no texts are kept */

/* Where the values of one field lie. The addresses are good for as long as `keep` lives. */
typedef struct {
    char code; /* of the value, as `struct` names it; 't' text, 'y' bytes, 'k' category, 'l' in the list `keep` */
    char wide; /* whether offsets have 8 bytes */
    char width;
    int64_t first;
    const uint8_t *validity; /* Arrow bitmap; NULL: no nulls */
    const char *data;
    const char *offsets;
    PyObject *keep;
    PyObject *categories; /* a tuple, or NULL */
    texts_seen *seen;
} field_values;

typedef struct {
    PyObject_HEAD PyObject *make;
    vectorcallfunc call; /* how `make` is called; NULL: as any callable */
    Py_ssize_t next, end, began;
    Py_ssize_t fields;
    field_values *values;
    PyObject **arguments; /* of a call: one free place, and one for each field */
    char making, is_over;
} cursor;

static void values_clear(field_values *values) {
    Py_CLEAR(values->keep);
    Py_CLEAR(values->categories);
    if (values->seen != NULL)
        texts_forget(values->seen);
    PyMem_Free(values->seen);
    values->seen = NULL;
}

static int values_of(field_values *values, PyObject *given, Py_ssize_t end) {
    if (PyList_CheckExact(given)) {
        if (PyList_GET_SIZE(given) < end) {
            PyErr_Format(PyExc_ValueError, "Cursor: a list of %zd values for rows up to %zd", PyList_GET_SIZE(given),
                         end);
            return -1;
        }
        values->code = 'l';
        values->keep = Py_NewRef(given);
        return 0;
    }
    const char *code;
    int width, wide;
    long long first;
    unsigned long long validity, data, offsets;
    PyObject *keep, *categories;
    if (!PyTuple_Check(given)) {
        PyErr_Format(PyExc_TypeError, "Cursor: values are %R; allowed: a list, or a described column", given);
        return -1;
    }
    if (!PyArg_ParseTuple(given, "s(iiLKKK)OO", &code, &width, &wide, &first, &validity, &data, &offsets, &keep,
                          &categories))
        return -1;
    values->code = *code;
    values->width = (char)width;
    values->wide = (char)wide;
    values->first = first;
    values->validity = (const uint8_t *)(uintptr_t)validity;
    values->data = (const char *)(uintptr_t)data;
    values->offsets = (const char *)(uintptr_t)offsets;
    values->keep = Py_NewRef(keep);
    if (PyTuple_CheckExact(categories))
        values->categories = Py_NewRef(categories);
    const int is_text = *code == 't' || *code == 'y';
    if (strchr("?bBhHiIqQfdtyk", *code) == NULL || *code == 0 || (*code == 'k' && values->categories == NULL) ||
        (is_text && values->offsets == NULL)) {
        PyErr_Format(PyExc_ValueError, "Cursor: no column is described by %R", given);
        return -1;
    }
    return 0;
}

static void cursor_free(cursor *own) {
    for (Py_ssize_t at = 0; own->values != NULL && at < own->fields; at++)
        values_clear(&own->values[at]);
    PyMem_Free(own->values);
    PyMem_Free(own->arguments);
    own->values = NULL;
    own->arguments = NULL;
}

static PyObject *cursor_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *make, *columns;
    Py_ssize_t first, rows;
    if (keywords != NULL && PyDict_GET_SIZE(keywords)) {
        PyErr_SetString(PyExc_TypeError, "Cursor takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OO!nn", &make, &PyTuple_Type, &columns, &first, &rows))
        return NULL;
    if (first < 0 || rows < 0) {
        PyErr_Format(PyExc_ValueError, "Cursor: %zd rows from row %zd", rows, first);
        return NULL;
    }
    cursor *own = (cursor *)type->tp_alloc(type, 0);
    if (own == NULL)
        return NULL;
    const Py_ssize_t fields = PyTuple_GET_SIZE(columns);
    own->make = Py_NewRef(make);
    own->call = PyVectorcall_Function(make);
    own->next = own->began = first;
    own->end = first + rows;
    own->values = PyMem_Calloc((size_t)fields + 1, sizeof *own->values);
    own->arguments = PyMem_Calloc((size_t)fields + 1, sizeof *own->arguments);
    if (own->values == NULL || own->arguments == NULL) {
        Py_DECREF(own);
        return PyErr_NoMemory();
    }
    own->fields = fields;
    for (Py_ssize_t at = 0; at < fields; at++) {
        field_values *values = &own->values[at];
        if (values_of(values, PyTuple_GET_ITEM(columns, at), own->end) < 0)
            goto failed;
        if (values->code == 't' && rows >= FEW) {
            values->seen = PyMem_Calloc(1, sizeof *values->seen);
            if (values->seen == NULL) {
                PyErr_NoMemory();
                goto failed;
            }
        }
    }
    return (PyObject *)own;
failed:
    Py_DECREF(own);
    return NULL;
}

static int cursor_traverse(PyObject *self, visitproc visit, void *arg) {
    cursor *own = (cursor *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(own->make);
    for (Py_ssize_t at = 0; own->values != NULL && at < own->fields; at++) {
        Py_VISIT(own->values[at].keep);
        Py_VISIT(own->values[at].categories);
    }
    return 0;
}

static int cursor_clear(PyObject *self) {
    cursor *own = (cursor *)self;
    own->next = own->end; /* what is cleared gives no more */
    Py_CLEAR(own->make);
    for (Py_ssize_t at = 0; own->values != NULL && at < own->fields; at++)
        values_clear(&own->values[at]);
    return 0;
}

static void cursor_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    cursor_clear(self);
    cursor_free((cursor *)self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* A value of `type` at row `at`, which may lie anywhere. */
#define READ(type, into)                                                                                               \
    type into;                                                                                                         \
    memcpy(&into, values->data + at * (int64_t)sizeof(type), sizeof into)

static PyObject *text_of(field_values *values, int64_t at) {
    int64_t from, to;
    if (values->wide) {
        memcpy(&from, values->offsets + at * 8, 8);
        memcpy(&to, values->offsets + at * 8 + 8, 8);
    } else {
        int32_t ends[2];
        memcpy(ends, values->offsets + at * 4, 8);
        from = ends[0];
        to = ends[1];
    }
    const char *bytes = values->data + from;
    const Py_ssize_t length = to - from;
    if (values->code == 'y')
        return PyBytes_FromStringAndSize(bytes, length);
    if (values->seen == NULL)
        return text_made(bytes, length);
    PyObject *text = text_seen(values->seen, bytes, length);
    if (texts_differ(values->seen)) {
        texts_forget(values->seen);
        PyMem_Free(values->seen);
        values->seen = NULL;
    }
    return text;
}

static PyObject *category_of(field_values *values, int64_t at) {
    int64_t code;
    if (values->width == 1) {
        READ(int8_t, own);
        code = own;
    } else if (values->width == 2) {
        READ(int16_t, own);
        code = own;
    } else {
        READ(int32_t, own);
        code = own;
    }
    if (code < 0 || code >= PyTuple_GET_SIZE(values->categories)) {
        PyErr_Format(PyExc_IndexError, "code %lld is not one of %zd categories", (long long)code,
                     PyTuple_GET_SIZE(values->categories));
        return NULL;
    }
    return Py_NewRef(PyTuple_GET_ITEM(values->categories, code));
}

#define NUMBER(letter, type, make)                                                                                     \
    case letter: {                                                                                                     \
        READ(type, own);                                                                                               \
        return make(own);                                                                                              \
    }

/* The value of row `row`, a new reference; NULL: an error is set. */
static inline PyObject *value_of(field_values *values, int64_t row) {
    if (values->code == 'l') {
        if (row >= PyList_GET_SIZE(values->keep)) {
            PyErr_SetString(PyExc_RuntimeError, "Cursor: a list of values became shorter");
            return NULL;
        }
        return Py_NewRef(PyList_GET_ITEM(values->keep, row));
    }
    const int64_t at = values->first + row;
    if (values->validity != NULL && !(values->validity[at >> 3] >> (at & 7) & 1))
        return Py_NewRef(Py_None);
    switch (values->code) {
        NUMBER('q', int64_t, PyLong_FromLongLong)
        NUMBER('d', double, PyFloat_FromDouble)
        NUMBER('i', int32_t, PyLong_FromLong)
        NUMBER('f', float, PyFloat_FromDouble)
        NUMBER('Q', uint64_t, PyLong_FromUnsignedLongLong)
        NUMBER('I', uint32_t, PyLong_FromUnsignedLong)
        NUMBER('h', int16_t, PyLong_FromLong)
        NUMBER('H', uint16_t, PyLong_FromLong)
        NUMBER('b', int8_t, PyLong_FromLong)
        NUMBER('B', uint8_t, PyLong_FromLong)
        NUMBER('?', uint8_t, PyBool_FromLong)
    case 'k': return category_of(values, at);
    default: return text_of(values, at);
    }
}

static PyObject *cursor_next(PyObject *self) {
    cursor *own = (cursor *)self;
    if (own->next >= own->end) {
        own->is_over = 1;
        return NULL;
    }
    if (own->making) {
        PyErr_SetString(PyExc_RuntimeError, "Cursor: asked for an event by what makes its events");
        return NULL;
    }
    own->making = 1;
    const Py_ssize_t row = own->next++, fields = own->fields;
    PyObject *made = NULL, **arguments = own->arguments + 1;
    Py_ssize_t at = 0;
    for (; at < fields; at++) {
        PyObject *value = value_of(&own->values[at], row);
        if (value == NULL)
            goto done;
        arguments[at] = value;
    }
    if (own->make == Py_None && fields == 1) {
        made = Py_NewRef(arguments[0]);
        goto done;
    }
    const size_t given = (size_t)fields | PY_VECTORCALL_ARGUMENTS_OFFSET;
    if (own->call != NULL)
        made = own->call(own->make, arguments, given, NULL);
    else
        made = PyObject_Vectorcall(own->make, arguments, given, NULL);
done:
    while (at-- > 0)
        Py_CLEAR(arguments[at]);
    own->making = 0;
    return made;
}

static PyObject *cursor_hint(PyObject *self, PyObject *nothing) {
    (void)nothing;
    return PyLong_FromSsize_t(((cursor *)self)->end - ((cursor *)self)->next);
}

static PyObject *cursor_taken(PyObject *self, PyObject *nothing) {
    (void)nothing;
    return PyLong_FromSsize_t(((cursor *)self)->next - ((cursor *)self)->began);
}

static PyObject *cursor_is_over(PyObject *self, PyObject *nothing) {
    (void)nothing;
    return PyBool_FromLong(((cursor *)self)->is_over);
}

static PyMethodDef methods[] = {
    {"__length_hint__", cursor_hint, METH_NOARGS, "How many events are left."},
    {"taken", cursor_taken, METH_NOARGS, "taken($self)\n--\n\nHow many events were taken."},
    {"is_over", cursor_is_over, METH_NOARGS, "is_over($self)\n--\n\nWhether it was asked for more than there is."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, cursor_new},
    {Py_tp_traverse, cursor_traverse},
    {Py_tp_clear, cursor_clear},
    {Py_tp_dealloc, cursor_dealloc},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, cursor_next},
    {Py_tp_methods, methods},
    {Py_tp_doc, "Cursor(make, columns, first, rows): events of rows, each made by `make` as it is taken; without "
                "`make` the values of the one "
                "column."},
    {0, NULL},
};

PyType_Spec as_cursor_spec = {
    .name = "actorstream.native._objects.Cursor",
    .basicsize = sizeof(cursor),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
