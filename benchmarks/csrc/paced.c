/* A stream between two processes with nothing around it: the floor of the tail in the suite `latency`. The sender sends what
   is due every millisecond, as a paced source does, and sleeps in between; the receiver waits in epoll for an eventfd, and
   works on each event for a while. */
#define _GNU_SOURCE
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
int paced_ages(double rate, int count, int64_t work_ns, int64_t *ages);
/* end */

struct stream {
    _Alignas(
        128) _Atomic int sent; /* release: the times of so many events are there; partner: the receiver's acquire */
    _Alignas(128) int64_t times[]; /* when each was sent, and then how old it was when its work began */
};

static const int64_t SECOND = 1000000000, PACE = 1000000;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * SECOND + time.tv_nsec;
}

static int receive(struct stream *stream, int count, int64_t work_ns, int bell) {
    int poll = epoll_create1(0);
    struct epoll_event wanted = {.events = EPOLLIN}, found;
    uint64_t rings;
    if (poll < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, bell, &wanted))
        return 1;
    for (int seen = 0; seen < count;) {
        if (epoll_wait(poll, &found, 1, -1) != 1 || read(bell, &rings, sizeof rings) != sizeof rings)
            return 1;
        for (; seen < atomic_load_explicit(&stream->sent, memory_order_acquire); seen++) {
            int64_t began = now();
            stream->times[seen] = began - stream->times[seen];
            while (now() < began + work_ns) {
            }
        }
    }
    return 0;
}

static int send_all(struct stream *stream, double rate, int count, int bell) {
    const uint64_t one = 1;
    int64_t start = now(), next = start;
    for (int sent = 0; sent < count; next += PACE) {
        struct timespec until = {next / SECOND, next % SECOND};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0);
        int64_t time = now();
        int due = (int)((double)(time - start) * rate / 1e9) + 1;
        for (due = due < count ? due : count; sent < due; sent++)
            stream->times[sent] = time;
        atomic_store_explicit(&stream->sent, sent, memory_order_release);
        if (write(bell, &one, sizeof one) != sizeof one)
            return -1;
    }
    return 0;
}

/* Writes the age in ns at which the work on each of `count` events began to `ages`. They are sent at `rate` a second, and
   each takes `work_ns`. 0, or -1 if the other process could not be made or failed. Ends it with the calling one. */
int paced_ages(double rate, int count, int64_t work_ns, int64_t *ages) {
    size_t size = sizeof(struct stream) + (size_t)count * sizeof(int64_t);
    struct stream *stream = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int bell = eventfd(0, 0), status = 1, failed = -1;
    pid_t parent = getpid(), child = -1;
    if (stream != MAP_FAILED && bell >= 0)
        child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(getppid() == parent ? receive(stream, count, work_ns, bell) : 1);
    }
    if (child > 0) {
        failed = send_all(stream, rate, count, bell);
        if (failed)
            kill(child, SIGKILL);
        waitpid(child, &status, 0);
        if (!failed && status == 0)
            memcpy(ages, stream->times, (size_t)count * sizeof(int64_t));
    }
    if (stream != MAP_FAILED)
        munmap(stream, size);
    if (bell >= 0)
        close(bell);
    return failed || status ? -1 : 0;
}
