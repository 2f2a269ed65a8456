/* Windows of 16-bit words with codes of several bits in plain C, without a branch: compressed with one table of codes and by
   stores that overlap, decompressed two words at a time, by tables of what two codes say of the bytes of their words. */
#ifndef CDMA_NATIVE_PAIRS_H
#define CDMA_NATIVE_PAIRS_H

#include "native_eight.h"
#include "native_windows.h"

/* By two codes, the first in the low bits. Both words are in 32 bits, the first one low. */
typedef struct {
    uint32_t first[256], second[256]; /* the bits that are sent of each */
    uint32_t base[256];               /* the other bits of both */
    uint32_t apart[256];              /* the factor that moves the second word from behind the bytes of the first to bit 16 */
    uint64_t size[256];               /* the bytes that are sent of both */
} pairs;

TEMPLATE pairs pairs_of(const format *f, unsigned bytes)
{
    pairs p;
    for (unsigned both = 0; bytes == 2 && both < 1u << 2 * f->code_bits; both++) {
        unsigned one = both & f->literal, two = both >> f->code_bits;
        p.first[both] = f->keep[one];
        p.second[both] = f->keep[two] << 16;
        p.base[both] = f->base[one] | f->base[two] << 16;
        p.apart[both] = 1u << (16 - 8 * f->parts[one]);
        p.size[both] = f->parts[one] + f->parts[two];
    }
    return p;
}

/* Rotates four words. */
TEMPLATE uint64_t rotate_four(uint64_t words, unsigned left)
{
    uint64_t top = left ? 0x0001000100010001u * (65536u - (1u << (16 - left))) : 0;
    return ((words & ~top) << left) + ((words & top) >> ((16 - left) & 15));
}

/* Each word is stored whole, and the next one over those of its bytes that are not sent. */
TEMPLATE uint8_t *sixteen_compress(const format *f, const uint8_t *source, uint8_t *target)
{
    uint8_t *out = target + f->header_bytes;
    unsigned c = f->code_bits;
    for (unsigned first = 0; first < f->window; first += 8, target += c) {
        uint64_t codes = 0;
        UNROLL for (unsigned half = 0; half < 2; half++, source += 8) {
            uint64_t words = rotate_four(load_eight(source), f->rotate), four = 0;
            UNROLL for (unsigned pair = 0; pair < 2; pair++) {
                uint64_t one = f->big[load_word(source + 4 * pair, 2)], two = f->big[load_word(source + 4 * pair + 2, 2)];
                memcpy(out, &words, 2);
                out += f->parts[one];
                words >>= 16;
                memcpy(out, &words, 2);
                out += f->parts[two];
                words >>= 16;
                four += (one + (two << c)) << 2 * c * pair;
            }
            codes |= four << 4 * c * half;
        }
        store_codes(target, codes, c);
    }
    return out;
}

TEMPLATE const uint8_t *sixteen_decompress(const format *f, const pairs *p, const uint8_t *source, uint8_t *target)
{
    const uint8_t *in = source + f->header_bytes;
    unsigned c = f->code_bits, right = f->rotate ? 16 - f->rotate : 0;
    for (unsigned first = 0; first < f->window; first += 8, source += c) {
        uint64_t codes = load_eight(source);
        UNROLL for (unsigned half = 0; half < 2; half++, target += 8) {
            uint64_t words = 0;
            UNROLL for (unsigned pair = 0; pair < 2; pair++) {
                unsigned both = codes >> (2 * half + pair) * 2 * c & ((1u << 2 * c) - 1);
                uint32_t sent = load_word(in, 4);
                sent = (sent & p->first[both]) | (sent * p->apart[both] & p->second[both]) | p->base[both];
                in += p->size[both];
                words |= (uint64_t)sent << 32 * pair;
            }
            store_eight(target, rotate_four(words, right));
        }
    }
    return in;
}

#endif
