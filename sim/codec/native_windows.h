/* From a window to many: padding, the choice of a kernel by the shape of a format, and loops over whole windows. */
#ifndef CDMA_NATIVE_WINDOWS_H
#define CDMA_NATIVE_WINDOWS_H

#include "native_format.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/* The bytes of a window with its padding. */
TEMPLATE size_t with_padding(const format *f, size_t length)
{
    return (length + f->align - 1) & ~(size_t)(f->align - 1);
}

/* Pads a window; returns its end. */
TEMPLATE uint8_t *padded(const format *f, uint8_t *begin, uint8_t *end)
{
    uint8_t *after = begin + with_padding(f, (size_t)(end - begin));
    memset(end, 0, (size_t)(after - end));
    return after;
}

/* The same where another window follows, so that eight bytes can be written. */
TEMPLATE uint8_t *padded_fast(const format *f, uint8_t *begin, uint8_t *end)
{
    if (f->align == 1)
        return end;
    store_eight(end, 0);
    return begin + with_padding(f, (size_t)(end - begin));
}

/* Skips the padding of a window; returns NULL if it is missing or not zero. */
TEMPLATE const uint8_t *after_padding(const format *f, const uint8_t *begin, const uint8_t *in, const uint8_t *end)
{
    size_t padding = with_padding(f, (size_t)(in - begin)) - (size_t)(in - begin);
    if ((size_t)(end - in) < padding)
        return NULL;
    return load_codes(in, (unsigned)padding) ? NULL : in + padding;
}

/* Whether less than eight bytes, of eight that can be read, are zero. */
TEMPLATE int are_zero(const uint8_t *from, size_t bytes)
{
    return !(load_eight(from) & ~(UINT64_MAX << 8 * bytes));
}

/* The shapes that presets have: zeros, or fields of 8 bits with codes of 3. Kernels of their own, with all of this as constants,
   are faster. */
TEMPLATE int is_usual(const format *f, int mode, unsigned window, unsigned align)
{
    if (f->window != window || f->align != align)
        return 0;
    if (mode == ONE)
        return f->values[0] == 0;
    return f->code_bits == 3 && f->field_bytes == 1 && f->rotate == 1 && f->zero;
}

TEMPLATE format usual(const format *f, unsigned bytes, int mode, unsigned window, unsigned align)
{
    format known = *f;
    known.word_bytes = bytes;
    known.window = window;
    known.align = align;
    known.code_bits = mode == ONE ? 1 : 3;
    known.header_bytes = window / 8 * known.code_bits;
    known.literal = (1u << known.code_bits) - 1;
    known.parts[0] = 0;
    known.parts[known.literal] = bytes;
    if (mode == ONE) {
        known.values[0] = 0;
    } else {
        known.field_bytes = known.rotate = known.zero = 1;
        known.parts[known.literal - 1] = bytes - 1;
    }
    return known;
}

/* Calls a template with constants for the bytes of a word, the way to a code, and the shapes of presets that are so. */
#define FOR_EACH_SHAPE(f, CALL)                                                                                        \
    switch (mode_of(f) * 8 + (int)(f)->word_bytes) {                                                                   \
    case ONE * 8 + 1: CALL(1, ONE, USUAL_AND_PADDED); break;                                                           \
    case ONE * 8 + 2: CALL(2, ONE, USUAL); break;                                                                      \
    case ONE * 8 + 4: CALL(4, ONE, USUAL); break;                                                                      \
    case LUT * 8 + 1: CALL(1, LUT, ANY); break;                                                                        \
    case LUT * 8 + 2: CALL(2, LUT, USUAL); break;                                                                      \
    case LUT * 8 + 4: CALL(4, LUT, USUAL); break;                                                                      \
    case BIG * 8 + 2: CALL(2, BIG, USUAL); break;                                                                      \
    case BIG * 8 + 4: CALL(4, BIG, ANY); break;                                                                        \
    case LOOP * 8 + 2: CALL(2, LOOP, ANY); break;                                                                      \
    case LOOP * 8 + 4: CALL(4, LOOP, ANY); break;                                                                      \
    }

/* Defines, for an instruction set, functions over many whole windows, which are of at least eight words.

   compress: to a buffer of at least the bound; returns the end of the stream.
   decompress: stops before the first window whose most bytes, and eight more, are not in the stream, or that has a fault;
   returns the number of windows, and moves `source` behind them.

   They work with copies of the parameters: compilers see that no store to a buffer changes those. */
#define DEFINE_WINDOWS(NAME, TARGET, COMPRESS, DECOMPRESS)                                                             \
    TARGET static uint8_t *NAME##_compress(const format *given, const uint8_t *source, size_t windows, uint8_t *target) \
    {                                                                                                                  \
        FOR_EACH_SHAPE(given, COMPRESS)                                                                                \
        return target;                                                                                                 \
    }                                                                                                                  \
    TARGET static size_t NAME##_decompress(                                                                            \
        const format *given, const uint8_t **source, const uint8_t *end, size_t windows, uint8_t *target)              \
    {                                                                                                                  \
        size_t done = 0;                                                                                               \
        FOR_EACH_SHAPE(given, DECOMPRESS)                                                                              \
        return done;                                                                                                   \
    }

/* A loop over windows for every format, or before that one for presets. PREPARE is what it does first. */
#define ANY(LOOP, PREPARE, WINDOW, BYTES, MODE)                                                                        \
    {                                                                                                                  \
        const format f = *given;                                                                                       \
        LOOP(PREPARE, WINDOW, BYTES, MODE)                                                                             \
    }

#define PRESET(LOOP, PREPARE, WINDOW, BYTES, MODE, LENGTH, ALIGN)                                                      \
    if (is_usual(given, MODE, LENGTH, ALIGN)) {                                                                 \
        const format f = usual(given, BYTES, MODE, LENGTH, ALIGN);                                                     \
        LOOP(PREPARE, WINDOW, BYTES, MODE)                                                                             \
    } else

#define USUAL(LOOP, PREPARE, WINDOW, BYTES, MODE)                                                                      \
    PRESET(LOOP, PREPARE, WINDOW, BYTES, MODE, 32, 1)                                                                  \
    ANY(LOOP, PREPARE, WINDOW, BYTES, MODE)

#define USUAL_AND_PADDED(LOOP, PREPARE, WINDOW, BYTES, MODE)                                                           \
    PRESET(LOOP, PREPARE, WINDOW, BYTES, MODE, 32, 4)                                                                  \
    PRESET(LOOP, PREPARE, WINDOW, BYTES, MODE, 64, 4)                                                                  \
    USUAL(LOOP, PREPARE, WINDOW, BYTES, MODE)

#define COMPRESS_LOOP(PREPARE, WINDOW, BYTES, MODE)                                                                    \
    PREPARE(BYTES)                                                                                                     \
    for (; windows > 1; windows--, source += f.window * BYTES)                                                         \
        target = padded_fast(&f, target, WINDOW(source, target, BYTES, MODE));                                         \
    if (windows)                                                                                                       \
        target = padded(&f, target, WINDOW(source, target, BYTES, MODE));

#define DECOMPRESS_LOOP(PREPARE, WINDOW, BYTES, MODE)                                                                  \
    PREPARE(BYTES)                                                                                                     \
    const uint8_t *in = *source;                                                                                       \
    for (size_t most = f.header_bytes + f.window * BYTES + 8; done < windows && (size_t)(end - in) >= most; done++) {  \
        const uint8_t *after = WINDOW(in, target, BYTES, MODE), *next = after;                                         \
        if (after && f.align > 1) {                                                                                    \
            next = in + with_padding(&f, (size_t)(after - in));                                                        \
            next = are_zero(after, (size_t)(next - after)) ? next : NULL;                                              \
        }                                                                                                              \
        if (!next)                                                                                                     \
            break;                                                                                                     \
        in = next;                                                                                                     \
        target += f.window * BYTES;                                                                                    \
    }                                                                                                                  \
    *source = in;

#endif
