/* The arena's mapping and its memory: reserving addresses, committing in steps, giving all back. See arena.h. */
#define _GNU_SOURCE
#include "hold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../include/node.h"
#include "memory.h"
#include "process.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum { HUGE_PAGE = 2 << 20, DEFAULT_STEP = 4 << 20, MARGIN = 16 << 20 };

static uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/* Maps `limit` bytes of the file, or private ones, at an address that huge pages like; reserves addresses, takes no memory. */
static uint8_t *map(int fd, uint64_t limit, int protection) {
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    uint64_t span = limit + HUGE_PAGE;
    uint8_t *wide = mmap(NULL, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (wide == MAP_FAILED) {
        return NULL;
    }
    uint8_t *base = (uint8_t *)round_up((uint64_t)(uintptr_t)wide, HUGE_PAGE);
    if (mmap(base, limit, protection, flags | MAP_FIXED | MAP_NORESERVE, fd, 0) == MAP_FAILED) {
        int error = errno;
        munmap(wide, span);
        errno = error;
        return NULL;
    }
    if (base > wide) {
        munmap(wide, (size_t)(base - wide));
    }
    munmap(base + limit, (size_t)(wide + span - (base + limit)));
    return base;
}

static as_arena *open_arena(int fd, uint64_t limit, uint32_t id, int owner) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (limit == 0 || limit > (UINT64_C(1) << 46)) {
        errno = EINVAL;
        return NULL;
    }
    as_arena *arena = calloc(1, sizeof *arena);
    if (arena == NULL) {
        return NULL;
    }
    arena->limit = round_up(limit, page);
    arena->id = id;
    arena->owner = owner;
    arena->forks = as_process_now();
    atomic_init(&arena->references, 1);
    pthread_mutex_init(&arena->mutex, NULL);
    arena->fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    arena->base = fd >= 0 && arena->fd < 0 ? NULL : map(fd, arena->limit, owner ? PROT_READ | PROT_WRITE : PROT_READ);
    if (arena->base == NULL) {
        int error = errno;
        as_arena_unreference(arena);
        errno = error;
        return NULL;
    }
    return arena;
}

/* Makes the file `limit` bytes long (that takes no memory), so that no address of the mapping can raise SIGBUS. */
static int stretch(int fd, uint64_t limit) {
    struct stat status;
    struct rlimit size;
    if (fstat(fd, &status) != 0) {
        return -1;
    }
    if ((uint64_t)status.st_size < limit) {
        if (getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur != RLIM_INFINITY && size.rlim_cur < limit) {
            errno = EFBIG; /* ftruncate would raise SIGXFSZ */
            return -1;
        }
        if (ftruncate(fd, (off_t)limit) != 0) {
            return -1;
        }
    }
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK); /* not every file can be sealed */
    return 0;
}

as_arena *as_arena_create(int fd, uint64_t limit, uint32_t id, uint64_t commit_step) {
    as_arena *arena = open_arena(fd, limit, id, 1);
    if (arena == NULL) {
        return NULL;
    }
    if (fd >= 0 && stretch(fd, arena->limit) != 0) {
        int error = errno;
        as_arena_close(arena);
        errno = error;
        return NULL;
    }
    arena->generation = 1;
    arena->commit_step = round_up(commit_step ? commit_step : DEFAULT_STEP, (uint64_t)sysconf(_SC_PAGESIZE));
    return arena;
}

as_arena *as_arena_map(int fd, uint64_t limit, uint32_t id) {
    as_arena *arena = open_arena(fd, limit, id, 0);
    if (arena != NULL) {
        as_arena_reaches(arena, arena->limit);
    }
    return arena;
}

/* Reader: whether the file is at least `end` bytes long. The owner may stretch it after the reader has mapped it. */
int as_arena_reaches(as_arena *arena, uint64_t end) {
    struct stat status;
    if (end > arena->limit) {
        return 0;
    }
    if (arena->owner || end <= arena->reach) {
        return 1;
    }
    if (arena->fd >= 0 && fstat(arena->fd, &status) == 0) {
        arena->reach = (uint64_t)status.st_size;
    }
    if (arena->reach >= arena->limit && arena->fd >= 0) {
        close(arena->fd);
        arena->fd = -1;
    }
    return end <= arena->reach;
}

void as_arena_unreference(as_arena *arena) {
    /* acq_rel; partner: itself. Whoever is last sees all that others did with the mapping. */
    if (atomic_fetch_sub_explicit(&arena->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (arena->base != NULL) {
        munmap(arena->base, arena->limit);
    }
    if (arena->fd >= 0) {
        close(arena->fd);
    }
    as_blocks_discard(arena);
    pthread_mutex_destroy(&arena->mutex);
    free(arena);
}

void as_arena_close(as_arena *arena) {
    as_arena_unreference(arena);
}

/* Backs freshly committed memory with huge pages where the kernel can, and maps it for writing. */
static void prepare(as_arena *arena, uint64_t from, uint64_t to) {
    if (arena->huge) {
        uint64_t first = from / HUGE_PAGE * HUGE_PAGE, end = to / HUGE_PAGE * HUGE_PAGE;
        if (end > first && madvise(arena->base + first, end - first, MADV_HUGEPAGE) == 0 &&
            madvise(arena->base + first, end - first, MADV_COLLAPSE) == 0) {
            arena->huge_bytes += end - first;
        }
    }
    (void)madvise(arena->base + from, to - from, MADV_POPULATE_WRITE); /* saves faults; old kernels lack it */
}

/* Takes memory from the kernel. 0, or an errno. */
static int take(as_arena *arena, uint64_t from, uint64_t bytes) {
    if (arena->fd < 0) {
        /* private memory has huge pages where the kernel lets every process have them: another process that reads it by
           process_vm_readv, as MPI does, needs a third of the time (benchmarks transport, 1 MiB) */
        uint64_t first = round_up(from, HUGE_PAGE), end = (from + bytes) / HUGE_PAGE * HUGE_PAGE;
        if (end > first) {
            (void)madvise(arena->base + first, end - first, MADV_HUGEPAGE);
        }
        return 0;
    }
    while (fallocate(arena->fd, 0, (off_t)from, (off_t)bytes) != 0) {
        if (errno != EINTR) {
            return errno == ENOSPC ? ENOMEM : errno;
        }
    }
    return 0;
}

/* Under the mutex. Commits memory up to `end` at least. 0, or an errno. */
int as_arena_commit(as_arena *arena, uint64_t end) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (end <= arena->committed) {
        return 0;
    }
    if (end > arena->limit) {
        return ENOMEM;
    }
    uint64_t least = round_up(end, page) - arena->committed;
    uint64_t want = round_up(end - arena->committed, arena->commit_step);
    if (want > arena->limit - arena->committed) {
        want = arena->limit - arena->committed;
    }
    as_memory memory;
    as_memory_read("", &memory);
    if (memory.available < want + MARGIN) {
        if (memory.available < least + MARGIN) {
            return ENOMEM; /* the kernel would kill rather than refuse */
        }
        want = least;
    }
    uint64_t from = arena->committed;
    int error = take(arena, from, want);
    if (error != 0) {
        return error;
    }
    arena->committed += want;
    prepare(arena, from, arena->committed);
    return 0;
}

uint32_t as_arena_id(const as_arena *arena) {
    return arena->id;
}

uint64_t as_arena_limit(const as_arena *arena) {
    return arena->limit;
}

void as_arena_statistics(as_arena *arena, uint64_t out[4]) {
    if (arena->forks != as_process_now()) { /* a copy, whose lock a thread of the other process may hold for good */
        memset(out, 0, 4 * sizeof *out);
        return;
    }
    pthread_mutex_lock(&arena->mutex);
    out[0] = arena->committed;
    out[1] = arena->in_use_bytes;
    out[2] = arena->in_use_blocks;
    out[3] = arena->peak_bytes;
    pthread_mutex_unlock(&arena->mutex);
}

void as_arena_want_huge(as_arena *arena) {
    pthread_mutex_lock(&arena->mutex);
    arena->huge = arena->owner;
    arena->commit_step = round_up(arena->commit_step, HUGE_PAGE);
    pthread_mutex_unlock(&arena->mutex);
}

int as_arena_bind(as_arena *arena, uint32_t node) {
    return arena->owner ? as_node_bind((uint64_t)(uintptr_t)arena->base, arena->limit, node) : EPERM;
}

uint64_t as_arena_huge_bytes(as_arena *arena) {
    if (arena->forks != as_process_now()) {
        return 0;
    }
    pthread_mutex_lock(&arena->mutex);
    uint64_t bytes = arena->huge_bytes;
    pthread_mutex_unlock(&arena->mutex);
    return bytes;
}

void as_arena_start_generation(as_arena *arena, uint32_t generation) {
    pthread_mutex_lock(&arena->mutex);
    arena->generation = generation | 1;
    pthread_mutex_unlock(&arena->mutex);
}
