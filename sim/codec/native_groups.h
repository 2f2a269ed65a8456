/* Groups of windows: those of two levels, and of packets whose words are XORed with the words of a base. The windows that the
   stream has lie one behind the other in a scratch, from where the kernels of one level compress them, and to where these
   decompress them. */
#ifndef CDMA_NATIVE_GROUPS_H
#define CDMA_NATIVE_GROUPS_H

#include "native_eight.h"
#include "native_windows.h"

/* The most bytes of a group's windows: 64 of 64 words. */
#define MOST_GROUP (64 * 64 * 4)

/* The windows that are compressed at once: those of a group, or of one level as many as a scratch holds. */
static unsigned windows_at_once(const format *f)
{
    return f->levels == 2 ? f->group : 64;
}

/* What is XORed with up to eight bytes of the words of a base; nothing without one. */
TEMPLATE uint64_t of_base(const uint8_t *base, size_t at, unsigned bytes)
{
    return base ? load_codes(base + at, bytes) : 0;
}

/* Copies a window, XORed with the base; returns not zero where a word has another code than 0. */
TEMPLATE uint64_t gather_window(
    const uint8_t *restrict source, const uint8_t *restrict base, uint64_t absent, size_t size, uint8_t *restrict to)
{
    uint64_t other = 0;
    size_t at = 0;
    for (; at + 8 <= size; at += 8) {
        uint64_t words = load_eight(source + at) ^ (base ? load_eight(base + at) : 0);
        store_eight(to + at, words);
        other |= words ^ absent;
    }
    for (; at < size; at++) {
        to[at] = (uint8_t)(source[at] ^ of_base(base, at, 1));
        other |= (to[at] ^ absent >> 8 * (at & 7)) & 255;
    }
    return other;
}

/* The same of windows of a constant size; the last one may be shorter. Returns the mask of those that the stream has, and moves
   `to` behind them. */
TEMPLATE uint64_t gather_windows(
    const format *f, const uint8_t *source, const uint8_t *base, size_t bytes, uint8_t **to, const size_t size)
{
    uint64_t mask = 0, absent = repeated_eight(f->zero ? 0 : f->values[0], f->word_bytes);
    int all = f->levels == 1;
    for (unsigned window = 0; bytes; window++, source += size, base = base ? base + size : NULL) {
        size_t here = bytes < size ? bytes : size;
        uint64_t other = here == size ? gather_window(source, base, absent, size, *to)
                                      : gather_window(source, base, absent, here, *to);
        unsigned present = all || other;
        *to += present ? here : 0;
        mask |= (uint64_t)present << window;
        bytes -= here;
    }
    return mask;
}

/* Copies a window to where it belongs, or fills it with one value, XORed with the base, which may be there. */
TEMPLATE void scatter_window(const uint8_t *restrict from, uint64_t absent, const uint8_t *base, size_t size, uint8_t *target)
{
    size_t at = 0;
    for (; at + 8 <= size; at += 8)
        store_eight(target + at, (from ? load_eight(from + at) : absent) ^ (base ? load_eight(base + at) : 0));
    for (; at < size; at++)
        target[at] = (uint8_t)((from ? from[at] : absent >> 8 * (at & 7)) ^ of_base(base, at, 1));
}

TEMPLATE void scatter_windows(
    const format *f, uint64_t mask, const uint8_t *from, const uint8_t *base, size_t bytes, uint8_t *target, const size_t size,
    const int in_place)
{
    uint64_t absent = repeated_eight(f->zero ? 0 : f->values[0], f->word_bytes);
    int stays = in_place && !absent;
    for (; bytes; mask >>= 1, target += size, base = base ? base + size : NULL) {
        size_t here = bytes < size ? bytes : size;
        const uint8_t *window = mask & 1 ? from : NULL;
        /* The compiler sees which memory is the same. */
        const uint8_t *other = in_place ? target : base;
        if (here < size)
            scatter_window(window, absent, other, here, target);
        else if (window || !stays)
            scatter_window(window, absent, other, size, target);
        from += window ? here : 0;
        bytes -= here;
    }
}

/* Calls a template with a constant for the bytes of a window, where there are kernels for these. */
#define FOR_EACH_SIZE(f, CALL)                                                                                         \
    switch ((f)->window * (f)->word_bytes) {                                                                           \
    case 32: CALL(32); break;                                                                                          \
    case 64: CALL(64); break;                                                                                          \
    case 128: CALL(128); break;                                                                                        \
    case 256: CALL(256); break;                                                                                        \
    default: CALL((size_t)(f)->window * (f)->word_bytes);                                                              \
    }

#define DEFINE_GROUPS(NAME, TARGET)                                                                                    \
    TARGET static uint64_t NAME##_gather(                                                                              \
        const format *f, const uint8_t *source, const uint8_t *base, size_t bytes, uint8_t **to)                       \
    {                                                                                                                  \
        uint64_t mask = 0;                                                                                             \
        if (base)                                                                                                      \
            FOR_EACH_SIZE(f, GATHER_FROM_BASE)                                                                         \
        else                                                                                                           \
            FOR_EACH_SIZE(f, GATHER_ALONE)                                                                             \
        return mask;                                                                                                   \
    }                                                                                                                  \
    TARGET static void NAME##_scatter(                                                                                 \
        const format *f, uint64_t mask, const uint8_t *from, const uint8_t *base, size_t bytes, uint8_t *target)       \
    {                                                                                                                  \
        if (base == target)                                                                                            \
            FOR_EACH_SIZE(f, SCATTER_IN_PLACE)                                                                         \
        else if (base)                                                                                                 \
            FOR_EACH_SIZE(f, SCATTER_ON_BASE)                                                                          \
        else                                                                                                           \
            FOR_EACH_SIZE(f, SCATTER_ALONE)                                                                            \
    }

#define GATHER_FROM_BASE(SIZE) mask = gather_windows(f, source, base, bytes, to, SIZE)
#define GATHER_ALONE(SIZE) mask = gather_windows(f, source, NULL, bytes, to, SIZE)
#define SCATTER_IN_PLACE(SIZE) scatter_windows(f, mask, from, target, bytes, target, SIZE, 1)
#define SCATTER_ON_BASE(SIZE) scatter_windows(f, mask, from, base, bytes, target, SIZE, 0)
#define SCATTER_ALONE(SIZE) scatter_windows(f, mask, from, NULL, bytes, target, SIZE, 0)

#endif
