/* The module itself: see objects.h. */
#include "objects.h"

static int add_type(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromSpec(spec);
    if (type == NULL)
        return -1;
    const int status = PyModule_AddType(module, (PyTypeObject *)type);
    Py_DECREF(type);
    return status;
}

static PyMethodDef functions[] = {
    {"take", as_take, METH_VARARGS,
     "take(iterator, most, room, each, names, measure, last, /)\n--\n\n"
     "A list of at most `most` items, fewer where they pass `room` bytes: an item counts `each`, and its fields `names`."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "actorstream.native._objects",
    .m_doc = "What is done to Python objects once an event.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__objects(void);

PyMODINIT_FUNC PyInit__objects(void)
{
    PyObject *made = PyModule_Create(&module);
    if (made == NULL)
        return NULL;
    if (add_type(made, &as_cursor_spec) < 0 || add_type(made, &as_emitter_spec) < 0) {
        Py_DECREF(made);
        return NULL;
    }
    return made;
}
