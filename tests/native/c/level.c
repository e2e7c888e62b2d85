/* The highest version of loops that is chosen: AS_LEVEL of the environment, 0 to 2. */
#include <stdlib.h>

int as_most_level = 2;

__attribute__((constructor)) static void choose(void) {
    const char *said = getenv("AS_LEVEL");
    if (said != NULL)
        as_most_level = atoi(said);
}
