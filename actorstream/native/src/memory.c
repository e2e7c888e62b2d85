/* How much memory is left: /proc/meminfo and the memory cgroup's levels. See memory.h. */
#include "memory.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads a small file whole; "" if it cannot be read. */
static const char *slurp(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    if (fd >= 0) {
        ssize_t got;
        while (used + 1 < size && (got = read(fd, text + used, size - 1 - used)) > 0) {
            used += (size_t)got;
        }
        close(fd);
    }
    text[used] = 0;
    return text;
}

/* The number after `name` at the start of a line; UINT64_MAX if there is none. */
static uint64_t field(const char *text, const char *name) {
    size_t length = strlen(name);
    for (const char *line = text; line != NULL && *line; line = strchr(line, '\n'), line += line != NULL) {
        if (strncmp(line, name, length) == 0 && (line[length] == ' ' || line[length] == ':')) {
            return strtoull(line + length + 1, NULL, 10);
        }
    }
    return UINT64_MAX;
}

/* The same for the file `name` in `folder`. */
static const char *slurp_in(const char *folder, const char *name, char *text, size_t size) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return slurp(length < (int)sizeof path ? path : "", text, size);
}

/* A file that holds one number, or "max". */
static uint64_t number(const char *folder, const char *name) {
    char text[64];
    slurp_in(folder, name, text, sizeof text);
    return text[0] >= '0' && text[0] <= '9' ? strtoull(text, NULL, 10) : UINT64_MAX;
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Whether one of the words between commas from `list` to `end` is `name`. */
static int lists(const char *list, const char *end, const char *name) {
    while (list < end) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        const size_t size = (size_t)((comma ? comma : end) - list);
        if (size == strlen(name) && memcmp(list, name, size) == 0) {
            return 1;
        }
        list += size + 1;
    }
    return 0;
}

/* Finds the mount of the memory controller: its mount point and the part of the hierarchy that it shows. */
static int find_mount(const char *mounts, int version, char *root, char *point) {
    char line[2 * PATH_MAX];
    for (const char *next = mounts; *next;) {
        size_t length = strcspn(next, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1), next);
        next += length + (next[length] == '\n');
        char *tail = strstr(line, " - ");
        if (tail == NULL || sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) != 2) {
            continue;
        }
        char kind[32] = "", options[512] = "";
        if (sscanf(tail, " - %31s %*s %511s", kind, options) < 1) {
            continue;
        }
        if (version == 2 && strcmp(kind, "cgroup2") == 0) {
            return 1;
        }
        if (version == 1 && strcmp(kind, "cgroup") == 0 && lists(options, options + strlen(options), "memory")) {
            return 1;
        }
    }
    return 0;
}

/* The process's own path in the hierarchy of that version. */
static int find_path(const char *groups, int version, char *path) {
    for (const char *line = groups; *line;) {
        size_t length = strcspn(line, "\n");
        const char *first = memchr(line, ':', length);
        const char *second = first ? memchr(first + 1, ':', length - (size_t)(first + 1 - line)) : NULL;
        if (second != NULL) {
            int mine = version == 2 ? line[0] == '0' && second == first + 1 : lists(first + 1, second, "memory");
            if (mine) {
                snprintf(path, PATH_MAX, "%.*s", (int)(length - (size_t)(second + 1 - line)), second + 1);
                return 1;
            }
        }
        line += length + (line[length] == '\n');
    }
    return 0;
}

/* One level of the hierarchy: what is left below its limit. */
static void read_level(const char *folder, int version, as_memory *out) {
    char stat[8192];
    uint64_t limit = number(folder, version == 2 ? "memory.max" : "memory.limit_in_bytes");
    uint64_t usage = number(folder, version == 2 ? "memory.current" : "memory.usage_in_bytes");
    if (version == 2) {
        limit = least(limit, number(folder, "memory.high"));
    }
    if (usage == UINT64_MAX) {
        return; /* the root of v2 has no limit and no usage */
    }
    out->cgroup_levels++;
    slurp_in(folder, "memory.stat", stat, sizeof stat);
    uint64_t cache = field(stat, version == 2 ? "inactive_file" : "total_inactive_file");
    if (cache != UINT64_MAX) {
        usage -= least(cache, usage);
    }
    if (limit >= (uint64_t)INT64_MAX / 2) {
        limit = UINT64_MAX; /* v1 writes "no limit" as a huge number */
    }
    uint64_t left = limit == UINT64_MAX ? UINT64_MAX : limit > usage ? limit - usage : 0;
    uint64_t tightest = out->cgroup_limit == UINT64_MAX         ? UINT64_MAX
                        : out->cgroup_limit > out->cgroup_usage ? out->cgroup_limit - out->cgroup_usage
                                                                : 0;
    if (out->cgroup_levels == 1 || left < tightest) {
        out->cgroup_limit = limit;
        out->cgroup_usage = usage;
    }
    out->available = least(out->available, left);
}

/* Reads every level from the process's own group up to the mount point. */
static int read_groups(const char *root, int version, as_memory *out) {
    char shown[PATH_MAX], point[PATH_MAX], own[PATH_MAX], folder[3 * PATH_MAX];
    char *mounts = malloc(1 << 18), groups[8192];
    if (mounts == NULL) {
        return 0;
    }
    int found = find_mount(slurp_in(root, "proc/self/mountinfo", mounts, 1 << 18), version, shown, point);
    free(mounts);
    if (!found || !find_path(slurp_in(root, "proc/self/cgroup", groups, sizeof groups), version, own)) {
        return 0;
    }
    const char *below = own;
    size_t hidden = strcmp(shown, "/") == 0 ? 0 : strlen(shown);
    if (hidden && strncmp(own, shown, hidden) == 0 && (own[hidden] == '/' || own[hidden] == 0)) {
        below += hidden; /* a container sees only its own part */
    } else if (hidden) {
        below = "";
    }
    snprintf(folder, sizeof folder, "%s%s%s", root, point, strcmp(below, "/") == 0 ? "" : below);
    size_t top = strlen(root) + strlen(point);
    for (;;) {
        read_level(folder, version, out);
        char *slash = strrchr(folder, '/');
        if (slash == NULL || (size_t)(slash - folder) < top) {
            break;
        }
        *slash = 0;
    }
    return out->cgroup_levels > 0;
}

int as_memory_read(const char *root, as_memory *out) {
    char text[8192];
    if (root == NULL || out == NULL || strlen(root) > PATH_MAX / 2) {
        return AS_E_ARGUMENT;
    }
    memset(out, 0xff, sizeof *out);
    out->cgroup_version = out->cgroup_levels = 0;
    slurp_in(root, "proc/meminfo", text, sizeof text);
    uint64_t total = field(text, "MemTotal"), free_now = field(text, "MemAvailable");
    out->machine_total = total == UINT64_MAX ? total : total << 10;
    out->machine_available = free_now == UINT64_MAX ? free_now : free_now << 10;
    out->available = out->machine_available;
    for (int version = 2; version >= 1; version--) {
        if (read_groups(root, version, out)) {
            out->cgroup_version = (uint32_t)version;
            break;
        }
    }
    return AS_OK;
}
