/* Key hashes, key groups, partitions and masks over columns: see kernels.h for their definitions. */
#include "kernels.h"
#include <stdlib.h>
#include "hash.h"

#define BLOCK 1024      /* rows hashed at a time: 8 KiB of hashes stay in the first-level cache */
#define STACK_ROWS 4096 /* destinations kept on the stack, 16 KiB */
#define COMPRESS_MAX 8  /* destinations up to which one vector pass each beats counting (jumbo_speed.c) */

uint64_t as_hash_int64(int64_t value) {
    return mix((uint64_t)value ^ R2);
}

uint64_t as_hash_float64(double value) {
    return mix(float_bits(value) ^ R2);
}

uint64_t as_hash_bytes(const void *data, uint64_t bytes) {
    return mix(bytes_before_mix(data, bytes, &STABLE));
}

uint64_t as_hash_null(void) {
    return R19;
}

uint64_t as_hash_combine(uint64_t hash, uint64_t next) {
    return combine_two(hash, next);
}

static bool hashable(const as_column *column, uint32_t how, int64_t rows) {
    if (column == NULL || rows < 0 || column->first < 0)
        return false;
    const uint32_t width = column->width;
    switch (how) {
    case AS_HASH_SIGNED:
    case AS_HASH_UNSIGNED: return width == 1 || width == 2 || width == 4 || width == 8;
    case AS_HASH_FLOAT: return width == 4 || width == 8;
    case AS_HASH_BYTES: return width != 0 || column->offsets != NULL || rows == 0;
    default: return false;
    }
}

int as_hash_column(const as_column *column, uint32_t how, int64_t rows, uint64_t *hash, int combine) {
    uint64_t next[BLOCK];
    if (!hashable(column, how, rows))
        return AS_E_ARGUMENT;
    for (int64_t row = 0; row < rows; row += BLOCK) {
        const int64_t count = rows - row < BLOCK ? rows - row : BLOCK;
        hash_rows(column, how, row, count, &STABLE, combine ? next : hash + row);
        if (combine)
            combine_all(hash + row, next, count);
    }
    return AS_OK;
}

AS_INLINE uint32_t group_of(uint64_t hash, uint32_t groups) {
    return (uint32_t)(((hash >> 32) * groups) >> 32);
}

uint32_t as_key_group(uint64_t hash, uint32_t groups) {
    return group_of(hash, groups);
}

AS_INLINE void group_all_body(const uint64_t *hash, int64_t rows, uint32_t groups, uint32_t *group) {
    for (int64_t i = 0; i < rows; i++)
        group[i] = group_of(hash[i], groups);
}
AS_VERSIONS(group_all, (const uint64_t *hash, int64_t rows, uint32_t groups, uint32_t *group),
            (hash, rows, groups, group))

void as_key_groups(const uint64_t *hash, int64_t rows, uint32_t groups, uint32_t *group) {
    group_all(hash, rows, groups, group);
}

AS_INLINE void greatest_body(const uint32_t *values, int64_t rows, uint32_t *greatest) {
    uint32_t most = 0;
    for (int64_t i = 0; i < rows; i++)
        most = values[i] > most ? values[i] : most;
    *greatest = most;
}
AS_VERSIONS(greatest, (const uint32_t *values, int64_t rows, uint32_t *greatest), (values, rows, greatest))

static bool all_below(const uint32_t *values, int64_t count, uint32_t limit) {
    uint32_t most;
    greatest(values, count, &most);
    return count == 0 || most < limit;
}

/* The destination of each hash. Two loops, because the compiler would turn one into vector gathers: 1.0 G
   rows/s on Zen 4 against 2.1. */
static void look_up(const uint64_t *hash, int64_t rows, const uint32_t *destination, uint32_t groups, uint32_t *out) {
    group_all(hash, rows, groups, out);
    for (int64_t i = 0; i < rows; i++)
        out[i] = destination[out[i]];
}

#ifdef AS_AVX512
/* Eight hashes to their groups, in 32 bits each. */
AS_TARGET_AVX512 AS_INLINE __m256i groups_of_8(const uint64_t *hash, __m512i groups) {
    __m512i high = _mm512_srli_epi64(_mm512_loadu_si512(hash), 32);
    return _mm512_cvtepi64_epi32(_mm512_srli_epi64(_mm512_mul_epu32(high, groups), 32));
}

/* The same for at most 128 groups: their table stays in eight registers. 4.6 G rows/s, not 2.1. */
AS_TARGET_AVX512 static void look_up_avx512(const uint64_t *hash, int64_t rows, const uint32_t *destination,
                                            uint32_t groups, uint32_t *out) {
    const __m512i many = _mm512_set1_epi64(groups), bit5 = _mm512_set1_epi32(32), bit6 = _mm512_set1_epi32(64);
    uint32_t padded[128] = {0};
    __m512i table[8];
    memcpy(padded, destination, groups * sizeof *destination);
    for (int part = 0; part < 8; part++)
        table[part] = _mm512_loadu_si512(padded + 16 * part);
    int64_t row = 0;
    for (; row + 16 <= rows; row += 16) {
        __m512i group = _mm512_inserti64x4(_mm512_castsi256_si512(groups_of_8(hash + row, many)),
                                           groups_of_8(hash + row + 8, many), 1);
        __mmask16 upper32 = _mm512_test_epi32_mask(group, bit5), upper64 = _mm512_test_epi32_mask(group, bit6);
        __m512i low = _mm512_mask_mov_epi32(_mm512_permutex2var_epi32(table[0], group, table[1]), upper32,
                                            _mm512_permutex2var_epi32(table[2], group, table[3]));
        __m512i high = _mm512_mask_mov_epi32(_mm512_permutex2var_epi32(table[4], group, table[5]), upper32,
                                             _mm512_permutex2var_epi32(table[6], group, table[7]));
        _mm512_storeu_si512(out + row, _mm512_mask_mov_epi32(low, upper64, high));
    }
    for (; row < rows; row++)
        out[row] = destination[group_of(hash[row], groups)];
}

/* The lanes of 16 consecutive numbers that `mask` keeps, packed to the front and stored at `out`; answers how
   many. The store is masked, so it touches nothing past them. */
AS_TARGET_AVX512 AS_INLINE unsigned store_kept(uint32_t *out, __m512i numbers, __mmask16 mask) {
    const unsigned kept = (unsigned)__builtin_popcount(mask);
    _mm512_mask_storeu_epi32(out, (__mmask16)((1u << kept) - 1), _mm512_maskz_compress_epi32(mask, numbers));
    return kept;
}

/* One pass a destination, in their order, so that each pass knows where it starts. */
AS_TARGET_AVX512 static void scatter_avx512(const uint32_t *destination, int64_t rows, uint32_t destinations,
                                            uint32_t *index, int64_t *counts) {
    const __m512i step = _mm512_set1_epi32(16);
    const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (uint32_t d = 0; d < destinations; d++) {
        const __m512i wanted = _mm512_set1_epi32((int)d);
        __m512i numbers = first;
        uint32_t *out = index;
        int64_t row = 0;
        for (; row + 16 <= rows; row += 16) {
            __m512i these = _mm512_loadu_si512(destination + row);
            out += store_kept(out, numbers, _mm512_cmpeq_epi32_mask(these, wanted));
            numbers = _mm512_add_epi32(numbers, step);
        }
        if (row < rows) {
            __mmask16 rest = (__mmask16)((1u << (rows - row)) - 1);
            __m512i these = _mm512_maskz_loadu_epi32(rest, destination + row);
            out += store_kept(out, numbers, _mm512_mask_cmpeq_epi32_mask(rest, these, wanted));
        }
        counts[d] = out - index;
        index = out;
    }
}

AS_TARGET_AVX512 static int64_t mask_avx512(const uint8_t *mask, int64_t rows, uint32_t *index) {
    const __m512i step = _mm512_set1_epi32(16);
    __m512i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    uint32_t *out = index;
    for (int64_t row = 0; row < rows; row += 64) {
        __mmask64 rest = rows - row < 64 ? (UINT64_C(1) << (rows - row)) - 1 : ~UINT64_C(0);
        __m512i bytes = _mm512_maskz_loadu_epi8(rest, mask + row);
        uint64_t kept = _mm512_test_epi8_mask(bytes, bytes);
        for (int part = 0; part < 64; part += 16) {
            out += store_kept(out, numbers, (__mmask16)(kept >> part));
            numbers = _mm512_add_epi32(numbers, step);
        }
    }
    return out - index;
}
#endif

static void destination_all(const uint64_t *hash, int64_t rows, const uint32_t *destination, uint32_t groups,
                            uint32_t *out) {
#ifdef AS_AVX512
    if (groups <= 128 && cpu_has_avx512()) {
        look_up_avx512(hash, rows, destination, groups, out);
        return;
    }
#endif
    look_up(hash, rows, destination, groups, out);
}

/* Two destinations: both counters stay in registers, where the counting sort waits for its own stores. 1.1 G
   rows/s, not 0.5. */
static void scatter_two(const uint32_t *destination, int64_t rows, uint32_t *index, int64_t *counts) {
    int64_t second = 0;
    for (int64_t i = 0; i < rows; i++)
        second += destination[i];
    int64_t at0 = 0, at1 = rows - second;
    counts[0] = at1;
    counts[1] = second;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t to = destination[i];
        index[to ? at1 : at0] = (uint32_t)i;
        at1 += to;
        at0 += 1 - to;
    }
}

/* Stable counting sort. counts[] holds where the next row of each destination goes, then is set back to
 * counts. */
static void scatter_counting(const uint32_t *destination, int64_t rows, uint32_t destinations, uint32_t *index,
                             int64_t *counts) {
    memset(counts, 0, destinations * sizeof *counts);
    for (int64_t i = 0; i < rows; i++)
        counts[destination[i]]++;
    int64_t start = 0;
    for (uint32_t d = 0; d < destinations; d++) {
        int64_t count = counts[d];
        counts[d] = start;
        start += count;
    }
    for (int64_t i = 0; i < rows; i++)
        index[counts[destination[i]]++] = (uint32_t)i;
    for (uint32_t d = destinations; d-- > 1;)
        counts[d] -= counts[d - 1];
}

static void scatter(const uint32_t *destination, int64_t rows, uint32_t destinations, uint32_t *index,
                    int64_t *counts) {
#ifdef AS_AVX512
    if (destinations <= COMPRESS_MAX && cpu_has_avx512()) {
        scatter_avx512(destination, rows, destinations, index, counts);
        return;
    }
#endif
    if (destinations == 2)
        scatter_two(destination, rows, index, counts);
    else
        scatter_counting(destination, rows, destinations, index, counts);
}

int as_partition_rows(const uint32_t *destination, int64_t rows, uint32_t destinations, uint32_t *index,
                      int64_t *counts) {
    if (rows < 0 || rows > UINT32_MAX || destinations == 0 || !all_below(destination, rows, destinations))
        return AS_E_ARGUMENT;
    scatter(destination, rows, destinations, index, counts);
    return AS_OK;
}

/* Hashes come from `hash`, or are made block by block from `key`. */
static int partition(const uint64_t *hash, const as_column *key, uint32_t how, int64_t rows,
                     const uint32_t *destination, uint32_t groups, uint32_t destinations, uint32_t *index,
                     int64_t *counts) {
    uint64_t block[BLOCK];
    uint32_t stack[STACK_ROWS], *row_destination = stack;
    if (rows < 0 || rows > UINT32_MAX || groups == 0 || destinations == 0 ||
        !all_below(destination, groups, destinations))
        return AS_E_ARGUMENT;
    if (rows == 0) {
        memset(counts, 0, destinations * sizeof *counts);
        return AS_OK;
    }
    if (rows > STACK_ROWS && (row_destination = malloc((size_t)rows * sizeof *row_destination)) == NULL)
        return AS_E_MEMORY;
    for (int64_t row = 0; row < rows; row += BLOCK) {
        const int64_t count = rows - row < BLOCK ? rows - row : BLOCK;
        if (hash == NULL)
            hash_rows(key, how, row, count, &STABLE, block);
        destination_all(hash == NULL ? block : hash + row, count, destination, groups, row_destination + row);
    }
    scatter(row_destination, rows, destinations, index, counts);
    if (row_destination != stack)
        free(row_destination);
    return AS_OK;
}

int as_partition_hash(const uint64_t *hash, int64_t rows, const uint32_t *destination, uint32_t groups,
                      uint32_t destinations, uint32_t *index, int64_t *counts) {
    if (hash == NULL && rows > 0)
        return AS_E_ARGUMENT;
    return partition(hash, NULL, 0, rows, destination, groups, destinations, index, counts);
}

int as_partition_key(const as_column *key, uint32_t how, int64_t rows, const uint32_t *destination, uint32_t groups,
                     uint32_t destinations, uint32_t *index, int64_t *counts) {
    if (!hashable(key, how, rows))
        return AS_E_ARGUMENT;
    return partition(NULL, key, how, rows, destination, groups, destinations, index, counts);
}

int64_t as_mask_to_index(const uint8_t *mask, int64_t rows, uint32_t *index) {
    if (rows < 0 || rows > UINT32_MAX)
        return AS_E_ARGUMENT;
#ifdef AS_AVX512
    if (cpu_has_avx512())
        return mask_avx512(mask, rows, index);
#endif
    int64_t kept = 0;
    for (int64_t row = 0; row < rows; row++) {
        index[kept] = (uint32_t)row; /* in bounds: kept <= row */
        kept += mask[row] != 0;
    }
    return kept;
}
