/*
 * Progress: a thread that looks for messages of MPI while the thread that takes them in is busy or asleep. MPI goes on with what
 * it sends only while somebody calls it, and a hook of the user may take a minute. A thread that sleeps until a message has come
 * takes less of a core when this thread looks in its place: a wake-up of Python costs ten times as much.
 *
 * The function that it calls has the signature of MPI_Iprobe. Handles of MPI are numbers or pointers, by implementation; a
 * number travels in the low half of a word, which is how both of the supported processors pass it.
 */
#ifndef ACTORSTREAM_PROGRESS_H
#define ACTORSTREAM_PROGRESS_H
#include "doorbell.h"
#include "status.h"
/* cffi: begin */
typedef struct as_progress as_progress;
/* `probe`: the address of MPI_Iprobe, which any thread may call; it is given the next three. It is called every `every_ns` once
   `as_progress_looked` was not called for `busy_ns`. NULL with errno: EINVAL, ENOMEM, EAGAIN (no thread). */
as_progress *as_progress_open(uint64_t probe, int source, int tag, uint64_t comm, uint64_t busy_ns, uint64_t every_ns);
/* Any thread: somebody has just looked. Lock-free. */
void as_progress_looked(as_progress *progress);
/* The owner of `bell`: calls the function for up to `ns` until a message has come, and gives the core away between two calls.
   AS_OK: one has; AS_AGAIN: something is pending at the bell, or the time is over. */
int as_progress_look(as_progress *progress, const as_doorbell *bell, uint64_t ns);
/* One thread, which goes to sleep: the other one looks in its place. It pauses for an eighth of the time since this call, at
   least `least_ns` and at most `most_ns`, and for `most_ns` once `rested_ns` have passed. Once a message has come it adds 1 to
   `eventfd`, and watches no more. A further call begins again with the shortest pause. It waits for a mutex that is never held for
   long. */
void as_progress_watch(as_progress *progress, int eventfd, uint64_t least_ns, uint64_t most_ns, uint64_t rested_ns);
/* One thread: ends the thread, after a call that is under way, and frees the progress. Returns how often it has called. */
uint64_t as_progress_close(as_progress *progress);
/* cffi: end */
#endif
