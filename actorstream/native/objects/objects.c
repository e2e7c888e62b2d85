/* The module itself: see objects.h. */
#include "objects.h"

static int add_type(PyObject *module, PyType_Spec *spec) {
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
     "A list of at most `most` items, fewer where they pass `room` bytes: an item counts `each`, and its fields "
     "`names`."},
    {"pack_frame", (PyCFunction)(void (*)(void))as_pack_frame, METH_FASTCALL,
     "pack_frame(prefix, frame, flags, seq, ack, channel, length, credited, taken, taken_bytes, /)\n--\n\n"
     "The header of a frame on a network, which begins with the 40 bytes of `prefix`."},
    {"unpack_frame", (PyCFunction)(void (*)(void))as_unpack_frame, METH_FASTCALL,
     "unpack_frame(type, kind, packet, at, /)\n--\n\n"
     "The frame, without a payload, whose fields begin at byte `at`, and the credit behind them."},
    {"entry_frame", (PyCFunction)(void (*)(void))as_entry_frame, METH_FASTCALL,
     "entry_frame(type, entry, /)\n--\n\n"
     "The frame, without a payload, of an entry of a ring, and the entry's flags, offset and arena."},
    {"unpack_run", (PyCFunction)(void (*)(void))as_unpack_run, METH_FASTCALL,
     "unpack_run(frame, jumbo, trusted, packet, at, prefix, seq, bodies, /)\n--\n\n"
     "The frames from byte `at` on that begin with `prefix`, are numbered from `seq` on and need no closer look."},
    {"following", as_following, METH_O,
     "following(packet, /)\n--\n\nThe lengths of the payloads that follow a packet."},
    {"received_jumbo", (PyCFunction)(void (*)(void))as_jumbo_of_bytes, METH_FASTCALL,
     "received_jumbo(jumbo, trusted, data, /)\n--\n\nThe jumbo tuple of received bytes."},
    {NULL, NULL, 0, NULL},
};

static int add_types(PyObject *module) {
    return add_type(module, &as_cursor_spec) < 0 || add_type(module, &as_emitter_spec) < 0 ||
                   add_type(module, &as_metered_spec) < 0 || add_type(module, &as_rooms_spec) < 0 ||
                   add_type(module, &as_views_spec) < 0 || as_add_received(module) < 0 || as_add_view(module) < 0 ||
                   as_add_messages(module) < 0
               ? -1
               : 0;
}

/* Cursors and emitters are changed without a lock of their own, and interned names are kept for the process: the module
   needs the interpreter's lock, and one interpreter. Written to the API of 3.12 and 3.13; not yet tried on a
   free-threaded interpreter, which turns its lock on for such a module. */
static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, add_types},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "actorstream.native._objects",
    .m_doc = "What is done to Python objects once an event.",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__objects(void);

PyMODINIT_FUNC PyInit__objects(void) {
    return PyModuleDef_Init(&module);
}
