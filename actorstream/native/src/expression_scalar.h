/* What expressions do with one value: integer division, parts of a date, texts to numbers. Private to expression.c. */
#ifndef ACTORSTREAM_EXPRESSION_SCALAR_H
#define ACTORSTREAM_EXPRESSION_SCALAR_H
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "bits.h"
#include "expression.h"

/* The quotient towards minus infinity; the divisor is not 0, and a // b fits. */
AS_INLINE int64_t floor_divide(int64_t a, int64_t b) {
    const int64_t quotient = a / b;
    return quotient - ((a % b != 0) & ((a ^ b) < 0));
}

AS_INLINE int64_t floor_remainder(int64_t a, int64_t b) {
    if (b == -1) /* INT64_MIN % -1 traps */
        return 0;
    const int64_t rest = a % b;
    return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;
}

/* As CPython's float_divmod; by zero as IEEE. */
AS_INLINE double float_remainder(double a, double b) {
    double rest = fmod(a, b);
    if (rest == 0.0)
        return copysign(0.0, b);
    return (b < 0) != (rest < 0) ? rest + b : rest;
}

AS_INLINE double float_floor_divide(double a, double b) {
    if (b == 0.0)
        return a / b;
    const double rest = fmod(a, b);
    double quotient = (a - rest) / b;
    if (rest != 0.0 && (b < 0) != (rest < 0))
        quotient -= 1.0;
    if (quotient == 0.0)
        return copysign(0.0, a / b);
    const double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1.0 : whole;
}

/* The double nearest to what `value` is at 1 / power, half to even; power is a power of ten up to 1e15, so it is exact.
   The product is rounded, which shows only where it is a half: then what rounding took away decides. From 2^53 on the
   next double is farther away than the next decimal, so the value stays as it is. */
AS_INLINE double round_at(double value, double power) {
    const double product = value * power, below = floor(product), lost = fma(value, power, -product);
    double whole = rint(product);
    if (product != below && product == below + 0.5 && lost != 0.0)
        whole = lost > 0.0 ? below + 1.0 : below;
    return fabs(product) < 0x1p53 ? copysign(whole / power, value) : value;
}

/* Part of a day number since 1970 in the proleptic Gregorian calendar (H. Hinnant, days_from_civil and back). */
AS_INLINE int64_t part_of_day_number(int64_t day, int64_t part) {
    if (part == AS_WEEKDAY) /* 1970 began on a Thursday; Monday is 0 */
        return floor_remainder(day + 3, 7);
    const int64_t z = day + 719468;
    const int64_t era = floor_divide(z, 146097);
    const int64_t of_era = z - era * 146097;
    const int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t month_from_march = (5 * of_year + 2) / 153;
    const int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    if (part == AS_YEAR)
        return year_of_era + era * 400 + (month <= 2);
    return part == AS_MONTH ? month : of_year - (153 * month_from_march + 2) / 5 + 1;
}

/* Bytes of one row of a variable column. */
typedef struct text {
    const char *data;
    int64_t bytes;
} text;

AS_INLINE text text_at(const as_column *column, int64_t row) {
    const int64_t at = column->first + row;
    int64_t begin, end;
    if (column->wide) {
        const i64_any *offsets = column->offsets;
        begin = offsets[at], end = offsets[at + 1];
    } else {
        const i32_any *offsets = column->offsets;
        begin = offsets[at], end = offsets[at + 1];
    }
    return (text){(const char *)column->data + begin, end - begin};
}

/* Whether `bytes` > 0 bytes are the same: two overlapping words where one is not enough, as memcmp is a call. */
AS_INLINE bool same_bytes(const char *a, const char *b, int64_t bytes) {
    if (bytes > 16)
        return memcmp(a, b, (size_t)bytes) == 0;
    if (bytes >= 8)
        return ((*(const u64_any *)a ^ *(const u64_any *)b) |
                (*(const u64_any *)(a + bytes - 8) ^ *(const u64_any *)(b + bytes - 8))) == 0;
    if (bytes >= 4)
        return ((*(const u32_any *)a ^ *(const u32_any *)b) |
                (*(const u32_any *)(a + bytes - 4) ^ *(const u32_any *)(b + bytes - 4))) == 0;
    return a[0] == b[0] && a[bytes >> 1] == b[bytes >> 1] && a[bytes - 1] == b[bytes - 1];
}

AS_INLINE bool text_equal(text a, text b) {
    return a.bytes == b.bytes && (a.bytes == 0 || same_bytes(a.data, b.data, a.bytes));
}

AS_INLINE int text_order(text a, text b) {
    const int64_t both = a.bytes < b.bytes ? a.bytes : b.bytes;
    const int order = both > 0 ? memcmp(a.data, b.data, (size_t)both) : 0;
    return order != 0 ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

AS_INLINE bool text_starts(text a, text b) {
    return a.bytes >= b.bytes && (b.bytes == 0 || same_bytes(a.data, b.data, b.bytes));
}

AS_INLINE bool text_ends(text a, text b) {
    return a.bytes >= b.bytes && (b.bytes == 0 || same_bytes(a.data + a.bytes - b.bytes, b.data, b.bytes));
}

AS_INLINE bool text_contains(text a, text b) {
    if (b.bytes == 0)
        return true;
    const char *at = a.data, *last = a.data + a.bytes - b.bytes;
    while (at <= last) {
        at = memchr(at, b.data[0], (size_t)(last - at + 1));
        if (at == NULL)
            return false;
        if (same_bytes(at, b.data, b.bytes))
            return true;
        at++;
    }
    return false;
}

AS_INLINE int64_t code_points(text a) {
    int64_t count = 0;
    for (int64_t i = 0; i < a.bytes; i++)
        count += ((uint8_t)a.data[i] & 0xC0) != 0x80;
    return count;
}

AS_INLINE bool is_blank(char each) {
    return each == ' ' || (each >= '\t' && each <= '\r');
}

AS_INLINE text trimmed(text a) {
    while (a.bytes > 0 && is_blank(a.data[0]))
        a.data++, a.bytes--;
    while (a.bytes > 0 && is_blank(a.data[a.bytes - 1]))
        a.bytes--;
    return a;
}

static bool text_to_int(text a, int64_t *out) {
    a = trimmed(a);
    const bool negative = a.bytes > 0 && a.data[0] == '-';
    if (a.bytes > 0 && (negative || a.data[0] == '+'))
        a.data++, a.bytes--;
    if (a.bytes == 0)
        return false;
    int64_t value = 0; /* negative throughout: INT64_MIN has no counterpart */
    for (int64_t i = 0; i < a.bytes; i++) {
        const unsigned digit = (unsigned)(a.data[i] - '0');
        if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, (int64_t)digit, &value))
            return false;
    }
    if (!negative && value == INT64_MIN)
        return false;
    *out = negative ? value : -value;
    return true;
}

static bool is_word(text a, const char *word) {
    for (int64_t i = 0; i < a.bytes; i++)
        if ((a.data[i] | 0x20) != word[i]) /* stops at the word's end: a letter is never 0 */
            return false;
    return word[a.bytes] == 0;
}

static bool text_to_float(text a, locale_t plain, double *out) {
    char copy[512];
    a = trimmed(a);
    if (a.bytes == 0 || a.bytes >= (int64_t)sizeof copy)
        return false;
    const int64_t sign = a.data[0] == '-' || a.data[0] == '+';
    const text digits = {a.data + sign, a.bytes - sign};
    if (is_word(digits, "nan") || is_word(digits, "inf") || is_word(digits, "infinity")) {
        const double value = digits.data[0] == 'n' || digits.data[0] == 'N' ? (double)NAN : (double)INFINITY;
        *out = a.data[0] == '-' ? -value : value;
        return digits.bytes > 0;
    }
    if (memchr(a.data, 0, (size_t)a.bytes) != NULL)
        return false;
    for (int64_t i = 0; i < a.bytes; i++) { /* strtod takes more: hexadecimal, nan(...) */
        const char each = a.data[i];
        if (!(each >= '0' && each <= '9') && strchr(".-+eE", each) == NULL)
            return false;
    }
    memcpy(copy, a.data, (size_t)a.bytes);
    copy[a.bytes] = 0;
    char *end;
    *out = strtod_l(copy, &end, plain);
    return end == copy + a.bytes;
}

static bool text_to_bool(text a, int64_t *out) {
    const text yes = {"true", 4}, no = {"false", 5};
    *out = text_equal(a, yes);
    return *out || text_equal(a, no);
}
#endif
