/* Eight bytes in a register of 64 bits: which of their words are literals, the literals moved together and apart, and eight codes
   unpacked. All of it in plain C without a branch. */
#ifndef CDMA_NATIVE_EIGHT_H
#define CDMA_NATIVE_EIGHT_H

#include "native_format.h"

/* How the words of a mask are moved, by mask: where words arrive that come from 1, 2 and 4 bytes away, in this order when they are
   moved together and in the other one when apart. Each is an array of its own, so that one register reaches all of them. */
typedef struct {
    uint64_t together[3][256], apart[3][256];
    uint64_t literals[256]; /* the bytes of the literals before they are moved together */
    uint64_t size[256];     /* how many these are */
} moves;

/* For words of 1, 2 and 4 bytes. */
static moves moves_of[3];

static void make_moves(void)
{
    memset(moves_of, 0, sizeof moves_of);
    for (unsigned log2 = 0; log2 < 3; log2++)
        for (unsigned mask = 0; mask < 1u << (8 >> log2); mask++) {
            moves *m = &moves_of[log2];
            for (unsigned byte = 0; byte < 8; byte++) {
                if (!(mask >> (byte >> log2) & 1))
                    continue;
                unsigned at = byte, distance = byte - (unsigned)m->size[mask]++;
                m->literals[mask] |= 255ull << 8 * byte;
                for (unsigned stage = log2; stage < 3; stage++)
                    if (distance >> stage & 1) {
                        m->apart[stage][mask] |= 255ull << 8 * at;
                        at -= 1u << stage;
                        m->together[stage][mask] |= 255ull << 8 * at;
                    }
            }
        }
}

/* Which words are not zero, the first of them in bit 0. */
TEMPLATE unsigned not_zero(uint64_t words, unsigned bytes)
{
    uint64_t top = bytes == 4 ? 0x8000000080000000u : bytes == 2 ? 0x8000800080008000u : 0x8080808080808080u;
    uint64_t set = (((words & ~top) + ~top) | words) & top;
    /* The products put each of the bits where it belongs on top; none of the others carries into that. */
    return bytes == 4   ? (unsigned)(set >> 31 & 1) | (unsigned)(set >> 62 & 2)
           : bytes == 2 ? (unsigned)(set * 0x0000200040008001u >> 60)
                        : (unsigned)(set * 0x0002040810204081u >> 56);
}

/* The literals first; what follows them is arbitrary. */
TEMPLATE uint64_t moved_together(uint64_t words, unsigned mask, unsigned bytes)
{
    const moves *m = &moves_of[bytes >> 1];
    if (bytes == 1)
        words ^= (words ^ words >> 8) & m->together[0][mask];
    if (bytes <= 2)
        words ^= (words ^ words >> 16) & m->together[1][mask];
    return words ^ ((words ^ words >> 32) & m->together[2][mask]);
}

/* The literals in their places, whatever follows them; the rest is filled up. */
TEMPLATE uint64_t moved_apart(uint64_t words, unsigned mask, uint64_t fill, unsigned bytes)
{
    const moves *m = &moves_of[bytes >> 1];
    words ^= (words ^ words << 32) & m->apart[2][mask];
    if (bytes <= 2)
        words ^= (words ^ words << 16) & m->apart[1][mask];
    if (bytes == 1)
        words ^= (words ^ words << 8) & m->apart[0][mask];
    return fill ^ ((words ^ fill) & m->literals[mask]);
}

/* A word as often as eight bytes hold it. */
TEMPLATE uint64_t repeated_eight(uint32_t word, unsigned bytes)
{
    return word * (bytes == 4 ? 0x100000001u : bytes == 2 ? 0x0001000100010001u : 0x0101010101010101u);
}

/* A byte for each of eight codes of c bits; above them may be anything. */
TEMPLATE uint64_t unpacked(uint64_t codes, unsigned c, uint32_t literal)
{
    uint64_t four = (1u << 4 * c) - 1, two = (1u << 2 * c) - 1;
    codes &= 0xffffffffu;
    codes = (codes | codes << (32 - 4 * c)) & (four | four << 32);
    codes = (codes | codes << (16 - 2 * c)) & two * 0x0001000100010001u;
    return (codes | codes << (8 - c)) & literal * 0x0101010101010101u;
}

#endif
