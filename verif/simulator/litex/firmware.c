/*
 * Offloads a sparse tensor from device memory to host memory, compressed, prefetches it to another place, and compares
 * every word. The completions are waited for by interrupt. The last character is 4 if all is well, else 24.
 */
#include <stdint.h>
#include <string.h>

#include "cdma.h"
#include "generated/csr.h"
#include "generated/mem.h"
#include "generated/soc.h"

#define WORDS 2048u
#define BYTES (4u * WORDS)
#define ENTRIES 4u
#define WINDOW 32u

static volatile uint32_t interrupts;

/* ---- the machine ---- */

static volatile uint32_t *word_at(uint32_t address) {
    return (volatile uint32_t *)(uintptr_t)address;
}

void *memset(void *memory, int value, size_t count) {
    volatile unsigned char *bytes = memory;
    while (count-- != 0u) {
        *bytes++ = (unsigned char)value;
    }
    return memory;
}

void *memcpy(void *to, const void *from, size_t count) {
    volatile unsigned char *target = to;
    const unsigned char *source = from;
    while (count-- != 0u) {
        *target++ = *source++;
    }
    return to;
}

static void put(char character) {
    while (*word_at(CSR_UART_TXFULL_ADDR) != 0u) {
    }
    *word_at(CSR_UART_RXTX_ADDR) = (uint32_t)(unsigned char)character;
}

static void say(const char *text) {
    while (*text != '\0') {
        put(*text++);
    }
}

static void say_number(uint32_t number) {
    char digits[11];
    char *first = digits + 10;
    *first = '\0';
    do {
        *--first = (char)('0' + number % 10u);
        number /= 10u;
    } while (number != 0u);
    say(first);
}

static void say_count(const char *before, uint32_t number, const char *after) {
    say(before);
    say_number(number);
    say(after);
}

static int failed(const char *what, uint32_t number) {
    say("FAILED: ");
    say(what);
    say_count(" ", number, "\n\x18");
    return 1;
}

/* The line is a level: it stays masked until software waits again. VexRiscv's mask and its pending lines have CSRs of their own. */
static void set_mask(uint32_t mask) {
    __asm__ volatile("csrw 0xBC0, %0" ::"r"(mask));
}

void isr(uint32_t cause) {
    if (cause != 0x8000000Bu) {
        failed("a trap with mcause", cause);
        for (;;) {
        }
    }
    ++interrupts;
    set_mask(0u);
}

/* ---- the driver's way to the engine ---- */

static uint32_t read32(void *context, uint32_t offset) {
    (void)context;
    return *word_at(CDMA_BASE + offset);
}

static void write32(void *context, uint32_t offset, uint32_t value) {
    (void)context;
    *word_at(CDMA_BASE + offset) = value;
}

static void wait_irq(void *context) {
    const uint32_t before = interrupts;
    uint32_t patience = 100000u;
    (void)context;
    set_mask(1u << CDMA_INTERRUPT);
    while (interrupts == before && patience-- != 0u) {
    }
    set_mask(0u);
}

/* Moves one tensor and waits for it. */
static int move(struct cdma_channel *channel, const char *name, const struct cdma_transfer *job, struct cdma_result *done) {
    int status = cdma_submit(channel, job, 1u);
    if (status == CDMA_OK) {
        status = cdma_wait(channel, CDMA_BY_IRQ, done, 1u, 10u);
    }
    if (status != CDMA_OK) {
        return failed(name, (uint32_t)-status);
    }
    if (done->status != CDMA_STATUS_OK) {
        return failed(name, done->status);
    }
    say(name);
    say_count(": ", (uint32_t)done->bytes_read, " bytes to ");
    say_count("", (uint32_t)done->bytes_written, " bytes in ");
    say_count("", (uint32_t)done->cycles, " cycles\n");
    return 0;
}

int main(void) {
    const uint32_t tensor = DEVICE_MEMORY_BASE, again = tensor + BYTES;
    const uint32_t stream = HOST_MEMORY_BASE, rings = stream + HOST_MEMORY_SIZE / 2u;
    const struct cdma_io io = {NULL, read32, write32, NULL, wait_irq};
    struct cdma engine;
    struct cdma_transfer job;
    struct cdma_result done;
    uint32_t random = 1u, literals = 0u, wrong = 0u, k;
    int status;

    *word_at(CSR_CDMA_EV_ENABLE_ADDR) = 1u;
    __asm__ volatile("csrsi mstatus, 8");
    status = cdma_open(&engine, &io);
    if (status != CDMA_OK) {
        return failed("cdma_open", (uint32_t)-status);
    }
    status = cdma_set_window(&engine, CDMA_DEV_WINDOW_BASE, tensor, tensor + DEVICE_MEMORY_SIZE - 1u, 0);
    if (status == CDMA_OK) {
        status = cdma_set_window(&engine, CDMA_HOST_WINDOW_BASE, stream, stream + HOST_MEMORY_SIZE - 1u, 0);
    }
    if (status != CDMA_OK) {
        return failed("cdma_set_window", (uint32_t)-status);
    }
    say_count("engine ", engine.geometry.version_major, ".");
    say_count("", engine.geometry.version_minor, "\n");

    /* A quarter of the words is not zero. */
    for (k = 0; k < WORDS; ++k) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        word_at(tensor)[k] = (random & 3u) == 0u ? random : 0u;
        literals += (random & 3u) == 0u ? 1u : 0u;
    }

    for (k = 0; k < 2u; ++k) {
        struct cdma_channel *channel = k == 0u ? &engine.offload : &engine.prefetch;
        const uint32_t place = rings + k * (uint32_t)cdma_ring_bytes(ENTRIES);
        status = cdma_start(channel, (void *)(uintptr_t)place, place, ENTRIES, CDMA_IRQ);
        if (status != CDMA_OK) {
            return failed("cdma_start", (uint32_t)-status);
        }
    }

    memset(&job, 0, sizeof job);
    job.source = tensor;
    job.destination = stream;
    job.length = BYTES;
    job.capacity = HOST_MEMORY_SIZE / 2u;
    job.mode = CDMA_MODE_ZVC;
    job.interrupt = 1u;
    if (move(&engine.offload, "offload", &job, &done) != 0) {
        return 1;
    }
    if (done.bytes_written != 4u * (WORDS / WINDOW + literals) || done.literals != literals) {
        return failed("offload: a compressed length of", (uint32_t)done.bytes_written);
    }

    for (k = 0; k < WORDS; ++k) {
        word_at(again)[k] = ~word_at(tensor)[k];
    }
    job.source = stream;
    job.destination = again;
    job.capacity = BYTES;
    job.compressed_length = done.bytes_written;
    if (move(&engine.prefetch, "prefetch", &job, &done) != 0) {
        return 1;
    }
    for (k = 0; k < WORDS; ++k) {
        wrong += word_at(again)[k] != word_at(tensor)[k] ? 1u : 0u;
    }
    if (wrong != 0u) {
        return failed("prefetch: wrong words:", wrong);
    }
    if (interrupts == 0u) {
        return failed("no interrupt", 0u);
    }
    say_count("all ", WORDS, " words are as before, ");
    say_count("", interrupts, " interrupts\n\x04");
    return 0;
}
