/* Windows in plain C. A window's stores never reach past the most bytes that it can have, so a buffer of the format's bound
   is never left; reads are exact, or only where the stream is known to go on.

   The functions are templates: with constants for the bytes of a word and the way to a code, compilers make a kernel of each. */
#ifndef CDMA_NATIVE_SCALAR_H
#define CDMA_NATIVE_SCALAR_H

#include "native_format.h"

TEMPLATE uint32_t code_of(const format *f, uint32_t word, uint32_t rotated, int mode)
{
    uint32_t key = rotated >> f->shift, code;
    if (mode == LUT) {
        code = f->lut[key];
    } else if (mode == BIG) {
        code = f->big[key];
    } else {
        code = f->literal;
        for (uint32_t entry = f->entries; entry-- > 0;)
            code = key == f->values[entry] ? entry + f->zero : code;
    }
    return f->zero && word == 0 ? 0 : code;
}

/* Compresses a window of `count` words, which is partial if they are fewer than the format's; returns its end. */
TEMPLATE uint8_t *compress_window(
    const format *f, const uint8_t *source, unsigned count, uint8_t *target, unsigned bytes, int mode)
{
    uint8_t *out = target + f->header_bytes;
    unsigned c = f->code_bits;
    for (unsigned first = 0; first < f->window; first += 8) {
        unsigned here = f->window < 8 ? f->window : 8;
        unsigned used = count <= first ? 0 : count - first < here ? count - first : here;
        uint64_t codes = 0;
        for (unsigned place = 0; place < used; place++) {
            uint32_t word = load_word(source, bytes);
            source += bytes;
            if (mode == ONE) {
                uint32_t literal = word != f->values[0];
                memcpy(out, &word, bytes);
                out += literal * bytes;
                codes |= (uint64_t)literal << place;
            } else {
                uint32_t rotated = rotate_left(word, f, bytes), code = code_of(f, word, rotated, mode);
                memcpy(out, &rotated, bytes);
                out += f->parts[code];
                codes |= (uint64_t)code << (c * place);
            }
        }
        store_codes(target + first * c / 8, codes, mode == ONE ? 1 : here * c / 8);
    }
    return padded(f, target, out);
}

/* Decompresses a whole window, of at least eight words, whose most bytes are in the stream; returns its end, or NULL for a
   fault. */
TEMPLATE const uint8_t *decompress_window(
    const format *f, const uint8_t *source, uint8_t *target, unsigned bytes, int mode)
{
    const uint8_t *in = source + f->header_bytes;
    unsigned c = f->code_bits;
    for (unsigned first = 0; first < f->window; first += 8) {
        uint64_t codes = load_eight(source + first * c / 8);
        for (unsigned place = 0; place < 8; place++) {
            uint32_t word = load_word(in, bytes);
            if (mode == ONE) {
                uint32_t literal = codes >> place & 1;
                word = literal ? word : f->values[0];
                in += literal * bytes;
            } else {
                uint32_t code = codes >> (c * place) & f->literal;
                if (!f->valid[code])
                    return NULL;
                word = rotate_right((word & f->keep[code]) | f->base[code], f, bytes);
                in += f->parts[code];
            }
            memcpy(target, &word, bytes);
            target += bytes;
        }
    }
    return in;
}

/* The same for any window, of `count` words, with all checks and exact reads. */
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
            if (!f->valid[code] || (size_t)(end - in) < f->parts[code])
                return NULL;
            uint32_t word = rotate_right(load_word(in, f->parts[code]) | f->base[code], f, bytes);
            in += f->parts[code];
            memcpy(target, &word, bytes);
            target += bytes;
        }
    }
    return in;
}

/* Skips the padding of a window; returns NULL if it is missing or not zero. */
TEMPLATE const uint8_t *after_padding(const format *f, const uint8_t *begin, const uint8_t *in, const uint8_t *end)
{
    size_t padding = padding_of(f, (size_t)(in - begin));
    if ((size_t)(end - in) < padding)
        return NULL;
    uint64_t last = padding ? load_codes(in, (unsigned)padding) : 0;
    return last ? NULL : in + padding;
}

/* The same where eight bytes after the window can be read. */
TEMPLATE const uint8_t *after_padding_fast(const format *f, const uint8_t *begin, const uint8_t *in)
{
    size_t padding = padding_of(f, (size_t)(in - begin));
    uint64_t mask = (1ull << 8 * padding) - 1;
    return load_eight(in) & mask ? NULL : in + padding;
}

/* Calls a template with constants for the bytes of a word and the way to a code. */
#define FOR_EACH_SHAPE(f, CALL)                                                                                        \
    switch (mode_of(f) * 8 + (int)(f)->word_bytes) {                                                                   \
    case ONE * 8 + 1: CALL(1, ONE); break;                                                                             \
    case ONE * 8 + 2: CALL(2, ONE); break;                                                                             \
    case ONE * 8 + 4: CALL(4, ONE); break;                                                                             \
    case LUT * 8 + 1: CALL(1, LUT); break;                                                                             \
    case LUT * 8 + 2: CALL(2, LUT); break;                                                                             \
    case LUT * 8 + 4: CALL(4, LUT); break;                                                                             \
    case BIG * 8 + 2: CALL(2, BIG); break;                                                                             \
    case BIG * 8 + 4: CALL(4, BIG); break;                                                                             \
    case LOOP * 8 + 2: CALL(2, LOOP); break;                                                                           \
    case LOOP * 8 + 4: CALL(4, LOOP); break;                                                                           \
    }

/* Defines, for an instruction set, functions over many whole windows.

   compress: to a buffer of at least the bound; returns the end of the stream.
   decompress: stops before the first window whose most bytes, and eight more, are not in the stream, or that has a fault; returns the number
   of windows, and moves `source` behind them. */
#define DEFINE_WINDOWS(NAME, TARGET, COMPRESS, DECOMPRESS)                                                             \
    TARGET static uint8_t *NAME##_compress(const format *f, const uint8_t *source, size_t windows, uint8_t *target)    \
    {                                                                                                                  \
        size_t step = (size_t)f->window * f->word_bytes;                                                               \
        FOR_EACH_SHAPE(f, COMPRESS)                                                                                    \
        return target;                                                                                                 \
    }                                                                                                                  \
    TARGET static size_t NAME##_decompress(                                                                            \
        const format *f, const uint8_t **source, const uint8_t *end, size_t windows, uint8_t *target)                  \
    {                                                                                                                  \
        size_t step = (size_t)f->window * f->word_bytes, most = most_bytes(f, f->window) + 8, done = 0;                \
        const uint8_t *in = *source;                                                                                   \
        if (f->window >= 8)                                                                                            \
            FOR_EACH_SHAPE(f, DECOMPRESS)                                                                              \
        *source = in;                                                                                                  \
        return done;                                                                                                   \
    }

#define COMPRESS_ALL(WINDOW, BYTES, MODE)                                                                              \
    for (; windows > 0; windows--, source += step)                                                                     \
    target = WINDOW(f, source, BYTES, MODE, target)

#define DECOMPRESS_ALL(WINDOW, BYTES, MODE)                                                                            \
    for (; done < windows && (size_t)(end - in) >= most; done++, target += step) {                                     \
        const uint8_t *after = WINDOW(f, in, target, BYTES, MODE);                                                     \
        if (after && f->align > 1)                                                                                     \
            after = after_padding_fast(f, in, after);                                                                  \
        if (!after)                                                                                                    \
            break;                                                                                                     \
        in = after;                                                                                                    \
    }

#define SCALAR_WINDOW(f, source, BYTES, MODE, target) compress_window(f, source, f->window, target, BYTES, MODE)
#define SCALAR_COMPRESS(BYTES, MODE) COMPRESS_ALL(SCALAR_WINDOW, BYTES, MODE)
#define SCALAR_DECOMPRESS(BYTES, MODE) DECOMPRESS_ALL(decompress_window, BYTES, MODE)

DEFINE_WINDOWS(scalar, , SCALAR_COMPRESS, SCALAR_DECOMPRESS)

#endif
