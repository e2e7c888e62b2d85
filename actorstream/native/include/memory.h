/*
 * Memory: how much this process may still take before the kernel kills it. Reads /proc and the memory cgroup (v1 and
 * v2, every level up to the mount), takes nothing itself. Safe from any thread.
 */
#ifndef ACTORSTREAM_MEMORY_H
#define ACTORSTREAM_MEMORY_H
#include "status.h"
/* cffi: begin */
typedef struct as_memory {       /* bytes; UINT64_MAX: not limited, or unknown */
    uint64_t available;          /* what may still be taken: the least over the machine and all cgroup levels */
    uint64_t machine_total;
    uint64_t machine_available;
    uint64_t cgroup_limit;       /* of the tightest level, the one with the least left */
    uint64_t cgroup_usage;       /* of that level, without page cache that the kernel can drop */
    uint32_t cgroup_version;     /* 0: no memory cgroup found */
    uint32_t cgroup_levels;      /* levels that were read */
} as_memory;
/* `root`: put before /proc and every mount point; "" in life, a directory in tests. AS_OK | AS_E_ARGUMENT. */
int as_memory_read(const char *root, as_memory *out);
/* cffi: end */
#endif
