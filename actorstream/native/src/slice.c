/* Reads and asks for the time slice of the calling thread; see slice.h. The C library has no functions for it yet. */
#define _GNU_SOURCE
#include "../include/slice.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As the kernel has it in its first version, of 48 bytes; the C library's own comes with some versions only. */
struct attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime; /* the slice */
    uint64_t deadline;
    uint64_t period;
};
_Static_assert(sizeof(struct attributes) == 48, "the kernel tells versions apart by their size");

static int read_attributes(struct attributes *found) {
    *found = (struct attributes){.size = sizeof *found};
    if (syscall(SYS_sched_getattr, 0, found, sizeof *found, 0) != 0) {
        return errno;
    }
    return found->policy == SCHED_OTHER || found->policy == SCHED_BATCH ? 0 : EINVAL;
}

uint64_t as_slice_read(void) {
    struct attributes found;
    return read_attributes(&found) == 0 ? found.runtime : 0;
}

int as_slice_request(uint64_t ns) {
    struct attributes wanted;
    int code = read_attributes(&wanted);
    if (code == 0) {
        wanted.runtime = ns;
        code = syscall(SYS_sched_setattr, 0, &wanted, 0) == 0 ? 0 : errno;
    }
    return code;
}
