/* Random windows through the kernels by table and through those in plain C: what another machine's kernels must agree on. */
#include <stdio.h>

#include "native_table.h"

static uint32_t state = 1;

static uint32_t next(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

int main(void)
{
    static uint8_t raw[64 * 4 * 40], first[64 * 6 * 40], second[64 * 6 * 40], back[64 * 4 * 40];
    make_moves();
    make_tables();
    for (int round = 0; round < 3000; round++) {
        format f = {.word_bytes = 1u << next() % 3, .window = next() % 2 ? 32 : 64, .code_bits = 1, .entries = 1};
        f.align = 1u << next() % 4;
        f.values[0] = next() % 2 ? 0 : next() & (f.word_bytes == 4 ? UINT32_MAX : (1u << 8 * f.word_bytes) - 1);
        derive(&f);
        size_t windows = next() % 40, size = windows * f.window * f.word_bytes;
        unsigned density = next() % 101;
        for (size_t at = 0; at < size; at += f.word_bytes) {
            uint32_t word = next() % 100 < density ? next() : f.values[0];
            memcpy(raw + at, &word, f.word_bytes);
        }
        size_t length = (size_t)(scalar_compress(&f, raw, windows, first) - first);
        if ((size_t)(table_compress(&f, raw, windows, second) - second) != length || memcmp(first, second, length))
            return printf("round %d: other streams\n", round), 1;
        const uint8_t *in = second;
        size_t done = table_decompress(&f, &in, second + sizeof second, windows, back);
        if (done != windows || in != second + length || memcmp(raw, back, size))
            return printf("round %d: other words\n", round), 1;
    }
    puts(TABLE_NAME);
    return 0;
}
