/* stress STRUCTURE MODE ROUNDS: one structure of the core under one load; prints "ok". */
#include "stress.h"

int main(int count, char **words) {
    static const struct {
        const char *name;
        int (*run)(const char *mode, uint64_t rounds);
    } structures[] = {{"arena", stress_arena},         {"channel", stress_channel},   {"doorbell", stress_doorbell},
                      {"keepalive", stress_keepalive}, {"line", stress_line},         {"mpmc", stress_mpmc},
                      {"pool", stress_pool},           {"progress", stress_progress}, {"reorder", stress_reorder},
                      {"returned", stress_returned},   {"runs", stress_runs},         {"scalegate", stress_scalegate},
                      {"worklist", stress_worklist}};
    for (size_t i = 0; count == 4 && i < sizeof structures / sizeof structures[0]; i++) {
        if (strcmp(structures[i].name, words[1]) == 0 &&
            structures[i].run(words[2], strtoull(words[3], NULL, 10)) == 0) {
            puts("ok");
            return 0;
        }
    }
    fprintf(stderr, "usage: stress STRUCTURE MODE ROUNDS\n");
    return 2;
}
