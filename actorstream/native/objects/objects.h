/* The extension module `_objects`: what is done to Python objects once an event, where a call through cffi (which knows no
 * Python objects, and gives the interpreter's lock away) would cost more than the work. All of it runs under that lock. */
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

/* Types to be added to the module; both are made when it is imported. */
extern PyType_Spec as_cursor_spec;
extern PyType_Spec as_emitter_spec;

PyObject *as_take(PyObject *module, PyObject *args);
