/* Draws the secret constants with which the hash tables of this process begin; see hash.h. */
#include <sys/random.h>
#include <unistd.h>
#pragma GCC diagnostic ignored "-Wunused-function" /* of hash.h only a constant and a mix are used here */
#include "hash.h"
#include "machine.h"

hash_start as_hash_secret = {R2, R3, R11};

__attribute__((constructor)) static void draw(void) {
    uint64_t drawn[3];
    if (getrandom(drawn, sizeof drawn, GRND_NONBLOCK) != (ssize_t)sizeof drawn) {
        /* a kernel without it, or one that has only just started: the clock and where memory lies must do */
        drawn[0] = mix(as_now_ns() ^ (uint64_t)getpid() << 40);
        drawn[1] = mix(drawn[0] ^ (uint64_t)(uintptr_t)&drawn);
        drawn[2] = mix(drawn[1] ^ (uint64_t)(uintptr_t)&draw);
    }
    as_hash_secret = (hash_start){drawn[0], drawn[1], drawn[2] | 1};
}
