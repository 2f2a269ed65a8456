/* Windows in plain C. A window's stores never reach past the most bytes that it can have, so a buffer of the format's bound
   is never left; reads are exact, or only where the stream is known to go on.

   The templates have constants for the bytes of a word and the way to a code: compilers make a kernel of each. */
#ifndef CDMA_NATIVE_SCALAR_H
#define CDMA_NATIVE_SCALAR_H

#include "native_eight.h"
#include "native_groups.h"
#include "native_pairs.h"
#include "native_windows.h"

/* The code of a word. */
TEMPLATE uint32_t code_of(const format *f, uint32_t word, uint32_t rotated, unsigned bytes, int mode)
{
    uint32_t key = rotated >> f->shift, code;
    if (mode == LUT) {
        code = f->lut[bytes == 1 ? rotated : bytes == 2 ? rotated >> 8 : rotated >> 24];
    } else if (mode == BIG) {
        code = f->big[rotated >> 16];
    } else {
        code = f->literal;
        for (uint32_t at = f->defined; at-- > f->zero;)
            code = key == f->values[at - f->zero] ? at : code;
    }
    /* Without a branch, which nothing could predict. */
    return code & (0u - !(f->zero && word == 0));
}

/* Codes of whole words with one value: a bit each. */
TEMPLATE uint8_t *one_compress(const format *f, const uint8_t *source, uint8_t *target, unsigned bytes)
{
    uint8_t *out = target + f->header_bytes;
    uint64_t value = repeated_eight(f->values[0], bytes);
    for (unsigned first = 0; first < f->window; first += 8) {
        unsigned header = 0;
        UNROLL for (unsigned part = 0; part < bytes; part++, source += 8) {
            uint64_t words = load_eight(source);
            unsigned mask = not_zero(words ^ value, bytes);
            store_eight(out, moved_together(words, mask, bytes));
            out += moves_of[bytes >> 1].size[mask];
            header |= mask << part * 8 / bytes;
        }
        *target++ = (uint8_t)header;
    }
    return out;
}

/* Reads up to eight bytes past the literals. */
TEMPLATE const uint8_t *one_decompress(const format *f, const uint8_t *source, uint8_t *target, unsigned bytes)
{
    const uint8_t *in = source + f->header_bytes;
    uint64_t value = repeated_eight(f->values[0], bytes);
    for (unsigned first = 0; first < f->window; first += 8) {
        unsigned header = *source++;
        UNROLL for (unsigned part = 0; part < bytes; part++, target += 8) {
            unsigned mask = header >> part * 8 / bytes & ((1u << 8 / bytes) - 1);
            store_eight(target, moved_apart(load_eight(in), mask, value, bytes));
            in += moves_of[bytes >> 1].size[mask];
        }
    }
    return in;
}

/* Compresses a whole window of at least eight words; returns its end before padding. */
TEMPLATE uint8_t *scalar_compress_window(
    const format *f, const uint8_t *source, uint8_t *target, unsigned bytes, int mode)
{
    if (mode == ONE)
        return one_compress(f, source, target, bytes);
    if (mode == BIG && bytes == 2)
        return sixteen_compress(f, source, target);
    uint8_t *out = target + f->header_bytes;
    unsigned c = f->code_bits;
    for (unsigned first = 0; first < f->window; first += 8, target += c) {
        uint64_t codes = 0;
        UNROLL for (unsigned pair = 0; pair < 4; pair++) {
            uint64_t both = 0;
            UNROLL for (unsigned second = 0; second < 2; second++, source += bytes) {
                uint32_t word = load_word(source, bytes), rotated = rotate_left(word, f->rotate, bytes);
                uint64_t code = code_of(f, word, rotated, bytes, mode);
                memcpy(out, &rotated, bytes);
                out += f->parts[code];
                both += second ? code << c : code;
            }
            codes |= both << 2 * c * pair;
        }
        store_codes(target, codes, c);
    }
    return out;
}

/* Whether a header has a code that stands for nothing. */
TEMPLATE int has_undefined(const format *f, const uint8_t *header)
{
    const uint64_t each = 0x0101010101010101u;
    uint64_t undefined = 0;
    for (const uint8_t *at = header; at < header + f->header_bytes; at += f->code_bits) {
        uint64_t codes = unpacked(load_eight(at), f->code_bits, f->literal);
        /* Its upper bit says of each byte whether it is at least as large as the one but not as the other. */
        undefined |= (codes + (128 - f->defined) * each) ^ (codes + (128 - f->literal) * each);
    }
    return (undefined & 128 * each) != 0;
}

/* Decompresses a whole window, of at least eight words, whose most bytes are in the stream; returns its end before padding, or
   NULL for a fault. */
TEMPLATE const uint8_t *scalar_decompress_window(
    const format *f, const pairs *p, const uint8_t *source, uint8_t *target, unsigned bytes, int mode)
{
    if (mode == ONE)
        return one_decompress(f, source, target, bytes);
    if (f->defined < f->literal && has_undefined(f, source))
        return NULL;
    if (bytes == 2)
        return sixteen_decompress(f, p, source, target);
    const uint8_t *in = source + f->header_bytes;
    unsigned c = f->code_bits;
    for (unsigned first = 0; first < f->window; first += 8, source += c) {
        uint64_t codes = unpacked(load_eight(source), c, f->literal);
        UNROLL for (unsigned place = 0; place < 8; place++, target += bytes) {
            uint32_t code = codes >> 8 * place & 255;
            uint32_t word = (load_word(in, bytes) & f->keep[code]) | f->base[code];
            word = rotate_right(word, f->rotate, bytes);
            in += f->parts[code];
            memcpy(target, &word, bytes);
        }
    }
    return in;
}

/* Compresses the words of any window, `count` of them, with exact reads; returns its end. */
static uint8_t *compress_carefully(const format *f, const uint8_t *source, unsigned count, uint8_t *target)
{
    uint8_t *out = target + f->header_bytes;
    unsigned bytes = f->word_bytes, bits = 0;
    uint64_t codes = 0;
    memset(target, 0, f->header_bytes);
    for (unsigned place = 0; place < count; place++, source += bytes) {
        uint32_t word = load_word(source, bytes), rotated = rotate_left(word, f->rotate, bytes);
        uint32_t code = code_of(f, word, rotated, bytes, LOOP);
        memcpy(out, &rotated, bytes);
        out += f->parts[code];
        codes |= (uint64_t)code << bits;
        bits += f->code_bits;
        for (; bits >= 8 || (bits && place + 1 == count); bits -= bits < 8 ? bits : 8, codes >>= 8)
            *target++ = (uint8_t)codes;
    }
    return out;
}

/* Decompresses any window, of `count` words, with all checks and exact reads; returns its end before padding, or NULL for a fault. */
static const uint8_t *decompress_carefully(
    const format *f, const uint8_t *source, const uint8_t *end, unsigned count, uint8_t *target)
{
    unsigned c = f->code_bits, here = f->window < 8 ? f->window : 8, bytes = f->word_bytes;
    if ((size_t)(end - source) < f->header_bytes)
        return NULL;
    const uint8_t *in = source + f->header_bytes;
    for (unsigned first = 0; first < f->window; first += 8) {
        uint64_t codes = load_codes(source + first * c / 8, here * c / 8);
        for (unsigned place = 0; place < here; place++) {
            uint32_t code = codes >> (c * place) & f->literal;
            if (first + place >= count) {
                if (code)
                    return NULL;
                continue;
            }
            if ((code >= f->defined && code != f->literal) || (size_t)(end - in) < f->parts[code])
                return NULL;
            uint32_t word = rotate_right(load_word(in, f->parts[code]) | f->base[code], f->rotate, bytes);
            in += f->parts[code];
            memcpy(target, &word, bytes);
            target += bytes;
        }
    }
    return in;
}

#define NO_PREPARE(BYTES)
#define SCALAR_PREPARE(BYTES) const pairs p = pairs_of(&f, BYTES);
#define SCALAR_TO(source, target, BYTES, MODE) scalar_compress_window(&f, source, target, BYTES, MODE)
#define SCALAR_FROM(source, target, BYTES, MODE) scalar_decompress_window(&f, &p, source, target, BYTES, MODE)
#define SCALAR_COMPRESS(BYTES, MODE, SHAPES) SHAPES(COMPRESS_LOOP, NO_PREPARE, SCALAR_TO, BYTES, MODE)
#define SCALAR_DECOMPRESS(BYTES, MODE, SHAPES) SHAPES(DECOMPRESS_LOOP, SCALAR_PREPARE, SCALAR_FROM, BYTES, MODE)

DEFINE_WINDOWS(scalar, , SCALAR_COMPRESS, SCALAR_DECOMPRESS)
DEFINE_GROUPS(scalar, )

#endif
