/* One hop between two processes with nothing around it: the floor of the suite `latency` on this machine. The receiver
   waits in epoll for an eventfd, or spins on a word in shared memory; it notes how old each event is when it sees it. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* cdef */
int hop_ages(int spinning, int count, int64_t gap_ns, int64_t *ages);
/* end */

struct hop {
    _Alignas(128) _Atomic int64_t sent;
    _Alignas(128) _Atomic int64_t seen;
    _Alignas(128) int64_t ages[];
};

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int receive(struct hop *hop, int spinning, int count, int bell) {
    int poll = epoll_create1(0);
    struct epoll_event wanted = {.events = EPOLLIN}, found;
    uint64_t rings;
    int64_t sent = 0;
    if (poll < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, bell, &wanted))
        return 1;
    for (int i = 0; i < count; i++) {
        int64_t last = sent;
        if (!spinning && epoll_wait(poll, &found, 1, -1) != 1)
            return 1;
        while ((sent = atomic_load_explicit(&hop->sent, memory_order_acquire)) == last) {
        }
        hop->ages[i] = now() - sent;
        if (!spinning && read(bell, &rings, sizeof rings) != sizeof rings)
            return 1;
        atomic_store_explicit(&hop->seen, i + 1, memory_order_release);
    }
    return 0;
}

static int send_all(struct hop *hop, int spinning, int count, int64_t gap_ns, int bell, pid_t child) {
    const uint64_t one = 1;
    int64_t last = 0;
    for (int i = 0; i < count; i++) {
        while (atomic_load_explicit(&hop->seen, memory_order_acquire) != i) {
            siginfo_t ended = {0};
            if (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) || ended.si_pid)
                return -1;
            sched_yield();
        }
        if (spinning) {
            for (int64_t due = now() + gap_ns; now() < due;) {
            }
        } else {
            struct timespec gap = {gap_ns / 1000000000LL, gap_ns % 1000000000LL};
            nanosleep(&gap, 0);
        }
        int64_t sent = now();
        last = sent > last ? sent : last + 1; /* never the same word twice */
        atomic_store_explicit(&hop->sent, last, memory_order_release);
        if (!spinning && write(bell, &one, sizeof one) != sizeof one)
            return -1;
    }
    return 0;
}

/* Writes the age in ns of each of `count` events to `ages`, sent one at a time: each `gap_ns` after the last was seen.
   0, or -1 if the other process could not be made or failed. Ends it with the calling one. */
int hop_ages(int spinning, int count, int64_t gap_ns, int64_t *ages) {
    size_t size = sizeof(struct hop) + (size_t)count * sizeof(int64_t);
    struct hop *hop = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int bell = eventfd(0, EFD_NONBLOCK), status = 1, failed = -1;
    pid_t parent = getpid(), child = -1;
    if (hop != MAP_FAILED && bell >= 0)
        child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(getppid() == parent ? receive(hop, spinning, count, bell) : 1);
    }
    if (child > 0) {
        failed = send_all(hop, spinning, count, gap_ns, bell, child);
        if (failed)
            kill(child, SIGKILL);
        waitpid(child, &status, 0);
        if (!failed && status == 0)
            memcpy(ages, hop->ages, (size_t)count * sizeof(int64_t));
    }
    if (hop != MAP_FAILED)
        munmap(hop, size);
    if (bell >= 0)
        close(bell);
    return failed || status ? -1 : 0;
}
