/* Growing arrays of zeros: see zeroed.h. */
#define _GNU_SOURCE
#include "zeroed.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGES_FROM ((size_t)1 << 20) /* below it the heap: a mapping takes 10 us and at least a page */
#define HUGE_FROM ((size_t)8 << 20)  /* random access to it misses the TLB less with huge pages */

static size_t in_pages(size_t bytes) {
    return (bytes + 4095) & ~(size_t)4095;
}

void *as_zeroed_grow(void *old, size_t old_bytes, size_t bytes) {
    if (bytes < PAGES_FROM) {
        char *made = realloc(old, bytes);
        if (made != NULL)
            memset(made + old_bytes, 0, bytes - old_bytes);
        return made;
    }
    void *made;
    if (old != NULL && old_bytes >= PAGES_FROM) {
        made = mremap(old, in_pages(old_bytes), in_pages(bytes), MREMAP_MAYMOVE);
        if (made == MAP_FAILED)
            return NULL;
    } else {
        made = mmap(NULL, in_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (made == MAP_FAILED)
            return NULL;
        if (old != NULL) {
            memcpy(made, old, old_bytes);
            free(old);
        }
    }
    if (bytes >= HUGE_FROM)
        (void)madvise(made, in_pages(bytes), MADV_HUGEPAGE); /* a wish: refused is fine */
    return made;
}

void as_zeroed_free(void *array, size_t bytes) {
    if (array == NULL)
        return;
    if (bytes < PAGES_FROM)
        free(array);
    else
        munmap(array, in_pages(bytes));
}
