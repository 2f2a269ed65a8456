/*
 * cdma.h: driver for the cDMA engine, in this one header, for C99 and C++11.
 *
 * Give it functions that reach the registers (struct cdma_io) and host memory
 * for the rings; everything else it reads from the engine. See docs/driver.md.
 *
 *     struct cdma engine;
 *     struct cdma_transfer job;
 *     struct cdma_result done;
 *
 *     if (cdma_open(&engine, &io) != CDMA_OK) ...
 *     cdma_start(&engine.offload, rings, rings_bus_address, 64, CDMA_IRQ);
 *     memset(&job, 0, sizeof job);
 *     job.source = ...; job.destination = ...; job.length = ...; job.capacity = ...;
 *     job.mode = CDMA_MODE_ZVC;
 *     cdma_submit(&engine.offload, &job, 1);
 *     cdma_wait(&engine.offload, CDMA_BY_IRQ, &done, 1, 1000);
 *
 * Functions return CDMA_OK (0), a count, or a negative cdma_status. One struct
 * cdma drives one engine, from one thread at a time.
 *
 * On a machine that reorders memory accesses, define CDMA_WRITE_BARRIER and
 * CDMA_READ_BARRIER before including this file, where the defaults (a full
 * fence of GCC and Clang, else nothing) do not order memory against registers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CDMA_H
#define CDMA_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cdma_regs.h"

#if defined(__GNUC__)
#define CDMA_FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#else
#define CDMA_FENCE() ((void)0)
#endif
/* Descriptors are in memory before the doorbell rings, and so is a slot before the engine gets it back. */
#ifndef CDMA_WRITE_BARRIER
#define CDMA_WRITE_BARRIER() CDMA_FENCE()
#endif
/* A completion is read after the word that says it is there. */
#ifndef CDMA_READ_BARRIER
#define CDMA_READ_BARRIER() CDMA_FENCE()
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes from the registers of a queue pair to those of the next one. */
#define CDMA_PAIR_SPAN 0x1000u
/* Pairs whose shares have registers at once, where there are more. */
#define CDMA_PAIRS_OF_BANK 8u

/* What functions return. */
enum cdma_status {
    CDMA_OK = 0,
    CDMA_NO_ENGINE = -1,    /* The first register does not read as this engine's. */
    CDMA_BAD_VERSION = -2,  /* A register map of another major version. */
    CDMA_BAD_ARGUMENT = -3, /* An argument that this engine does not allow. */
    CDMA_FULL = -4,         /* The ring has no room for so many. */
    CDMA_BUSY = -5,         /* Completions are outstanding. */
    CDMA_TIMEOUT = -6,      /* Patience is at its end. */
    CDMA_REFUSED = -7,      /* A window is locked, or its port has fewer address bits. */
    CDMA_LOST = -8,         /* A completion was written but is not in memory; see cdma_get_error. */
    CDMA_CLOSED = -9        /* Rings outside of the window of host memory; see cdma_set_window. */
};

/* How to look for completions. */
enum cdma_how { CDMA_BY_MEMORY, CDMA_BY_REGISTERS, CDMA_BY_IRQ };

/* Options of cdma_start and cdma_start_direct; combine with |. */
#define CDMA_HALT_ON_ERROR 1u
#define CDMA_IRQ 2u

/* How the driver reaches the machine. */
struct cdma_io {
    void *context; /* Given to every function below. */
    uint32_t (*read32)(void *context, uint32_t offset);
    /* Returns when the write has reached the engine. */
    void (*write32)(void *context, uint32_t offset, uint32_t value);
    /* Called between two looks while waiting; may be NULL. */
    void (*idle)(void *context);
    /* Blocks until the interrupt line is high, or for a while; NULL: no interrupt. */
    void (*wait_irq)(void *context);
};

/* What an engine says about itself. */
struct cdma_geometry {
    uint32_t version_major, version_minor;
    uint32_t word_bits, window, code_bits, table_size, lanes;
    uint32_t dev_data_bits, dev_address_bits, dev_align;
    uint32_t host_data_bits, host_address_bits, host_align;
    uint32_t burst_beats, outstanding, ring_entries;
    uint32_t field_bits, rotate, zero, align;
    uint32_t any_length; /* 1: lengths of raw data are any number of bytes; 0: whole words. */
    uint32_t units, stripe_bytes;
    uint32_t crc; /* 1: results have a CRC, and transfers may ask for a check. */
    /* Transfers may have a step, for numbers of this type: 0 none, 1 fp32, 2 bf16, 3 fp16. Their integers are words. */
    uint32_t lossy;
    uint32_t keep_nonzero; /* 1: no number but zero becomes the integer 0. */
    uint32_t sideband;     /* 1: channels have cdma_set_sideband. */
    uint32_t user_bits;    /* Bits of AxUSER there. */
    uint32_t register_protection; /* What accesses to registers must be: 0 any, 1 privileged, 2 secure. */
    uint32_t memories_protect;    /* Checks of the words in memories: 0 none, 1 parity, 2 secded. */
    uint32_t dimensions;   /* Of a shape in device memory, above its row; 0: transfers have no shape. */
    uint32_t pages;        /* 1: host memory of transfers may be a list of pages. */
    uint32_t stream_id_bits, substream_id_bits; /* Of the owner of a transfer. */
    uint32_t pairs; /* Of channels; the registers of each are in a page of their own. */
    uint32_t messages; /* 1: channels have cdma_set_message. */
    uint32_t delta;    /* 1: transfers may have a base. */
    uint32_t levels;   /* Of the streams; 2: windows are in groups, each behind a mask. */
};

/* Accesses to registers that were refused: how many, and the first one. */
struct cdma_denied {
    uint32_t count, address, prot, write;
};

/* Words in the engine's memories that were found wrong: put right, and lost. */
struct cdma_flips {
    uint32_t corrected, lost;
};

/* What a transaction is for: data in device memory, data in host memory, descriptors and completions. */
enum cdma_target { CDMA_TARGET_DEV, CDMA_TARGET_HOST, CDMA_TARGET_RING };

/* AxCACHE, AxPROT, AxQOS and AxUSER. */
struct cdma_sideband {
    uint32_t cache, prot, qos, user;
};

/* A dimension: entries in memory, bytes from one to the next, and entries of padding on either side of them in the stream. */
struct cdma_dimension {
    int64_t stride;
    uint16_t count;
    uint8_t before, after;
};

/* Rows of run bytes in device memory, in dimensions, the innermost of the stream first; see docs/tiles.md. */
struct cdma_shape {
    uint32_t run;
    uint16_t before, after; /* Bytes of padding on either side of each row. */
    uint32_t dimensions;    /* How many of these there are. */
    struct cdma_dimension dimension[4];
};

/* One descriptor; see docs/registers.md. */
struct cdma_transfer {
    uint64_t source, destination, length, capacity, compressed_length;
    uint32_t tag;
    uint8_t mode;      /* CDMA_MODE_… */
    uint8_t interrupt; /* 1: the completion counts towards the interrupt. */
    uint8_t check_crc; /* 1: ends with CDMA_STATUS_CRC_MISMATCH if the raw bytes have another CRC than this. */
    uint32_t crc;
    uint8_t step; /* 0: without loss; otherwise the exponent of the step as a number stores it, with its bias. */
    /* What lies in device memory, from the source of an offload or the destination of a prefetch on; NULL: length bytes.
       It is read when the transfer is handed over. The length is cdma_shape_length. */
    const struct cdma_shape *shape;
    /* Where the list of the pages of host memory after the first one is; 0: it is one run of bytes. See cdma_list_pages. */
    uint64_t pages;
    /* Whose the transfer is: see cdma_owner; 0: nobody's, which is stream 0. */
    uint32_t owner;
    /* 1: the stream has the data XOR a base in device memory: see cdma_set_base. */
    uint8_t delta;
};

/* A run of bytes in host memory. */
struct cdma_run {
    uint64_t address, bytes;
};

/* What a transfer says of host memory in pages: where it begins, what there is room for, and where its list is. */
struct cdma_pages {
    uint64_t address, bytes, pages;
};

/* One completion. */
struct cdma_result {
    uint64_t bytes_read, bytes_written, cycles, address;
    uint32_t tag, literals;
    uint8_t status; /* CDMA_STATUS_… */
    uint32_t crc;   /* CRC-32C of the raw bytes, or of the integers with a step, if the engine has it. */
    /* Numbers that a step is too small for, and the index of the first: with CDMA_STATUS_LOSSY_RANGE. */
    uint32_t range_count, range_first;
};

/* The first error since the error registers were cleared. */
struct cdma_error {
    uint64_t address;
    uint32_t tag;
    uint8_t status;
};

struct cdma_channel {
    struct cdma *engine;
    uint32_t base, counters; /* Where its registers are. */
    uint32_t submit;         /* Its bit in the submit register. */
    unsigned char *descriptors;
    unsigned char *completions;
    uint32_t entries;     /* Of each ring; 0: no rings. */
    uint32_t tail;        /* Descriptors submitted, as the engine counts. */
    uint32_t consumed;    /* Completions taken, as the engine counts. */
    uint32_t outstanding; /* Descriptors whose completion was not taken. */
    uint32_t extended;    /* At most so many of them have a shape, and take two entries. */
    uint32_t options;
};

struct cdma {
    struct cdma_io io;
    struct cdma_geometry geometry;
    struct cdma_channel offload, prefetch;
    uint32_t page; /* Where the registers of its queue pair are. */
};

/* Field of a register: CDMA_GET(CDMA_CHANNEL_STATUS_BUSY, value). */
#define CDMA_GET(field, value) (((value) & field##_MASK) >> field##_SHIFT)

/* ---- registers ---- */

static inline uint32_t cdma_read(const struct cdma *engine, uint32_t offset) {
    return engine->io.read32(engine->io.context, engine->page + offset);
}

static inline void cdma_write(const struct cdma *engine, uint32_t offset, uint32_t value) {
    engine->io.write32(engine->io.context, engine->page + offset, value);
}

/* Low half first: reading it latches the other half of a counter. */
static inline uint64_t cdma_read64(const struct cdma *engine, uint32_t low) {
    const uint32_t bits = cdma_read(engine, low);
    return ((uint64_t)cdma_read(engine, low + 4u) << 32) | bits;
}

static inline void cdma_write64(const struct cdma *engine, uint32_t low, uint64_t value) {
    cdma_write(engine, low, (uint32_t)(value & 0xffffffffu));
    cdma_write(engine, low + 4u, (uint32_t)(value >> 32));
}

static inline uint32_t cdma_channel_read(const struct cdma_channel *channel, uint32_t offset) {
    return cdma_read(channel->engine, channel->base + offset);
}

static inline void cdma_channel_write(const struct cdma_channel *channel, uint32_t offset, uint32_t value) {
    cdma_write(channel->engine, channel->base + offset, value);
}

static inline void cdma_idle(const struct cdma *engine) {
    if (engine->io.idle != NULL) {
        engine->io.idle(engine->io.context);
    }
}

/* Looks at a register until the bits of mask are 0, at most patience + 1 times. */
static inline int cdma_until_clear(const struct cdma *engine, uint32_t offset, uint32_t mask, uint32_t patience) {
    while ((cdma_read(engine, offset) & mask) != 0u) {
        if (patience-- == 0u) {
            return CDMA_TIMEOUT;
        }
        cdma_idle(engine);
    }
    return CDMA_OK;
}

/* ---- little-endian memory, on any machine ---- */

static inline void cdma_put(unsigned char *memory, uint64_t value, unsigned bytes) {
    unsigned k;
    for (k = 0; k < bytes; ++k) {
        memory[k] = (unsigned char)((value >> (8u * k)) & 0xffu);
    }
}

static inline uint64_t cdma_get(const unsigned char *memory, unsigned bytes) {
    uint64_t value = 0;
    unsigned k;
    for (k = 0; k < bytes; ++k) {
        value |= (uint64_t)memory[k] << (8u * k);
    }
    return value;
}

#define CDMA_PUT(slot, type, field, value) \
    cdma_put((slot) + offsetof(struct type, field), (value), (unsigned)sizeof(((struct type *)0)->field))
#define CDMA_TAKE(slot, type, field) \
    cdma_get((slot) + offsetof(struct type, field), (unsigned)sizeof(((struct type *)0)->field))

/* The stream ID and, with has_substream, the substream ID by which an SMMU finds the tables of a transfer, as one word. */
static inline uint32_t cdma_owner(uint32_t stream, int has_substream, uint32_t substream) {
    return (stream << CDMA_OWNER_VALUE_STREAM_SHIFT & CDMA_OWNER_VALUE_STREAM_MASK) |
           (has_substream != 0 ? CDMA_OWNER_VALUE_SUBSTREAM_VALID_MASK |
                                     (substream & CDMA_OWNER_VALUE_SUBSTREAM_MASK)
                               : 0u);
}

static inline void cdma_encode(const struct cdma_transfer *transfer, unsigned char *slot) {
    const uint32_t flags = ((uint32_t)transfer->mode << CDMA_DESCRIPTOR_MODE_SHIFT) |
                           ((uint32_t)(transfer->interrupt != 0) << CDMA_DESCRIPTOR_INTERRUPT_SHIFT) |
                           ((uint32_t)(transfer->check_crc != 0) << CDMA_DESCRIPTOR_CHECK_CRC_SHIFT) |
                           ((uint32_t)(transfer->delta != 0) << CDMA_DESCRIPTOR_DELTA_SHIFT) |
                           ((uint32_t)transfer->step << CDMA_DESCRIPTOR_STEP_SHIFT) |
                           ((uint32_t)(transfer->owner != 0u) << CDMA_DESCRIPTOR_OWNED_SHIFT) |
                           ((uint32_t)(transfer->shape != NULL) << CDMA_DESCRIPTOR_SHAPED_SHIFT);
    memset(slot, 0, sizeof(struct cdma_descriptor));
    CDMA_PUT(slot, cdma_descriptor, source, transfer->source);
    CDMA_PUT(slot, cdma_descriptor, destination, transfer->destination);
    CDMA_PUT(slot, cdma_descriptor, length, transfer->length);
    CDMA_PUT(slot, cdma_descriptor, capacity, transfer->capacity);
    CDMA_PUT(slot, cdma_descriptor, compressed_length, transfer->compressed_length);
    CDMA_PUT(slot, cdma_descriptor, tag, transfer->tag);
    CDMA_PUT(slot, cdma_descriptor, flags, flags);
    CDMA_PUT(slot, cdma_descriptor, crc, transfer->check_crc != 0 ? transfer->crc : 0u);
    CDMA_PUT(slot, cdma_descriptor, pages_low, transfer->pages & 0xffffffffu);
    CDMA_PUT(slot, cdma_descriptor, pages_high, transfer->pages >> 32);
    CDMA_PUT(slot, cdma_descriptor, owner, transfer->owner);
}

/* ---- pages ---- */

#define CDMA_PAGE_BYTES 4096u

/*
 * Writes the list of runs, in this order, into a page of memory that the engine
 * finds at list; both stay until the transfer has ended. Only the first run may
 * begin, and only the last may end, within a page.
 */
static inline int cdma_list_pages(
    const struct cdma_run *runs, uint32_t count, unsigned char *page, uint64_t list, struct cdma_pages *pages) {
    const uint64_t inside = CDMA_PAGE_BYTES - 1u, most = (uint64_t)CDMA_PAGE_BYTES / 8u * CDMA_PAGE_BYTES;
    uint64_t address;
    uint32_t k, further = 0;
    if (count == 0u || (list & inside) != 0u) {
        return CDMA_BAD_ARGUMENT;
    }
    pages->address = runs[0].address;
    pages->bytes = 0;
    for (k = 0; k < count; ++k) {
        const uint64_t end = runs[k].address + runs[k].bytes;
        if (runs[k].bytes == 0u || runs[k].bytes > most - pages->bytes || (k != 0u && (runs[k].address & inside) != 0u) ||
            (k + 1u != count && (end & inside) != 0u)) {
            return CDMA_BAD_ARGUMENT;
        }
        pages->bytes += runs[k].bytes;
        for (address = runs[k].address & ~inside; address < end; address += CDMA_PAGE_BYTES) {
            if (k != 0u || address > runs[0].address) {
                cdma_put(page + 8u * further++, address, 8u);
            }
        }
    }
    pages->pages = further != 0u ? list : 0u;
    return CDMA_OK;
}

/* ---- shapes ---- */

/* Bytes of the raw data of a shape, padding included. */
static inline uint64_t cdma_shape_length(const struct cdma_shape *shape) {
    uint64_t bytes = (uint64_t)shape->before + shape->run + shape->after;
    uint32_t k;
    for (k = 0; k < shape->dimensions; ++k) {
        const struct cdma_dimension *each = &shape->dimension[k];
        bytes *= (uint64_t)each->before + each->count + each->after;
    }
    return bytes;
}

/* How far a dimension steps, for the order of all; those of one entry, whose stride says nothing, come last. */
static inline uint64_t cdma_reach(const struct cdma_shape *shape, uint32_t k) {
    const struct cdma_dimension *each = &shape->dimension[k];
    if (k >= shape->dimensions || each->count < 2u) {
        return ~(uint64_t)0;
    }
    return each->stride < 0 ? 0u - (uint64_t)each->stride : (uint64_t)each->stride;
}

/* The extension that follows a descriptor with a shape; its fields lie as the registers of the block shape. */
static inline void cdma_extend(const struct cdma_shape *shape, unsigned char *slot) {
    static const uint32_t extents[4] = {
        CDMA_SHAPE_EXTENT_1, CDMA_SHAPE_EXTENT_2, CDMA_SHAPE_EXTENT_3, CDMA_SHAPE_EXTENT_4};
    uint32_t order[4] = {0, 1, 2, 3};
    uint32_t k, place, numbers = 0;
    memset(slot, 0, sizeof(struct cdma_descriptor));
    for (k = 0; k < shape->dimensions; ++k) {
        const struct cdma_dimension *each = &shape->dimension[k];
        cdma_put(slot + CDMA_SHAPE_STRIDE_1_LOW + 8u * k, (uint64_t)each->stride, 8u);
        cdma_put(slot + extents[k],
            (uint64_t)each->count << CDMA_SHAPE_EXTENT_1_COUNT_1_SHIFT |
                (uint64_t)each->before << CDMA_SHAPE_EXTENT_1_BEFORE_1_SHIFT |
                (uint64_t)each->after << CDMA_SHAPE_EXTENT_1_AFTER_1_SHIFT,
            4u);
    }
    for (k = 1; k < 4u; ++k) {
        for (place = k; place > 0u && cdma_reach(shape, order[place]) < cdma_reach(shape, order[place - 1u]); --place) {
            const uint32_t moved = order[place];
            order[place] = order[place - 1u];
            order[place - 1u] = moved;
        }
    }
    for (k = 0; k < 4u; ++k) {
        numbers |= order[k] << (k * CDMA_SHAPE_ORDER_ORDER_2_SHIFT);
    }
    cdma_put(slot + CDMA_SHAPE_ORDER, numbers, 4u);
    cdma_put(slot + CDMA_SHAPE_MARGINS,
        (uint64_t)shape->before << CDMA_SHAPE_MARGINS_BEFORE_RUN_SHIFT |
            (uint64_t)shape->after << CDMA_SHAPE_MARGINS_AFTER_RUN_SHIFT,
        4u);
    cdma_put(slot + CDMA_SHAPE_RUN, shape->run, 4u);
}

static inline void cdma_decode(const unsigned char *slot, struct cdma_result *result) {
    const uint32_t bits = (uint32_t)CDMA_TAKE(slot, cdma_completion, result);
    result->bytes_read = CDMA_TAKE(slot, cdma_completion, bytes_read);
    result->bytes_written = CDMA_TAKE(slot, cdma_completion, bytes_written);
    result->cycles = CDMA_TAKE(slot, cdma_completion, cycles);
    result->address = CDMA_TAKE(slot, cdma_completion, address);
    result->tag = (uint32_t)CDMA_TAKE(slot, cdma_completion, tag);
    result->literals = (uint32_t)CDMA_TAKE(slot, cdma_completion, literals);
    result->crc = (uint32_t)CDMA_TAKE(slot, cdma_completion, crc);
    result->range_count = (uint32_t)CDMA_TAKE(slot, cdma_completion, range_count);
    result->range_first = (uint32_t)CDMA_TAKE(slot, cdma_completion, range_first);
    result->status = (uint8_t)CDMA_GET(CDMA_COMPLETION_STATUS, bits);
}

/* ---- the engine ---- */

static inline void cdma_forget(struct cdma_channel *channel) {
    channel->descriptors = NULL;
    channel->completions = NULL;
    channel->entries = 0;
    channel->tail = 0;
    channel->consumed = 0;
    channel->outstanding = 0;
    channel->extended = 0;
    channel->options = 0;
}

/* Finds out what the engine is. Writes nothing. */
static inline int cdma_open(struct cdma *engine, const struct cdma_io *io) {
    struct cdma_geometry *geometry = &engine->geometry;
    uint32_t bits, guarded;
    memset(engine, 0, sizeof *engine);
    engine->io = *io;
    engine->offload.engine = engine;
    engine->offload.base = CDMA_OFFLOAD_BASE;
    engine->offload.counters = CDMA_OFFLOAD_COUNTERS_BASE;
    engine->offload.submit = CDMA_PUSH_SUBMIT_OFFLOAD_MASK;
    engine->prefetch.engine = engine;
    engine->prefetch.base = CDMA_PREFETCH_BASE;
    engine->prefetch.counters = CDMA_PREFETCH_COUNTERS_BASE;
    engine->prefetch.submit = CDMA_PUSH_SUBMIT_PREFETCH_MASK;

    if (cdma_read(engine, CDMA_ENGINE_BASE + CDMA_ENGINE_IDENT) != CDMA_ENGINE_IDENT_RESET) {
        return CDMA_NO_ENGINE;
    }
    bits = cdma_read(engine, CDMA_ENGINE_BASE + CDMA_ENGINE_VERSION);
    geometry->version_major = CDMA_GET(CDMA_ENGINE_VERSION_MAJOR, bits);
    geometry->version_minor = CDMA_GET(CDMA_ENGINE_VERSION_MINOR, bits);
    if (geometry->version_major != CDMA_GET(CDMA_ENGINE_VERSION_MAJOR, CDMA_ENGINE_VERSION_RESET)) {
        return CDMA_BAD_VERSION;
    }
    bits = cdma_read(engine, CDMA_ENGINE_BASE + CDMA_ENGINE_STREAM_FORMAT);
    geometry->word_bits = CDMA_GET(CDMA_ENGINE_STREAM_FORMAT_WORD_BITS, bits);
    geometry->window = CDMA_GET(CDMA_ENGINE_STREAM_FORMAT_WINDOW, bits);
    geometry->code_bits = CDMA_GET(CDMA_ENGINE_STREAM_FORMAT_CODE_BITS, bits);
    geometry->table_size = CDMA_GET(CDMA_ENGINE_STREAM_FORMAT_TABLE_SIZE, bits);
    geometry->lanes = CDMA_GET(CDMA_ENGINE_STREAM_FORMAT_LANES, bits);
    bits = cdma_read(engine, CDMA_ENGINE_BASE + CDMA_ENGINE_DEV_PORT);
    geometry->dev_data_bits = CDMA_GET(CDMA_ENGINE_DEV_PORT_DATA_BITS, bits);
    geometry->dev_address_bits = CDMA_GET(CDMA_ENGINE_DEV_PORT_ADDRESS_BITS, bits);
    geometry->dev_align = 1u << CDMA_GET(CDMA_ENGINE_DEV_PORT_ALIGN_LOG2, bits);
    geometry->dimensions = CDMA_GET(CDMA_ENGINE_DEV_PORT_DIMENSIONS, bits);
    bits = cdma_read(engine, CDMA_ENGINE_BASE + CDMA_ENGINE_HOST_PORT);
    geometry->host_data_bits = CDMA_GET(CDMA_ENGINE_HOST_PORT_DATA_BITS, bits);
    geometry->host_address_bits = CDMA_GET(CDMA_ENGINE_HOST_PORT_ADDRESS_BITS, bits);
    geometry->host_align = 1u << CDMA_GET(CDMA_ENGINE_HOST_PORT_ALIGN_LOG2, bits);
    geometry->user_bits = CDMA_GET(CDMA_ENGINE_HOST_PORT_USER_BITS, bits);
    geometry->sideband = CDMA_GET(CDMA_ENGINE_HOST_PORT_SIDEBAND, bits);
    geometry->pages = CDMA_GET(CDMA_ENGINE_HOST_PORT_PAGES, bits);
    geometry->messages = CDMA_GET(CDMA_ENGINE_HOST_PORT_MESSAGES, bits);
    guarded = CDMA_GET(CDMA_ENGINE_HOST_PORT_GUARDED, bits);
    bits = cdma_read(engine, CDMA_ENGINE_BASE + CDMA_ENGINE_BURSTS);
    geometry->burst_beats = CDMA_GET(CDMA_ENGINE_BURSTS_BEATS, bits);
    geometry->outstanding = CDMA_GET(CDMA_ENGINE_BURSTS_OUTSTANDING, bits);
    bits = cdma_read(engine, CDMA_ENGINE_BASE + CDMA_ENGINE_LIMITS);
    geometry->ring_entries = 1u << CDMA_GET(CDMA_ENGINE_LIMITS_RING_LOG2, bits);
    geometry->units = CDMA_GET(CDMA_ENGINE_LIMITS_UNITS, bits);
    geometry->stripe_bytes = 1u << CDMA_GET(CDMA_ENGINE_LIMITS_STRIPE_LOG2, bits);
    geometry->crc = CDMA_GET(CDMA_ENGINE_LIMITS_CRC, bits);
    geometry->lossy = CDMA_GET(CDMA_ENGINE_LIMITS_LOSSY, bits);
    geometry->keep_nonzero = CDMA_GET(CDMA_ENGINE_LIMITS_KEEP_NONZERO, bits);
    bits = cdma_read(engine, CDMA_ENGINE_BASE + CDMA_ENGINE_STREAM_FIELDS);
    geometry->field_bits = CDMA_GET(CDMA_ENGINE_STREAM_FIELDS_FIELD_BITS, bits);
    geometry->rotate = CDMA_GET(CDMA_ENGINE_STREAM_FIELDS_ROTATE, bits);
    geometry->zero = CDMA_GET(CDMA_ENGINE_STREAM_FIELDS_ZERO, bits);
    geometry->align = 1u << CDMA_GET(CDMA_ENGINE_STREAM_FIELDS_ALIGN_LOG2, bits);
    geometry->levels = 1u + CDMA_GET(CDMA_ENGINE_STREAM_FIELDS_TWO_LEVELS, bits);
    geometry->any_length = CDMA_GET(CDMA_ENGINE_STREAM_FIELDS_ANY_LENGTH, bits);
    geometry->delta = CDMA_GET(CDMA_ENGINE_STREAM_FIELDS_DELTA, bits);
    geometry->pairs = 1u + CDMA_GET(CDMA_ENGINE_STREAM_FIELDS_MORE_PAIRS, bits)
        + 8u * CDMA_GET(CDMA_ENGINE_STREAM_FIELDS_PAIRS_BEYOND, bits);
    bits = guarded ? cdma_read(engine, CDMA_ENGINE_BASE + CDMA_ENGINE_GUARDS) : 0u;
    geometry->register_protection = CDMA_GET(CDMA_ENGINE_GUARDS_REGISTER_PROTECTION, bits);
    geometry->memories_protect = CDMA_GET(CDMA_ENGINE_GUARDS_MEMORIES_PROTECT, bits);
    geometry->stream_id_bits = CDMA_GET(CDMA_ENGINE_GUARDS_STREAM_ID_BITS, bits);
    geometry->substream_id_bits = CDMA_GET(CDMA_ENGINE_GUARDS_SUBSTREAM_ID_BITS, bits);
    return CDMA_OK;
}

/*
 * Like cdma_open, for pair number of several queue pairs, which is an
 * engine of its own to its software. A process that reaches the registers of its
 * pair alone opens them with cdma_open.
 */
static inline int cdma_open_pair(struct cdma *engine, const struct cdma_io *io, uint32_t number) {
    const int status = cdma_open(engine, io);
    if (status == CDMA_OK && number >= engine->geometry.pairs) {
        return CDMA_BAD_ARGUMENT;
    }
    engine->page = number * CDMA_PAIR_SPAN;
    return status;
}

/* Writes a register of the shares of channel's direction, that of pair if there is one for each. They are with the first pair. */
static inline int cdma_set_shares(
    const struct cdma_channel *channel, uint32_t pair, uint32_t offset, uint32_t value) {
    const struct cdma *engine = channel->engine;
    const int offload = channel->base == CDMA_OFFLOAD_BASE;
    const uint32_t base = offload ? CDMA_OFFLOAD_SHARES_BASE : CDMA_PREFETCH_SHARES_BASE;
    if (engine->page != 0u || engine->geometry.pairs == 1u) {
        return CDMA_BAD_ARGUMENT;
    }
    if (engine->geometry.pairs > CDMA_PAIRS_OF_BANK) {
        cdma_write(engine, base + CDMA_SHARES_BANK, pair / CDMA_PAIRS_OF_BANK);
    }
    cdma_write(engine, base + offset, value);
    return CDMA_OK;
}

/* Of channel's direction: a pair has turns of weight times 4 KiB, 1 to 255, among those of its priority, 0 to 3. */
static inline int cdma_set_share(
    const struct cdma_channel *channel, uint32_t pair, uint32_t weight, uint32_t priority) {
    if (pair >= channel->engine->geometry.pairs || weight - 1u > 254u || priority > 3u) {
        return CDMA_BAD_ARGUMENT;
    }
    return cdma_set_shares(
        channel, pair, CDMA_SHARES_SHARE(pair % CDMA_PAIRS_OF_BANK), weight | priority << CDMA_SHARES_SHARE_PRIORITY_SHIFT);
}

/* Of channel's direction: a pair moves at most so many units of 256 raw bytes in each period; 0: any number. */
static inline int cdma_set_limit(const struct cdma_channel *channel, uint32_t pair, uint32_t units) {
    if (pair >= channel->engine->geometry.pairs || units > CDMA_SHARES_LIMIT_UNITS_MASK) {
        return CDMA_BAD_ARGUMENT;
    }
    return cdma_set_shares(channel, pair, CDMA_SHARES_LIMIT(pair % CDMA_PAIRS_OF_BANK), units);
}

/* The period of all limits of channel's direction, in clock cycles. */
static inline int cdma_set_limit_period(const struct cdma_channel *channel, uint32_t cycles) {
    if (cycles - 1u >= CDMA_SHARES_PERIOD_CYCLES_MASK) {
        return CDMA_BAD_ARGUMENT;
    }
    return cdma_set_shares(channel, 0u, CDMA_SHARES_PERIOD, cycles);
}

/* Ends everything legally and forgets all but windows and locks. */
static inline int cdma_soft_reset(struct cdma *engine, uint32_t patience) {
    int status;
    cdma_write(engine, CDMA_ENGINE_BASE + CDMA_ENGINE_COMMAND, CDMA_ENGINE_COMMAND_SOFT_RESET_MASK);
    status = cdma_until_clear(
        engine, CDMA_ENGINE_BASE + CDMA_ENGINE_STATUS, CDMA_ENGINE_STATUS_RESETTING_MASK, patience);
    if (status == CDMA_OK) {
        cdma_forget(&engine->offload);
        cdma_forget(&engine->prefetch);
    }
    return status;
}

static inline void cdma_clear_counters(const struct cdma *engine) {
    cdma_write(engine, CDMA_ENGINE_BASE + CDMA_ENGINE_COMMAND, CDMA_ENGINE_COMMAND_CLEAR_COUNTERS_MASK);
}

/* Clock cycles that a port may leave an open transaction without an answer; 0 is for ever. */
static inline void cdma_set_watchdog(const struct cdma *engine, uint32_t cycles) {
    cdma_write(engine, CDMA_ENGINE_BASE + CDMA_ENGINE_WATCHDOG, cycles);
}

/* Bursts that a port with groups reads before it writes, and the other way, while both wait; 0: as they come. */
static inline void cdma_set_groups(const struct cdma *engine, uint32_t bursts) {
    cdma_write(engine, CDMA_ENGINE_BASE + CDMA_ENGINE_GROUPS, bursts);
}

/*
 * Allows the addresses base to limit, both included, in pages of 4 KiB, and no
 * others. window is CDMA_DEV_WINDOW_BASE or CDMA_HOST_WINDOW_BASE. Both are
 * closed after a reset of the hardware, and a lock lasts until the next one.
 */
static inline int cdma_set_window(
    const struct cdma *engine, uint32_t window, uint64_t base, uint64_t limit, int lock) {
    if ((base & 0xfffu) != 0u || (limit & 0xfffu) != 0xfffu) {
        return CDMA_BAD_ARGUMENT;
    }
    cdma_write64(engine, window + CDMA_DEV_WINDOW_BASE_LOW, base);
    cdma_write64(engine, window + CDMA_DEV_WINDOW_LIMIT_LOW, limit);
    if (lock) {
        cdma_write(engine, window + CDMA_DEV_WINDOW_LOCK, CDMA_DEV_WINDOW_LOCK_LOCKED_MASK);
    }
    if (cdma_read64(engine, window + CDMA_DEV_WINDOW_BASE_LOW) != base ||
        cdma_read64(engine, window + CDMA_DEV_WINDOW_LIMIT_LOW) != limit) {
        return CDMA_REFUSED;
    }
    return CDMA_OK;
}

/* Of an engine that refuses accesses to its registers; CDMA_BAD_ARGUMENT where it does not. */
static inline int cdma_get_denied(const struct cdma *engine, struct cdma_denied *denied) {
    uint32_t bits;
    if (engine->geometry.register_protection == 0u) {
        return CDMA_BAD_ARGUMENT;
    }
    bits = cdma_read(engine, CDMA_ENGINE_BASE + CDMA_ENGINE_DENIED);
    denied->count = CDMA_GET(CDMA_ENGINE_DENIED_COUNT, bits);
    denied->address = CDMA_GET(CDMA_ENGINE_DENIED_ADDRESS, bits);
    denied->prot = CDMA_GET(CDMA_ENGINE_DENIED_PROT, bits);
    denied->write = CDMA_GET(CDMA_ENGINE_DENIED_WRITE, bits);
    return CDMA_OK;
}

static inline int cdma_clear_denied(const struct cdma *engine) {
    if (engine->geometry.register_protection == 0u) {
        return CDMA_BAD_ARGUMENT;
    }
    cdma_write(engine, CDMA_ENGINE_BASE + CDMA_ENGINE_COMMAND, CDMA_ENGINE_COMMAND_CLEAR_DENIED_MASK);
    return CDMA_OK;
}

/* Of an engine whose memories have checks; CDMA_BAD_ARGUMENT where they have none. */
static inline int cdma_get_flips(const struct cdma *engine, struct cdma_flips *flips) {
    uint32_t bits;
    if (engine->geometry.memories_protect == 0u) {
        return CDMA_BAD_ARGUMENT;
    }
    bits = cdma_read(engine, CDMA_ENGINE_BASE + CDMA_ENGINE_FLIPS);
    flips->corrected = CDMA_GET(CDMA_ENGINE_FLIPS_CORRECTED, bits);
    flips->lost = CDMA_GET(CDMA_ENGINE_FLIPS_LOST, bits);
    return CDMA_OK;
}

static inline int cdma_clear_flips(const struct cdma *engine) {
    if (engine->geometry.memories_protect == 0u) {
        return CDMA_BAD_ARGUMENT;
    }
    cdma_write(engine, CDMA_ENGINE_BASE + CDMA_ENGINE_COMMAND, CDMA_ENGINE_COMMAND_CLEAR_FLIPS_MASK);
    return CDMA_OK;
}

/* ---- a channel: starting ---- */

static inline int cdma_stop(struct cdma_channel *channel, uint32_t patience) {
    if (channel->outstanding != 0u) {
        return CDMA_BUSY;
    }
    cdma_channel_write(channel, CDMA_CHANNEL_CONTROL, 0u);
    channel->entries = 0;
    channel->tail = 0;
    channel->consumed = 0;
    return cdma_until_clear(
        channel->engine, channel->base + CDMA_CHANNEL_STATUS, CDMA_CHANNEL_STATUS_BUSY_MASK, patience);
}

static inline void cdma_enable(struct cdma_channel *channel, uint32_t control, uint32_t options) {
    channel->options = options;
    cdma_channel_write(channel, CDMA_CHANNEL_IRQ_STATUS,
        CDMA_CHANNEL_IRQ_STATUS_COMPLETION_MASK | CDMA_CHANNEL_IRQ_STATUS_ERROR_MASK);
    cdma_channel_write(channel, CDMA_CHANNEL_IRQ_ENABLE,
        (options & CDMA_IRQ) != 0u
            ? CDMA_CHANNEL_IRQ_ENABLE_COMPLETION_MASK | CDMA_CHANNEL_IRQ_ENABLE_ERROR_MASK
            : 0u);
    if ((options & CDMA_HALT_ON_ERROR) != 0u) {
        control |= CDMA_CHANNEL_CONTROL_HALT_ON_ERROR_MASK;
    }
    cdma_channel_write(channel, CDMA_CHANNEL_CONTROL, control | CDMA_CHANNEL_CONTROL_ENABLE_MASK);
}

/* Bytes of memory that both rings take. */
static inline size_t cdma_ring_bytes(uint32_t entries) {
    return (size_t)entries * (sizeof(struct cdma_descriptor) + sizeof(struct cdma_completion));
}

/*
 * Sets up both rings in cdma_ring_bytes(entries) bytes at memory, which the
 * engine finds at bus_address (a multiple of 64), and enables the channel.
 */
static inline int cdma_start(
    struct cdma_channel *channel, void *memory, uint64_t bus_address, uint32_t entries, uint32_t options) {
    const struct cdma_geometry *geometry = &channel->engine->geometry;
    const size_t ring = cdma_ring_bytes(entries) / 2u;
    uint32_t log2 = 0;
    int status;
    if (entries < 2u || entries > geometry->ring_entries || (entries & (entries - 1u)) != 0u ||
        bus_address % sizeof(struct cdma_descriptor) != 0u ||
        (geometry->host_address_bits < 64u && bus_address >> geometry->host_address_bits != 0u)) {
        return CDMA_BAD_ARGUMENT;
    }
    if (bus_address < cdma_read64(channel->engine, CDMA_HOST_WINDOW_BASE + CDMA_DEV_WINDOW_BASE_LOW) ||
        bus_address + 2u * ring - 1u >
            cdma_read64(channel->engine, CDMA_HOST_WINDOW_BASE + CDMA_DEV_WINDOW_LIMIT_LOW)) {
        return CDMA_CLOSED;
    }
    status = cdma_stop(channel, 1000000u);
    if (status != CDMA_OK) {
        return status;
    }
    while ((1u << log2) < entries) {
        ++log2;
    }
    channel->entries = entries;
    channel->descriptors = (unsigned char *)memory;
    channel->completions = channel->descriptors + ring;
    /* Phase 0 everywhere: nothing of the first pass is there. */
    memset(channel->completions, 0, ring);
    CDMA_WRITE_BARRIER();
    cdma_channel_write(channel, CDMA_CHANNEL_RING_SIZE, log2 << CDMA_CHANNEL_RING_SIZE_LOG2_SHIFT);
    cdma_write64(channel->engine, channel->base + CDMA_CHANNEL_RING_BASE_LOW, bus_address);
    cdma_write64(channel->engine, channel->base + CDMA_CHANNEL_COMPLETION_BASE_LOW, bus_address + ring);
    cdma_channel_write(channel, CDMA_CHANNEL_RING_TAIL, 0u);
    cdma_channel_write(channel, CDMA_CHANNEL_COMPLETION_TAIL, 0u);
    cdma_enable(channel,
        CDMA_CHANNEL_CONTROL_RING_ENABLE_MASK | CDMA_CHANNEL_CONTROL_COMPLETION_RING_ENABLE_MASK, options);
    return CDMA_OK;
}

/* Enables the channel without rings: everything goes through registers. */
static inline int cdma_start_direct(struct cdma_channel *channel, uint32_t options) {
    const int status = cdma_stop(channel, 1000000u);
    if (status == CDMA_OK) {
        cdma_enable(channel, 0u, options);
    }
    return status;
}

/* Completions per interrupt (0 to 255), and cycles after the first that raise it anyway (0: never). */
static inline int cdma_set_coalescing(const struct cdma_channel *channel, uint32_t count, uint32_t cycles) {
    if (count > 255u) {
        return CDMA_BAD_ARGUMENT;
    }
    cdma_channel_write(channel, CDMA_CHANNEL_COALESCE_COUNT, count);
    cdma_channel_write(channel, CDMA_CHANNEL_COALESCE_CYCLES, cycles);
    return CDMA_OK;
}

/* The frequent values of mode fvc, lowest code first; unused entries repeat the first. A reset of the engine, cdma_soft_reset too,
   makes all of them the first of the format's values. */
static inline int cdma_set_table(const struct cdma_channel *channel, const uint32_t *values, uint32_t count) {
    const struct cdma_geometry *geometry = &channel->engine->geometry;
    const uint32_t bits = geometry->field_bits != 0u ? geometry->field_bits : geometry->word_bits;
    uint32_t k;
    if (count < 1u || count > geometry->table_size) {
        return CDMA_BAD_ARGUMENT;
    }
    for (k = 0; k < count; ++k) {
        if (bits < 32u && values[k] >> bits != 0u) {
            return CDMA_BAD_ARGUMENT;
        }
    }
    for (k = 0; k < geometry->table_size; ++k) {
        cdma_channel_write(channel, CDMA_CHANNEL_TABLE(k), values[k < count ? k : 0u]);
    }
    return CDMA_OK;
}

/* What the channel's transactions of a target say beside addresses. It holds from when the channel is next at rest. */
static inline int cdma_set_sideband(
    const struct cdma_channel *channel, enum cdma_target target, const struct cdma_sideband *sideband) {
    const struct cdma_geometry *geometry = &channel->engine->geometry;
    const uint32_t offset = target == CDMA_TARGET_DEV    ? CDMA_CHANNEL_DEV_SIDEBAND
                            : target == CDMA_TARGET_HOST ? CDMA_CHANNEL_HOST_SIDEBAND
                                                         : CDMA_CHANNEL_RING_SIDEBAND;
    /* AXI4 reserves the values of AxCACHE that have no bit here. */
    const uint32_t caches = 0xCCCFu;
    if (geometry->sideband == 0u || sideband->cache > 15u || (caches >> sideband->cache & 1u) == 0u || sideband->prot > 7u ||
        sideband->qos > 15u || sideband->user >> geometry->user_bits != 0u) {
        return CDMA_BAD_ARGUMENT;
    }
    /* The fields lie alike in all three registers. */
    cdma_channel_write(
        channel,
        offset,
        sideband->cache << CDMA_CHANNEL_HOST_SIDEBAND_CACHE_SHIFT | sideband->prot << CDMA_CHANNEL_HOST_SIDEBAND_PROT_SHIFT |
            sideband->qos << CDMA_CHANNEL_HOST_SIDEBAND_QOS_SHIFT |
            sideband->user << CDMA_CHANNEL_HOST_SIDEBAND_USER_SHIFT);
    return CDMA_OK;
}

/* The bits of an owner that the engine has. */
static inline uint32_t cdma_owner_bits(const struct cdma_geometry *geometry) {
    const uint32_t stream = (1u << geometry->stream_id_bits) - 1u, substream = (1u << geometry->substream_id_bits) - 1u;
    return cdma_owner(stream, substream != 0u, substream);
}

/*
 * Allows the channel transfers whose owner is allowed in the bits of mask; its
 * rings and lists of pages are those of ring, from when it is next at rest.
 */
static inline int cdma_set_owners(
    const struct cdma_channel *channel, uint32_t allowed, uint32_t mask, uint32_t ring, int lock) {
    const struct cdma *engine = channel->engine;
    const uint32_t has = cdma_owner_bits(&engine->geometry);
    const uint32_t base =
        channel->submit == CDMA_PUSH_SUBMIT_OFFLOAD_MASK ? CDMA_OFFLOAD_OWNER_BASE : CDMA_PREFETCH_OWNER_BASE;
    if (has == 0u || ((allowed | ring) & ~has) != 0u) {
        return CDMA_BAD_ARGUMENT;
    }
    cdma_write(engine, base + CDMA_OWNER_VALUE, allowed);
    cdma_write(engine, base + CDMA_OWNER_MASK, mask & has);
    cdma_write(engine, base + CDMA_OWNER_RING, ring);
    if (lock) {
        cdma_write(engine, base + CDMA_OWNER_LOCK, CDMA_OWNER_LOCK_LOCKED_MASK);
    }
    if (cdma_read(engine, base + CDMA_OWNER_VALUE) != allowed ||
        cdma_read(engine, base + CDMA_OWNER_MASK) != (mask & has) ||
        cdma_read(engine, base + CDMA_OWNER_RING) != ring) {
        return CDMA_REFUSED;
    }
    return CDMA_OK;
}

static inline uint32_t cdma_message_base(const struct cdma_channel *channel) {
    return channel->base == CDMA_OFFLOAD_BASE ? CDMA_OFFLOAD_MESSAGE_BASE : CDMA_PREFETCH_MESSAGE_BASE;
}

/* Has the channel's interrupt written as well, once for each event, as long as enable is not 0. */
static inline int cdma_set_message(const struct cdma_channel *channel, uint64_t address, uint32_t data, int enable) {
    const struct cdma *engine = channel->engine;
    const uint32_t base = cdma_message_base(channel), bits = engine->geometry.host_address_bits;
    const uint32_t low = (uint32_t)address, high = (uint32_t)(address >> 32);
    const uint32_t control = enable ? CDMA_MESSAGE_CONTROL_ENABLE_MASK : 0u;
    if (engine->geometry.messages == 0u || low % 4u != 0u || (bits < 64u && address >> bits != 0u)) {
        return CDMA_BAD_ARGUMENT;
    }
    /* No message goes to half of an address. */
    cdma_write(engine, base + CDMA_MESSAGE_CONTROL, 0u);
    cdma_write(engine, base + CDMA_MESSAGE_ADDRESS_LOW, low);
    cdma_write(engine, base + CDMA_MESSAGE_ADDRESS_HIGH, high);
    cdma_write(engine, base + CDMA_MESSAGE_DATA, data);
    cdma_write(engine, base + CDMA_MESSAGE_CONTROL, control);
    if (cdma_read(engine, base + CDMA_MESSAGE_ADDRESS_LOW) != low ||
        cdma_read(engine, base + CDMA_MESSAGE_ADDRESS_HIGH) != high ||
        cdma_read(engine, base + CDMA_MESSAGE_DATA) != data ||
        cdma_read(engine, base + CDMA_MESSAGE_CONTROL) != control) {
        return CDMA_REFUSED;
    }
    return CDMA_OK;
}

/* Whether a message was answered with an error since the last call. */
static inline int cdma_message_failed(const struct cdma_channel *channel) {
    const uint32_t at = cdma_message_base(channel) + CDMA_MESSAGE_STATUS;
    const uint32_t failed = cdma_read(channel->engine, at) & CDMA_MESSAGE_STATUS_FAILED_MASK;
    cdma_write(channel->engine, at, failed);
    return failed != 0u;
}

/* ---- a channel: descriptors and completions ---- */

static inline uint32_t cdma_next(const struct cdma_channel *channel, uint32_t index) {
    return (index + 1u) % (2u * channel->engine->geometry.ring_entries);
}

/* Descriptors that can be submitted now; one with a shape counts for two. */
static inline uint32_t cdma_room(const struct cdma_channel *channel) {
    return channel->entries - channel->outstanding - channel->extended;
}

/* Counts a completion that is taken. A pushed descriptor may have overtaken others: then no entry is thought free that is not. */
static inline void cdma_retire(struct cdma_channel *channel) {
    --channel->outstanding;
    if (channel->extended > channel->outstanding) {
        channel->extended = channel->outstanding;
    }
}

/* Gives a transfer of this channel the base at an address: its length counts as its capacity if it is a prefetch. */
static inline void cdma_set_base(
    const struct cdma_channel *channel, struct cdma_transfer *transfer, uint64_t base) {
    transfer->delta = 1;
    *(channel == &channel->engine->offload ? &transfer->compressed_length : &transfer->capacity) = base;
}

/* Whether a transfer asks for what this engine has been made without: a check of its CRC, a step, a list of pages, a base, an
   owner with so many bits, a shape of so many dimensions; or its length is not that of its shape. */
static inline int cdma_lacks_option(const struct cdma_channel *channel, const struct cdma_transfer *transfer) {
    const struct cdma_geometry *geometry = &channel->engine->geometry;
    const struct cdma_shape *shape = transfer->shape;
    if (shape != NULL && (geometry->dimensions == 0u || shape->dimensions > geometry->dimensions ||
                             transfer->length != cdma_shape_length(shape))) {
        return 1;
    }
    return (transfer->check_crc != 0 && geometry->crc == 0u) || (transfer->step != 0 && geometry->lossy == 0u) ||
           (transfer->pages != 0u && geometry->pages == 0u) || (transfer->delta != 0 && geometry->delta == 0u) ||
           (transfer->owner & ~cdma_owner_bits(geometry)) != 0u;
}

/* Where the next entry of the ring goes. */
static inline unsigned char *cdma_entry(struct cdma_channel *channel) {
    const size_t slot = (size_t)(channel->tail % channel->entries) * sizeof(struct cdma_descriptor);
    channel->tail = cdma_next(channel, channel->tail);
    return channel->descriptors + slot;
}

/* Puts a descriptor, for which there is room, into the ring. The engine sees it after the next cdma_doorbell. */
static inline void cdma_enter(struct cdma_channel *channel, const struct cdma_transfer *transfer) {
    cdma_encode(transfer, cdma_entry(channel));
    ++channel->outstanding;
    if (transfer->shape != NULL) {
        cdma_extend(transfer->shape, cdma_entry(channel));
        ++channel->extended;
    }
}

/* Tells the engine of what is in the ring. */
static inline void cdma_doorbell(const struct cdma_channel *channel) {
    CDMA_WRITE_BARRIER();
    cdma_channel_write(channel, CDMA_CHANNEL_RING_TAIL, channel->tail);
}

/* Puts descriptors into the ring and rings the doorbell once; all of them or none. */
static inline int cdma_submit(struct cdma_channel *channel, const struct cdma_transfer *transfers, uint32_t count) {
    uint32_t k, extended = 0;
    if (channel->entries == 0u) {
        return CDMA_BAD_ARGUMENT;
    }
    for (k = 0; k < count; ++k) {
        if (cdma_lacks_option(channel, &transfers[k])) {
            return CDMA_BAD_ARGUMENT;
        }
        extended += transfers[k].shape != NULL ? 1u : 0u;
    }
    if ((uint64_t)count + extended > cdma_room(channel)) {
        return CDMA_FULL;
    }
    for (k = 0; k < count; ++k) {
        cdma_enter(channel, &transfers[k]);
    }
    cdma_doorbell(channel);
    return CDMA_OK;
}

/* Hands over one descriptor through registers, behind or without a ring. */
static inline int cdma_push(struct cdma_channel *channel, const struct cdma_transfer *transfer, uint32_t patience) {
    const struct cdma *engine = channel->engine;
    unsigned char record[sizeof(struct cdma_descriptor)];
    const uint32_t last = engine->geometry.pages != 0u ? CDMA_PUSH_PAGES_HIGH
                          : engine->geometry.crc != 0u ? CDMA_PUSH_CRC
                                                       : CDMA_PUSH_FLAGS;
    uint32_t offset;
    int status;
    if (cdma_lacks_option(channel, transfer)) {
        return CDMA_BAD_ARGUMENT;
    }
    if (channel->entries != 0u && cdma_room(channel) == 0u) {
        return CDMA_FULL;
    }
    status = cdma_until_clear(
        engine, CDMA_PUSH_BASE + CDMA_PUSH_STATUS, CDMA_PUSH_STATUS_PENDING_MASK, patience);
    if (status != CDMA_OK) {
        return status;
    }
    cdma_encode(transfer, record);
    for (offset = CDMA_PUSH_SOURCE_LOW; offset <= last; offset += 4u) {
        if (offset != CDMA_PUSH_CRC || engine->geometry.crc != 0u) {
            cdma_write(engine, CDMA_PUSH_BASE + offset, (uint32_t)cdma_get(record + offset, 4u));
        }
    }
    if (cdma_owner_bits(&engine->geometry) != 0u) {
        cdma_write(engine, CDMA_PUSH_BASE + CDMA_PUSH_OWNER, transfer->owner);
    }
    if (transfer->shape != NULL) {
        cdma_extend(transfer->shape, record);
        for (offset = 0; offset < sizeof record; offset += 4u) {
            /* The one word that is reserved has no register. */
            if (offset != CDMA_SHAPE_RUN - 4u) {
                cdma_write(engine, CDMA_SHAPE_BASE + offset, (uint32_t)cdma_get(record + offset, 4u));
            }
        }
    }
    ++channel->outstanding;
    cdma_write(engine, CDMA_PUSH_BASE + CDMA_PUSH_SUBMIT, channel->submit);
    return CDMA_OK;
}

/* Whether a channel has a register for the word at an offset of a completion: not for a reserved one, nor for those of an
   option that the engine has been made without. */
static inline int cdma_has_word(const struct cdma_geometry *geometry, size_t offset) {
    if (offset < offsetof(struct cdma_completion, crc) || offset >= offsetof(struct cdma_completion, result)) {
        return 1;
    }
    if (offset == offsetof(struct cdma_completion, crc)) {
        return geometry->crc != 0u;
    }
    return geometry->lossy != 0u && offset < offsetof(struct cdma_completion, reserved);
}

/* Takes the completion at the front, if it is there: 1 or 0, or CDMA_LOST, which takes nothing. */
static inline int cdma_take(struct cdma_channel *channel, enum cdma_how how, uint32_t head, struct cdma_result *result) {
    unsigned char record[sizeof(struct cdma_completion)];
    const volatile unsigned char *slot;
    unsigned phase, due;
    uint32_t k;
    if (channel->outstanding == 0u) {
        return 0;
    }
    if (channel->entries == 0u) {
        if ((cdma_channel_read(channel, CDMA_CHANNEL_STATUS) & CDMA_CHANNEL_STATUS_COMPLETION_WAITING_MASK) == 0u) {
            return 0;
        }
        memset(record, 0, sizeof record);
        for (k = 0; k < sizeof record; k += 4u) {
            if (cdma_has_word(&channel->engine->geometry, k)) {
                cdma_put(record + k, cdma_channel_read(channel, CDMA_CHANNEL_COMPLETION_TAG + k), 4u);
            }
        }
        cdma_channel_write(channel, CDMA_CHANNEL_COMMAND, CDMA_CHANNEL_COMMAND_POP_COMPLETION_MASK);
        cdma_retire(channel);
        cdma_decode(record, result);
        return 1;
    }
    slot = channel->completions + (size_t)(channel->consumed % channel->entries) * sizeof(struct cdma_completion);
    phase = (unsigned)slot[sizeof(struct cdma_completion) - 1u] >> 7;
    due = 1u - (channel->consumed / channel->entries & 1u);
    if (how == CDMA_BY_REGISTERS ? channel->consumed == head : phase != due) {
        return 0;
    }
    /* The last word is written last: its phase vouches for the slot, which is read after it. */
    CDMA_READ_BARRIER();
    if (phase != due) {
        return CDMA_LOST;
    }
    for (k = 0; k < sizeof record; ++k) {
        record[k] = slot[k];
    }
    channel->consumed = cdma_next(channel, channel->consumed);
    cdma_retire(channel);
    cdma_decode(record, result);
    return 1;
}

/*
 * Passes over the front of the ring, whose completion was lost. What its slot
 * still holds would look new in the next pass: it gets the phase of this one.
 */
static inline void cdma_skip(struct cdma_channel *channel) {
    volatile unsigned char *last = channel->completions - 1u +
        (size_t)(channel->consumed % channel->entries + 1u) * sizeof(struct cdma_completion);
    const unsigned due = 1u - (channel->consumed / channel->entries & 1u);
    *last = (unsigned char)((*last & 0x7Fu) | due << 7);
    channel->consumed = cdma_next(channel, channel->consumed);
    cdma_retire(channel);
}

/*
 * Takes up to count completions without waiting, and returns how many, or
 * CDMA_LOST if the first of them is missing in memory.
 */
static inline int cdma_poll(
    struct cdma_channel *channel, enum cdma_how how, struct cdma_result *results, uint32_t count) {
    const uint32_t before = channel->consumed;
    uint32_t head = 0, found = 0;
    int taken = 1;
    if (how == CDMA_BY_REGISTERS && channel->entries != 0u) {
        head = cdma_channel_read(channel, CDMA_CHANNEL_COMPLETION_HEAD);
    }
    while (found < count && taken == 1) {
        taken = cdma_take(channel, how, head, &results[found]);
        if (taken == CDMA_LOST) {
            if (found == 0u) {
                cdma_skip(channel);
            } else {
                /* What was found is told first, the lost one by the next call. */
                taken = 0;
            }
        }
        found += taken == 1 ? 1u : 0u;
    }
    if (channel->consumed != before) {
        CDMA_WRITE_BARRIER();
        cdma_channel_write(channel, CDMA_CHANNEL_COMPLETION_TAIL, channel->consumed);
    }
    return taken == CDMA_LOST ? CDMA_LOST : (int)found;
}

/*
 * Waits until count completions have been taken: CDMA_OK, or CDMA_TIMEOUT after
 * patience looks in vain, or CDMA_LOST. *taken, if not NULL, is how many were.
 */
static inline int cdma_wait_counted(struct cdma_channel *channel, enum cdma_how how, struct cdma_result *results,
    uint32_t count, uint32_t patience, uint32_t *taken) {
    const struct cdma *engine = channel->engine;
    uint32_t found = 0;
    int status = CDMA_OK;
    if (taken != NULL) {
        *taken = 0;
    }
    if (count > channel->outstanding ||
        (how == CDMA_BY_IRQ && (engine->io.wait_irq == NULL || (channel->options & CDMA_IRQ) == 0u))) {
        return CDMA_BAD_ARGUMENT;
    }
    for (;;) {
        int polled;
        if (how == CDMA_BY_IRQ) {
            /* Cleared before the look: what comes after it asserts the interrupt again. */
            const uint32_t cause = cdma_channel_read(channel, CDMA_CHANNEL_IRQ_STATUS);
            if (cause != 0u) {
                cdma_channel_write(channel, CDMA_CHANNEL_IRQ_STATUS, cause);
            }
        }
        polled = cdma_poll(channel, how, results + found, count - found);
        if (polled < 0) {
            status = polled;
            break;
        }
        found += (uint32_t)polled;
        if (found == count) {
            break;
        }
        if (polled == 0 && patience-- == 0u) {
            status = CDMA_TIMEOUT;
            break;
        }
        if (how == CDMA_BY_IRQ) {
            engine->io.wait_irq(engine->io.context);
        } else {
            cdma_idle(engine);
        }
    }
    if (taken != NULL) {
        *taken = found;
    }
    return status;
}

static inline int cdma_wait(struct cdma_channel *channel, enum cdma_how how, struct cdma_result *results,
    uint32_t count, uint32_t patience) {
    return cdma_wait_counted(channel, how, results, count, patience, NULL);
}

/* ---- a channel: errors and counters ---- */

/* Goes on after a halt. */
static inline void cdma_resume(const struct cdma_channel *channel) {
    cdma_channel_write(channel, CDMA_CHANNEL_COMMAND, CDMA_CHANNEL_COMMAND_RESUME_MASK);
}

/*
 * Ends what has started with the status aborted; the channel then stands until
 * cdma_resume. Without rings the abort is not done before cdma_poll has taken
 * these completions; until then this returns CDMA_TIMEOUT.
 */
static inline int cdma_abort(const struct cdma_channel *channel, uint32_t patience) {
    cdma_channel_write(channel, CDMA_CHANNEL_COMMAND, CDMA_CHANNEL_COMMAND_ABORT_NOW_MASK);
    return cdma_until_clear(
        channel->engine, channel->base + CDMA_CHANNEL_STATUS, CDMA_CHANNEL_STATUS_ABORTING_MASK, patience);
}

static inline int cdma_halted(const struct cdma_channel *channel) {
    return (cdma_channel_read(channel, CDMA_CHANNEL_STATUS) & CDMA_CHANNEL_STATUS_HALTED_MASK) != 0u;
}

/* The first error since cdma_clear_error: 1, or 0 if there was none. */
static inline int cdma_get_error(const struct cdma_channel *channel, struct cdma_error *error) {
    const uint32_t bits = cdma_channel_read(channel, CDMA_CHANNEL_ERROR);
    if ((bits & CDMA_CHANNEL_ERROR_VALID_MASK) == 0u) {
        return 0;
    }
    error->status = (uint8_t)CDMA_GET(CDMA_CHANNEL_ERROR_STATUS, bits);
    error->tag = cdma_channel_read(channel, CDMA_CHANNEL_ERROR_TAG);
    error->address = cdma_read64(channel->engine, channel->base + CDMA_CHANNEL_ERROR_ADDRESS_LOW);
    return 1;
}

static inline void cdma_clear_error(const struct cdma_channel *channel) {
    cdma_channel_write(channel, CDMA_CHANNEL_COMMAND, CDMA_CHANNEL_COMMAND_CLEAR_ERROR_MASK);
}

/* From here on counters read as they are now, all as of one moment; they go on counting. */
static inline int cdma_hold_counters(const struct cdma_channel *channel, uint32_t patience) {
    cdma_channel_write(channel, CDMA_CHANNEL_COUNTER_HOLD, CDMA_CHANNEL_COUNTER_HOLD_HOLD_MASK);
    while ((cdma_channel_read(channel, CDMA_CHANNEL_COUNTER_HOLD) & CDMA_CHANNEL_COUNTER_HOLD_HELD_MASK) == 0u) {
        if (patience-- == 0u) {
            return CDMA_TIMEOUT;
        }
        cdma_idle(channel->engine);
    }
    return CDMA_OK;
}

static inline void cdma_release_counters(const struct cdma_channel *channel) {
    cdma_channel_write(channel, CDMA_CHANNEL_COUNTER_HOLD, 0u);
}

/* A counter, by the offset of its low half: CDMA_COUNTERS_BYTES_READ_LOW, … */
static inline uint64_t cdma_counter(const struct cdma_channel *channel, uint32_t low) {
    return cdma_read64(channel->engine, channel->counters + low);
}

#ifdef __cplusplus
}
#endif

#endif /* CDMA_H */
