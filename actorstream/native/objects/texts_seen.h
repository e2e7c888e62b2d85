/* Texts of one column that came a short while ago, so that rows with equal texts share one str. Internal. */
#pragma once
#include "objects.h"
#include <stdint.h>
#include <string.h>

#define TEXTS_SEEN 128  /* slots: 2 to the 7, see text_slot */
#define TEXTS_TRIED 512 /* after so many texts that were new it is seen whether looking is worth it */

/* Where the bytes of a text lie in its column, which the owner keeps in memory, and what was made of them. */
typedef struct {
    const char *bytes;
    Py_ssize_t length;
    PyObject *text;
} seen_text;

typedef struct {
    uint32_t found, made;
    seen_text slots[TEXTS_SEEN];
} texts_seen;

/* A str of UTF-8. */
static inline PyObject *text_made(const char *bytes, Py_ssize_t length) {
    uint64_t high = 0, word = 0;
    Py_ssize_t at = 0;
    for (; at + 8 <= length; at += 8) {
        memcpy(&word, bytes + at, 8);
        high |= word;
    }
    for (; at < length; at++)
        high |= (uint64_t)(uint8_t)bytes[at];
    if (length < 2 || high & 0x8080808080808080u) /* those of one character are kept by the interpreter */
        return PyUnicode_DecodeUTF8(bytes, length, NULL);
    PyObject *text = PyUnicode_New(length, 127);
    if (text != NULL)
        memcpy(PyUnicode_1BYTE_DATA(text), bytes, (size_t)length);
    return text;
}

static inline uint32_t text_slot(const char *bytes, Py_ssize_t length) {
    uint64_t first = 0, last = 0;
    if (length >= 8) {
        memcpy(&first, bytes, 8);
        memcpy(&last, bytes + length - 8, 8);
    } else {
        for (Py_ssize_t at = 0; at < length; at++)
            first = first << 8 | (uint8_t)bytes[at];
    }
    /* of a product only the highest bits depend on all of what is multiplied */
    const uint64_t mixed = (first * 0x9E3779B97F4A7C15u ^ last) + (uint64_t)length;
    return (uint32_t)(mixed * 0xC2B2AE3D27D4EB4Fu >> 57);
}

/* The str of these bytes: one that was made before, or a new one; a new reference. NULL: they are no UTF-8. */
static inline PyObject *text_seen(texts_seen *seen, const char *bytes, Py_ssize_t length) {
    seen_text *slot = &seen->slots[text_slot(bytes, length)];
    if (slot->text != NULL && slot->length == length && memcmp(slot->bytes, bytes, (size_t)length) == 0) {
        seen->found++;
        return Py_NewRef(slot->text);
    }
    PyObject *text = text_made(bytes, length);
    if (text == NULL)
        return NULL;
    seen->made++;
    Py_XSETREF(slot->text, Py_NewRef(text));
    slot->bytes = bytes;
    slot->length = length;
    return text;
}

/* Whether so few texts came again that looking for them is not worth it. */
static inline int texts_differ(const texts_seen *seen) {
    return seen->made >= TEXTS_TRIED && seen->found < seen->made / 8;
}

static inline void texts_forget(texts_seen *seen) {
    for (int at = 0; at < TEXTS_SEEN; at++)
        Py_CLEAR(seen->slots[at].text);
}
