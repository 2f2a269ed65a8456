/* Windows with AVX-512, of 32 and 64 words: 64 bytes of words at a time, whose bytes that are sent are moved together by one
   instruction, and apart by another. */
#ifndef CDMA_NATIVE_AVX512_H
#define CDMA_NATIVE_AVX512_H

#include "native_groups.h"
#include "native_windows.h"

#if defined(__x86_64__)
#define HAVE_AVX512 1
#include <immintrin.h>
#define TARGET512                                                                                                      \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,avx2,bmi,bmi2,popcnt,lzcnt")))
#define TEMPLATE512 TARGET512 TEMPLATE

/* Compilers calculate this here, and make no other sum of it. */
#define AS_IT_IS(x) __asm__("" : "+r"(x))

/* What stands for a window that cannot be decompressed, instead of the number of bytes after its header. */
#define FAULT SIZE_MAX

/* Bytes of words of a step: 64, or a window of 32 bytes. */
#define STEP512(f, bytes) ((bytes) == 1 && (f)->window == 32 ? 32u : 64u)

TEMPLATE512 __m512i load_step(const uint8_t *from, unsigned step)
{
    return step == 64 ? _mm512_loadu_si512(from) : _mm512_zextsi256_si512(_mm256_loadu_si256((const __m256i *)from));
}

TEMPLATE512 void store_step(uint8_t *to, __m512i x, unsigned step)
{
    if (step == 64)
        _mm512_storeu_si512(to, x);
    else
        _mm256_storeu_si256((__m256i *)to, _mm512_castsi512_si256(x));
}

TEMPLATE512 __m512i repeat512(uint32_t word, unsigned bytes)
{
    return bytes == 4 ? _mm512_set1_epi32((int)word) : bytes == 2 ? _mm512_set1_epi16((short)word) : _mm512_set1_epi8((char)word);
}

/* A bit for each word of x that is equal to the one of y. */
TEMPLATE512 uint64_t equal512(__m512i x, __m512i y, unsigned bytes)
{
    return bytes == 4 ? _mm512_cmpeq_epi32_mask(x, y) : bytes == 2 ? _mm512_cmpeq_epi16_mask(x, y) : _mm512_cmpeq_epi8_mask(x, y);
}

TEMPLATE512 __m512i rotate512(__m512i x, unsigned left, unsigned bytes)
{
    if (bytes == 4)
        return _mm512_rolv_epi32(x, _mm512_set1_epi32((int)left));
    if (bytes == 2)
        return _mm512_shldv_epi16(x, x, _mm512_set1_epi16((short)left));
    return x;
}

/* Codes of whole words with one value: a bit each. */
TEMPLATE512 uint8_t *one_compress512(const format *f, const uint8_t *source, uint8_t *target, unsigned bytes)
{
    uint8_t *out = target + f->header_bytes;
    unsigned step = STEP512(f, bytes), words = step / bytes;
    __m512i value = repeat512(f->values[0], bytes);
    uint64_t header = 0, all = words == 64 ? ~0ull : (1ull << words) - 1;
    for (unsigned first = 0; first < f->window; first += words, source += step) {
        __m512i x = load_step(source, step);
        uint64_t literal = all & ~equal512(x, value, bytes);
        __m512i moved = bytes == 4   ? _mm512_maskz_compress_epi32((__mmask16)literal, x)
                        : bytes == 2 ? _mm512_maskz_compress_epi16((__mmask32)literal, x)
                                     : _mm512_maskz_compress_epi8(literal, x);
        store_step(out, moved, step);
        out += (size_t)_mm_popcnt_u64(literal) * bytes;
        header |= literal << first;
    }
    store_codes(target, header, f->header_bytes);
    return out;
}

/* Where windows begin is said by `at` and `phase`, whose sum it is; see the loop over them. */
TEMPLATE512 size_t one_decompress512(
    const format *f, uintptr_t at, uintptr_t phase, uint8_t *target, unsigned bytes)
{
    const uint8_t *in = (const uint8_t *)(at + phase + f->header_bytes);
    unsigned step = STEP512(f, bytes), words = step / bytes;
    __m512i value = repeat512(f->values[0], bytes);
    /* The next window waits for this, so the address shall not be calculated before. */
    uintptr_t also = phase;
    if (f->align > 1)
        AS_IT_IS(also);
    uint64_t header = load_eight((const uint8_t *)(at + also)), all = words == 64 ? ~0ull : (1ull << words) - 1;
    header = f->window == 64 ? header : (uint32_t)header;
    size_t stored = (size_t)_mm_popcnt_u64(header) * bytes;
    for (unsigned first = 0; first < f->window; first += words, target += step) {
        uint64_t literal = header >> first & all;
        __m512i x = load_step(in, step);
        x = bytes == 4   ? _mm512_mask_expand_epi32(value, (__mmask16)literal, x)
            : bytes == 2 ? _mm512_mask_expand_epi16(value, (__mmask32)literal, x)
                         : _mm512_mask_expand_epi8(value, literal, x);
        store_step(target, x, step);
        in += (size_t)_mm_popcnt_u64(literal) * bytes;
    }
    return stored;
}

/* What does not change from window to window. A code is in every byte of its word here. */
typedef struct {
    __m512i codes[4];    /* of fields or words of 8 bits, by value */
    __m512i top;         /* takes the upper byte of a word into all of its bytes */
    __m512i literal;     /* all ones, and above it the place of the byte in its word, in 16s */
    __m512i rest;        /* not zero in the bytes outside of the field, if only a zero word does not send them */
    uint64_t always;     /* the same bytes, if every word sends them */
    __m512i place;       /* 16 for each byte below in the word */
    __m512i base;        /* the bytes of the table's words: 16 of each place */
    __m512i undefined;   /* the least code that stands for nothing, unless all ones are next */
    __m512i pairs, fours, gathered; /* for eight codes into c bytes */
    __m512i spread, shifts;         /* for c bytes into the codes of a step */
} constants512;

TEMPLATE512 constants512 constants_of(const format *f, unsigned bytes)
{
    uint8_t top[64], rest[64], place[64], base[64], gathered[64] = {0}, spread[64], shifts[64], codes[256];
    unsigned c = f->code_bits;
    constants512 k = {.always = 0};
    for (unsigned at = 0; at < 64; at++) {
        unsigned byte = at % bytes, first = at / 8 * (8 / bytes) * c;
        top[at] = (uint8_t)(at - byte + bytes - 1);
        rest[at] = f->field_bytes && byte < bytes - f->field_bytes ? 15 : 0;
        if (rest[at] && !f->zero)
            k.always |= 1ull << at;
        place[at] = (uint8_t)(16 * byte);
        base[at] = (uint8_t)(f->base[at % 16] >> 8 * (at / 16));
        if (at < 8 * c)
            gathered[at] = (uint8_t)(at / c * 8 + at % c);
        spread[at] = (uint8_t)(first / 8 + at % 8);
        shifts[at] = (uint8_t)(first % 8 + at % 8 / bytes * c);
    }
    for (unsigned key = 0; key < 256; key++)
        codes[key] = f->lut[key];
    for (unsigned part = 0; part < 4; part++)
        k.codes[part] = _mm512_loadu_si512(codes + 64 * part);
    k.top = _mm512_loadu_si512(top);
    k.place = _mm512_loadu_si512(place);
    k.literal = _mm512_or_si512(k.place, _mm512_set1_epi8((char)f->literal));
    k.rest = _mm512_loadu_si512(rest);
    k.base = _mm512_loadu_si512(base);
    k.undefined = _mm512_set1_epi8((char)f->defined);
    k.pairs = _mm512_set1_epi16((short)(1 | 256 << c));
    k.fours = _mm512_set1_epi32(1 | 65536 << 2 * c);
    k.gathered = _mm512_loadu_si512(gathered);
    k.spread = _mm512_loadu_si512(spread);
    k.shifts = _mm512_loadu_si512(shifts);
    return k;
}

/* The codes of words, in each of their bytes. */
TEMPLATE512 __m512i codes512(
    const format *f, const constants512 *k, __m512i words, __m512i rotated, unsigned bytes, int mode)
{
    __m512i codes;
    if (mode == LUT) {
        __m512i key = bytes == 1 ? rotated : _mm512_shuffle_epi8(rotated, k->top);
        __m512i low = _mm512_permutex2var_epi8(k->codes[0], key, k->codes[1]);
        __m512i high = _mm512_permutex2var_epi8(k->codes[2], key, k->codes[3]);
        codes = _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(key), high);
    } else {
        __m512i key = bytes == 4 ? _mm512_srl_epi32(rotated, _mm_cvtsi32_si128((int)f->shift))
                                 : _mm512_srl_epi16(rotated, _mm_cvtsi32_si128((int)f->shift));
        codes = _mm512_set1_epi8((char)f->literal);
        for (uint32_t code = f->defined; code-- > f->zero;) {
            uint64_t equal = equal512(key, repeat512(f->values[code - f->zero], bytes), bytes);
            __m512i found = _mm512_set1_epi8((char)code);
            codes = bytes == 4 ? _mm512_mask_mov_epi32(codes, (__mmask16)equal, found)
                               : _mm512_mask_mov_epi16(codes, (__mmask32)equal, found);
        }
    }
    if (f->zero && bytes == 4)
        codes = _mm512_maskz_mov_epi32(_mm512_test_epi32_mask(words, words), codes);
    if (f->zero && bytes == 2)
        codes = _mm512_maskz_mov_epi16(_mm512_test_epi16_mask(words, words), codes);
    return codes;
}

/* The bytes that are sent: a bit for each. */
TEMPLATE512 uint64_t sent512(const constants512 *k, __m512i codes, __m512i literal, unsigned step)
{
    uint64_t sent = _mm512_cmpeq_epi8_mask(codes, literal) | _mm512_test_epi8_mask(codes, k->rest) | k->always;
    return step == 64 ? sent : (uint32_t)sent;
}

/* A byte for each word of a step, at its place among the codes of a window. */
TEMPLATE512 __m512i gather_codes(__m512i gathered, __m512i codes, unsigned first, unsigned bytes)
{
    if (bytes == 4)
        return _mm512_mask_broadcast_i32x4(gathered, (__mmask16)(15u << first / 4), _mm512_cvtepi32_epi8(codes));
    if (bytes == 2)
        return _mm512_mask_broadcast_i64x4(gathered, (__mmask8)(15u << first / 8), _mm512_cvtepi16_epi8(codes));
    return codes;
}

TEMPLATE512 void store_header(const format *f, const constants512 *k, __m512i codes, uint8_t *target)
{
    __m512i fours = _mm512_madd_epi16(_mm512_maddubs_epi16(codes, k->pairs), k->fours);
    __m512i eights = _mm512_or_si512(fours, _mm512_srl_epi64(fours, _mm_cvtsi32_si128((int)(32 - 4 * f->code_bits))));
    __m512i header = _mm512_permutexvar_epi8(k->gathered, eights);
    /* The window's bytes that are sent are stored after it, over what this is too long. */
    _mm256_storeu_si256((__m256i *)target, _mm512_castsi512_si256(header));
}

TEMPLATE512 uint8_t *coded_compress512(
    const format *f, const constants512 *k, const uint8_t *source, uint8_t *target, unsigned bytes, int mode)
{
    uint8_t *out = target + f->header_bytes;
    unsigned step = STEP512(f, bytes), words = step / bytes;
    __m512i rotated[4], gathered = _mm512_setzero_si512(), literal = _mm512_set1_epi8((char)f->literal);
    uint64_t sent[4];
    for (unsigned first = 0, at = 0; first < f->window; first += words, at++, source += step) {
        __m512i x = load_step(source, step);
        rotated[at] = rotate512(x, f->rotate, bytes);
        __m512i codes = codes512(f, k, x, rotated[at], bytes, mode);
        sent[at] = sent512(k, codes, literal, step);
        gathered = gather_codes(gathered, codes, first, bytes);
    }
    store_header(f, k, gathered, target);
    for (unsigned first = 0, at = 0; first < f->window; first += words, at++) {
        store_step(out, _mm512_maskz_compress_epi8(sent[at], rotated[at]), step);
        out += _mm_popcnt_u64(sent[at]);
    }
    return out;
}

/* The bytes of a window after its header, from that alone. The next window waits for this, so every step counts. */
TEMPLATE512 size_t stored512(const format *f, uintptr_t at, uintptr_t phase, unsigned bytes, int mode)
{
    unsigned c = f->code_bits, chunk = c == 3 ? 48 : f->header_bytes < 8 ? 32 : 64;
    uint64_t low = (c == 1 ? ~0ull : c == 2 ? 0x5555555555555555ull : c == 3 ? 0x249249249249ull : 0x1111111111111111ull);
    low &= ~0ull >> (64 - chunk);
    size_t least = f->parts[0], middle = f->parts[f->literal - 1], most = f->parts[f->literal];
    size_t literals = 0, others = 0;
    for (unsigned from = 0; from < f->header_bytes; from += chunk / 8) {
        /* All bits of a code, seen at its lowest one, and any of them. */
        uint64_t codes = load_eight((const uint8_t *)(at + phase + from)), all = codes, any = codes;
        for (unsigned bit = 1; bit < c; bit++)
            all &= codes >> bit, any |= codes >> bit;
        literals += (size_t)_mm_popcnt_u64(all & low);
        others += (size_t)_mm_popcnt_u64(any & low);
    }
    /* Fields of one byte of two: one is what a literal has more than other codes, and these more than zero, if that has less. */
    if (bytes == 2 && mode == LUT && c > 1 && f->zero)
        return literals + others;
    return f->window * least + literals * (most - middle) + others * (middle - least);
}

TEMPLATE512 size_t coded_decompress512(
    const format *f, const constants512 *k, uintptr_t at, uintptr_t phase, uint8_t *target, unsigned bytes, int mode)
{
    const uint8_t *header = (const uint8_t *)(at + phase), *in = header + f->header_bytes;
    size_t stored = stored512(f, at, phase, bytes, mode);
    unsigned step = STEP512(f, bytes), words = step / bytes;
    __m512i literal = _mm512_set1_epi8((char)f->literal);
    uint64_t undefined = 0;
    for (unsigned first = 0; first < f->window; first += words, target += step, header += words * f->code_bits / 8) {
        __m512i bits = _mm512_zextsi256_si512(_mm256_loadu_si256((const __m256i *)header));
        __m512i codes = _mm512_multishift_epi64_epi8(k->shifts, _mm512_permutexvar_epi8(k->spread, bits));
        codes = _mm512_and_si512(codes, literal);
        if (f->defined < f->literal)
            undefined |= _mm512_cmpge_epu8_mask(codes, k->undefined) & ~_mm512_cmpeq_epi8_mask(codes, literal);
        codes = _mm512_or_si512(codes, k->place);
        uint64_t sent = sent512(k, codes, k->literal, step);
        __m512i x = _mm512_permutexvar_epi8(codes, k->base);
        x = _mm512_mask_expand_epi8(x, sent, load_step(in, step));
        store_step(target, rotate512(x, 8 * bytes - f->rotate, bytes), step);
        in += _mm_popcnt_u64(sent);
    }
    return (uint32_t)undefined | (STEP512(f, bytes) == 64 ? undefined >> 32 : 0) ? FAULT : stored;
}

TEMPLATE512 uint8_t *compress512(
    const format *f, const constants512 *k, const uint8_t *source, uint8_t *target, unsigned bytes, int mode)
{
    if (mode == ONE)
        return one_compress512(f, source, target, bytes);
    return coded_compress512(f, k, source, target, bytes, mode);
}

TEMPLATE512 size_t decompress512(
    const format *f, const constants512 *k, uintptr_t at, uintptr_t phase, uint8_t *target, unsigned bytes, int mode)
{
    if (mode == ONE)
        return one_decompress512(f, at, phase, target, bytes);
    return coded_decompress512(f, k, at, phase, target, bytes, mode);
}

#define AVX512_PREPARE(BYTES) const constants512 k = constants_of(&f, BYTES);
#define AVX512_TO(source, target, BYTES, MODE) compress512(&f, &k, source, target, BYTES, MODE)
#define AVX512_FROM(at, phase, target, BYTES, MODE) decompress512(&f, &k, at, phase, target, BYTES, MODE)

/* Loops over windows. Only the header of a window says where the next one begins, so what lies between two headers limits the
   rate. An address is a multiple of the padding, and `phase` more where the stream begins so; and the sum of what is known
   sooner is made sooner. */
#define AVX512_DECOMPRESS_LOOP(PREPARE, WINDOW, BYTES, MODE)                                                           \
    PREPARE(BYTES)                                                                                                     \
    const uintptr_t phase = (uintptr_t)*source & (f.align - 1), last = (uintptr_t)end - phase;                         \
    uintptr_t at = (uintptr_t)*source - phase;                                                                         \
    for (size_t most = f.header_bytes + f.window * BYTES + 8; done < windows && last - at >= most; done++) {           \
        uintptr_t sooner = at + f.header_bytes + f.align - 1;                                                          \
        AS_IT_IS(sooner);                                                                                              \
        size_t stored = WINDOW(at, phase, target, BYTES, MODE);                                                        \
        uintptr_t next = (sooner + stored) & ~(uintptr_t)(f.align - 1), after = at + f.header_bytes + stored;          \
        if (stored == FAULT || (f.align > 1 && !are_zero((const uint8_t *)(after + phase), next - after)))             \
            break;                                                                                                     \
        at = next;                                                                                                     \
        target += f.window * BYTES;                                                                                    \
    }                                                                                                                  \
    *source = (const uint8_t *)(at + phase);

/* The large table is not for these kernels. */
#define AVX512_COMPRESS(BYTES, MODE, SHAPES)                                                                           \
    if (MODE != BIG) {                                                                                                 \
        SHAPES(COMPRESS_LOOP, AVX512_PREPARE, AVX512_TO, BYTES, MODE)                                                  \
    }
#define AVX512_DECOMPRESS(BYTES, MODE, SHAPES)                                                                         \
    if (MODE != BIG) {                                                                                                 \
        SHAPES(AVX512_DECOMPRESS_LOOP, AVX512_PREPARE, AVX512_FROM, BYTES, MODE)                                       \
    }

DEFINE_WINDOWS(avx512, TARGET512, AVX512_COMPRESS, AVX512_DECOMPRESS)
DEFINE_GROUPS(avx512, TARGET512)

#endif
#endif
