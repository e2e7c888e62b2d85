/* Whole placements: what their loads are, and moves that make them better. See placement.h. */
#include <math.h>
#include <string.h>

#include "../include/placement.h"

static double larger(double a, double b) {
    return a > b ? a : b;
}

double as_placement_evaluate(const as_placement_problem *p, const int32_t *places, double *loads) {
    uint32_t groups = p->groups, sockets = p->sockets;
    double *busy = loads, *cpu = busy + groups, *memory = cpu + sockets, *channels = memory + sockets;
    memset(cpu, 0, (2 * (size_t)sockets + (size_t)sockets * sockets) * sizeof(double));
    double peak = p->floor;
    for (uint32_t group = 0; group < groups; group++) {
        uint32_t place = (uint32_t)places[group];
        const double *latency = p->latency + (size_t)place * sockets;
        double mine = p->execute[(size_t)group * sockets + place];
        for (uint32_t each = p->in_first[group]; each < p->in_first[group + 1]; each++) {
            uint32_t from = (uint32_t)places[p->producer[each]];
            mine += p->in_lines[each] * latency[from];
            if (from != place) {
                channels[from * sockets + place] += p->in_bytes[each];
            }
        }
        busy[group] = mine;
        cpu[place] += mine;
        memory[place] += p->memory[group];
        peak = larger(peak, mine / p->divisor[group]);
    }
    for (uint32_t i = 0; i < sockets; i++) {
        peak = larger(peak, cpu[i] / p->cores[i]);
        peak = larger(peak, memory[i] / p->bandwidth[i * sockets + i]);
        for (uint32_t j = 0; j < sockets; j++) {
            peak = larger(peak, channels[i * sockets + j] / p->bandwidth[i * sockets + j]);
        }
    }
    return peak;
}

/* What tells placements of the same peak apart: how near the sockets and replicas are to it, and how much is fetched. */
static double pressure(const as_placement_problem *p, const double *loads, double peak) {
    const double *busy = loads, *cpu = busy + p->groups;
    double sum = 0, total = 0, cores = 0;
    for (uint32_t group = 0; group < p->groups; group++) {
        double part = busy[group] / p->divisor[group] / peak;
        part *= part;
        part *= part;
        sum += part * part;
    }
    for (uint32_t socket = 0; socket < p->sockets; socket++) {
        double part = cpu[socket] / p->cores[socket] / peak;
        part *= part;
        part *= part;
        sum += part * part * 4;
        total += cpu[socket];
        cores += p->cores[socket];
    }
    return sum + total / cores / peak;
}

typedef struct {
    const as_placement_problem *problem;
    double *loads;
    uint64_t left;
    double peak;
    double pressure;
    int32_t *places;
} climb;

/* Looks at the placement as it is; keeps it if it is better. */
static int better(climb *c) {
    c->left--;
    double peak = as_placement_evaluate(c->problem, c->places, c->loads);
    if (peak > c->peak * (1 + 1e-12)) {
        return 0;
    }
    double found = pressure(c->problem, c->loads, peak);
    if (peak >= c->peak * (1 - 1e-12) && found >= c->pressure * (1 - 1e-9)) {
        return 0;
    }
    c->peak = peak;
    c->pressure = found;
    return 1;
}

static int moved(climb *c, uint32_t group) {
    int32_t own = c->places[group];
    for (uint32_t socket = 0; socket < c->problem->sockets && c->left; socket++) {
        if ((int32_t)socket == own) {
            continue;
        }
        c->places[group] = (int32_t)socket;
        if (better(c)) {
            return 1;
        }
    }
    c->places[group] = own;
    return 0;
}

static int exchanged(climb *c, uint32_t group) {
    for (uint32_t other = 0; other < group && c->left; other++) {
        int32_t a = c->places[group], b = c->places[other];
        if (a == b || c->problem->alike[group] == c->problem->alike[other]) {
            continue;
        }
        c->places[group] = b;
        c->places[other] = a;
        if (better(c)) {
            return 1;
        }
        c->places[group] = a;
        c->places[other] = b;
    }
    return 0;
}

/* Up to a placement that no single move or exchange makes better. */
static void climbed(climb *c) {
    uint32_t groups = c->problem->groups;
    for (int again = 1; again && c->left;) {
        again = 0;
        for (uint32_t group = 0; group < groups && c->left; group++) {
            again |= moved(c, group);
        }
        for (uint32_t group = 0; group < groups && c->left && !again; group++) {
            again |= exchanged(c, group);
        }
    }
}

static uint64_t drawn(uint64_t *state) { /* xorshift64* */
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

void as_placement_improve(const as_placement_problem *p, uint64_t steps, uint64_t seed, double *loads, int32_t *best,
                          double *peak) {
    uint32_t groups = p->groups, sockets = p->sockets;
    double *scratch = loads + groups + 2 * (size_t)sockets + (size_t)sockets * sockets;
    int32_t *places = (int32_t *)scratch;
    uint64_t state = seed * 2 + 1;
    if (!groups || !steps) {
        return;
    }
    memcpy(places, best, groups * sizeof(int32_t));
    climb c = {.problem = p, .loads = loads, .left = steps, .places = places, .peak = INFINITY, .pressure = INFINITY};
    better(&c);
    double best_pressure = c.pressure;
    *peak = c.peak;
    for (;;) {
        climbed(&c);
        if (c.peak < *peak * (1 - 1e-12) || (c.peak <= *peak && c.pressure < best_pressure)) {
            *peak = c.peak;
            best_pressure = c.pressure;
            memcpy(best, places, groups * sizeof(int32_t));
        }
        if (!c.left || sockets == 1) {
            return;
        }
        memcpy(places, best, groups * sizeof(int32_t));
        uint64_t kicks = 2 + drawn(&state) % (groups < 12 ? 2 : groups / 4);
        for (uint64_t each = 0; each < kicks; each++) {
            places[drawn(&state) % groups] = (int32_t)(drawn(&state) % sockets);
        }
        c.peak = c.pressure = INFINITY;
        better(&c);
        if (!c.left) {
            return;
        }
    }
}
