/* Words of 4 bits, as the error-bounded stage makes them: in memory a byte each, in the stream two to a byte, the low one first.

   Formats have windows of at least eight words, no field and no padding; eight words at a time are in one register. */
#ifndef CDMA_NATIVE_NIBBLES_H
#define CDMA_NATIVE_NIBBLES_H

#include "native_format.h"

typedef struct {
    uint8_t *out;
    uint64_t bits;
    unsigned count; /* of bits that are not in memory yet: less than 8 */
} nibble_writer;

/* Appends up to 32 bits; eight bytes from `out` on are written. */
TEMPLATE void put_nibbles(nibble_writer *to, uint64_t bits, unsigned count)
{
    to->bits |= bits << to->count;
    to->count += count;
    store_eight(to->out, to->bits);
    to->out += to->count / 8;
    to->bits >>= to->count & ~7u;
    to->count &= 7;
}

/* 32 bits from a nibble on; zeros behind the end of the stream. */
TEMPLATE uint32_t get_nibbles(const uint8_t *source, size_t size, size_t nibble)
{
    size_t at = nibble / 2;
    uint64_t bits = at + 8 <= size ? load_eight(source + at) : load_codes(source + at, at < size ? (unsigned)(size - at) : 0);
    return (uint32_t)(bits >> 4 * (nibble & 1));
}

/* Compresses to a buffer of the bound and eight bytes more; returns the bytes. */
TEMPLATE size_t nibbles_compress_with(
    const format *f, const uint8_t *source, size_t words, uint8_t *target, const unsigned c)
{
    uint8_t codes_of[16];
    memset(codes_of, (int)f->literal, sizeof codes_of);
    for (uint32_t code = f->entries; code-- > 0;)
        codes_of[f->values[code] & 15] = (uint8_t)code;
    nibble_writer to = {target, 0, 0};
    for (size_t begin = 0; begin < words; begin += f->window) {
        uint32_t codes[8], literals[8];
        unsigned bits[8], groups = f->window / 8;
        for (unsigned group = 0; group < groups; group++) {
            size_t first = begin + 8 * (size_t)group;
            unsigned count = first >= words ? 0 : words - first < 8 ? (unsigned)(words - first) : 8, size = 0;
            uint32_t header = 0, stored = 0;
            for (unsigned place = 0; place < count; place++) {
                uint32_t word = source[first + place] & 15u, code = codes_of[word];
                uint32_t literal = code == f->literal;
                header |= code << c * place;
                stored |= (word & (0u - literal)) << (size & 31);
                size += 4 * literal;
            }
            codes[group] = header, literals[group] = stored, bits[group] = size;
        }
        for (unsigned group = 0; group < groups; group++)
            put_nibbles(&to, codes[group], 8 * c);
        for (unsigned group = 0; group < groups; group++)
            put_nibbles(&to, literals[group], bits[group]);
    }
    return (size_t)(to.out - target) + (to.count > 0);
}

/* Returns whether the stream is these words, from its first to its last nibble. */
TEMPLATE int nibbles_decompress_with(
    const format *f, const uint8_t *source, size_t size, uint8_t *target, size_t words, const unsigned c)
{
    size_t header = 0, total = 2 * size;
    for (size_t begin = 0; begin < words; begin += f->window) {
        size_t in = header + f->window * c / 4;
        if (in > total)
            return 0;
        for (unsigned first = 0; first < f->window; first += 8, header += 2 * c) {
            size_t here = begin + first;
            unsigned count = here >= words ? 0 : words - here < 8 ? (unsigned)(words - here) : 8;
            uint64_t codes = get_nibbles(source, size, header) & ((1ull << 8 * c) - 1);
            uint32_t literals = get_nibbles(source, size, in);
            for (unsigned place = 0; place < count; place++, codes >>= c) {
                uint32_t code = codes & f->literal, literal = code == f->literal;
                if (code >= f->entries && !literal)
                    return 0;
                target[here + place] = (uint8_t)(literal ? literals & 15 : f->values[code]);
                literals >>= 4 * literal;
                in += literal;
            }
            if (codes)
                return 0;
        }
        if (in > total)
            return 0;
        header = in;
    }
    return (header + 1) / 2 == size && (header % 2 == 0 || source[size - 1] < 16);
}

/* Kernels of their own for each number of bits of a code. */
static size_t nibbles_compress(const format *f, const uint8_t *source, size_t words, uint8_t *target)
{
    switch (f->code_bits) {
    case 1: return nibbles_compress_with(f, source, words, target, 1);
    case 2: return nibbles_compress_with(f, source, words, target, 2);
    case 3: return nibbles_compress_with(f, source, words, target, 3);
    default: return nibbles_compress_with(f, source, words, target, 4);
    }
}

static int nibbles_decompress(const format *f, const uint8_t *source, size_t size, uint8_t *target, size_t words)
{
    switch (f->code_bits) {
    case 1: return nibbles_decompress_with(f, source, size, target, words, 1);
    case 2: return nibbles_decompress_with(f, source, size, target, words, 2);
    case 3: return nibbles_decompress_with(f, source, size, target, words, 3);
    default: return nibbles_decompress_with(f, source, size, target, words, 4);
    }
}

#endif
