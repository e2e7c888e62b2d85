/*
 * Things that threads give back: each of some threads puts numbered things, and the owner takes whatever is there. The owner
 * frees a thing, so that its memory is put again. FORBIDDEN: a thing that is lost, taken twice or not yet written; things of
 * one thread in another order than that in which they were put.
 */
#include "../../../actorstream/native/src/returned.h"
#include "stress.h"

typedef struct {
    returned link;
    uint64_t thread, number;
} thing;

static returned_list list;
static uint64_t each, threads;

static void give(uint64_t thread) {
    uint64_t random = thread + 1;
    for (uint64_t number = 0; number < each; number++) {
        thing *made = malloc(sizeof *made);
        CHECK(made != NULL);
        made->thread = thread;
        made->number = number;
        returned_put(&list, &made->link);
        dither(&random);
    }
}

static void own(void) {
    uint64_t next[MOST_THREADS], taken = 0; /* of each thread: the number that its next thing has */
    memset(next, 0, sizeof next);
    while (taken < each * threads) {
        returned *ordered = NULL; /* the last one comes first */
        for (returned *at = returned_take(&list); at != NULL;) {
            returned *before = at->next;
            at->next = ordered;
            ordered = at;
            at = before;
        }
        while (ordered != NULL) {
            thing *found = (thing *)ordered;
            ordered = ordered->next;
            CHECK(found->number == next[found->thread]++);
            taken++;
            free(found);
        }
        sched_yield();
    }
    CHECK(returned_take(&list) == NULL);
}

static void *work(void *argument) {
    const uint64_t number = *(uint64_t *)argument;
    if (number == 0)
        own();
    else
        give(number);
    return NULL;
}

int stress_returned(const char *mode, uint64_t rounds) {
    uint64_t numbers[] = {0, 1, 2, 3};
    if (strcmp(mode, "one") != 0 && strcmp(mode, "many") != 0)
        return -1;
    threads = strcmp(mode, "one") == 0 ? 1 : 3;
    each = rounds;
    run_threads(work, numbers, sizeof numbers[0], (int)threads + 1);
    return 0;
}
