/*
 * Which thread of a pool runs Python. The interpreter has a lock of its own, but whoever wants that sleeps until the
 * kernel wakes him (some 50 us on an idle core), and every short call into C offers it round. So the threads of a pool
 * hold this baton too: who waits for it looks for a while before he sleeps, and it goes round only where it pays.
 * For the threads of ONE process; there is one baton.
 *
 *   free   nobody runs Python
 *   held   its holder does
 *   lent   its holder is in a long function of C and comes back; who has waited for AS_BATON_LENT_NS of it takes it,
 *          so that a short one costs its holder two exchanges and nothing else.
 *
 * A thread that holds none (every thread outside a pool) may call lend, reclaim and pass: they do nothing then.
 */
#ifndef ACTORSTREAM_BATON_H
#define ACTORSTREAM_BATON_H
#include <stdint.h>
/* cffi: begin */
typedef struct as_baton_statistics {
    uint64_t waits;   /* takes and reclaims that found it held by another */
    uint64_t sleeps;  /* of them, those that slept */
    uint64_t stolen;  /* taken while it was lent */
    uint64_t waited_ns;
} as_baton_statistics;

/* How long who waits looks before it sleeps, ns, at the most: less while that keeps ending in sleep. 0 (unless set) where
 * there are more threads than processors. */
void as_baton_spin(uint64_t ns);
void as_baton_take(void);     /* waits until the caller holds it; nothing if it does already */
void as_baton_give(void);     /* nothing unless the caller holds it. Never waits */
void as_baton_pass(void);     /* who waits goes first: gives and takes if anybody does */
void as_baton_lend(void);     /* before a long function. Never waits */
void as_baton_reclaim(void);  /* after it: waits until the caller holds it again, if it lent it */
int as_baton_is_held(void);   /* 1: by the caller */
uint64_t as_baton_waited_ns(void); /* how long the caller has waited for it, by now */
uint64_t as_baton_lent_ns(void); /* how long the caller has been in long functions, by now; waiting afterwards is not in it */
void as_baton_statistics_read(as_baton_statistics *out);
/* cffi: end */
enum { AS_BATON_LENT_NS = 3000 };

/* The outcome of a function during which others may run Python. */
#define AS_LENDING(function, ...)                         \
    ({                                                    \
        as_baton_lend();                                  \
        __auto_type outcome_ = (function)(__VA_ARGS__);   \
        as_baton_reclaim();                               \
        outcome_;                                         \
    })
#endif
