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
    uint32_t word_bytes, window, code_bits, entries, field_bytes, rotate, zero, align, levels, group;
    uint32_t values[16];
    /* Derived. */
    uint32_t header_bytes, literal, shift;
    uint32_t defined;   /* codes from here on are undefined, but for the literal */
    size_t parts[16];   /* bytes sent of a word with a code */
    uint32_t keep[16];  /* the bits of the rotated word that these are */
    uint32_t base[16];  /* the other bits of the rotated word */
    uint8_t lut[256];   /* the code of a field or word of 8 bits */
    uint8_t *big;       /* the code of a whole word, or else of a field, of 16 bits, if that table is worth making */
} format;

/* How a word gets its code: one value compared with, a table of 256 or of 65536, or a value after the other. */
enum { ONE, LUT, BIG, LOOP };

static uint32_t field_bytes_of(const format *f)
{
    return f->field_bytes ? f->field_bytes : f->word_bytes;
}

static int mode_of(const format *f)
{
    if (f->code_bits == 1 && !f->field_bytes)
        return ONE;
    return f->big ? BIG : field_bytes_of(f) == 1 ? LUT : LOOP;
}

/* Completes the parameters, which the caller has checked. */
static void derive(format *f)
{
    uint32_t field = field_bytes_of(f), rest = f->word_bytes - field;
    f->header_bytes = f->window * f->code_bits / 8;
    f->literal = (1u << f->code_bits) - 1;
    f->shift = 8 * rest;
    f->defined = f->entries + f->zero;
    for (uint32_t code = 0; code < 16; code++) {
        f->parts[code] = code == f->literal ? f->word_bytes : code < f->zero ? 0 : rest;
        f->keep[code] = f->parts[code] == 4 ? UINT32_MAX : (1u << 8 * f->parts[code]) - 1;
        f->base[code] = code >= f->zero && code < f->defined ? f->values[code - f->zero] << f->shift : 0;
    }
    memset(f->lut, (int)f->literal, sizeof f->lut);
    if (field == 1)
        for (uint32_t code = f->defined; code-- > f->zero;)
            f->lut[f->values[code - f->zero] & 255] = (uint8_t)code;
}

/* Makes the large table, of words where they have 16 bits and else of fields that do; without memory for it there is another way. */
static void make_big(format *f)
{
    int whole = f->word_bytes == 2;
    if ((f->code_bits == 1 && !f->field_bytes) || !(whole || f->field_bytes == 2) || !(f->big = malloc(65536)))
        return;
    memset(f->big, (int)f->literal, 65536);
    for (uint32_t code = f->defined; code-- > f->zero;)
        for (uint32_t rest = 0; rest < (whole ? 1u << f->shift : 1); rest++) {
            uint32_t key = whole ? f->base[code] | rest : f->values[code - f->zero];
            f->big[whole ? (key >> f->rotate | key << (16 - f->rotate)) & 65535 : key & 65535] = (uint8_t)code;
        }
    if (whole && f->zero)
        f->big[0] = 0;
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

TEMPLATE void store_eight(uint8_t *to, uint64_t bytes)
{
    memcpy(to, &bytes, 8);
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

/* Rotates a word; compilers make one instruction of it. */
TEMPLATE uint32_t rotate_left(uint32_t word, unsigned k, unsigned bytes)
{
    return bytes == 4   ? word << k | word >> ((32 - k) & 31)
           : bytes == 2 ? (uint16_t)(word << k | word >> (16 - k))
                        : word;
}

TEMPLATE uint32_t rotate_right(uint32_t word, unsigned k, unsigned bytes)
{
    return rotate_left(word, k ? 8 * bytes - k : 0, bytes);
}

#endif
