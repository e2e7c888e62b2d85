/* The extension module `_objects`: what is done to Python objects once an event, where a call through cffi (which knows no
 * Python objects, and gives the interpreter's lock away) would cost more than the work. All of it runs under that lock. */
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

/* Types to be added to the module; all are made when it is imported. */
extern PyType_Spec as_cursor_spec;
extern PyType_Spec as_emitter_spec;
extern PyType_Spec as_metered_spec;
extern PyType_Spec as_rooms_spec;
extern PyType_Spec as_views_spec;

/* Bytes of a value, about; -1: an error is set. `measure` is asked about what is neither text nor bytes nor None. */
Py_ssize_t as_bytes_of(PyObject *value, PyObject *measure);

/* Bytes of the fields `names` of an item, about. An item that lacks one of them counts nothing for it: whoever takes the
 * item says what is wrong with it. */
Py_ssize_t as_bytes_of_fields(PyObject *item, PyObject *names, PyObject *measure);

PyObject *as_take(PyObject *module, PyObject *args);

PyObject *as_pack_frame(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *as_entry_frame(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *as_unpack_frame(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *as_unpack_run(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *as_following(PyObject *module, PyObject *packet);
PyObject *as_jumbo_of_bytes(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* Add types to the module; -1 with an error. */
int as_add_received(PyObject *module);
int as_add_messages(PyObject *module);
int as_add_view(PyObject *module);

/* An object that exports `nbytes` bytes at `data`. It takes over one use of `hold`, and gives it to `release` when the last
 * buffer over it is gone; also if it cannot be made (NULL). `keep` lives as long; NULL: nothing need. */
PyObject *as_view(void *hold, void (*release)(void *), void *data, Py_ssize_t nbytes, int readonly, PyObject *keep);
