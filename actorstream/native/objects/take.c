/* take: so many items of an iterator as are wanted and fit into so many bytes, as a list. */
#include "objects.h"

Py_ssize_t as_bytes_of(PyObject *value, PyObject *measure) {
    if (PyUnicode_Check(value))
        return PyUnicode_GET_LENGTH(value) * (Py_ssize_t)PyUnicode_KIND(value);
    if (PyBytes_Check(value))
        return PyBytes_GET_SIZE(value);
    if (value == Py_None)
        return 0;
    PyObject *found = PyObject_CallOneArg(measure, value);
    if (found == NULL)
        return -1;
    const Py_ssize_t bytes = PyLong_AsSsize_t(found);
    Py_DECREF(found);
    return bytes;
}

Py_ssize_t as_bytes_of_fields(PyObject *item, PyObject *names, PyObject *measure) {
    Py_ssize_t bytes = 0;
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(names); at++) {
        PyObject *value = PyObject_GetAttr(item, PyTuple_GET_ITEM(names, at));
        if (value == NULL) {
            if (!PyErr_ExceptionMatches(PyExc_AttributeError))
                return -1;
            PyErr_Clear();
            continue;
        }
        const Py_ssize_t found = as_bytes_of(value, measure);
        Py_DECREF(value);
        if (found < 0)
            return -1;
        bytes += found;
    }
    return bytes;
}

PyObject *as_take(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *iterator, *names, *measure, *last;
    Py_ssize_t most, room, each;
    if (!PyArg_ParseTuple(args, "OnnnO!OO", &iterator, &most, &room, &each, &PyTuple_Type, &names, &measure, &last))
        return NULL;
    if (!PyIter_Check(iterator))
        return PyErr_Format(PyExc_TypeError, "take needs an iterator, not a %s", Py_TYPE(iterator)->tp_name);
    PyObject *taken = PyList_New(0);
    if (taken == NULL)
        return NULL;
    while (PyList_GET_SIZE(taken) < most && room > 0) {
        PyObject *item = PyIter_Next(iterator);
        if (item == NULL)
            break;
        const Py_ssize_t bytes = as_bytes_of_fields(item, names, measure);
        const int ends = bytes < 0 || PyList_Append(taken, item) < 0 || (PyObject *)Py_TYPE(item) == last;
        Py_DECREF(item);
        if (ends)
            break;
        room -= each + bytes;
    }
    if (PyErr_Occurred())
        Py_CLEAR(taken);
    return taken;
}
