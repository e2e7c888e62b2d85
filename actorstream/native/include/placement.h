/*
 * Placement: groups of replicas are put on sockets so that the highest load is small (briskstream-rlas section 4).
 *
 * All loads are seconds or bytes for an ingress of one tuple per second, so the highest ratio of a load to what there is, the
 * peak, is the inverse of the ingress that a placement sustains. The problem and all results are the caller's memory; nothing
 * is kept between calls. A thread may call these while others do, each with its own memory. Every call ends after the given
 * number of steps: the same input gives the same result.
 */
#ifndef ACTORSTREAM_PLACEMENT_H
#define ACTORSTREAM_PLACEMENT_H
#include "status.h"
/* cffi: begin */
typedef struct {
    uint32_t groups;
    uint32_t sockets;          /* at most 64 */
    const double *execute;     /* groups x sockets: seconds without fetches */
    const double *memory;      /* groups: bytes of memory traffic */
    const double *divisor;     /* groups: how many replicas share the group's work */
    const uint32_t *alike;     /* groups: those with the same number may change places */
    const uint32_t *in_first;  /* groups + 1: where a group's entering links begin */
    const uint32_t *producer;  /* by entering link */
    const double *in_lines;    /* cache lines */
    const double *in_bytes;
    const uint32_t *out_first; /* groups + 1: where a group's leaving links begin */
    const uint32_t *consumer;  /* by leaving link; as many as entering ones */
    const double *out_lines;
    const double *out_bytes;
    const double *latency;     /* sockets x sockets, consumer's then producer's: seconds per line */
    const double *cores;       /* sockets */
    const double *bandwidth;   /* sockets x sockets, producer's then consumer's; the diagonal is local memory */
    double floor;              /* the peak is at least this: the inverse of the offered ingress */
} as_placement_problem;

/* The peak of a whole placement, and in `loads` (groups: seconds of each; then sockets: seconds; then sockets: bytes of memory
 * traffic; then sockets x sockets: bytes from one to another) what it comes from. */
double as_placement_evaluate(const as_placement_problem *problem, const int32_t *places, double *loads);

/* Bytes of memory that a search needs. */
size_t as_placement_size(const as_placement_problem *problem);

/* Branch and bound. `best` holds a placement with the peak `*peak`, or anything if `*peak` is infinite; both are replaced by
 * what is better. heuristics 0: every placement is looked at unless its bound says that it is not better. Returns whether the
 * search ended before `*steps` nodes; `*steps` becomes the number visited. */
int as_placement_search(const as_placement_problem *problem, int heuristics, uint64_t *steps, void *memory,
                        int32_t *best, double *peak);

/* Bytes of memory that as_placement_improve needs. */
size_t as_placement_improve_size(const as_placement_problem *problem);

/* Moves and exchanges groups while that makes the peak smaller, or as large with less load elsewhere; then disturbs the best
 * placement, with `seed`, and does it again, for `steps` placements that are looked at in all. */
void as_placement_improve(const as_placement_problem *problem, uint64_t steps, uint64_t seed, void *memory,
                          int32_t *best, double *peak);
/* cffi: end */
#endif
