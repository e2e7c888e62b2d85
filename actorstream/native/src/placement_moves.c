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

/* A placement that is made better step by step. What a step changes is counted anew in the same order as in
 * as_placement_evaluate, so it comes to the same bits, and only as far as it takes to see that the step is none to the better. */
typedef struct {
    const as_placement_problem *problem;
    uint64_t left;
    double peak;
    double pressure;
    int32_t *places;
    double *busy;     /* by group: seconds */
    double *ratio;    /* by group: the same for each of its replicas */
    double *was;      /* by number of a touched group: its seconds before */
    double *entering; /* by group: bytes from all its producers */
    double *cpu;      /* by socket */
    double *memory;   /* by socket */
    double *incoming; /* by socket: bytes that its groups get, from wherever */
    double *narrow;   /* by socket: bytes per second of the slowest channel to it */
    double *channel;  /* by socket: bytes from there to the socket that is looked at */
    uint32_t *touched;
    uint32_t touches;
    uint64_t *mark;   /* by group: the step that has touched it last */
    uint64_t step;
} climb;

static double seconds(const climb *c, uint32_t group) {
    const as_placement_problem *p = c->problem;
    uint32_t place = (uint32_t)c->places[group];
    const double *latency = p->latency + (size_t)place * p->sockets;
    double mine = p->execute[(size_t)group * p->sockets + place];
    for (uint32_t each = p->in_first[group]; each < p->in_first[group + 1]; each++) {
        mine += p->in_lines[each] * latency[c->places[p->producer[each]]];
    }
    return mine;
}

/* What tells placements of the same peak apart: how near the sockets and replicas are to it, and how much is fetched. */
static double pressure(const climb *c, double peak) {
    const as_placement_problem *p = c->problem;
    double sum = 0, total = 0, cores = 0;
    for (uint32_t group = 0; group < p->groups; group++) {
        double part = c->ratio[group] / peak;
        part *= part;
        part *= part;
        sum += part * part;
    }
    for (uint32_t socket = 0; socket < p->sockets; socket++) {
        double part = c->cpu[socket] / p->cores[socket] / peak;
        part *= part;
        part *= part;
        sum += part * part * 4;
        total += c->cpu[socket];
        cores += p->cores[socket];
    }
    return sum + total / cores / peak;
}

/* Counts the seconds of a group anew, once a step. Returns whether they are within the limit. */
static int touch(climb *c, uint32_t group, double limit) {
    if (c->mark[group] == c->step) {
        return 1;
    }
    c->mark[group] = c->step;
    c->was[c->touches] = c->busy[group];
    c->touched[c->touches++] = group;
    c->busy[group] = seconds(c, group);
    c->ratio[group] = c->busy[group] / c->problem->divisor[group];
    return c->ratio[group] <= limit;
}

/* The load of the busiest channel to a socket, relative to what it has. */
static double channels_to(climb *c, uint32_t socket) {
    const as_placement_problem *p = c->problem;
    memset(c->channel, 0, p->sockets * sizeof(double));
    for (uint32_t group = 0; group < p->groups; group++) {
        if ((uint32_t)c->places[group] == socket) {
            for (uint32_t each = p->in_first[group]; each < p->in_first[group + 1]; each++) {
                c->channel[c->places[p->producer[each]]] += p->in_bytes[each];
            }
        }
    }
    double peak = 0;
    for (uint32_t from = 0; from < p->sockets; from++) {
        if (from != socket) {
            peak = larger(peak, c->channel[from] / p->bandwidth[from * p->sockets + socket]);
        }
    }
    return peak;
}

/* The peak of the placement as it is; any number above the limit if it is above that. */
static double peak_within(climb *c, double limit) {
    const as_placement_problem *p = c->problem;
    double peak = p->floor;
    memset(c->cpu, 0, 3 * p->sockets * sizeof(double)); /* memory and incoming lie behind it */
    for (uint32_t group = 0; group < p->groups; group++) {
        uint32_t place = (uint32_t)c->places[group];
        c->cpu[place] += c->busy[group];
        c->memory[place] += p->memory[group];
        c->incoming[place] += c->entering[group];
        peak = larger(peak, c->ratio[group]);
    }
    for (uint32_t socket = 0; socket < p->sockets; socket++) {
        peak = larger(peak, c->cpu[socket] / p->cores[socket]);
        peak = larger(peak, c->memory[socket] / p->bandwidth[socket * p->sockets + socket]);
    }
    for (uint32_t socket = 0; socket < p->sockets && peak <= limit; socket++) {
        if (c->incoming[socket] * (1 + 1e-9) > peak * c->narrow[socket]) { /* else no channel to it is the peak */
            peak = larger(peak, channels_to(c, socket));
        }
    }
    return peak;
}

/* Looks at the placement after some groups were moved; keeps it if it is better. */
static int better(climb *c, const uint32_t *moved, uint32_t count) {
    const as_placement_problem *p = c->problem;
    double limit = c->peak * (1 + 1e-12), peak = 0, found = 0;
    int is_better = 1;
    c->left--;
    c->step++;
    c->touches = 0;
    for (uint32_t n = 0; n < count && is_better; n++) {
        is_better = touch(c, moved[n], limit);
    }
    for (uint32_t n = 0; n < count; n++) {
        for (uint32_t each = p->out_first[moved[n]]; each < p->out_first[moved[n] + 1] && is_better; each++) {
            is_better = touch(c, p->consumer[each], limit);
        }
    }
    if (is_better) {
        peak = peak_within(c, limit);
        is_better = peak <= limit;
    }
    if (is_better) {
        found = pressure(c, peak);
        is_better = peak < c->peak * (1 - 1e-12) || found < c->pressure * (1 - 1e-9);
    }
    if (is_better) {
        c->peak = peak;
        c->pressure = found;
        return 1;
    }
    while (c->touches > 0) {
        uint32_t group = c->touched[--c->touches];
        c->busy[group] = c->was[c->touches];
        c->ratio[group] = c->busy[group] / p->divisor[group];
    }
    return 0;
}

/* Begins at the placement as it is. */
static void begin(climb *c) {
    const as_placement_problem *p = c->problem;
    for (uint32_t group = 0; group < p->groups; group++) {
        c->busy[group] = seconds(c, group);
        c->ratio[group] = c->busy[group] / p->divisor[group];
    }
    c->peak = c->pressure = INFINITY;
    better(c, NULL, 0);
}

static int moved(climb *c, uint32_t group) {
    int32_t own = c->places[group];
    for (uint32_t socket = 0; socket < c->problem->sockets && c->left; socket++) {
        if ((int32_t)socket == own) {
            continue;
        }
        c->places[group] = (int32_t)socket;
        if (better(c, &group, 1)) {
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
        if (better(c, (uint32_t[]){group, other}, 2)) {
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

size_t as_placement_improve_size(const as_placement_problem *p) {
    return (size_t)p->groups * (4 * sizeof(double) + sizeof(uint64_t) + sizeof(uint32_t) + sizeof(int32_t)) +
           (size_t)p->sockets * 5 * sizeof(double);
}

static climb laid_out(const as_placement_problem *p, void *memory) {
    uint32_t groups = p->groups, sockets = p->sockets;
    climb c = {.problem = p, .busy = memory};
    c.ratio = c.busy + groups;
    c.was = c.ratio + groups;
    c.entering = c.was + groups;
    c.cpu = c.entering + groups;
    c.memory = c.cpu + sockets;
    c.incoming = c.memory + sockets;
    c.narrow = c.incoming + sockets;
    c.channel = c.narrow + sockets;
    c.mark = (uint64_t *)(c.channel + sockets);
    c.touched = (uint32_t *)(c.mark + groups);
    c.places = (int32_t *)(c.touched + groups);
    memset(c.mark, 0, groups * sizeof(uint64_t));
    for (uint32_t group = 0; group < groups; group++) {
        c.entering[group] = 0;
        for (uint32_t each = p->in_first[group]; each < p->in_first[group + 1]; each++) {
            c.entering[group] += p->in_bytes[each];
        }
    }
    for (uint32_t socket = 0; socket < sockets; socket++) {
        c.narrow[socket] = INFINITY;
        for (uint32_t from = 0; from < sockets; from++) {
            double width = p->bandwidth[from * sockets + socket];
            c.narrow[socket] = from != socket && width < c.narrow[socket] ? width : c.narrow[socket];
        }
    }
    return c;
}

void as_placement_improve(const as_placement_problem *p, uint64_t steps, uint64_t seed, void *memory, int32_t *best,
                          double *peak) {
    uint32_t groups = p->groups, sockets = p->sockets;
    uint64_t state = seed * 2 + 1;
    if (!groups || !steps) {
        return;
    }
    climb c = laid_out(p, memory);
    c.left = steps;
    memcpy(c.places, best, groups * sizeof(int32_t));
    begin(&c);
    double best_pressure = c.pressure;
    *peak = c.peak;
    for (;;) {
        climbed(&c);
        if (c.peak < *peak * (1 - 1e-12) || (c.peak <= *peak && c.pressure < best_pressure)) {
            *peak = c.peak;
            best_pressure = c.pressure;
            memcpy(best, c.places, groups * sizeof(int32_t));
        }
        if (!c.left || sockets == 1) {
            return;
        }
        memcpy(c.places, best, groups * sizeof(int32_t));
        uint64_t kicks = 2 + drawn(&state) % (groups < 12 ? 2 : groups / 4);
        for (uint64_t each = 0; each < kicks; each++) {
            c.places[drawn(&state) % groups] = (int32_t)(drawn(&state) % sockets);
        }
        begin(&c);
        if (!c.left) {
            return;
        }
    }
}
