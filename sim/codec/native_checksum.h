/* CRC-32C, the lowest bit first: by the instruction of x86 where there is one, else eight bytes at a time by tables. */
#ifndef CDMA_NATIVE_CHECKSUM_H
#define CDMA_NATIVE_CHECKSUM_H

#include "native_format.h"

/* The remainder of a byte that so many bytes of zeros follow. */
static uint32_t crc_tables[8][256];

static void make_crc_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
        crc_tables[0][byte] = crc;
    }
    for (int zeros = 1; zeros < 8; zeros++)
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t crc = crc_tables[zeros - 1][byte];
            crc_tables[zeros][byte] = crc >> 8 ^ crc_tables[0][crc & 255];
        }
}

static uint32_t crc32c_plain(uint32_t crc, const uint8_t *at, size_t size)
{
    for (; size >= 8; at += 8, size -= 8) {
        uint64_t bytes = load_eight(at) ^ crc;
        crc = 0;
        for (int byte = 0; byte < 8; byte++)
            crc ^= crc_tables[7 - byte][bytes >> 8 * byte & 255];
    }
    for (; size; at++, size--)
        crc = crc >> 8 ^ crc_tables[0][(crc ^ *at) & 255];
    return crc;
}

#if defined(__x86_64__)
#include <immintrin.h>
__attribute__((target("sse4.2"))) static uint32_t crc32c_fast(uint32_t crc, const uint8_t *at, size_t size)
{
    uint64_t wide = crc;
    for (; size >= 8; at += 8, size -= 8)
        wide = _mm_crc32_u64(wide, load_eight(at));
    return crc32c_plain((uint32_t)wide, at, size);
}
#endif

#endif
