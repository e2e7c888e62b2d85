/* Status codes: what every function of the core answers. 0 and 1 are outcomes, negative values are errors. */
#ifndef ACTORSTREAM_STATUS_H
#define ACTORSTREAM_STATUS_H
#include <stdint.h>
/* cffi: begin */
enum {
    AS_OK = 0,            /* done */
    AS_AGAIN = 1,         /* full, empty or not yet: nothing was changed, try later */
    AS_E_MEMORY = -1,     /* the arena's limit, the cgroup or the kernel has no more memory */
    AS_E_STALE = -2,      /* generation or epoch differs: the block was recycled or the peer was replaced */
    AS_E_CORRUPT = -3,    /* magic, version or bounds are wrong */
    AS_E_ARGUMENT = -4,   /* the caller broke the contract of the function */
    AS_E_CLOSED = -5,     /* the other side has closed */
    AS_E_SYSTEM = -6,     /* a system call failed; errno says which way */
    AS_E_USER = -7        /* a user function answered something else than 0 (userfn.h) */
};
/* cffi: end */
#endif
