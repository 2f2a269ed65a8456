/* Eight bytes in a register of 64 bits: which of their words are literals, the literals moved together and apart, and eight codes
   packed and unpacked. All of it in plain C without a branch. */
#ifndef CDMA_NATIVE_EIGHT_H
#define CDMA_NATIVE_EIGHT_H

#include "native_format.h"

/* How the words of a mask are moved: where words arrive that come from 1, 2 and 4 bytes away, in this order when they
   are moved together and in the other one when apart. */
typedef struct {
    uint64_t together[3], apart[3];
    uint64_t literals; /* the bytes of the literals before they are moved together */
    uint64_t size;     /* how many these are */
} moves;

/* For words of 1, 2 and 4 bytes, by mask. */
static moves moves_of[3][256];

static void make_moves(void)
{
    for (unsigned log2 = 0; log2 < 3; log2++)
        for (unsigned mask = 0; mask < 1u << (8 >> log2); mask++) {
            moves m = {0};
            for (unsigned byte = 0; byte < 8; byte++) {
                if (!(mask >> (byte >> log2) & 1))
                    continue;
                unsigned at = byte, distance = byte - (unsigned)m.size++;
                m.literals |= 255ull << 8 * byte;
                for (unsigned stage = log2; stage < 3; stage++)
                    if (distance >> stage & 1) {
                        m.apart[stage] |= 255ull << 8 * at;
                        at -= 1u << stage;
                        m.together[stage] |= 255ull << 8 * at;
                    }
            }
            moves_of[log2][mask] = m;
        }
}

/* Which words are not zero, the first of them in bit 0. */
TEMPLATE unsigned not_zero(uint64_t words, unsigned bytes)
{
    uint64_t top = bytes == 4 ? 0x8000000080000000u : bytes == 2 ? 0x8000800080008000u : 0x8080808080808080u;
    uint64_t set = (((words & ~top) + ~top) | words) & top;
    /* The products put each of the bits where it belongs in the upper byte; none of the others carries into that. */
    return bytes == 4   ? (unsigned)(set >> 31 & 1) | (unsigned)(set >> 62 & 2)
           : bytes == 2 ? (unsigned)((set >> 15) * 0x1000200040008000u >> 60)
                        : (unsigned)((set >> 7) * 0x0102040810204080u >> 56);
}

/* The literals first; what follows them is arbitrary. */
TEMPLATE uint64_t moved_together(uint64_t words, const moves *m, unsigned bytes)
{
    if (bytes == 1)
        words ^= (words ^ words >> 8) & m->together[0];
    if (bytes <= 2)
        words ^= (words ^ words >> 16) & m->together[1];
    return words ^ ((words ^ words >> 32) & m->together[2]);
}

/* The literals in their places, whatever follows them; the rest is filled up. */
TEMPLATE uint64_t moved_apart(uint64_t words, const moves *m, uint64_t fill, unsigned bytes)
{
    words ^= (words ^ words << 32) & m->apart[2];
    if (bytes <= 2)
        words ^= (words ^ words << 16) & m->apart[1];
    if (bytes == 1)
        words ^= (words ^ words << 8) & m->apart[0];
    return fill ^ ((words ^ fill) & m->literals);
}

/* A word as often as eight bytes hold it. */
TEMPLATE uint64_t repeated_eight(uint32_t word, unsigned bytes)
{
    return word * (bytes == 4 ? 0x100000001u : bytes == 2 ? 0x0001000100010001u : 0x0101010101010101u);
}

/* Eight codes of c bits, from a byte each. */
TEMPLATE uint64_t packed(uint64_t codes, unsigned c)
{
    codes = (codes | codes >> (8 - c)) & 0x00ff00ff00ff00ffu;
    codes = (codes | codes >> (16 - 2 * c)) & 0x0000ffff0000ffffu;
    return (codes | codes >> (32 - 4 * c)) & 0xffffffffu;
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
