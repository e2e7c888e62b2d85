/*
 * Calls `stepped` behind every store that other processes may see, and before an exchange, where what came before it may
 * have been a call of the system: included before every source (gcc's -include), so that a test can end a process there.
 */
#ifndef STEPPED_H
#define STEPPED_H
#include <stdatomic.h>
void stepped(void);
#define STEPPED(operation)                                                                                             \
    __extension__({                                                                                                    \
        __auto_type before_ = (operation);                                                                             \
        stepped();                                                                                                     \
        before_;                                                                                                       \
    })
#undef atomic_store_explicit
#define atomic_store_explicit(at, value, order)                                                                        \
    __extension__({                                                                                                    \
        __auto_type at_ = (at);                                                                                        \
        __typeof__((void)0, *at_) value_ = (value);                                                                    \
        __atomic_store(at_, &value_, (order));                                                                         \
        stepped();                                                                                                     \
    })
#undef atomic_fetch_add_explicit
#define atomic_fetch_add_explicit(at, value, order) STEPPED(__atomic_fetch_add((at), (value), (order)))
#undef atomic_fetch_sub_explicit
#define atomic_fetch_sub_explicit(at, value, order) STEPPED(__atomic_fetch_sub((at), (value), (order)))
#undef atomic_fetch_or_explicit
#define atomic_fetch_or_explicit(at, value, order) STEPPED(__atomic_fetch_or((at), (value), (order)))
#undef atomic_fetch_and_explicit
#define atomic_fetch_and_explicit(at, value, order) STEPPED(__atomic_fetch_and((at), (value), (order)))
#undef atomic_compare_exchange_strong_explicit
#define atomic_compare_exchange_strong_explicit(at, seen, value, done, failed)                                         \
    __extension__({                                                                                                    \
        __auto_type at_ = (at);                                                                                        \
        __typeof__((void)0, *at_) value_ = (value);                                                                    \
        stepped();                                                                                                     \
        const _Bool done_ = __atomic_compare_exchange(at_, (seen), &value_, 0, (done), (failed));                      \
        stepped();                                                                                                     \
        done_;                                                                                                         \
    })
#endif
