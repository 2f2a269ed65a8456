/* Windows by byte shuffles whose indices come from a table, for AVX2 and NEON: zeros, or one other value, of whole words.

   Sixteen bytes of words have at most eight lanes; the mask of their literals says how to move them together, and apart. */
#ifndef CDMA_NATIVE_TABLE_H
#define CDMA_NATIVE_TABLE_H

#include "native_scalar.h"

#if defined(__x86_64__) || defined(__aarch64__)
#define HAVE_TABLE 1

/* For lanes of 1, 2 and 4 bytes, by mask: the bytes to take. Above 127 means a byte of zeros. */
static uint8_t together[3][256][16], apart[3][256][16];

static void make_tables(void)
{
    for (int log2 = 0; log2 < 3; log2++)
        for (int mask = 0; mask < 256; mask++) {
            int bytes = 1 << log2, taken = 0;
            memset(together[log2][mask], 0x80, 16);
            memset(apart[log2][mask], 0x80, 16);
            for (int lane = 0; lane < 8 && lane * bytes < 16; lane++)
                if (mask >> lane & 1) {
                    for (int byte = 0; byte < bytes; byte++) {
                        together[log2][mask][taken * bytes + byte] = (uint8_t)(lane * bytes + byte);
                        apart[log2][mask][lane * bytes + byte] = (uint8_t)(taken * bytes + byte);
                    }
                    taken++;
                }
        }
}

#if defined(__x86_64__)
#include <immintrin.h>
#define TABLE_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt,lzcnt")))
#define TABLE_NAME "avx2"
typedef __m128i bytes16;
TABLE_TARGET TEMPLATE bytes16 load16(const void *from) { return _mm_loadu_si128(from); }
TABLE_TARGET TEMPLATE bytes16 load8(const void *from) { return _mm_loadl_epi64(from); }
TABLE_TARGET TEMPLATE void store16(void *to, bytes16 x) { _mm_storeu_si128(to, x); }
TABLE_TARGET TEMPLATE void store8(void *to, bytes16 x) { _mm_storel_epi64(to, x); }
TABLE_TARGET TEMPLATE bytes16 shuffle(bytes16 x, bytes16 index) { return _mm_shuffle_epi8(x, index); }
/* Takes the bytes of `otherwise` where the index means zero. */
TABLE_TARGET TEMPLATE bytes16 shuffle_or(bytes16 x, bytes16 index, bytes16 otherwise)
{
    return _mm_blendv_epi8(_mm_shuffle_epi8(x, index), otherwise, index);
}
TABLE_TARGET TEMPLATE bytes16 repeated(uint32_t word, unsigned bytes)
{
    return bytes == 4 ? _mm_set1_epi32((int)word) : bytes == 2 ? _mm_set1_epi16((short)word) : _mm_set1_epi8((char)word);
}
/* A bit for each lane that differs. */
TABLE_TARGET TEMPLATE unsigned different(bytes16 x, bytes16 y, unsigned bytes)
{
    if (bytes == 4)
        return 15 ^ (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(x, y)));
    if (bytes == 2)
        return 255 ^ (unsigned)_mm_movemask_epi8(_mm_packs_epi16(_mm_cmpeq_epi16(x, y), _mm_setzero_si128()));
    return 255 & ~(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, y));
}
#else
#include <arm_neon.h>
#define TABLE_TARGET
#define TABLE_NAME "neon"
typedef uint8x16_t bytes16;
TEMPLATE bytes16 load16(const void *from) { return vld1q_u8(from); }
TEMPLATE bytes16 load8(const void *from) { return vcombine_u8(vld1_u8(from), vdup_n_u8(0)); }
TEMPLATE void store16(void *to, bytes16 x) { vst1q_u8(to, x); }
TEMPLATE void store8(void *to, bytes16 x) { vst1_u8(to, vget_low_u8(x)); }
TEMPLATE bytes16 shuffle(bytes16 x, bytes16 index) { return vqtbl1q_u8(x, index); }
TEMPLATE bytes16 shuffle_or(bytes16 x, bytes16 index, bytes16 otherwise)
{
    return vbslq_u8(vcltq_u8(index, vdupq_n_u8(128)), vqtbl1q_u8(x, index), otherwise);
}
TEMPLATE bytes16 repeated(uint32_t word, unsigned bytes)
{
    return bytes == 4   ? vreinterpretq_u8_u32(vdupq_n_u32(word))
           : bytes == 2 ? vreinterpretq_u8_u16(vdupq_n_u16((uint16_t)word))
                        : vdupq_n_u8((uint8_t)word);
}
TEMPLATE unsigned different(bytes16 x, bytes16 y, unsigned bytes)
{
    static const uint32_t bits4[4] = {1, 2, 4, 8};
    static const uint16_t bits2[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    static const uint8_t bits1[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    if (bytes == 4) {
        uint32x4_t equal = vceqq_u32(vreinterpretq_u32_u8(x), vreinterpretq_u32_u8(y));
        return vaddvq_u32(vbicq_u32(vld1q_u32(bits4), equal));
    }
    if (bytes == 2) {
        uint16x8_t equal = vceqq_u16(vreinterpretq_u16_u8(x), vreinterpretq_u16_u8(y));
        return vaddvq_u16(vbicq_u16(vld1q_u16(bits2), equal));
    }
    return vaddv_u8(vbic_u8(vld1_u8(bits1), vget_low_u8(vceqq_u8(x, y))));
}
#endif

/* Words of a step, and the bytes of it: a whole vector, or half of one for words of a byte. */
#define STEP_BYTES(bytes) ((bytes) == 1 ? 8 : 16)

TABLE_TARGET TEMPLATE uint8_t *table_compress_one(const format *f, const uint8_t *source, uint8_t *target, unsigned bytes)
{
    uint8_t *out = target + f->header_bytes;
    unsigned lanes = STEP_BYTES(bytes) / bytes, log2 = bytes >> 1;
    bytes16 value = repeated(f->values[0], bytes);
    uint64_t header = 0;
    for (unsigned first = 0; first < f->window; first += lanes, source += STEP_BYTES(bytes)) {
        bytes16 words = bytes == 1 ? load8(source) : load16(source);
        unsigned mask = different(words, value, bytes);
        bytes16 literals = shuffle(words, load16(together[log2][mask]));
        if (bytes == 1)
            store8(out, literals);
        else
            store16(out, literals);
        out += (unsigned)__builtin_popcount(mask) * bytes;
        header |= (uint64_t)mask << first;
    }
    store_codes(target, header, f->header_bytes);
    return out;
}

/* Reads up to 16 bytes past the literals it takes: the caller keeps so many between this window and the end. */
TABLE_TARGET TEMPLATE const uint8_t *table_decompress_one(
    const format *f, const uint8_t *source, uint8_t *target, unsigned bytes)
{
    const uint8_t *in = source + f->header_bytes;
    unsigned lanes = STEP_BYTES(bytes) / bytes, log2 = bytes >> 1;
    bytes16 value = repeated(f->values[0], bytes);
    uint64_t header = load_eight(source);
    for (unsigned first = 0; first < f->window; first += lanes, target += STEP_BYTES(bytes)) {
        unsigned mask = (unsigned)(header >> first) & ((1u << lanes) - 1);
        bytes16 literals = bytes == 1 ? load8(in) : load16(in);
        bytes16 words = shuffle_or(literals, load16(apart[log2][mask]), value);
        if (bytes == 1)
            store8(target, words);
        else
            store16(target, words);
        in += (unsigned)__builtin_popcount(mask) * bytes;
    }
    return in;
}

TABLE_TARGET TEMPLATE uint8_t *table_compress_window(
    const format *f, const uint8_t *source, uint8_t *target, unsigned bytes, int mode)
{
    if (mode == ONE)
        return table_compress_one(f, source, target, bytes);
    return scalar_compress_window(f, source, target, bytes, mode);
}

TABLE_TARGET TEMPLATE const uint8_t *table_decompress_window(
    const format *f, const pairs *p, const uint8_t *source, uint8_t *target, unsigned bytes, int mode)
{
    if (mode == ONE)
        return table_decompress_one(f, source, target, bytes);
    return scalar_decompress_window(f, p, source, target, bytes, mode);
}

#define TABLE_TO(source, target, BYTES, MODE) table_compress_window(&f, source, target, BYTES, MODE)
#define TABLE_FROM(source, target, BYTES, MODE) table_decompress_window(&f, &p, source, target, BYTES, MODE)
#define TABLE_COMPRESS(BYTES, MODE, SHAPES) SHAPES(COMPRESS_LOOP, NO_PREPARE, TABLE_TO, BYTES, MODE)
#define TABLE_DECOMPRESS(BYTES, MODE, SHAPES) SHAPES(DECOMPRESS_LOOP, SCALAR_PREPARE, TABLE_FROM, BYTES, MODE)

DEFINE_WINDOWS(table, TABLE_TARGET, TABLE_COMPRESS, TABLE_DECOMPRESS)
DEFINE_GROUPS(table, TABLE_TARGET)

#endif
#endif
