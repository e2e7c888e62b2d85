/* unpack_run and following: the frames of a packet that need no closer look, and the lengths of what follows a packet. */
#include "frames.h"

#include <string.h>

enum { MOST_BYTES = 1 << 30, AT_ROWS = 16, LEAST_PAYLOAD = 24 };

typedef struct {
    PyTypeObject *frame;
    PyObject *jumbo, *trusted, *packet, *bodies;
    const uint8_t *bytes, *prefix;
    Py_ssize_t at, nbytes; /* where the next message begins, and the bytes of the packet */
    Py_ssize_t used; /* payloads behind the packet that were taken */
    uint64_t seq, ack, payload_bytes;
    PyObject *groups, *last; /* `last`: the frames of the group that the next frame may join; borrowed */
    uint32_t channel; /* of that group */
} run;

static uint64_t word(const uint8_t *bytes) {
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static uint32_t half(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

/* Whether `first` and `rows` of a frame fit its payload, of which there are `length` bytes. */
static int are_rows_right(const uint8_t *fields, const uint8_t *payload, uint32_t length) {
    const int64_t rows = (int64_t)word(fields + ROWS), first = (int64_t)word(fields + FIRST);
    if (word(fields + NBYTES) > MOST_BYTES)
        return 0;
    if (length == 0)
        return rows == 0 && first == 0;
    if (rows < 0 || first < 0 || length < LEAST_PAYLOAD)
        return 0;
    const int64_t all = (int64_t)word(payload + AT_ROWS);
    return word(fields + SCHEMA) == 0 || (first <= all && rows <= all - first);
}

/* The header of the next message if that is a frame which may be taken in without a closer look, else NULL. */
static const uint8_t *next_of(const run *own) {
    const uint8_t *bytes = own->bytes + own->at;
    if (own->nbytes - own->at < WHOLE || memcmp(bytes, own->prefix, KIND) != 0 ||
        memcmp(bytes + FLAGS + 1, own->prefix + FLAGS + 1, PREFIX - FLAGS - 1) != 0)
        return NULL;
    const int flags = bytes[FLAGS] & (own->at == 0 ? ~FOLLOWED : ~0);
    const uint32_t length = half(bytes + LENGTH);
    if (bytes[KIND] < DATA || bytes[KIND] > MOST_KIND || word(bytes + SEQ) != own->seq || length > MOST_BYTES ||
        (flags & ~(APART | SAME | KEEP)) || ((flags & SAME) && ((flags & APART) || length)) ||
        (bytes[KIND] != DATA && (length || (flags & SAME))))
        return NULL;
    return bytes;
}

/* Puts a frame where those of its channel are; one that has flags or credit begins a group, and one with flags is alone. */
static int add(run *own, const uint8_t *bytes, int flags, PyObject *frame) {
    const uint32_t channel = half(bytes + CHANNEL);
    const uint8_t *credit = bytes + HEAD + FIELDS * 8;
    if (own->last != NULL && channel == own->channel && flags == 0 && word(credit) == 0)
        return PyList_Append(own->last, frame);
    PyObject *frames = PyList_New(1);
    if (frames == NULL)
        return -1;
    PyList_SET_ITEM(frames, 0, Py_NewRef(frame));
    own->channel = channel;
    own->last = flags == 0 ? frames : NULL;
    PyObject *group =
        Py_BuildValue("(Ii(KKK)N)", (unsigned)channel, flags, (unsigned long long)word(credit),
                      (unsigned long long)word(credit + 8), (unsigned long long)word(credit + 16), frames);
    const int status = group == NULL ? -1 : PyList_Append(own->groups, group);
    Py_XDECREF(group);
    return status;
}

/* Takes in the next message. Returns 1 if it did, 0 if that must be looked at more closely, -1 with an error. */
static int take(run *own) {
    const uint8_t *bytes = next_of(own);
    if (bytes == NULL)
        return 0;
    const int flags = bytes[FLAGS] & (APART | SAME | KEEP);
    const uint32_t length = half(bytes + LENGTH);
    const Py_ssize_t start = own->at + WHOLE;
    Py_ssize_t end = start;
    PyObject *jumbo = NULL;
    if (flags & APART) {
        if (length == 0 || own->used >= PyList_GET_SIZE(own->bodies))
            return 0;
        PyObject *body = PyList_GET_ITEM(own->bodies, own->used);
        Py_buffer view;
        if (PyObject_GetBuffer(body, &view, PyBUF_SIMPLE) < 0)
            return -1;
        const int is_right = view.len == (Py_ssize_t)length && are_rows_right(bytes + HEAD, view.buf, length);
        PyBuffer_Release(&view);
        if (!is_right)
            return 0;
        jumbo = as_jumbo_of(own->jumbo, own->trusted, body, 0, length);
        own->used++;
    } else if (flags & SAME) {
        jumbo = Py_NewRef(Py_None);
    } else {
        if (own->nbytes - start < (Py_ssize_t)length || !are_rows_right(bytes + HEAD, own->bytes + start, length))
            return 0;
        jumbo = length == 0 ? Py_NewRef(Py_None) : as_jumbo_of(own->jumbo, own->trusted, own->packet, start, length);
        end = start + (Py_ssize_t)length;
    }
    PyObject *frame = jumbo == NULL ? NULL : as_frame_of(own->frame, bytes[KIND], bytes + HEAD, jumbo);
    Py_XDECREF(jumbo);
    const int status = frame == NULL ? -1 : add(own, bytes, flags & (SAME | KEEP), frame);
    Py_XDECREF(frame);
    const uint64_t ack = word(bytes + ACK);
    own->ack = ack > own->ack ? ack : own->ack;
    own->payload_bytes += length;
    own->seq++;
    own->at = end + (-end & 7);
    return status < 0 ? -1 : 1;
}

PyObject *as_unpack_run(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 8 || !PyType_Check(args[0]) || !PyBytes_Check(args[5]) || PyBytes_GET_SIZE(args[5]) != PREFIX ||
        !PyList_Check(args[7]))
        return PyErr_Format(PyExc_TypeError, "unpack_run takes a type of frames, one of jumbo tuples, whether they are "
                                             "trusted, bytes, where they begin, 40 bytes, a number and a list");
    Py_buffer view;
    run own = {.frame = (PyTypeObject *)args[0], .jumbo = args[1], .trusted = args[2], .packet = args[3]};
    own.bodies = args[7];
    own.prefix = (const uint8_t *)PyBytes_AS_STRING(args[5]);
    own.at = PyLong_AsSsize_t(args[4]);
    const uint64_t seq = own.seq = PyLong_AsUnsignedLongLong(args[6]);
    if (PyErr_Occurred() || PyObject_GetBuffer(args[3], &view, PyBUF_SIMPLE) < 0)
        return NULL;
    own.bytes = view.buf;
    own.nbytes = view.len;
    own.groups = PyList_New(0);
    int status = own.groups == NULL ? -1 : own.at >= 0 && own.at < view.len;
    while (status > 0)
        status = take(&own);
    PyBuffer_Release(&view);
    if (status < 0) {
        Py_XDECREF(own.groups);
        return NULL;
    }
    return Py_BuildValue("(NnKKKn)", own.groups, own.at, (unsigned long long)(own.seq - seq),
                         (unsigned long long)own.payload_bytes, (unsigned long long)own.ack, own.used);
}

PyObject *as_following(PyObject *module, PyObject *packet) {
    (void)module;
    Py_buffer view;
    if (PyObject_GetBuffer(packet, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    PyObject *found = PyList_New(0);
    const uint8_t *bytes = view.buf;
    const int is_followed = view.len >= HEAD && bytes[FLAGS] & FOLLOWED;
    for (Py_ssize_t at = 0; found != NULL && is_followed && view.len - at >= HEAD;) {
        const uint8_t *head = bytes + at;
        const uint32_t length = half(head + LENGTH);
        const int is_apart = head[FLAGS] & APART;
        const Py_ssize_t body = is_apart ? 0 : (Py_ssize_t)length;
        if (is_apart) {
            PyObject *number = PyLong_FromUnsignedLong(length < MOST_BYTES ? length : MOST_BYTES);
            if (number == NULL || PyList_Append(found, number) < 0)
                Py_CLEAR(found);
            Py_XDECREF(number);
        }
        at += (head[KIND] >= DATA && head[KIND] <= MOST_KIND ? WHOLE : HEAD) + body + (-body & 7);
        if (at > view.len)
            break;
    }
    PyBuffer_Release(&view);
    return found;
}
