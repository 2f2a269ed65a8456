/* The parameters of a format, and what follows from them, as the kernels want it. Everything is counted in bytes. */
#ifndef CDMA_NATIVE_FORMAT_H
#define CDMA_NATIVE_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the kernels are for little-endian machines"
#endif

#define TEMPLATE static inline __attribute__((always_inline))

/* The most bytes of a header: 64 codes of 4 bits. */
#define MOST_HEADER 32

typedef struct {
    uint32_t word_bytes, window, code_bits, entries, field_bytes, rotate, zero, align;
    uint32_t values[16];
    /* Derived. */
    uint32_t header_bytes, literal, shift, word_mask;
    uint32_t parts[16]; /* bytes sent of a word with a code */
    uint32_t keep[16];  /* the bits of the rotated word that these are */
    uint32_t base[16];  /* the other bits of the rotated word */
    uint8_t valid[16];  /* whether a code is the table's or all ones */
    uint8_t lut[256];   /* the code of a field or word of 8 bits */
    uint8_t *big;       /* the code of one of 16 bits, if that table is worth making */
} format;

/* How a word gets its code: one value compared with, a table of 256 or of 65536, or a value after the other. */
enum { ONE, LUT, BIG, LOOP };

static int mode_of(const format *f)
{
    if (f->code_bits == 1 && !f->field_bytes)
        return ONE;
    return (f->field_bytes ? f->field_bytes : f->word_bytes) == 1 ? LUT : f->big ? BIG : LOOP;
}

/* Completes the parameters, which the caller has checked. */
static void derive(format *f)
{
    uint32_t bits = 8 * f->word_bytes, field = f->field_bytes ? f->field_bytes : f->word_bytes;
    uint32_t rest = f->word_bytes - field;
    f->word_mask = bits == 32 ? UINT32_MAX : (1u << bits) - 1;
    f->header_bytes = f->window * f->code_bits / 8;
    f->literal = (1u << f->code_bits) - 1;
    f->shift = bits - 8 * field;
    memset(f->lut, (int)f->literal, sizeof f->lut);
    for (uint32_t code = 0; code < 16; code++) {
        uint32_t entry = code - f->zero;
        int is_entry = code >= f->zero && entry < f->entries;
        f->valid[code] = is_entry || code == f->literal || (code == 0 && f->zero);
        f->parts[code] = code == f->literal ? f->word_bytes : code < f->zero ? 0 : rest;
        f->keep[code] = f->parts[code] == 4 ? UINT32_MAX : (1u << 8 * f->parts[code]) - 1;
        f->base[code] = is_entry && code != f->literal ? f->values[entry] << f->shift : 0;
    }
    if (field == 1)
        for (uint32_t entry = f->entries; entry-- > 0;)
            f->lut[f->values[entry] & 255] = (uint8_t)(entry + f->zero);
}

/* Makes the large table where fields or words have 16 bits; without memory for it there is another way. */
static void make_big(format *f)
{
    if (f->code_bits == 1 || (f->field_bytes ? f->field_bytes : f->word_bytes) != 2 || !(f->big = malloc(65536)))
        return;
    memset(f->big, (int)f->literal, 65536);
    for (uint32_t entry = f->entries; entry-- > 0;)
        f->big[f->values[entry] & 65535] = (uint8_t)(entry + f->zero);
}

TEMPLATE uint32_t load_word(const uint8_t *from, unsigned bytes)
{
    uint32_t word = 0;
    memcpy(&word, from, bytes);
    return word;
}

/* Up to eight codes, which are `bytes` bytes. */
TEMPLATE uint64_t load_codes(const uint8_t *from, unsigned bytes)
{
    uint64_t codes = 0;
    for (unsigned byte = 0; byte < bytes; byte++)
        codes |= (uint64_t)from[byte] << 8 * byte;
    return codes;
}

/* The same where eight bytes can be read; what follows the codes is not masked out. */
TEMPLATE uint64_t load_eight(const uint8_t *from)
{
    uint64_t codes;
    memcpy(&codes, from, 8);
    return codes;
}

TEMPLATE void store_codes(uint8_t *to, uint64_t codes, unsigned bytes)
{
    switch (bytes) {
    case 1: memcpy(to, &codes, 1); break;
    case 2: memcpy(to, &codes, 2); break;
    case 3: memcpy(to, &codes, 2), to[2] = (uint8_t)(codes >> 16); break;
    case 4: memcpy(to, &codes, 4); break;
    case 8: memcpy(to, &codes, 8); break;
    }
}

TEMPLATE uint32_t rotate_left(uint32_t word, const format *f, unsigned bytes)
{
    unsigned k = f->rotate;
    return k ? (word << k | word >> (8 * bytes - k)) & f->word_mask : word;
}

TEMPLATE uint32_t rotate_right(uint32_t word, const format *f, unsigned bytes)
{
    unsigned k = f->rotate;
    return k ? (word >> k | word << (8 * bytes - k)) & f->word_mask : word;
}

TEMPLATE size_t padding_of(const format *f, size_t length)
{
    return (0 - length) & (f->align - 1);
}

TEMPLATE uint8_t *padded(const format *f, uint8_t *begin, uint8_t *end)
{
    if (f->align == 1)
        return end;
    size_t padding = padding_of(f, (size_t)(end - begin));
    uint8_t *after = end + padding;
    if (after - begin < 8) {
        memset(end, 0, padding);
    } else if (padding) {
        uint64_t last = load_eight(after - 8) & UINT64_MAX >> 8 * padding;
        memcpy(after - 8, &last, 8);
    }
    return after;
}

/* The most bytes of a window of `words` words before padding. */
TEMPLATE size_t most_bytes(const format *f, size_t words)
{
    return f->header_bytes + words * f->word_bytes;
}

#endif
