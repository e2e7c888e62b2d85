/* MessageSocket: whole messages of ZeroMQ, in and out of a socket that somebody else has opened. What libzmq offers is
 * called by its addresses, so nothing here is compiled or linked against it.
 *
 * A part that is sent by reference is freed by libzmq, on a thread of its own that must not touch a Python object. So that
 * thread only puts it on a list, and the next call of `send`, `receive` or `free_sent` lets it go. */
#include "objects.h"
#include "../src/returned.h"

#include <errno.h>

enum { NOW = 1, MORE = 2 }; /* ZMQ_DONTWAIT, ZMQ_SNDMORE */

typedef struct {
    _Alignas(8) unsigned char opaque[64];
} zmq_message; /* zmq_msg_t */

typedef struct {
    returned link; /* first, so that a link is its part */
    Py_buffer view;
} part;

static returned_list freed;

/* In the order in which MessageSocket takes them. A process has one libzmq, so they are those of all its sockets. */
static struct {
    int (*init)(zmq_message *);
    int (*init_data)(zmq_message *, void *, size_t, void (*)(void *, void *), void *);
    int (*receive)(zmq_message *, void *, int);
    int (*send)(zmq_message *, void *, int);
    int (*send_bytes)(void *, const void *, size_t, int);
    int (*close)(zmq_message *);
    int (*move)(zmq_message *, zmq_message *);
    void *(*data)(zmq_message *);
    size_t (*size)(const zmq_message *);
    int (*more)(const zmq_message *);
} zmq;
enum { FUNCTIONS = 10 };

/* -- a part that came and is too large to be copied */

typedef struct {
    PyObject_HEAD zmq_message content;
} message;

static PyTypeObject *message_type; /* kept for the process, as the module is */

static int get_buffer(PyObject *self, Py_buffer *view, int flags) {
    zmq_message *content = &((message *)self)->content;
    return PyBuffer_FillInfo(view, self, zmq.data(content), (Py_ssize_t)zmq.size(content), 1, flags);
}

static void free_message(PyObject *self) {
    zmq.close(&((message *)self)->content);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* A view of what came; `content` is empty afterwards. */
static PyObject *view_of(zmq_message *content) {
    message *made = (message *)message_type->tp_alloc(message_type, 0);
    if (made == NULL)
        return NULL;
    zmq.init(&made->content);
    zmq.move(&made->content, content);
    PyObject *view = PyMemoryView_FromObject((PyObject *)made);
    Py_DECREF(made);
    return view;
}

/* -- the socket */

typedef struct {
    PyObject_HEAD void *socket;
    size_t small;
    Py_ssize_t most;
} end;

static PyObject *new_end(PyTypeObject *type, PyObject *args, PyObject *names) {
    unsigned long long address, found[FUNCTIONS];
    Py_ssize_t small, most;
    PyObject *functions;
    if (names != NULL && PyDict_GET_SIZE(names))
        return PyErr_Format(PyExc_TypeError, "MessageSocket takes no keyword arguments");
    if (!PyArg_ParseTuple(args, "KO!nn", &address, &PyTuple_Type, &functions, &small, &most))
        return NULL;
    if (PyTuple_GET_SIZE(functions) != FUNCTIONS)
        return PyErr_Format(PyExc_TypeError, "%d functions are needed", (int)FUNCTIONS);
    for (int i = 0; i < FUNCTIONS; i++) {
        found[i] = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(functions, i));
        if (PyErr_Occurred())
            return NULL;
        ((void **)&zmq)[i] = (void *)(uintptr_t)found[i];
    }
    end *made = (end *)type->tp_alloc(type, 0);
    if (made != NULL) {
        made->socket = (void *)(uintptr_t)address;
        made->small = (size_t)small;
        made->most = most;
    }
    return (PyObject *)made;
}

/* libzmq's thread, or the caller of `send` where that fails. */
static void put_freed(void *data, void *hint) {
    (void)data;
    returned_put(&freed, hint);
}

/* Under the interpreter's lock. */
static void let_go(void) {
    for (returned *each = returned_take(&freed); each != NULL;) {
        part *own = (part *)each;
        each = each->next;
        PyBuffer_Release(&own->view);
        PyMem_Free(own);
    }
}

static PyObject *free_sent(PyObject *self, PyObject *nothing) {
    (void)self;
    (void)nothing;
    let_go();
    Py_RETURN_NONE;
}

/* 1: sent; 0: there is no room; -1: an error is set. */
static int status_of(int sent) {
    if (sent >= 0)
        return 1;
    if (errno == EAGAIN)
        return 0;
    PyErr_SetFromErrno(PyExc_OSError);
    return -1;
}

static int send_by_reference(end *own, PyObject *body, int flags) {
    part *kept = PyMem_Malloc(sizeof *kept);
    if (kept == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (PyObject_GetBuffer(body, &kept->view, PyBUF_SIMPLE) < 0) {
        PyMem_Free(kept);
        return -1;
    }
    zmq_message content;
    if (zmq.init_data(&content, kept->view.buf, (size_t)kept->view.len, put_freed, kept) < 0) {
        put_freed(NULL, kept);
        PyErr_NoMemory();
        return -1;
    }
    int sent;
    do
        sent = zmq.send(&content, own->socket, flags);
    while (sent < 0 && errno == EINTR);
    const int status = status_of(sent);
    if (status < 1) {
        const int error = errno;
        zmq.close(&content);
        errno = error;
    }
    return status;
}

static PyObject *send_message(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    end *own = (end *)self;
    if (count != 2 || !PyBytes_Check(args[0]) || !PyList_Check(args[1]))
        return PyErr_Format(PyExc_TypeError, "send takes bytes and a list");
    let_go();
    const Py_ssize_t bodies = PyList_GET_SIZE(args[1]);
    int sent;
    do
        sent = zmq.send_bytes(own->socket, PyBytes_AS_STRING(args[0]), (size_t)PyBytes_GET_SIZE(args[0]),
                              bodies ? NOW | MORE : NOW);
    while (sent < 0 && errno == EINTR);
    int status = status_of(sent);
    /* ZeroMQ takes the parts behind the first one whatever its high-water mark is */
    for (Py_ssize_t i = 0; status == 1 && i < bodies; i++)
        status = send_by_reference(own, PyList_GET_ITEM(args[1], i), i + 1 < bodies ? NOW | MORE : NOW);
    return status < 0 ? NULL : PyBool_FromLong(status);
}

/* The next part; NULL without an error: none has come. `content` is closed. */
static PyObject *next_part(end *own, int *more) {
    zmq_message content;
    zmq.init(&content);
    int came;
    do
        came = zmq.receive(&content, own->socket, NOW);
    while (came < 0 && errno == EINTR);
    PyObject *made = NULL;
    if (status_of(came) == 1) {
        *more = zmq.more(&content);
        made = zmq.size(&content) <= own->small
                   ? PyBytes_FromStringAndSize(zmq.data(&content), (Py_ssize_t)zmq.size(&content))
                   : view_of(&content);
    }
    zmq.close(&content);
    return made;
}

static PyObject *receive_message(PyObject *self, PyObject *nothing) {
    (void)nothing;
    end *own = (end *)self;
    int more = 0;
    let_go();
    PyObject *packet = next_part(own, &more);
    if (packet == NULL)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    PyObject *bodies = PyList_New(0);
    while (bodies != NULL && more) {
        PyObject *body = next_part(own, &more);
        if (body == NULL && !PyErr_Occurred())
            PyErr_SetString(PyExc_OSError, "a message whose parts have not all come");
        if (body == NULL || (PyList_GET_SIZE(bodies) < own->most && PyList_Append(bodies, body) < 0))
            Py_CLEAR(bodies);
        Py_XDECREF(body);
    }
    PyObject *both = bodies == NULL ? NULL : PyTuple_Pack(2, packet, bodies);
    Py_DECREF(packet);
    Py_XDECREF(bodies);
    return both;
}

static PyMethodDef methods[] = {
    {"send", (PyCFunction)(void (*)(void))send_message, METH_FASTCALL,
     "send($self, packet, bodies, /)\n--\n\nSends a packet and what follows it, by reference. False: there is no "
     "room."},
    {"receive", receive_message, METH_NOARGS,
     "receive($self, /)\n--\n\nThe next packet and a list of what follows it; None: nothing has come."},
    {"free_sent", free_sent, METH_NOARGS | METH_STATIC,
     "free_sent()\n--\n\nLets go of what libzmq has sent by reference, or has given up."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot message_slots[] = {
    {Py_tp_doc, "A part of a message that came."},
    {Py_tp_dealloc, free_message},
    {Py_bf_getbuffer, get_buffer},
    {0, NULL},
};
static PyType_Spec message_spec = {
    .name = "actorstream.native._objects.Message",
    .basicsize = sizeof(message),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = message_slots,
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Messages of a socket of ZeroMQ. It is used by one thread at a time."},
    {Py_tp_new, new_end},
    {Py_tp_methods, methods},
    {0, NULL},
};
static PyType_Spec spec = {
    .name = "actorstream.native._objects.MessageSocket",
    .basicsize = sizeof(end),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

int as_add_messages(PyObject *module) {
    if (message_type == NULL && (message_type = (PyTypeObject *)PyType_FromSpec(&message_spec)) == NULL)
        return -1;
    PyObject *type = PyType_FromSpec(&spec);
    const int status = type == NULL ? -1 : PyModule_AddType(module, (PyTypeObject *)type);
    Py_XDECREF(type);
    return status;
}
