/* Branch and bound over partial placements: see placement.h. */
#include <math.h>
#include <string.h>

#include "../include/placement.h"

enum { NOWHERE = -1, SEEN = 1 << 16 };

/* A value before it was changed. */
typedef struct {
    double *at;
    double before;
} change;

typedef struct {
    const as_placement_problem *problem;
    uint64_t left; /* nodes that may still be visited */
    uint32_t placed;
    int heuristics;
    double peak;  /* of the partial placement: the bound of every placement that completes it */
    double total; /* seconds of all groups, without fetches that are not known yet */
    double all_cores;
    double *busy;     /* by group */
    double *cpu;      /* by socket */
    double *memory;   /* by socket */
    double *channels; /* producer's socket x sockets + consumer's socket */
    change *changes;  /* what to take back */
    size_t changed;
    int32_t *places;
    uint32_t *missing; /* by group: producers that are not placed */
    uint64_t *seen;    /* hashes of partial placements that were visited, up to exchanges of like groups */
    uint64_t hash;
    int32_t *best;
    double *best_peak;
    double best_total;
} search;

static double larger(double a, double b) {
    return a > b ? a : b;
}

static uint64_t mixed(uint64_t x) {
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static size_t changes_of(const as_placement_problem *p) {
    return (size_t)p->groups * 4 + (size_t)p->in_first[p->groups] * 6;
}

size_t as_placement_size(const as_placement_problem *p) {
    size_t doubles = (size_t)p->groups + 2 * p->sockets + (size_t)p->sockets * p->sockets;
    return doubles * sizeof(double) + changes_of(p) * sizeof(change) + SEEN * sizeof(uint64_t) +
           (size_t)p->groups * (sizeof(int32_t) + sizeof(uint32_t));
}

static void add(search *s, double *at, double more) {
    s->changes[s->changed++] = (change){at, *at};
    *at += more;
}

static void take_back(search *s, size_t mark) {
    while (s->changed > mark) {
        s->changed--;
        *s->changes[s->changed].at = s->changes[s->changed].before;
    }
}

/* What crosses from one socket to another. */
static void cross(search *s, uint32_t from, uint32_t to, double bytes) {
    uint32_t at = from * s->problem->sockets + to;
    add(s, s->channels + at, bytes);
    s->peak = larger(s->peak, s->channels[at] / s->problem->bandwidth[at]);
}

/* Places a group. The caller keeps peak, total and the mark of changes, to take it back. */
static void put(search *s, uint32_t group, uint32_t socket) {
    const as_placement_problem *p = s->problem;
    uint32_t sockets = p->sockets;
    double mine = p->execute[(size_t)group * sockets + socket];
    for (uint32_t each = p->in_first[group]; each < p->in_first[group + 1]; each++) {
        int32_t place = s->places[p->producer[each]];
        if (place == NOWHERE) {
            continue;
        }
        mine += p->in_lines[each] * p->latency[socket * sockets + (uint32_t)place];
        if ((uint32_t)place != socket) {
            cross(s, (uint32_t)place, socket, p->in_bytes[each]);
        }
    }
    s->total += mine - s->busy[group];
    add(s, s->busy + group, mine - s->busy[group]);
    s->peak = larger(s->peak, mine / p->divisor[group]);
    add(s, s->cpu + socket, mine);
    for (uint32_t each = p->out_first[group]; each < p->out_first[group + 1]; each++) {
        uint32_t other = p->consumer[each];
        int32_t place = s->places[other];
        if (place == NOWHERE) {
            continue;
        }
        double more = p->out_lines[each] * p->latency[(uint32_t)place * sockets + socket];
        if (more > 0) {
            s->total += more;
            add(s, s->busy + other, more);
            add(s, s->cpu + place, more);
            s->peak = larger(s->peak, s->busy[other] / p->divisor[other]);
            s->peak = larger(s->peak, s->cpu[place] / p->cores[place]);
        }
        if ((uint32_t)place != socket) {
            cross(s, socket, (uint32_t)place, p->out_bytes[each]);
        }
    }
    add(s, s->memory + socket, p->memory[group]);
    s->peak = larger(s->peak, s->memory[socket] / p->bandwidth[socket * sockets + socket]);
    s->peak = larger(s->peak, s->cpu[socket] / p->cores[socket]);
    s->peak = larger(s->peak, s->total / s->all_cores);
    s->places[group] = (int32_t)socket;
}

/* A way to go on, and what it is judged by. */
typedef struct {
    uint32_t group;
    uint32_t socket;
    double peak;
    double total;
    double left; /* cores of the socket that have nothing to do */
} choice;

static int nearly(double a, double b) {
    return isfinite(b) && fabs(a - b) <= 1e-12 * larger(fabs(a), fabs(b));
}

/* Whether one choice is better: a lower bound, then fewer fetches, then the socket with less left (best fit). */
static int before(const choice *a, const choice *b) {
    if (!nearly(a->peak, b->peak)) {
        return a->peak < b->peak;
    }
    if (!nearly(a->total, b->total)) {
        return a->total < b->total;
    }
    if (!nearly(a->left, b->left)) {
        return a->left < b->left;
    }
    return a->group != b->group ? a->group < b->group : a->socket < b->socket;
}

static choice looked_at(search *s, uint32_t group, uint32_t socket) {
    double peak = s->peak, total = s->total;
    size_t mark = s->changed;
    put(s, group, socket);
    choice found = {group, socket, s->peak, s->total, s->problem->cores[socket] - s->cpu[socket] / s->peak};
    s->places[group] = NOWHERE;
    take_back(s, mark);
    s->peak = peak;
    s->total = total;
    return found;
}

/* The choices of a node, best first. At most groups or sockets of them, into `found`. */
static uint32_t choices(search *s, choice *found, uint32_t most) {
    const as_placement_problem *p = s->problem;
    uint32_t count = 0;
    for (uint32_t group = 0; group < p->groups && count < most; group++) {
        if (s->places[group] != NOWHERE) {
            continue;
        }
        if (!s->heuristics) { /* the next group, on each socket; like groups in ascending order of their sockets */
            int32_t least = group && p->alike[group] == p->alike[group - 1] ? s->places[group - 1] : 0;
            for (uint32_t socket = (uint32_t)least; socket < p->sockets; socket++) {
                found[count++] = looked_at(s, group, socket);
            }
            break;
        }
        if (s->missing[group]) {
            continue;
        }
        int first = 1; /* of the groups like it, only one is looked at */
        for (uint32_t each = 0; each < count && first; each++) {
            first = p->alike[found[each].group] != p->alike[group];
        }
        if (!first) {
            continue;
        }
        choice best = looked_at(s, group, 0);
        for (uint32_t socket = 1; socket < p->sockets; socket++) {
            choice other = looked_at(s, group, socket);
            if (before(&other, &best)) {
                best = other;
            }
        }
        found[count++] = best;
    }
    for (uint32_t i = 1; i < count; i++) { /* few: sorted by insertion */
        choice moved = found[i];
        uint32_t j = i;
        for (; j > 0 && before(&moved, found + j - 1); j--) {
            found[j] = found[j - 1];
        }
        found[j] = moved;
    }
    return count;
}

static int worth(const search *s, double peak, double total) {
    double best = *s->best_peak;
    return peak < best && (!nearly(peak, best) || (s->placed == s->problem->groups && total < s->best_total));
}

static void count_missing(search *s, uint32_t group, uint32_t change_by) {
    const as_placement_problem *p = s->problem;
    for (uint32_t each = p->out_first[group]; each < p->out_first[group + 1]; each++) {
        s->missing[p->consumer[each]] += change_by;
    }
}

static void branch(search *s) {
    const as_placement_problem *p = s->problem;
    if (s->placed == p->groups) {
        if (worth(s, s->peak, s->total)) {
            memcpy(s->best, s->places, p->groups * sizeof(int32_t));
            *s->best_peak = s->peak;
            s->best_total = s->total;
        }
        return;
    }
    enum { MOST = 64 };
    choice found[MOST];
    uint32_t count = choices(s, found, MOST);
    for (uint32_t each = 0; each < count; each++) {
        choice chosen = found[each];
        if (!worth(s, chosen.peak, chosen.total)) {
            continue;
        }
        uint64_t hash = s->hash + mixed(((uint64_t)p->alike[chosen.group] << 8 | chosen.socket) + 1);
        if (s->heuristics) { /* the same placement by another order of the same choices */
            uint64_t *slot = s->seen + (mixed(hash) & (SEEN - 1));
            if (*slot == hash) {
                continue;
            }
            *slot = hash;
        }
        if (!s->left) {
            return;
        }
        s->left--;
        double peak = s->peak, total = s->total;
        uint64_t was = s->hash;
        size_t mark = s->changed;
        put(s, chosen.group, chosen.socket);
        count_missing(s, chosen.group, (uint32_t)-1);
        s->hash = hash;
        s->placed++;
        branch(s);
        s->placed--;
        s->hash = was;
        count_missing(s, chosen.group, 1);
        s->places[chosen.group] = NOWHERE;
        take_back(s, mark);
        s->peak = peak;
        s->total = total;
    }
}

int as_placement_search(const as_placement_problem *p, int heuristics, uint64_t *steps, void *memory, int32_t *best,
                        double *peak) {
    uint32_t groups = p->groups, sockets = p->sockets;
    memset(memory, 0, as_placement_size(p));
    search s = {.problem = p, .left = *steps, .heuristics = heuristics, .best = best, .best_peak = peak};
    double *doubles = memory;
    s.busy = doubles;
    s.cpu = s.busy + groups;
    s.memory = s.cpu + sockets;
    s.channels = s.memory + sockets;
    s.changes = (change *)(s.channels + (size_t)sockets * sockets);
    s.seen = (uint64_t *)(s.changes + changes_of(p));
    s.places = (int32_t *)(s.seen + SEEN);
    s.missing = (uint32_t *)(s.places + groups);
    s.best_total = INFINITY;
    s.peak = p->floor;
    double traffic = 0, bandwidth = 0;
    for (uint32_t socket = 0; socket < sockets; socket++) {
        s.all_cores += p->cores[socket];
        bandwidth += p->bandwidth[socket * sockets + socket];
    }
    for (uint32_t group = 0; group < groups; group++) {
        const double *mine = p->execute + (size_t)group * sockets;
        double least = mine[0];
        for (uint32_t socket = 1; socket < sockets; socket++) {
            least = mine[socket] < least ? mine[socket] : least;
        }
        s.busy[group] = least;
        s.total += least;
        s.peak = larger(s.peak, least / p->divisor[group]);
        traffic += p->memory[group];
        s.places[group] = NOWHERE;
        s.missing[group] = p->in_first[group + 1] - p->in_first[group];
    }
    s.peak = larger(s.peak, larger(s.total / s.all_cores, traffic / bandwidth));
    branch(&s);
    *steps -= s.left;
    return s.left > 0;
}
