/* Windows with AVX-512, of 32 and 64 words: 64 bytes of words at a time, whose bytes that are sent are moved together by one
   instruction, and apart by another. Smaller windows, which only proofs have, go through the templates in plain C. */
#ifndef CDMA_NATIVE_AVX512_H
#define CDMA_NATIVE_AVX512_H

#include "native_scalar.h"

#if defined(__x86_64__)
#define HAVE_AVX512 1
#include <immintrin.h>
#define TARGET512                                                                                                      \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,avx2,bmi,bmi2,popcnt,lzcnt")))
#define TEMPLATE512 TARGET512 TEMPLATE

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
TEMPLATE512 uint8_t *one_compress512(const format *f, const uint8_t *source, unsigned bytes, uint8_t *target)
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
    return padded(f, target, out);
}

TEMPLATE512 const uint8_t *one_decompress512(const format *f, const uint8_t *source, uint8_t *target, unsigned bytes)
{
    const uint8_t *in = source + f->header_bytes;
    unsigned step = STEP512(f, bytes), words = step / bytes;
    __m512i value = repeat512(f->values[0], bytes);
    uint64_t header = load_eight(source), all = words == 64 ? ~0ull : (1ull << words) - 1;
    header = f->window == 64 ? header : (uint32_t)header;
    /* The next window waits for this alone. */
    const uint8_t *end = in + (size_t)_mm_popcnt_u64(header) * bytes;
    for (unsigned first = 0; first < f->window; first += words, target += step) {
        uint64_t literal = header >> first & all;
        __m512i x = load_step(in, step);
        x = bytes == 4   ? _mm512_mask_expand_epi32(value, (__mmask16)literal, x)
            : bytes == 2 ? _mm512_mask_expand_epi16(value, (__mmask32)literal, x)
                         : _mm512_mask_expand_epi8(value, literal, x);
        store_step(target, x, step);
        in += (size_t)_mm_popcnt_u64(literal) * bytes;
    }
    return end;
}

/* The codes of up to 64 words, a byte each. */
TEMPLATE512 __m512i codes512(const format *f, __m512i x, __m512i rotated, unsigned bytes, int mode)
{
    __m512i codes;
    if (mode == LUT) {
        __m512i key = bytes == 4   ? _mm512_zextsi128_si512(_mm512_cvtepi32_epi8(_mm512_srli_epi32(rotated, 24)))
                      : bytes == 2 ? _mm512_zextsi256_si512(_mm512_cvtepi16_epi8(_mm512_srli_epi16(rotated, 8)))
                                   : rotated;
        __m512i low = _mm512_permutex2var_epi8(_mm512_loadu_si512(f->lut), key, _mm512_loadu_si512(f->lut + 64));
        __m512i high = _mm512_permutex2var_epi8(_mm512_loadu_si512(f->lut + 128), key, _mm512_loadu_si512(f->lut + 192));
        codes = _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(key), high);
    } else {
        __m512i key = bytes == 4 ? _mm512_srl_epi32(rotated, _mm_cvtsi32_si128((int)f->shift))
                                 : _mm512_srl_epi16(rotated, _mm_cvtsi32_si128((int)f->shift));
        codes = _mm512_set1_epi8((char)f->literal);
        for (uint32_t entry = f->entries; entry-- > 0;) {
            uint64_t equal = equal512(key, repeat512(f->values[entry], bytes), bytes);
            codes = _mm512_mask_mov_epi8(codes, equal, _mm512_set1_epi8((char)(entry + f->zero)));
        }
    }
    if (f->zero)
        codes = _mm512_mask_mov_epi8(codes, equal512(x, _mm512_setzero_si512(), bytes), _mm512_setzero_si512());
    return codes;
}

/* The bytes that are sent of words with these codes: a bit for each byte. */
TEMPLATE512 uint64_t sent512(const format *f, __m512i codes, unsigned words, unsigned bytes)
{
    uint64_t used = words == 64 ? ~0ull : (1ull << words) - 1;
    uint64_t literal = used & _mm512_cmpeq_epi8_mask(codes, _mm512_set1_epi8((char)f->literal));
    uint64_t unit = bytes == 4 ? 0x1111111111111111ull : bytes == 2 ? 0x5555555555555555ull : ~0ull;
    uint64_t whole = _pdep_u64(literal, unit) * ((1u << bytes) - 1);
    if (!f->field_bytes)
        return whole;
    uint64_t some = f->zero ? used & _mm512_test_epi8_mask(codes, codes) : used;
    return whole | _pdep_u64(some, unit) * ((1u << (bytes - f->field_bytes)) - 1);
}

TEMPLATE512 uint8_t *compress512(const format *f, const uint8_t *source, unsigned bytes, int mode, uint8_t *target)
{
    if (f->window < 32)
        return compress_window(f, source, f->window, target, bytes, mode);
    if (mode == ONE)
        return one_compress512(f, source, bytes, target);
    uint8_t *out = target + f->header_bytes, *header = target;
    uint64_t gather = 0x0101010101010101ull * f->literal;
    unsigned step = STEP512(f, bytes), words = step / bytes, c = f->code_bits;
    uint64_t codes[8];
    for (unsigned first = 0; first < f->window; first += words, source += step) {
        __m512i x = load_step(source, step), rotated = rotate512(x, f->rotate, bytes);
        __m512i found = codes512(f, x, rotated, bytes, mode);
        uint64_t sent = sent512(f, found, words, bytes);
        store_step(out, _mm512_maskz_compress_epi8(sent, rotated), step);
        out += _mm_popcnt_u64(sent);
        _mm512_storeu_si512(codes, found);
        for (unsigned group = 0; group < words / 8; group++, header += c)
            store_codes(header, _pext_u64(codes[group], gather), c);
    }
    return padded(f, target, out);
}

/* The bytes of a window before its padding, from its header alone. */
TEMPLATE512 size_t length512(const format *f, const uint8_t *header)
{
    unsigned c = f->code_bits, chunk = c == 3 ? 48 : f->header_bytes < 8 ? 32 : 64;
    uint64_t low = (c == 1 ? ~0ull : c == 2 ? 0x5555555555555555ull : c == 3 ? 0x249249249249ull : 0x1111111111111111ull);
    low &= ~0ull >> (64 - chunk);
    uint32_t least = f->parts[0], middle = f->parts[f->literal - 1], most = f->parts[f->literal];
    uint64_t literals = 0, others = 0;
    for (unsigned at = 0; at < f->header_bytes; at += chunk / 8) {
        uint64_t codes = load_eight(header + at), all = codes, any = codes;
        if (c > 1)
            all &= codes >> 1, any |= codes >> 1;
        if (c > 2)
            all &= codes >> 2, any |= codes >> 2;
        if (c > 3)
            all &= codes >> 3, any |= codes >> 3;
        literals += (uint64_t)_mm_popcnt_u64(all & low);
        others += (uint64_t)_mm_popcnt_u64(any & low);
    }
    return f->header_bytes + f->window * least + literals * (most - middle) + others * (middle - least);
}

/* The codes of the words of a step, a byte each, from the 32 bytes at their header. */
TEMPLATE512 __m512i unpacked512(const format *f, const uint8_t *header, unsigned words)
{
    /* Lane k gets the bytes from its codes on, then each byte of it the bits from its code on. */
    unsigned c = f->code_bits;
    const __m512i lane = _mm512_set_epi64(
        0x0707070707070707, 0x0606060606060606, 0x0505050505050505, 0x0404040404040404, 0x0303030303030303,
        0x0202020202020202, 0x0101010101010101, 0);
    const __m512i byte = _mm512_set1_epi64(0x0706050403020100);
    __m512i at = byte, shift = _mm512_setzero_si512();
    for (unsigned bit = 0; bit < c; bit++) {
        at = _mm512_add_epi8(at, lane);
        shift = _mm512_add_epi8(shift, byte);
    }
    __m512i bytes = _mm512_zextsi256_si512(_mm256_loadu_si256((const __m256i *)header));
    __m512i codes = _mm512_multishift_epi64_epi8(shift, _mm512_permutexvar_epi8(at, bytes));
    codes = _mm512_and_si512(codes, _mm512_set1_epi8((char)f->literal));
    uint64_t used = words == 64 ? ~0ull : (1ull << words) - 1;
    return _mm512_maskz_mov_epi8(used, codes);
}

TEMPLATE512 const uint8_t *decompress512(const format *f, const uint8_t *source, uint8_t *target, unsigned bytes, int mode)
{
    if (f->window < 32)
        return decompress_window(f, source, target, bytes, mode);
    if (mode == ONE)
        return one_decompress512(f, source, target, bytes);
    const uint8_t *in = source + f->header_bytes, *header = source;
    /* The next window waits for this alone. */
    const uint8_t *end = source + length512(f, source);
    unsigned step = STEP512(f, bytes), words = step / bytes;
    __m512i literal = _mm512_set1_epi8((char)f->literal);
    __m512i defined = _mm512_set1_epi8((char)(f->entries + f->zero));
    for (unsigned first = 0; first < f->window; first += words, target += step) {
        __m512i found = unpacked512(f, header, words);
        header += words * f->code_bits / 8;
        if (_mm512_mask_cmpge_epu8_mask(_mm512_cmpneq_epi8_mask(found, literal), found, defined))
            return NULL;
        uint64_t sent = sent512(f, found, words, bytes);
        __m512i x = _mm512_maskz_expand_epi8(sent, load_step(in, step)), base;
        if (bytes == 4) {
            __m512i index = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(found));
            base = _mm512_permutexvar_epi32(index, _mm512_loadu_si512(f->base));
        } else if (bytes == 2) {
            __m512i index = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(found));
            __m256i table = _mm512_cvtepi32_epi16(_mm512_loadu_si512(f->base));
            base = _mm512_permutexvar_epi16(index, _mm512_zextsi256_si512(table));
        } else {
            __m128i table = _mm512_cvtepi32_epi8(_mm512_loadu_si512(f->base));
            base = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), found);
        }
        x = rotate512(_mm512_or_si512(x, base), 8 * bytes - f->rotate, bytes);
        store_step(target, x, step);
        in += _mm_popcnt_u64(sent);
    }
    return end;
}

#define AVX512_COMPRESS(BYTES, MODE) COMPRESS_ALL(compress512, BYTES, MODE)
#define AVX512_DECOMPRESS(BYTES, MODE) DECOMPRESS_ALL(decompress512, BYTES, MODE)

DEFINE_WINDOWS(avx512, TARGET512, AVX512_COMPRESS, AVX512_DECOMPRESS)

#endif
#endif
