/*
 * Random placement problems: branch and bound against every placement there is, and moves that never make one worse. The problem
 * and all memory are allocated exactly as large as they must be. Usage: placement_random SEED ROUNDS
 */
#include <math.h>
#include <string.h>

#include "../../../actorstream/native/include/placement.h"
#include "seeded.h"

enum { MOST = 6 };

static double uniform(void) {
    return (double)(random64() >> 11) / 9007199254740992.0;
}

static double *doubles(size_t count, double least, double span) {
    double *made = malloc((count ? count : 1) * sizeof *made);
    for (size_t each = 0; each < count; each++)
        made[each] = least + span * uniform();
    return made;
}

static void round_of(void) {
    uint32_t groups = 1 + (uint32_t)below(MOST), sockets = 1 + (uint32_t)below(3), links = 0;
    uint32_t pairs[MOST * MOST][2];
    for (uint32_t a = 0; a < groups; a++) {
        for (uint32_t b = a + 1; b < groups; b++) {
            if (below(2)) {
                pairs[links][0] = a;
                pairs[links++][1] = b;
            }
        }
    }
    double *lines = doubles(links, 0, 2), *bytes = doubles(links, 0, 3);
    uint32_t *in_first = calloc(groups + 1, sizeof *in_first), *out_first = calloc(groups + 1, sizeof *out_first);
    uint32_t *producer = malloc((links + 1) * sizeof *producer), *consumer = malloc((links + 1) * sizeof *consumer);
    double *in_lines = doubles(links, 0, 0), *in_bytes = doubles(links, 0, 0);
    double *out_lines = doubles(links, 0, 0), *out_bytes = doubles(links, 0, 0);
    uint32_t in = 0, out = 0;
    for (uint32_t group = 0; group < groups; group++) {
        for (uint32_t each = 0; each < links; each++) {
            if (pairs[each][1] == group) {
                producer[in] = pairs[each][0];
                in_lines[in] = lines[each];
                in_bytes[in++] = bytes[each];
            }
            if (pairs[each][0] == group) {
                consumer[out] = pairs[each][1];
                out_lines[out] = lines[each];
                out_bytes[out++] = bytes[each];
            }
        }
        in_first[group + 1] = in;
        out_first[group + 1] = out;
    }
    double *latency = doubles(sockets * sockets, 0, 1), *bandwidth = doubles(sockets * sockets, 1, 4);
    for (uint32_t socket = 0; socket < sockets; socket++)
        latency[socket * sockets + socket] = 0;
    uint32_t *alike = malloc(groups * sizeof *alike);
    for (uint32_t group = 0; group < groups; group++)
        alike[group] = group;
    double *execute = doubles(groups * sockets, 0.1, 2), *memory = doubles(groups, 0, 1);
    double *divisor = doubles(groups, 1, 2), *cores = doubles(sockets, 1, 3);
    as_placement_problem problem = {groups,    sockets,   execute,  memory,   divisor,   alike,
                                    in_first,  producer,  in_lines, in_bytes, out_first, consumer,
                                    out_lines, out_bytes, latency,  cores,    bandwidth, 0.1 * uniform()};
    double *loads = malloc((groups + 2 * sockets + sockets * sockets) * sizeof *loads);
    int32_t places[MOST], best[MOST];
    double least = INFINITY;
    uint64_t count = 1;
    for (uint32_t group = 0; group < groups; group++)
        count *= sockets;
    for (uint64_t number = 0; number < count; number++) {
        uint64_t left = number;
        for (uint32_t group = 0; group < groups; group++, left /= sockets)
            places[group] = (int32_t)(left % sockets);
        double peak = as_placement_evaluate(&problem, places, loads);
        least = peak < least ? peak : least;
    }
    void *scratch = malloc(as_placement_size(&problem)), *steps_memory = malloc(as_placement_improve_size(&problem));
    for (int heuristics = 0; heuristics < 2; heuristics++) {
        double peak = INFINITY;
        uint64_t steps = 1000000;
        CHECK(as_placement_search(&problem, heuristics, &steps, scratch, best, &peak));
        CHECK(steps >= groups);
        CHECK(fabs(as_placement_evaluate(&problem, best, loads) - peak) <= 1e-9 * peak);
        CHECK(peak >= least * (1 - 1e-9));
        CHECK(heuristics || peak <= least * (1 + 1e-9));
        double before = peak;
        as_placement_improve(&problem, 1 + below(300), 1 + below(5), steps_memory, best, &peak);
        CHECK(peak <= before * (1 + 1e-12) && peak >= least * (1 - 1e-9));
        CHECK(as_placement_evaluate(&problem, best, loads) ==
              peak); /* what a step counts anew comes to the same bits */
    }
    uint64_t few = below(groups + 1);
    double peak = INFINITY;
    as_placement_search(&problem, 1, &few, scratch, best, &peak);
    void *all[] = {lines,    bytes,     in_first,  out_first, producer,  consumer,    in_lines,
                   in_bytes, out_lines, out_bytes, latency,   bandwidth, alike,       execute,
                   memory,   divisor,   cores,     loads,     scratch,   steps_memory};
    for (size_t each = 0; each < sizeof all / sizeof *all; each++)
        free(all[each]);
}

int main(int arguments, char **argument) {
    if (arguments != 3)
        return 2;
    seed = strtoull(argument[1], NULL, 10);
    state = seed * 2862933555777941757ull + 3037000493ull;
    for (round_number = 0; round_number < atoi(argument[2]); round_number++)
        round_of();
    puts("ok");
    return 0;
}
