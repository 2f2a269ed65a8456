/*
 * cdma_regs.h: registers, descriptors and completions of the engine.
 *
 * Generated from the description that the hardware is made from; do not edit.
 * An offset counts from the base of the register's block. Offsets, masks and
 * shifts are the same for every engine; the reset values (and with them the
 * capability registers) are those of the configuration this file is for.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CDMA_REGS_H
#define CDMA_REGS_H

#include <stddef.h>
#include <stdint.h>

/* Values of cdma_descriptor's mode. */
#define CDMA_MODE_RAW 0u
#define CDMA_MODE_ZVC 1u
#define CDMA_MODE_FVC 2u

/* How a descriptor ended. */
#define CDMA_STATUS_OK 0u
#define CDMA_STATUS_READ_SLVERR 1u
#define CDMA_STATUS_READ_DECERR 2u
#define CDMA_STATUS_WRITE_SLVERR 3u
#define CDMA_STATUS_WRITE_DECERR 4u
#define CDMA_STATUS_FETCH_SLVERR 5u
#define CDMA_STATUS_FETCH_DECERR 6u
#define CDMA_STATUS_COMPLETION_SLVERR 7u
#define CDMA_STATUS_COMPLETION_DECERR 8u
#define CDMA_STATUS_RESERVED 9u
#define CDMA_STATUS_ALIGNMENT 10u
#define CDMA_STATUS_ZERO_LENGTH 11u
#define CDMA_STATUS_LENGTH 12u
#define CDMA_STATUS_CAPACITY 13u
#define CDMA_STATUS_WINDOW 14u
#define CDMA_STATUS_STREAM_TRUNCATED 15u
#define CDMA_STATUS_STREAM_TRAILING 16u
#define CDMA_STATUS_STREAM_CODE 17u
#define CDMA_STATUS_WATCHDOG 18u
#define CDMA_STATUS_ABORTED 19u
#define CDMA_STATUS_STREAM_PADDING 20u
#define CDMA_STATUS_CRC_MISMATCH 21u
#define CDMA_STATUS_LOSSY_RANGE 22u
#define CDMA_STATUS_SHAPE 23u
#define CDMA_STATUS_MEMORY 24u
#define CDMA_STATUS_OWNER 25u

/* 64 bytes of memory, little-endian, 64-byte aligned. */
struct cdma_descriptor {
    uint64_t source; /* Byte address to read from: in device memory for offload, in host memory for prefetch. */
    uint64_t destination; /* Byte address the data is written to. */
    uint64_t length; /* Raw bytes: read by offload, written by prefetch; whole words, 1 word to 4 GiB, or any number of bytes where `engine.stream_fields.any_length` is 1. With a step whole numbers. */
    uint64_t capacity; /* Bytes that may be written from `destination` on; nothing is written past them. Of a prefetch with `delta` the byte address of the base: `length` bytes may be written. */
    uint64_t compressed_length; /* Bytes of the compressed stream: prefetch in the modes zvc and fvc, and in any with a step, reads so many; otherwise 0. Of an offload with `delta` the byte address of the base. */
    uint32_t tag; /* Any number; the completion has it too. */
    uint32_t flags; /* See the masks below. */
    uint32_t crc; /* CRC-32C that the raw bytes must have, with `check_crc`. Must be 0 where `engine.limits.crc` is 0. */
    uint32_t pages_low; /* Byte address of the list of pages of host memory after the first, a multiple of 4096; 0: host memory is one run of bytes. Must be 0 where `engine.host_port.pages` is 0. */
    uint32_t pages_high; /* The upper half of that address. */
    uint32_t owner; /* The IDs by which an SMMU finds tables: bits 0 to 19 the substream, 20 to 30 the stream, and bit 31 whether there is a substream, without which its bits are 0. Must be 0 where `engine.guards` has no bits of either. */
};
/* 0 raw copy, 1 zvc, 2 fvc. */
#define CDMA_DESCRIPTOR_MODE_MASK 0x000000ffu
#define CDMA_DESCRIPTOR_MODE_SHIFT 0u
/* 1: the completion counts towards the interrupt. Errors always do. */
#define CDMA_DESCRIPTOR_INTERRUPT_MASK 0x00000100u
#define CDMA_DESCRIPTOR_INTERRUPT_SHIFT 8u
/* 1: the CRC of the raw bytes must be `crc`. Must be 0 where `engine.limits.crc` is 0. */
#define CDMA_DESCRIPTOR_CHECK_CRC_MASK 0x00000200u
#define CDMA_DESCRIPTOR_CHECK_CRC_SHIFT 9u
/* 1: the stream has the raw data XOR the bytes from the base on, in device memory. Must be 0 where `engine.stream_fields.delta` is 0. */
#define CDMA_DESCRIPTOR_DELTA_MASK 0x00000400u
#define CDMA_DESCRIPTOR_DELTA_SHIFT 10u
/* 1: `owner` says whose the transfer is. 0: that must be 0. */
#define CDMA_DESCRIPTOR_OWNED_MASK 0x00004000u
#define CDMA_DESCRIPTOR_OWNED_SHIFT 14u
/* 1: the next entry of the ring is the extension that says a shape in device memory. Must be 0 where `engine.dev_port.dimensions` is 0. */
#define CDMA_DESCRIPTOR_SHAPED_MASK 0x00008000u
#define CDMA_DESCRIPTOR_SHAPED_SHIFT 15u
/* 0: without loss. Otherwise the data are numbers, and integers in the stream: the exponent of the step as a number stores it, with its bias. Must be 0 where `engine.limits.lossy` is 0. */
#define CDMA_DESCRIPTOR_STEP_MASK 0x00ff0000u
#define CDMA_DESCRIPTOR_STEP_SHIFT 16u
typedef char cdma_descriptor_size_assert[(sizeof(struct cdma_descriptor) == 64u) ? 1 : -1];
typedef char cdma_descriptor_source_assert[(offsetof(struct cdma_descriptor, source) == 0u) ? 1 : -1];
typedef char cdma_descriptor_destination_assert[(offsetof(struct cdma_descriptor, destination) == 8u) ? 1 : -1];
typedef char cdma_descriptor_length_assert[(offsetof(struct cdma_descriptor, length) == 16u) ? 1 : -1];
typedef char cdma_descriptor_capacity_assert[(offsetof(struct cdma_descriptor, capacity) == 24u) ? 1 : -1];
typedef char cdma_descriptor_compressed_length_assert[(offsetof(struct cdma_descriptor, compressed_length) == 32u) ? 1 : -1];
typedef char cdma_descriptor_tag_assert[(offsetof(struct cdma_descriptor, tag) == 40u) ? 1 : -1];
typedef char cdma_descriptor_flags_assert[(offsetof(struct cdma_descriptor, flags) == 44u) ? 1 : -1];
typedef char cdma_descriptor_crc_assert[(offsetof(struct cdma_descriptor, crc) == 48u) ? 1 : -1];
typedef char cdma_descriptor_pages_low_assert[(offsetof(struct cdma_descriptor, pages_low) == 52u) ? 1 : -1];
typedef char cdma_descriptor_pages_high_assert[(offsetof(struct cdma_descriptor, pages_high) == 56u) ? 1 : -1];
typedef char cdma_descriptor_owner_assert[(offsetof(struct cdma_descriptor, owner) == 60u) ? 1 : -1];

/* 64 bytes of memory, little-endian, 64-byte aligned. */
struct cdma_completion {
    uint32_t tag; /* The descriptor's tag. */
    uint32_t literals; /* Words stored as literals; literals / words is the tensor's density. 0 for a raw copy. */
    uint64_t bytes_read; /* Bytes taken from the source. */
    uint64_t bytes_written; /* Bytes written to the destination: the compressed length of an offload. */
    uint64_t cycles; /* Clock cycles from taking the descriptor up to its last write response; wraps at 2**32. */
    uint64_t address; /* The address that belongs to `status`; 0 if there is none. */
    uint32_t crc; /* CRC-32C of the raw bytes that passed, before the compressor or after the decompressor: with a step, of the integers. 0 if none were moved, and where `engine.limits.crc` is 0. */
    uint32_t range_count; /* Numbers of an offload with a step that are NaN, infinite or too large for it: what was written in their place is not within the bound. 0 where `engine.limits.lossy` is 0. */
    uint32_t range_first; /* The index of the first of them; 0 if there is none. */
    uint32_t reserved[2]; /* Must be 0. */
    uint32_t result; /* See the masks below. */
};
/* How it ended; 0 is well. */
#define CDMA_COMPLETION_STATUS_MASK 0x000000ffu
#define CDMA_COMPLETION_STATUS_SHIFT 0u
/* 1 in the ring's first pass, 0 in the second, and so on: a slot with another phase is old. */
#define CDMA_COMPLETION_PHASE_MASK 0x80000000u
#define CDMA_COMPLETION_PHASE_SHIFT 31u
typedef char cdma_completion_size_assert[(sizeof(struct cdma_completion) == 64u) ? 1 : -1];
typedef char cdma_completion_tag_assert[(offsetof(struct cdma_completion, tag) == 0u) ? 1 : -1];
typedef char cdma_completion_literals_assert[(offsetof(struct cdma_completion, literals) == 4u) ? 1 : -1];
typedef char cdma_completion_bytes_read_assert[(offsetof(struct cdma_completion, bytes_read) == 8u) ? 1 : -1];
typedef char cdma_completion_bytes_written_assert[(offsetof(struct cdma_completion, bytes_written) == 16u) ? 1 : -1];
typedef char cdma_completion_cycles_assert[(offsetof(struct cdma_completion, cycles) == 24u) ? 1 : -1];
typedef char cdma_completion_address_assert[(offsetof(struct cdma_completion, address) == 32u) ? 1 : -1];
typedef char cdma_completion_crc_assert[(offsetof(struct cdma_completion, crc) == 40u) ? 1 : -1];
typedef char cdma_completion_range_count_assert[(offsetof(struct cdma_completion, range_count) == 44u) ? 1 : -1];
typedef char cdma_completion_range_first_assert[(offsetof(struct cdma_completion, range_first) == 48u) ? 1 : -1];
typedef char cdma_completion_result_assert[(offsetof(struct cdma_completion, result) == 60u) ? 1 : -1];

/* engine: What this engine is, and what concerns both channels. */
#define CDMA_ENGINE_BASE 0x000u

/* engine.ident: The bytes `cDMA`; anything else is not this engine. */
#define CDMA_ENGINE_IDENT 0x000u
#define CDMA_ENGINE_IDENT_RESET 0x414d4463u
#define CDMA_ENGINE_IDENT_VALUE_MASK 0xffffffffu
#define CDMA_ENGINE_IDENT_VALUE_SHIFT 0u

/* engine.version: Version of this register map. A higher minor version only adds. */
#define CDMA_ENGINE_VERSION 0x004u
#define CDMA_ENGINE_VERSION_RESET 0x00020001u
#define CDMA_ENGINE_VERSION_MINOR_MASK 0x0000ffffu
#define CDMA_ENGINE_VERSION_MINOR_SHIFT 0u
#define CDMA_ENGINE_VERSION_MAJOR_MASK 0xffff0000u
#define CDMA_ENGINE_VERSION_MAJOR_SHIFT 16u

/* engine.stream_format: Format of the compressed streams, and lanes of the codec. */
#define CDMA_ENGINE_STREAM_FORMAT 0x008u
#define CDMA_ENGINE_STREAM_FORMAT_RESET 0x08112020u
#define CDMA_ENGINE_STREAM_FORMAT_WORD_BITS_MASK 0x000000ffu
#define CDMA_ENGINE_STREAM_FORMAT_WORD_BITS_SHIFT 0u
#define CDMA_ENGINE_STREAM_FORMAT_WINDOW_MASK 0x0000ff00u
#define CDMA_ENGINE_STREAM_FORMAT_WINDOW_SHIFT 8u
#define CDMA_ENGINE_STREAM_FORMAT_CODE_BITS_MASK 0x000f0000u
#define CDMA_ENGINE_STREAM_FORMAT_CODE_BITS_SHIFT 16u
#define CDMA_ENGINE_STREAM_FORMAT_TABLE_SIZE_MASK 0x00f00000u
#define CDMA_ENGINE_STREAM_FORMAT_TABLE_SIZE_SHIFT 20u
#define CDMA_ENGINE_STREAM_FORMAT_LANES_MASK 0xff000000u
#define CDMA_ENGINE_STREAM_FORMAT_LANES_SHIFT 24u

/* engine.dev_port: Geometry of the dev port. */
#define CDMA_ENGINE_DEV_PORT 0x00cu
#define CDMA_ENGINE_DEV_PORT_RESET 0x05400100u
#define CDMA_ENGINE_DEV_PORT_DATA_BITS_MASK 0x000007ffu
#define CDMA_ENGINE_DEV_PORT_DATA_BITS_SHIFT 0u
#define CDMA_ENGINE_DEV_PORT_USER_BITS_MASK 0x0000f800u
#define CDMA_ENGINE_DEV_PORT_USER_BITS_SHIFT 11u
#define CDMA_ENGINE_DEV_PORT_ADDRESS_BITS_MASK 0x007f0000u
#define CDMA_ENGINE_DEV_PORT_ADDRESS_BITS_SHIFT 16u
#define CDMA_ENGINE_DEV_PORT_ALIGN_LOG2_MASK 0x0f000000u
#define CDMA_ENGINE_DEV_PORT_ALIGN_LOG2_SHIFT 24u
#define CDMA_ENGINE_DEV_PORT_SIDEBAND_MASK 0x10000000u
#define CDMA_ENGINE_DEV_PORT_SIDEBAND_SHIFT 28u
#define CDMA_ENGINE_DEV_PORT_GUARDED_MASK 0x00800000u
#define CDMA_ENGINE_DEV_PORT_GUARDED_SHIFT 23u
#define CDMA_ENGINE_DEV_PORT_DIMENSIONS_MASK 0xe0000000u
#define CDMA_ENGINE_DEV_PORT_DIMENSIONS_SHIFT 29u

/* engine.host_port: Geometry of the host port. */
#define CDMA_ENGINE_HOST_PORT 0x010u
#define CDMA_ENGINE_HOST_PORT_RESET 0x05400100u
#define CDMA_ENGINE_HOST_PORT_DATA_BITS_MASK 0x000007ffu
#define CDMA_ENGINE_HOST_PORT_DATA_BITS_SHIFT 0u
#define CDMA_ENGINE_HOST_PORT_USER_BITS_MASK 0x0000f800u
#define CDMA_ENGINE_HOST_PORT_USER_BITS_SHIFT 11u
#define CDMA_ENGINE_HOST_PORT_ADDRESS_BITS_MASK 0x007f0000u
#define CDMA_ENGINE_HOST_PORT_ADDRESS_BITS_SHIFT 16u
#define CDMA_ENGINE_HOST_PORT_ALIGN_LOG2_MASK 0x0f000000u
#define CDMA_ENGINE_HOST_PORT_ALIGN_LOG2_SHIFT 24u
#define CDMA_ENGINE_HOST_PORT_SIDEBAND_MASK 0x10000000u
#define CDMA_ENGINE_HOST_PORT_SIDEBAND_SHIFT 28u
#define CDMA_ENGINE_HOST_PORT_GUARDED_MASK 0x00800000u
#define CDMA_ENGINE_HOST_PORT_GUARDED_SHIFT 23u
#define CDMA_ENGINE_HOST_PORT_PAGES_MASK 0x20000000u
#define CDMA_ENGINE_HOST_PORT_PAGES_SHIFT 29u
#define CDMA_ENGINE_HOST_PORT_MESSAGES_MASK 0x40000000u
#define CDMA_ENGINE_HOST_PORT_MESSAGES_SHIFT 30u

/* engine.bursts: How the ports issue bursts. */
#define CDMA_ENGINE_BURSTS 0x014u
#define CDMA_ENGINE_BURSTS_RESET 0x10102020u
#define CDMA_ENGINE_BURSTS_BEATS_MASK 0x000001ffu
#define CDMA_ENGINE_BURSTS_BEATS_SHIFT 0u
#define CDMA_ENGINE_BURSTS_RING_READS_MASK 0x0000fe00u
#define CDMA_ENGINE_BURSTS_RING_READS_SHIFT 9u
#define CDMA_ENGINE_BURSTS_OUTSTANDING_MASK 0x01ff0000u
#define CDMA_ENGINE_BURSTS_OUTSTANDING_SHIFT 16u
#define CDMA_ENGINE_BURSTS_RING_WRITES_MASK 0xfe000000u
#define CDMA_ENGINE_BURSTS_RING_WRITES_SHIFT 25u

/* engine.limits: Limits of rings and counters. */
#define CDMA_ENGINE_LIMITS 0x018u
#define CDMA_ENGINE_LIMITS_RESET 0xc10c401au
#define CDMA_ENGINE_LIMITS_RING_LOG2_MASK 0x0000000fu
#define CDMA_ENGINE_LIMITS_RING_LOG2_SHIFT 0u
#define CDMA_ENGINE_LIMITS_CRC_MASK 0x00000010u
#define CDMA_ENGINE_LIMITS_CRC_SHIFT 4u
#define CDMA_ENGINE_LIMITS_LOSSY_MASK 0x00000060u
#define CDMA_ENGINE_LIMITS_LOSSY_SHIFT 5u
#define CDMA_ENGINE_LIMITS_KEEP_NONZERO_MASK 0x00000080u
#define CDMA_ENGINE_LIMITS_KEEP_NONZERO_SHIFT 7u
#define CDMA_ENGINE_LIMITS_RECORD_BYTES_MASK 0x0000ff00u
#define CDMA_ENGINE_LIMITS_RECORD_BYTES_SHIFT 8u
#define CDMA_ENGINE_LIMITS_COUNTERS_MASK 0x00ff0000u
#define CDMA_ENGINE_LIMITS_COUNTERS_SHIFT 16u
#define CDMA_ENGINE_LIMITS_UNITS_MASK 0x0f000000u
#define CDMA_ENGINE_LIMITS_UNITS_SHIFT 24u
#define CDMA_ENGINE_LIMITS_STRIPE_LOG2_MASK 0xf0000000u
#define CDMA_ENGINE_LIMITS_STRIPE_LOG2_SHIFT 28u

/* engine.stream_fields: Format of the compressed streams, continued: what codes are about, and the padding of windows. */
#define CDMA_ENGINE_STREAM_FIELDS 0x01cu
#define CDMA_ENGINE_STREAM_FIELDS_RESET 0x00000000u
#define CDMA_ENGINE_STREAM_FIELDS_FIELD_BITS_MASK 0x000000ffu
#define CDMA_ENGINE_STREAM_FIELDS_FIELD_BITS_SHIFT 0u
#define CDMA_ENGINE_STREAM_FIELDS_ROTATE_MASK 0x0000ff00u
#define CDMA_ENGINE_STREAM_FIELDS_ROTATE_SHIFT 8u
#define CDMA_ENGINE_STREAM_FIELDS_ZERO_MASK 0x00010000u
#define CDMA_ENGINE_STREAM_FIELDS_ZERO_SHIFT 16u
#define CDMA_ENGINE_STREAM_FIELDS_GROUPED_MASK 0x00020000u
#define CDMA_ENGINE_STREAM_FIELDS_GROUPED_SHIFT 17u
#define CDMA_ENGINE_STREAM_FIELDS_DELTA_MASK 0x00040000u
#define CDMA_ENGINE_STREAM_FIELDS_DELTA_SHIFT 18u
#define CDMA_ENGINE_STREAM_FIELDS_TWO_LEVELS_MASK 0x00080000u
#define CDMA_ENGINE_STREAM_FIELDS_TWO_LEVELS_SHIFT 19u
#define CDMA_ENGINE_STREAM_FIELDS_PAIRS_BEYOND_MASK 0x00700000u
#define CDMA_ENGINE_STREAM_FIELDS_PAIRS_BEYOND_SHIFT 20u
#define CDMA_ENGINE_STREAM_FIELDS_ALIGN_LOG2_MASK 0x0f000000u
#define CDMA_ENGINE_STREAM_FIELDS_ALIGN_LOG2_SHIFT 24u
#define CDMA_ENGINE_STREAM_FIELDS_ANY_LENGTH_MASK 0x10000000u
#define CDMA_ENGINE_STREAM_FIELDS_ANY_LENGTH_SHIFT 28u
#define CDMA_ENGINE_STREAM_FIELDS_MORE_PAIRS_MASK 0xe0000000u
#define CDMA_ENGINE_STREAM_FIELDS_MORE_PAIRS_SHIFT 29u

/* engine.command: Acts on the whole engine. */
#define CDMA_ENGINE_COMMAND 0x020u
#define CDMA_ENGINE_COMMAND_RESET 0x00000000u
#define CDMA_ENGINE_COMMAND_SOFT_RESET_MASK 0x00000001u
#define CDMA_ENGINE_COMMAND_SOFT_RESET_SHIFT 0u
#define CDMA_ENGINE_COMMAND_CLEAR_COUNTERS_MASK 0x00000002u
#define CDMA_ENGINE_COMMAND_CLEAR_COUNTERS_SHIFT 1u
#define CDMA_ENGINE_COMMAND_CLEAR_DENIED_MASK 0x00000004u
#define CDMA_ENGINE_COMMAND_CLEAR_DENIED_SHIFT 2u
#define CDMA_ENGINE_COMMAND_CLEAR_FLIPS_MASK 0x00000008u
#define CDMA_ENGINE_COMMAND_CLEAR_FLIPS_SHIFT 3u

/* engine.status: State of the whole engine. */
#define CDMA_ENGINE_STATUS 0x024u
#define CDMA_ENGINE_STATUS_RESET 0x00000000u
#define CDMA_ENGINE_STATUS_RESETTING_MASK 0x00000001u
#define CDMA_ENGINE_STATUS_RESETTING_SHIFT 0u
#define CDMA_ENGINE_STATUS_OFFLOAD_IRQ_MASK 0x00000100u
#define CDMA_ENGINE_STATUS_OFFLOAD_IRQ_SHIFT 8u
#define CDMA_ENGINE_STATUS_PREFETCH_IRQ_MASK 0x00000200u
#define CDMA_ENGINE_STATUS_PREFETCH_IRQ_SHIFT 9u

/* engine.watchdog: Clock cycles that a port may leave an open transaction without an answer; 0 is for ever. */
#define CDMA_ENGINE_WATCHDOG 0x028u
#define CDMA_ENGINE_WATCHDOG_RESET 0x00000000u
#define CDMA_ENGINE_WATCHDOG_VALUE_MASK 0xffffffffu
#define CDMA_ENGINE_WATCHDOG_VALUE_SHIFT 0u

/* engine.guards: What else is checked; there where `host_port.guarded` is 1. */
#define CDMA_ENGINE_GUARDS 0x02cu
#define CDMA_ENGINE_GUARDS_RESET 0x00000000u
#define CDMA_ENGINE_GUARDS_REGISTER_PROTECTION_MASK 0x00000003u
#define CDMA_ENGINE_GUARDS_REGISTER_PROTECTION_SHIFT 0u
#define CDMA_ENGINE_GUARDS_MEMORIES_PROTECT_MASK 0x0000000cu
#define CDMA_ENGINE_GUARDS_MEMORIES_PROTECT_SHIFT 2u
#define CDMA_ENGINE_GUARDS_STREAM_ID_BITS_MASK 0x000000f0u
#define CDMA_ENGINE_GUARDS_STREAM_ID_BITS_SHIFT 4u
#define CDMA_ENGINE_GUARDS_SUBSTREAM_ID_BITS_MASK 0x00001f00u
#define CDMA_ENGINE_GUARDS_SUBSTREAM_ID_BITS_SHIFT 8u

/* engine.denied: Accesses without the right, since the last `command.clear_denied` or reset of the hardware; a soft reset leaves them. The first one is kept. */
#define CDMA_ENGINE_DENIED 0x030u
#define CDMA_ENGINE_DENIED_RESET 0x00000000u
#define CDMA_ENGINE_DENIED_ADDRESS_MASK 0x00000fffu
#define CDMA_ENGINE_DENIED_ADDRESS_SHIFT 0u
#define CDMA_ENGINE_DENIED_PROT_MASK 0x00007000u
#define CDMA_ENGINE_DENIED_PROT_SHIFT 12u
#define CDMA_ENGINE_DENIED_WRITE_MASK 0x00008000u
#define CDMA_ENGINE_DENIED_WRITE_SHIFT 15u
#define CDMA_ENGINE_DENIED_COUNT_MASK 0x7fff0000u
#define CDMA_ENGINE_DENIED_COUNT_SHIFT 16u

/* engine.flips: Words in memories that were found wrong, since the last `command.clear_flips` or reset of the hardware; a soft reset leaves them. A word counts once for as long as a reader has it. Each number stays at its largest. */
#define CDMA_ENGINE_FLIPS 0x034u
#define CDMA_ENGINE_FLIPS_RESET 0x00000000u
#define CDMA_ENGINE_FLIPS_CORRECTED_MASK 0x0000ffffu
#define CDMA_ENGINE_FLIPS_CORRECTED_SHIFT 0u
#define CDMA_ENGINE_FLIPS_LOST_MASK 0xffff0000u
#define CDMA_ENGINE_FLIPS_LOST_SHIFT 16u

/* engine.groups: Bursts that a port with groups reads before it writes, and the other way, while both wait; 0: as they come. In several queue pairs, that of the first. See docs/options/dram.md. */
#define CDMA_ENGINE_GROUPS 0x038u
#define CDMA_ENGINE_GROUPS_RESET 0x00000000u
#define CDMA_ENGINE_GROUPS_VALUE_MASK 0x000001ffu
#define CDMA_ENGINE_GROUPS_VALUE_SHIFT 0u

/* dev_window: The addresses that the engine may touch on the dev port: after a reset of the hardware none, until these registers say which. A descriptor, a ring or a completion that reaches outside is refused before its first transaction. */
#define CDMA_DEV_WINDOW_BASE 0x100u

/* dev_window.base_low: The lowest address that may be touched, a multiple of 4 KiB. Bits 31 to 0. */
#define CDMA_DEV_WINDOW_BASE_LOW 0x000u
#define CDMA_DEV_WINDOW_BASE_LOW_RESET 0xfffff000u
#define CDMA_DEV_WINDOW_BASE_LOW_PAGE_MASK 0xfffff000u
#define CDMA_DEV_WINDOW_BASE_LOW_PAGE_SHIFT 12u

/* dev_window.base_high: The lowest address that may be touched, a multiple of 4 KiB. Bits 63 to 32. */
#define CDMA_DEV_WINDOW_BASE_HIGH 0x004u
#define CDMA_DEV_WINDOW_BASE_HIGH_RESET 0xffffffffu
#define CDMA_DEV_WINDOW_BASE_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_DEV_WINDOW_BASE_HIGH_VALUE_SHIFT 0u

/* dev_window.limit_low: The highest address that may be touched, the last byte of 4 KiB. Below the base: nothing may be. Bits 31 to 0. */
#define CDMA_DEV_WINDOW_LIMIT_LOW 0x008u
#define CDMA_DEV_WINDOW_LIMIT_LOW_RESET 0x00000fffu
#define CDMA_DEV_WINDOW_LIMIT_LOW_ONES_MASK 0x00000fffu
#define CDMA_DEV_WINDOW_LIMIT_LOW_ONES_SHIFT 0u
#define CDMA_DEV_WINDOW_LIMIT_LOW_PAGE_MASK 0xfffff000u
#define CDMA_DEV_WINDOW_LIMIT_LOW_PAGE_SHIFT 12u

/* dev_window.limit_high: The highest address that may be touched, the last byte of 4 KiB. Below the base: nothing may be. Bits 63 to 32. */
#define CDMA_DEV_WINDOW_LIMIT_HIGH 0x00cu
#define CDMA_DEV_WINDOW_LIMIT_HIGH_RESET 0x00000000u
#define CDMA_DEV_WINDOW_LIMIT_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_DEV_WINDOW_LIMIT_HIGH_VALUE_SHIFT 0u

/* dev_window.lock: Freezes the window until the hardware is reset. */
#define CDMA_DEV_WINDOW_LOCK 0x010u
#define CDMA_DEV_WINDOW_LOCK_RESET 0x00000000u
#define CDMA_DEV_WINDOW_LOCK_LOCKED_MASK 0x00000001u
#define CDMA_DEV_WINDOW_LOCK_LOCKED_SHIFT 0u

/* host_window: The addresses that the engine may touch on the host port: after a reset of the hardware none, until these registers say which. A descriptor, a ring or a completion that reaches outside is refused before its first transaction. */
#define CDMA_HOST_WINDOW_BASE 0x120u

/* host_window.base_low: The lowest address that may be touched, a multiple of 4 KiB. Bits 31 to 0. */
#define CDMA_HOST_WINDOW_BASE_LOW 0x000u
#define CDMA_HOST_WINDOW_BASE_LOW_RESET 0xfffff000u
#define CDMA_HOST_WINDOW_BASE_LOW_PAGE_MASK 0xfffff000u
#define CDMA_HOST_WINDOW_BASE_LOW_PAGE_SHIFT 12u

/* host_window.base_high: The lowest address that may be touched, a multiple of 4 KiB. Bits 63 to 32. */
#define CDMA_HOST_WINDOW_BASE_HIGH 0x004u
#define CDMA_HOST_WINDOW_BASE_HIGH_RESET 0xffffffffu
#define CDMA_HOST_WINDOW_BASE_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_HOST_WINDOW_BASE_HIGH_VALUE_SHIFT 0u

/* host_window.limit_low: The highest address that may be touched, the last byte of 4 KiB. Below the base: nothing may be. Bits 31 to 0. */
#define CDMA_HOST_WINDOW_LIMIT_LOW 0x008u
#define CDMA_HOST_WINDOW_LIMIT_LOW_RESET 0x00000fffu
#define CDMA_HOST_WINDOW_LIMIT_LOW_ONES_MASK 0x00000fffu
#define CDMA_HOST_WINDOW_LIMIT_LOW_ONES_SHIFT 0u
#define CDMA_HOST_WINDOW_LIMIT_LOW_PAGE_MASK 0xfffff000u
#define CDMA_HOST_WINDOW_LIMIT_LOW_PAGE_SHIFT 12u

/* host_window.limit_high: The highest address that may be touched, the last byte of 4 KiB. Below the base: nothing may be. Bits 63 to 32. */
#define CDMA_HOST_WINDOW_LIMIT_HIGH 0x00cu
#define CDMA_HOST_WINDOW_LIMIT_HIGH_RESET 0x00000000u
#define CDMA_HOST_WINDOW_LIMIT_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_HOST_WINDOW_LIMIT_HIGH_VALUE_SHIFT 0u

/* host_window.lock: Freezes the window until the hardware is reset. */
#define CDMA_HOST_WINDOW_LOCK 0x010u
#define CDMA_HOST_WINDOW_LOCK_RESET 0x00000000u
#define CDMA_HOST_WINDOW_LOCK_LOCKED_MASK 0x00000001u
#define CDMA_HOST_WINDOW_LOCK_LOCKED_SHIFT 0u

/* push: One descriptor given through registers instead of a ring: fill it in, then submit it to a channel. The fields lie as in a descriptor in memory; the reserved ones have no registers. */
#define CDMA_PUSH_BASE 0x180u

/* push.source_low: Byte address to read from: in device memory for offload, in host memory for prefetch. */
#define CDMA_PUSH_SOURCE_LOW 0x000u
#define CDMA_PUSH_SOURCE_LOW_RESET 0x00000000u
#define CDMA_PUSH_SOURCE_LOW_VALUE_MASK 0xffffffffu
#define CDMA_PUSH_SOURCE_LOW_VALUE_SHIFT 0u

/* push.source_high: Byte address to read from: in device memory for offload, in host memory for prefetch. */
#define CDMA_PUSH_SOURCE_HIGH 0x004u
#define CDMA_PUSH_SOURCE_HIGH_RESET 0x00000000u
#define CDMA_PUSH_SOURCE_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_PUSH_SOURCE_HIGH_VALUE_SHIFT 0u

/* push.destination_low: Byte address the data is written to. */
#define CDMA_PUSH_DESTINATION_LOW 0x008u
#define CDMA_PUSH_DESTINATION_LOW_RESET 0x00000000u
#define CDMA_PUSH_DESTINATION_LOW_VALUE_MASK 0xffffffffu
#define CDMA_PUSH_DESTINATION_LOW_VALUE_SHIFT 0u

/* push.destination_high: Byte address the data is written to. */
#define CDMA_PUSH_DESTINATION_HIGH 0x00cu
#define CDMA_PUSH_DESTINATION_HIGH_RESET 0x00000000u
#define CDMA_PUSH_DESTINATION_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_PUSH_DESTINATION_HIGH_VALUE_SHIFT 0u

/* push.length_low: Raw bytes: read by offload, written by prefetch; whole words, 1 word to 4 GiB, or any number of bytes where `engine.stream_fields.any_length` is 1. With a step whole numbers. */
#define CDMA_PUSH_LENGTH_LOW 0x010u
#define CDMA_PUSH_LENGTH_LOW_RESET 0x00000000u
#define CDMA_PUSH_LENGTH_LOW_VALUE_MASK 0xffffffffu
#define CDMA_PUSH_LENGTH_LOW_VALUE_SHIFT 0u

/* push.length_high: Raw bytes: read by offload, written by prefetch; whole words, 1 word to 4 GiB, or any number of bytes where `engine.stream_fields.any_length` is 1. With a step whole numbers. */
#define CDMA_PUSH_LENGTH_HIGH 0x014u
#define CDMA_PUSH_LENGTH_HIGH_RESET 0x00000000u
#define CDMA_PUSH_LENGTH_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_PUSH_LENGTH_HIGH_VALUE_SHIFT 0u

/* push.capacity_low: Bytes that may be written from `destination` on; nothing is written past them. Of a prefetch with `delta` the byte address of the base: `length` bytes may be written. */
#define CDMA_PUSH_CAPACITY_LOW 0x018u
#define CDMA_PUSH_CAPACITY_LOW_RESET 0x00000000u
#define CDMA_PUSH_CAPACITY_LOW_VALUE_MASK 0xffffffffu
#define CDMA_PUSH_CAPACITY_LOW_VALUE_SHIFT 0u

/* push.capacity_high: Bytes that may be written from `destination` on; nothing is written past them. Of a prefetch with `delta` the byte address of the base: `length` bytes may be written. */
#define CDMA_PUSH_CAPACITY_HIGH 0x01cu
#define CDMA_PUSH_CAPACITY_HIGH_RESET 0x00000000u
#define CDMA_PUSH_CAPACITY_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_PUSH_CAPACITY_HIGH_VALUE_SHIFT 0u

/* push.compressed_length_low: Bytes of the compressed stream: prefetch in the modes zvc and fvc, and in any with a step, reads so many; otherwise 0. Of an offload with `delta` the byte address of the base. */
#define CDMA_PUSH_COMPRESSED_LENGTH_LOW 0x020u
#define CDMA_PUSH_COMPRESSED_LENGTH_LOW_RESET 0x00000000u
#define CDMA_PUSH_COMPRESSED_LENGTH_LOW_VALUE_MASK 0xffffffffu
#define CDMA_PUSH_COMPRESSED_LENGTH_LOW_VALUE_SHIFT 0u

/* push.compressed_length_high: Bytes of the compressed stream: prefetch in the modes zvc and fvc, and in any with a step, reads so many; otherwise 0. Of an offload with `delta` the byte address of the base. */
#define CDMA_PUSH_COMPRESSED_LENGTH_HIGH 0x024u
#define CDMA_PUSH_COMPRESSED_LENGTH_HIGH_RESET 0x00000000u
#define CDMA_PUSH_COMPRESSED_LENGTH_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_PUSH_COMPRESSED_LENGTH_HIGH_VALUE_SHIFT 0u

/* push.tag: Any number; the completion has it too. */
#define CDMA_PUSH_TAG 0x028u
#define CDMA_PUSH_TAG_RESET 0x00000000u
#define CDMA_PUSH_TAG_VALUE_MASK 0xffffffffu
#define CDMA_PUSH_TAG_VALUE_SHIFT 0u

/* push.flags: mode, interrupt, check_crc, delta, owned, shaped, step. */
#define CDMA_PUSH_FLAGS 0x02cu
#define CDMA_PUSH_FLAGS_RESET 0x00000000u
#define CDMA_PUSH_FLAGS_MODE_MASK 0x000000ffu
#define CDMA_PUSH_FLAGS_MODE_SHIFT 0u
#define CDMA_PUSH_FLAGS_INTERRUPT_MASK 0x00000100u
#define CDMA_PUSH_FLAGS_INTERRUPT_SHIFT 8u
#define CDMA_PUSH_FLAGS_CHECK_CRC_MASK 0x00000200u
#define CDMA_PUSH_FLAGS_CHECK_CRC_SHIFT 9u
#define CDMA_PUSH_FLAGS_DELTA_MASK 0x00000400u
#define CDMA_PUSH_FLAGS_DELTA_SHIFT 10u
#define CDMA_PUSH_FLAGS_OWNED_MASK 0x00004000u
#define CDMA_PUSH_FLAGS_OWNED_SHIFT 14u
#define CDMA_PUSH_FLAGS_SHAPED_MASK 0x00008000u
#define CDMA_PUSH_FLAGS_SHAPED_SHIFT 15u
#define CDMA_PUSH_FLAGS_STEP_MASK 0x00ff0000u
#define CDMA_PUSH_FLAGS_STEP_SHIFT 16u

/* push.crc: CRC-32C that the raw bytes must have, with `check_crc`. Must be 0 where `engine.limits.crc` is 0. */
#define CDMA_PUSH_CRC 0x030u
#define CDMA_PUSH_CRC_RESET 0x00000000u
#define CDMA_PUSH_CRC_VALUE_MASK 0xffffffffu
#define CDMA_PUSH_CRC_VALUE_SHIFT 0u

/* push.pages_low: Byte address of the list of pages of host memory after the first, a multiple of 4096; 0: host memory is one run of bytes. Must be 0 where `engine.host_port.pages` is 0. */
#define CDMA_PUSH_PAGES_LOW 0x034u
#define CDMA_PUSH_PAGES_LOW_RESET 0x00000000u
#define CDMA_PUSH_PAGES_LOW_VALUE_MASK 0xffffffffu
#define CDMA_PUSH_PAGES_LOW_VALUE_SHIFT 0u

/* push.pages_high: The upper half of that address. */
#define CDMA_PUSH_PAGES_HIGH 0x038u
#define CDMA_PUSH_PAGES_HIGH_RESET 0x00000000u
#define CDMA_PUSH_PAGES_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_PUSH_PAGES_HIGH_VALUE_SHIFT 0u

/* push.owner: The IDs by which an SMMU finds tables: bits 0 to 19 the substream, 20 to 30 the stream, and bit 31 whether there is a substream, without which its bits are 0. Must be 0 where `engine.guards` has no bits of either. */
#define CDMA_PUSH_OWNER 0x03cu
#define CDMA_PUSH_OWNER_RESET 0x00000000u
#define CDMA_PUSH_OWNER_VALUE_MASK 0xffffffffu
#define CDMA_PUSH_OWNER_VALUE_SHIFT 0u

/* push.submit: Hands the descriptor over. */
#define CDMA_PUSH_SUBMIT 0x040u
#define CDMA_PUSH_SUBMIT_RESET 0x00000000u
#define CDMA_PUSH_SUBMIT_OFFLOAD_MASK 0x00000001u
#define CDMA_PUSH_SUBMIT_OFFLOAD_SHIFT 0u
#define CDMA_PUSH_SUBMIT_PREFETCH_MASK 0x00000002u
#define CDMA_PUSH_SUBMIT_PREFETCH_SHIFT 1u

/* push.status: Whether the descriptor has been taken. */
#define CDMA_PUSH_STATUS 0x044u
#define CDMA_PUSH_STATUS_RESET 0x00000000u
#define CDMA_PUSH_STATUS_PENDING_MASK 0x00000001u
#define CDMA_PUSH_STATUS_PENDING_SHIFT 0u

/* channel: One direction: offload reads the dev port, compresses and writes the host port; prefetch reads the host port, decompresses and writes the dev port. Its rings are in host memory. */
#define CDMA_OFFLOAD_BASE 0x200u
#define CDMA_PREFETCH_BASE 0x300u

/* channel.control: What the channel may do. */
#define CDMA_CHANNEL_CONTROL 0x000u
#define CDMA_CHANNEL_CONTROL_RESET 0x00000000u
#define CDMA_CHANNEL_CONTROL_ENABLE_MASK 0x00000001u
#define CDMA_CHANNEL_CONTROL_ENABLE_SHIFT 0u
#define CDMA_CHANNEL_CONTROL_HALT_ON_ERROR_MASK 0x00000002u
#define CDMA_CHANNEL_CONTROL_HALT_ON_ERROR_SHIFT 1u
#define CDMA_CHANNEL_CONTROL_RING_ENABLE_MASK 0x00000004u
#define CDMA_CHANNEL_CONTROL_RING_ENABLE_SHIFT 2u
#define CDMA_CHANNEL_CONTROL_COMPLETION_RING_ENABLE_MASK 0x00000008u
#define CDMA_CHANNEL_CONTROL_COMPLETION_RING_ENABLE_SHIFT 3u

/* channel.command: Acts on the channel. */
#define CDMA_CHANNEL_COMMAND 0x004u
#define CDMA_CHANNEL_COMMAND_RESET 0x00000000u
#define CDMA_CHANNEL_COMMAND_ABORT_NOW_MASK 0x00000001u
#define CDMA_CHANNEL_COMMAND_ABORT_NOW_SHIFT 0u
#define CDMA_CHANNEL_COMMAND_RESUME_MASK 0x00000002u
#define CDMA_CHANNEL_COMMAND_RESUME_SHIFT 1u
#define CDMA_CHANNEL_COMMAND_CLEAR_ERROR_MASK 0x00000004u
#define CDMA_CHANNEL_COMMAND_CLEAR_ERROR_SHIFT 2u
#define CDMA_CHANNEL_COMMAND_POP_COMPLETION_MASK 0x00000008u
#define CDMA_CHANNEL_COMMAND_POP_COMPLETION_SHIFT 3u

/* channel.status: State of the channel. */
#define CDMA_CHANNEL_STATUS 0x008u
#define CDMA_CHANNEL_STATUS_RESET 0x00000000u
#define CDMA_CHANNEL_STATUS_BUSY_MASK 0x00000001u
#define CDMA_CHANNEL_STATUS_BUSY_SHIFT 0u
#define CDMA_CHANNEL_STATUS_HALTED_MASK 0x00000002u
#define CDMA_CHANNEL_STATUS_HALTED_SHIFT 1u
#define CDMA_CHANNEL_STATUS_ABORTING_MASK 0x00000004u
#define CDMA_CHANNEL_STATUS_ABORTING_SHIFT 2u
#define CDMA_CHANNEL_STATUS_STUCK_MASK 0x00000008u
#define CDMA_CHANNEL_STATUS_STUCK_SHIFT 3u
#define CDMA_CHANNEL_STATUS_COMPLETION_WAITING_MASK 0x00000100u
#define CDMA_CHANNEL_STATUS_COMPLETION_WAITING_SHIFT 8u

/* channel.irq_status: Why there is an interrupt. Clear it first, then look for completions: none is missed so. */
#define CDMA_CHANNEL_IRQ_STATUS 0x00cu
#define CDMA_CHANNEL_IRQ_STATUS_RESET 0x00000000u
#define CDMA_CHANNEL_IRQ_STATUS_COMPLETION_MASK 0x00000001u
#define CDMA_CHANNEL_IRQ_STATUS_COMPLETION_SHIFT 0u
#define CDMA_CHANNEL_IRQ_STATUS_ERROR_MASK 0x00000002u
#define CDMA_CHANNEL_IRQ_STATUS_ERROR_SHIFT 1u

/* channel.irq_enable: Which of them assert the interrupt. */
#define CDMA_CHANNEL_IRQ_ENABLE 0x010u
#define CDMA_CHANNEL_IRQ_ENABLE_RESET 0x00000000u
#define CDMA_CHANNEL_IRQ_ENABLE_COMPLETION_MASK 0x00000001u
#define CDMA_CHANNEL_IRQ_ENABLE_COMPLETION_SHIFT 0u
#define CDMA_CHANNEL_IRQ_ENABLE_ERROR_MASK 0x00000002u
#define CDMA_CHANNEL_IRQ_ENABLE_ERROR_SHIFT 1u

/* channel.coalesce_count: Completions that want it per interrupt; 0 is taken as 1. */
#define CDMA_CHANNEL_COALESCE_COUNT 0x014u
#define CDMA_CHANNEL_COALESCE_COUNT_RESET 0x00000000u
#define CDMA_CHANNEL_COALESCE_COUNT_VALUE_MASK 0x000000ffu
#define CDMA_CHANNEL_COALESCE_COUNT_VALUE_SHIFT 0u

/* channel.coalesce_cycles: Clock cycles after the first uncounted completion that raise the interrupt anyway, up to 16 late for each queue pair; 0 is never. */
#define CDMA_CHANNEL_COALESCE_CYCLES 0x018u
#define CDMA_CHANNEL_COALESCE_CYCLES_RESET 0x00000000u
#define CDMA_CHANNEL_COALESCE_CYCLES_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_COALESCE_CYCLES_VALUE_SHIFT 0u

/* channel.ring_size: Size of both rings; change it only while both are disabled. */
#define CDMA_CHANNEL_RING_SIZE 0x01cu
#define CDMA_CHANNEL_RING_SIZE_RESET 0x0000000au
#define CDMA_CHANNEL_RING_SIZE_LOG2_MASK 0x0000000fu
#define CDMA_CHANNEL_RING_SIZE_LOG2_SHIFT 0u

/* channel.ring_base_low: Where the descriptor ring begins; 64-byte aligned. Bits 31 to 0. */
#define CDMA_CHANNEL_RING_BASE_LOW 0x020u
#define CDMA_CHANNEL_RING_BASE_LOW_RESET 0x00000000u
#define CDMA_CHANNEL_RING_BASE_LOW_LINE_MASK 0xffffffc0u
#define CDMA_CHANNEL_RING_BASE_LOW_LINE_SHIFT 6u

/* channel.ring_base_high: Where the descriptor ring begins; 64-byte aligned. Bits 63 to 32. */
#define CDMA_CHANNEL_RING_BASE_HIGH 0x024u
#define CDMA_CHANNEL_RING_BASE_HIGH_RESET 0x00000000u
#define CDMA_CHANNEL_RING_BASE_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_RING_BASE_HIGH_VALUE_SHIFT 0u

/* channel.ring_head: Descriptors fetched. Runs on past the ring's size and wraps at twice the largest ring. */
#define CDMA_CHANNEL_RING_HEAD 0x028u
#define CDMA_CHANNEL_RING_HEAD_RESET 0x00000000u
#define CDMA_CHANNEL_RING_HEAD_VALUE_MASK 0x000007ffu
#define CDMA_CHANNEL_RING_HEAD_VALUE_SHIFT 0u

/* channel.ring_tail: The doorbell: descriptors written by software, counted like the head. */
#define CDMA_CHANNEL_RING_TAIL 0x02cu
#define CDMA_CHANNEL_RING_TAIL_RESET 0x00000000u
#define CDMA_CHANNEL_RING_TAIL_VALUE_MASK 0x000007ffu
#define CDMA_CHANNEL_RING_TAIL_VALUE_SHIFT 0u

/* channel.completion_base_low: Where the completion ring begins; 64-byte aligned. Bits 31 to 0. */
#define CDMA_CHANNEL_COMPLETION_BASE_LOW 0x030u
#define CDMA_CHANNEL_COMPLETION_BASE_LOW_RESET 0x00000000u
#define CDMA_CHANNEL_COMPLETION_BASE_LOW_LINE_MASK 0xffffffc0u
#define CDMA_CHANNEL_COMPLETION_BASE_LOW_LINE_SHIFT 6u

/* channel.completion_base_high: Where the completion ring begins; 64-byte aligned. Bits 63 to 32. */
#define CDMA_CHANNEL_COMPLETION_BASE_HIGH 0x034u
#define CDMA_CHANNEL_COMPLETION_BASE_HIGH_RESET 0x00000000u
#define CDMA_CHANNEL_COMPLETION_BASE_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_COMPLETION_BASE_HIGH_VALUE_SHIFT 0u

/* channel.completion_head: Completions whose write has been answered, counted like the ring's. One whose write failed counts, too: see `error`; its slot may not show it. */
#define CDMA_CHANNEL_COMPLETION_HEAD 0x038u
#define CDMA_CHANNEL_COMPLETION_HEAD_RESET 0x00000000u
#define CDMA_CHANNEL_COMPLETION_HEAD_VALUE_MASK 0x000007ffu
#define CDMA_CHANNEL_COMPLETION_HEAD_VALUE_SHIFT 0u

/* channel.completion_tail: Completions that software has consumed; the engine waits rather than overwrite the others. */
#define CDMA_CHANNEL_COMPLETION_TAIL 0x03cu
#define CDMA_CHANNEL_COMPLETION_TAIL_RESET 0x00000000u
#define CDMA_CHANNEL_COMPLETION_TAIL_VALUE_MASK 0x000007ffu
#define CDMA_CHANNEL_COMPLETION_TAIL_VALUE_SHIFT 0u

/* channel.error: The first error since the last `command.clear_error`. Its status, tag and address mean nothing while `valid` is 0. */
#define CDMA_CHANNEL_ERROR 0x040u
#define CDMA_CHANNEL_ERROR_RESET 0x00000000u
#define CDMA_CHANNEL_ERROR_STATUS_MASK 0x000000ffu
#define CDMA_CHANNEL_ERROR_STATUS_SHIFT 0u
#define CDMA_CHANNEL_ERROR_STATUS_OK 0u
#define CDMA_CHANNEL_ERROR_STATUS_READ_SLVERR 1u
#define CDMA_CHANNEL_ERROR_STATUS_READ_DECERR 2u
#define CDMA_CHANNEL_ERROR_STATUS_WRITE_SLVERR 3u
#define CDMA_CHANNEL_ERROR_STATUS_WRITE_DECERR 4u
#define CDMA_CHANNEL_ERROR_STATUS_FETCH_SLVERR 5u
#define CDMA_CHANNEL_ERROR_STATUS_FETCH_DECERR 6u
#define CDMA_CHANNEL_ERROR_STATUS_COMPLETION_SLVERR 7u
#define CDMA_CHANNEL_ERROR_STATUS_COMPLETION_DECERR 8u
#define CDMA_CHANNEL_ERROR_STATUS_RESERVED 9u
#define CDMA_CHANNEL_ERROR_STATUS_ALIGNMENT 10u
#define CDMA_CHANNEL_ERROR_STATUS_ZERO_LENGTH 11u
#define CDMA_CHANNEL_ERROR_STATUS_LENGTH 12u
#define CDMA_CHANNEL_ERROR_STATUS_CAPACITY 13u
#define CDMA_CHANNEL_ERROR_STATUS_WINDOW 14u
#define CDMA_CHANNEL_ERROR_STATUS_STREAM_TRUNCATED 15u
#define CDMA_CHANNEL_ERROR_STATUS_STREAM_TRAILING 16u
#define CDMA_CHANNEL_ERROR_STATUS_STREAM_CODE 17u
#define CDMA_CHANNEL_ERROR_STATUS_WATCHDOG 18u
#define CDMA_CHANNEL_ERROR_STATUS_ABORTED 19u
#define CDMA_CHANNEL_ERROR_STATUS_STREAM_PADDING 20u
#define CDMA_CHANNEL_ERROR_STATUS_CRC_MISMATCH 21u
#define CDMA_CHANNEL_ERROR_STATUS_LOSSY_RANGE 22u
#define CDMA_CHANNEL_ERROR_STATUS_SHAPE 23u
#define CDMA_CHANNEL_ERROR_STATUS_MEMORY 24u
#define CDMA_CHANNEL_ERROR_STATUS_OWNER 25u
#define CDMA_CHANNEL_ERROR_VALID_MASK 0x80000000u
#define CDMA_CHANNEL_ERROR_VALID_SHIFT 31u

/* channel.error_tag: Tag of the descriptor that failed; 0 if it could not be fetched, or if the host stays silent under its completion. */
#define CDMA_CHANNEL_ERROR_TAG 0x044u
#define CDMA_CHANNEL_ERROR_TAG_RESET 0x00000000u
#define CDMA_CHANNEL_ERROR_TAG_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_ERROR_TAG_VALUE_SHIFT 0u

/* channel.error_address_low: The address that belongs to the cause. Bits 31 to 0. */
#define CDMA_CHANNEL_ERROR_ADDRESS_LOW 0x048u
#define CDMA_CHANNEL_ERROR_ADDRESS_LOW_RESET 0x00000000u
#define CDMA_CHANNEL_ERROR_ADDRESS_LOW_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_ERROR_ADDRESS_LOW_VALUE_SHIFT 0u

/* channel.error_address_high: The address that belongs to the cause. Bits 63 to 32. */
#define CDMA_CHANNEL_ERROR_ADDRESS_HIGH 0x04cu
#define CDMA_CHANNEL_ERROR_ADDRESS_HIGH_RESET 0x00000000u
#define CDMA_CHANNEL_ERROR_ADDRESS_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_ERROR_ADDRESS_HIGH_VALUE_SHIFT 0u

/* channel.table: The frequent values that mode fvc uses, lowest code first: `engine.stream_format.table_size` registers, at most 15, each with a word or the value of a field in its low bits. Change them only while the channel is idle. After a reset, `command.soft_reset` too, each is the first of the format's values: write them before a transfer of mode fvc. */
#define CDMA_CHANNEL_TABLE(k) (0x050u + 4u * (k))
#define CDMA_CHANNEL_TABLE_COUNT 1u
#define CDMA_CHANNEL_TABLE_RESET 0x00000000u
#define CDMA_CHANNEL_TABLE_ENTRY_MASK 0xffffffffu
#define CDMA_CHANNEL_TABLE_ENTRY_SHIFT 0u

/* channel.counter_hold: All counters of the channel at one moment, up to 32 cycles apart; the numbers of a completion are in all of them or in none. */
#define CDMA_CHANNEL_COUNTER_HOLD 0x090u
#define CDMA_CHANNEL_COUNTER_HOLD_RESET 0x00000000u
#define CDMA_CHANNEL_COUNTER_HOLD_HOLD_MASK 0x00000001u
#define CDMA_CHANNEL_COUNTER_HOLD_HOLD_SHIFT 0u
#define CDMA_CHANNEL_COUNTER_HOLD_HELD_MASK 0x00000002u
#define CDMA_CHANNEL_COUNTER_HOLD_HELD_SHIFT 1u

/* channel.dev_sideband: What addresses of data in device memory say beside. What is written while `status.busy` is 1 waits until it is 0, so that nothing changes under way. */
#define CDMA_CHANNEL_DEV_SIDEBAND 0x094u
#define CDMA_CHANNEL_DEV_SIDEBAND_RESET 0x00000003u
#define CDMA_CHANNEL_DEV_SIDEBAND_CACHE_MASK 0x0000000fu
#define CDMA_CHANNEL_DEV_SIDEBAND_CACHE_SHIFT 0u
#define CDMA_CHANNEL_DEV_SIDEBAND_PROT_MASK 0x00000070u
#define CDMA_CHANNEL_DEV_SIDEBAND_PROT_SHIFT 4u
#define CDMA_CHANNEL_DEV_SIDEBAND_QOS_MASK 0x00000f00u
#define CDMA_CHANNEL_DEV_SIDEBAND_QOS_SHIFT 8u
#define CDMA_CHANNEL_DEV_SIDEBAND_USER_MASK 0xffff0000u
#define CDMA_CHANNEL_DEV_SIDEBAND_USER_SHIFT 16u

/* channel.host_sideband: What addresses of data in host memory say beside. What is written while `status.busy` is 1 waits until it is 0, so that nothing changes under way. */
#define CDMA_CHANNEL_HOST_SIDEBAND 0x098u
#define CDMA_CHANNEL_HOST_SIDEBAND_RESET 0x00000003u
#define CDMA_CHANNEL_HOST_SIDEBAND_CACHE_MASK 0x0000000fu
#define CDMA_CHANNEL_HOST_SIDEBAND_CACHE_SHIFT 0u
#define CDMA_CHANNEL_HOST_SIDEBAND_PROT_MASK 0x00000070u
#define CDMA_CHANNEL_HOST_SIDEBAND_PROT_SHIFT 4u
#define CDMA_CHANNEL_HOST_SIDEBAND_QOS_MASK 0x00000f00u
#define CDMA_CHANNEL_HOST_SIDEBAND_QOS_SHIFT 8u
#define CDMA_CHANNEL_HOST_SIDEBAND_USER_MASK 0xffff0000u
#define CDMA_CHANNEL_HOST_SIDEBAND_USER_SHIFT 16u

/* channel.ring_sideband: What addresses of the channel's rings say beside. What is written while `status.busy` is 1 waits until it is 0, so that nothing changes under way. */
#define CDMA_CHANNEL_RING_SIDEBAND 0x09cu
#define CDMA_CHANNEL_RING_SIDEBAND_RESET 0x00000003u
#define CDMA_CHANNEL_RING_SIDEBAND_CACHE_MASK 0x0000000fu
#define CDMA_CHANNEL_RING_SIDEBAND_CACHE_SHIFT 0u
#define CDMA_CHANNEL_RING_SIDEBAND_PROT_MASK 0x00000070u
#define CDMA_CHANNEL_RING_SIDEBAND_PROT_SHIFT 4u
#define CDMA_CHANNEL_RING_SIDEBAND_QOS_MASK 0x00000f00u
#define CDMA_CHANNEL_RING_SIDEBAND_QOS_SHIFT 8u
#define CDMA_CHANNEL_RING_SIDEBAND_USER_MASK 0xffff0000u
#define CDMA_CHANNEL_RING_SIDEBAND_USER_SHIFT 16u

/* channel.completion_tag: The descriptor's tag. */
#define CDMA_CHANNEL_COMPLETION_TAG 0x0c0u
#define CDMA_CHANNEL_COMPLETION_TAG_RESET 0x00000000u
#define CDMA_CHANNEL_COMPLETION_TAG_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_COMPLETION_TAG_VALUE_SHIFT 0u

/* channel.completion_literals: Words stored as literals; literals / words is the tensor's density. 0 for a raw copy. */
#define CDMA_CHANNEL_COMPLETION_LITERALS 0x0c4u
#define CDMA_CHANNEL_COMPLETION_LITERALS_RESET 0x00000000u
#define CDMA_CHANNEL_COMPLETION_LITERALS_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_COMPLETION_LITERALS_VALUE_SHIFT 0u

/* channel.completion_bytes_read_low: Bytes taken from the source. */
#define CDMA_CHANNEL_COMPLETION_BYTES_READ_LOW 0x0c8u
#define CDMA_CHANNEL_COMPLETION_BYTES_READ_LOW_RESET 0x00000000u
#define CDMA_CHANNEL_COMPLETION_BYTES_READ_LOW_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_COMPLETION_BYTES_READ_LOW_VALUE_SHIFT 0u

/* channel.completion_bytes_read_high: Bytes taken from the source. */
#define CDMA_CHANNEL_COMPLETION_BYTES_READ_HIGH 0x0ccu
#define CDMA_CHANNEL_COMPLETION_BYTES_READ_HIGH_RESET 0x00000000u
#define CDMA_CHANNEL_COMPLETION_BYTES_READ_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_COMPLETION_BYTES_READ_HIGH_VALUE_SHIFT 0u

/* channel.completion_bytes_written_low: Bytes written to the destination: the compressed length of an offload. */
#define CDMA_CHANNEL_COMPLETION_BYTES_WRITTEN_LOW 0x0d0u
#define CDMA_CHANNEL_COMPLETION_BYTES_WRITTEN_LOW_RESET 0x00000000u
#define CDMA_CHANNEL_COMPLETION_BYTES_WRITTEN_LOW_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_COMPLETION_BYTES_WRITTEN_LOW_VALUE_SHIFT 0u

/* channel.completion_bytes_written_high: Bytes written to the destination: the compressed length of an offload. */
#define CDMA_CHANNEL_COMPLETION_BYTES_WRITTEN_HIGH 0x0d4u
#define CDMA_CHANNEL_COMPLETION_BYTES_WRITTEN_HIGH_RESET 0x00000000u
#define CDMA_CHANNEL_COMPLETION_BYTES_WRITTEN_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_COMPLETION_BYTES_WRITTEN_HIGH_VALUE_SHIFT 0u

/* channel.completion_cycles_low: Clock cycles from taking the descriptor up to its last write response; wraps at 2**32. */
#define CDMA_CHANNEL_COMPLETION_CYCLES_LOW 0x0d8u
#define CDMA_CHANNEL_COMPLETION_CYCLES_LOW_RESET 0x00000000u
#define CDMA_CHANNEL_COMPLETION_CYCLES_LOW_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_COMPLETION_CYCLES_LOW_VALUE_SHIFT 0u

/* channel.completion_cycles_high: Clock cycles from taking the descriptor up to its last write response; wraps at 2**32. */
#define CDMA_CHANNEL_COMPLETION_CYCLES_HIGH 0x0dcu
#define CDMA_CHANNEL_COMPLETION_CYCLES_HIGH_RESET 0x00000000u
#define CDMA_CHANNEL_COMPLETION_CYCLES_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_COMPLETION_CYCLES_HIGH_VALUE_SHIFT 0u

/* channel.completion_address_low: The address that belongs to `status`; 0 if there is none. */
#define CDMA_CHANNEL_COMPLETION_ADDRESS_LOW 0x0e0u
#define CDMA_CHANNEL_COMPLETION_ADDRESS_LOW_RESET 0x00000000u
#define CDMA_CHANNEL_COMPLETION_ADDRESS_LOW_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_COMPLETION_ADDRESS_LOW_VALUE_SHIFT 0u

/* channel.completion_address_high: The address that belongs to `status`; 0 if there is none. */
#define CDMA_CHANNEL_COMPLETION_ADDRESS_HIGH 0x0e4u
#define CDMA_CHANNEL_COMPLETION_ADDRESS_HIGH_RESET 0x00000000u
#define CDMA_CHANNEL_COMPLETION_ADDRESS_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_COMPLETION_ADDRESS_HIGH_VALUE_SHIFT 0u

/* channel.completion_crc: CRC-32C of the raw bytes that passed, before the compressor or after the decompressor: with a step, of the integers. 0 if none were moved, and where `engine.limits.crc` is 0. */
#define CDMA_CHANNEL_COMPLETION_CRC 0x0e8u
#define CDMA_CHANNEL_COMPLETION_CRC_RESET 0x00000000u
#define CDMA_CHANNEL_COMPLETION_CRC_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_COMPLETION_CRC_VALUE_SHIFT 0u

/* channel.completion_range_count: Numbers of an offload with a step that are NaN, infinite or too large for it: what was written in their place is not within the bound. 0 where `engine.limits.lossy` is 0. */
#define CDMA_CHANNEL_COMPLETION_RANGE_COUNT 0x0ecu
#define CDMA_CHANNEL_COMPLETION_RANGE_COUNT_RESET 0x00000000u
#define CDMA_CHANNEL_COMPLETION_RANGE_COUNT_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_COMPLETION_RANGE_COUNT_VALUE_SHIFT 0u

/* channel.completion_range_first: The index of the first of them; 0 if there is none. */
#define CDMA_CHANNEL_COMPLETION_RANGE_FIRST 0x0f0u
#define CDMA_CHANNEL_COMPLETION_RANGE_FIRST_RESET 0x00000000u
#define CDMA_CHANNEL_COMPLETION_RANGE_FIRST_VALUE_MASK 0xffffffffu
#define CDMA_CHANNEL_COMPLETION_RANGE_FIRST_VALUE_SHIFT 0u

/* channel.completion_result: status, phase. */
#define CDMA_CHANNEL_COMPLETION_RESULT 0x0fcu
#define CDMA_CHANNEL_COMPLETION_RESULT_RESET 0x00000000u
#define CDMA_CHANNEL_COMPLETION_RESULT_STATUS_MASK 0x000000ffu
#define CDMA_CHANNEL_COMPLETION_RESULT_STATUS_SHIFT 0u
#define CDMA_CHANNEL_COMPLETION_RESULT_PHASE_MASK 0x80000000u
#define CDMA_CHANNEL_COMPLETION_RESULT_PHASE_SHIFT 31u

/* counters: What a channel has done, 64 bits each. Reading a low half latches its high half: read low, then high, from one thread at a time, and the 64 bits belong together. */
#define CDMA_OFFLOAD_COUNTERS_BASE 0x400u
#define CDMA_PREFETCH_COUNTERS_BASE 0x480u

/* counters.cycles_low: Clock cycles with at least one descriptor in flight. Bits 31 to 0; reading latches the rest. */
#define CDMA_COUNTERS_CYCLES_LOW 0x000u
#define CDMA_COUNTERS_CYCLES_LOW_RESET 0x00000000u
#define CDMA_COUNTERS_CYCLES_LOW_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_CYCLES_LOW_VALUE_SHIFT 0u

/* counters.cycles_high: Clock cycles with at least one descriptor in flight. Bits 63 to 32, as of the last read of a low half. */
#define CDMA_COUNTERS_CYCLES_HIGH 0x004u
#define CDMA_COUNTERS_CYCLES_HIGH_RESET 0x00000000u
#define CDMA_COUNTERS_CYCLES_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_CYCLES_HIGH_VALUE_SHIFT 0u

/* counters.bytes_read_low: Bytes read from sources, summed over completions. Bits 31 to 0; reading latches the rest. */
#define CDMA_COUNTERS_BYTES_READ_LOW 0x008u
#define CDMA_COUNTERS_BYTES_READ_LOW_RESET 0x00000000u
#define CDMA_COUNTERS_BYTES_READ_LOW_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_BYTES_READ_LOW_VALUE_SHIFT 0u

/* counters.bytes_read_high: Bytes read from sources, summed over completions. Bits 63 to 32, as of the last read of a low half. */
#define CDMA_COUNTERS_BYTES_READ_HIGH 0x00cu
#define CDMA_COUNTERS_BYTES_READ_HIGH_RESET 0x00000000u
#define CDMA_COUNTERS_BYTES_READ_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_BYTES_READ_HIGH_VALUE_SHIFT 0u

/* counters.bytes_written_low: Bytes written to destinations, summed over completions. Bits 31 to 0; reading latches the rest. */
#define CDMA_COUNTERS_BYTES_WRITTEN_LOW 0x010u
#define CDMA_COUNTERS_BYTES_WRITTEN_LOW_RESET 0x00000000u
#define CDMA_COUNTERS_BYTES_WRITTEN_LOW_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_BYTES_WRITTEN_LOW_VALUE_SHIFT 0u

/* counters.bytes_written_high: Bytes written to destinations, summed over completions. Bits 63 to 32, as of the last read of a low half. */
#define CDMA_COUNTERS_BYTES_WRITTEN_HIGH 0x014u
#define CDMA_COUNTERS_BYTES_WRITTEN_HIGH_RESET 0x00000000u
#define CDMA_COUNTERS_BYTES_WRITTEN_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_BYTES_WRITTEN_HIGH_VALUE_SHIFT 0u

/* counters.literals_low: Words stored as literals, summed over completions. Bits 31 to 0; reading latches the rest. */
#define CDMA_COUNTERS_LITERALS_LOW 0x018u
#define CDMA_COUNTERS_LITERALS_LOW_RESET 0x00000000u
#define CDMA_COUNTERS_LITERALS_LOW_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_LITERALS_LOW_VALUE_SHIFT 0u

/* counters.literals_high: Words stored as literals, summed over completions. Bits 63 to 32, as of the last read of a low half. */
#define CDMA_COUNTERS_LITERALS_HIGH 0x01cu
#define CDMA_COUNTERS_LITERALS_HIGH_RESET 0x00000000u
#define CDMA_COUNTERS_LITERALS_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_LITERALS_HIGH_VALUE_SHIFT 0u

/* counters.raw_words_low: Raw words that were compressed or decompressed: literals / raw_words is the density. Bits 31 to 0; reading latches the rest. */
#define CDMA_COUNTERS_RAW_WORDS_LOW 0x020u
#define CDMA_COUNTERS_RAW_WORDS_LOW_RESET 0x00000000u
#define CDMA_COUNTERS_RAW_WORDS_LOW_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_RAW_WORDS_LOW_VALUE_SHIFT 0u

/* counters.raw_words_high: Raw words that were compressed or decompressed: literals / raw_words is the density. Bits 63 to 32, as of the last read of a low half. */
#define CDMA_COUNTERS_RAW_WORDS_HIGH 0x024u
#define CDMA_COUNTERS_RAW_WORDS_HIGH_RESET 0x00000000u
#define CDMA_COUNTERS_RAW_WORDS_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_RAW_WORDS_HIGH_VALUE_SHIFT 0u

/* counters.descriptors_low: Descriptors completed, whether well or not. Bits 31 to 0; reading latches the rest. */
#define CDMA_COUNTERS_DESCRIPTORS_LOW 0x028u
#define CDMA_COUNTERS_DESCRIPTORS_LOW_RESET 0x00000000u
#define CDMA_COUNTERS_DESCRIPTORS_LOW_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_DESCRIPTORS_LOW_VALUE_SHIFT 0u

/* counters.descriptors_high: Descriptors completed, whether well or not. Bits 63 to 32, as of the last read of a low half. */
#define CDMA_COUNTERS_DESCRIPTORS_HIGH 0x02cu
#define CDMA_COUNTERS_DESCRIPTORS_HIGH_RESET 0x00000000u
#define CDMA_COUNTERS_DESCRIPTORS_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_DESCRIPTORS_HIGH_VALUE_SHIFT 0u

/* counters.errors_low: Descriptors that ended with an error, and completions that could not be written. Bits 31 to 0; reading latches the rest. */
#define CDMA_COUNTERS_ERRORS_LOW 0x030u
#define CDMA_COUNTERS_ERRORS_LOW_RESET 0x00000000u
#define CDMA_COUNTERS_ERRORS_LOW_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_ERRORS_LOW_VALUE_SHIFT 0u

/* counters.errors_high: Descriptors that ended with an error, and completions that could not be written. Bits 63 to 32, as of the last read of a low half. */
#define CDMA_COUNTERS_ERRORS_HIGH 0x034u
#define CDMA_COUNTERS_ERRORS_HIGH_RESET 0x00000000u
#define CDMA_COUNTERS_ERRORS_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_ERRORS_HIGH_VALUE_SHIFT 0u

/* counters.read_beats_low: Beats of data taken from the read port. Bits 31 to 0; reading latches the rest. */
#define CDMA_COUNTERS_READ_BEATS_LOW 0x038u
#define CDMA_COUNTERS_READ_BEATS_LOW_RESET 0x00000000u
#define CDMA_COUNTERS_READ_BEATS_LOW_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_READ_BEATS_LOW_VALUE_SHIFT 0u

/* counters.read_beats_high: Beats of data taken from the read port. Bits 63 to 32, as of the last read of a low half. */
#define CDMA_COUNTERS_READ_BEATS_HIGH 0x03cu
#define CDMA_COUNTERS_READ_BEATS_HIGH_RESET 0x00000000u
#define CDMA_COUNTERS_READ_BEATS_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_READ_BEATS_HIGH_VALUE_SHIFT 0u

/* counters.write_beats_low: Beats of data given to the write port. Bits 31 to 0; reading latches the rest. */
#define CDMA_COUNTERS_WRITE_BEATS_LOW 0x040u
#define CDMA_COUNTERS_WRITE_BEATS_LOW_RESET 0x00000000u
#define CDMA_COUNTERS_WRITE_BEATS_LOW_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_WRITE_BEATS_LOW_VALUE_SHIFT 0u

/* counters.write_beats_high: Beats of data given to the write port. Bits 63 to 32, as of the last read of a low half. */
#define CDMA_COUNTERS_WRITE_BEATS_HIGH 0x044u
#define CDMA_COUNTERS_WRITE_BEATS_HIGH_RESET 0x00000000u
#define CDMA_COUNTERS_WRITE_BEATS_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_WRITE_BEATS_HIGH_VALUE_SHIFT 0u

/* counters.stall_source_low: Cycles with a descriptor in flight in which the codec could have taken a beat but none had been read. Bits 31 to 0; reading latches the rest. */
#define CDMA_COUNTERS_STALL_SOURCE_LOW 0x048u
#define CDMA_COUNTERS_STALL_SOURCE_LOW_RESET 0x00000000u
#define CDMA_COUNTERS_STALL_SOURCE_LOW_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_STALL_SOURCE_LOW_VALUE_SHIFT 0u

/* counters.stall_source_high: Cycles with a descriptor in flight in which the codec could have taken a beat but none had been read. Bits 63 to 32, as of the last read of a low half. */
#define CDMA_COUNTERS_STALL_SOURCE_HIGH 0x04cu
#define CDMA_COUNTERS_STALL_SOURCE_HIGH_RESET 0x00000000u
#define CDMA_COUNTERS_STALL_SOURCE_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_STALL_SOURCE_HIGH_VALUE_SHIFT 0u

/* counters.stall_codec_low: Cycles in which a beat was there but the codec, its output not blocked, did not take it. Bits 31 to 0; reading latches the rest. */
#define CDMA_COUNTERS_STALL_CODEC_LOW 0x050u
#define CDMA_COUNTERS_STALL_CODEC_LOW_RESET 0x00000000u
#define CDMA_COUNTERS_STALL_CODEC_LOW_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_STALL_CODEC_LOW_VALUE_SHIFT 0u

/* counters.stall_codec_high: Cycles in which a beat was there but the codec, its output not blocked, did not take it. Bits 63 to 32, as of the last read of a low half. */
#define CDMA_COUNTERS_STALL_CODEC_HIGH 0x054u
#define CDMA_COUNTERS_STALL_CODEC_HIGH_RESET 0x00000000u
#define CDMA_COUNTERS_STALL_CODEC_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_STALL_CODEC_HIGH_VALUE_SHIFT 0u

/* counters.stall_sink_low: Cycles in which the codec had a beat but the write side did not take it. Bits 31 to 0; reading latches the rest. */
#define CDMA_COUNTERS_STALL_SINK_LOW 0x058u
#define CDMA_COUNTERS_STALL_SINK_LOW_RESET 0x00000000u
#define CDMA_COUNTERS_STALL_SINK_LOW_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_STALL_SINK_LOW_VALUE_SHIFT 0u

/* counters.stall_sink_high: Cycles in which the codec had a beat but the write side did not take it. Bits 63 to 32, as of the last read of a low half. */
#define CDMA_COUNTERS_STALL_SINK_HIGH 0x05cu
#define CDMA_COUNTERS_STALL_SINK_HIGH_RESET 0x00000000u
#define CDMA_COUNTERS_STALL_SINK_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_COUNTERS_STALL_SINK_HIGH_VALUE_SHIFT 0u

/* shape: The shape of the descriptor in the block `push`, where that has `shaped`. Write it before `push.submit`, and not while `push.status.pending` is 1. The fields lie as in the extension in memory. */
#define CDMA_SHAPE_BASE 0x500u

/* shape.stride_1_low: Bytes from an entry of dimension 1 to the next, signed. */
#define CDMA_SHAPE_STRIDE_1_LOW 0x000u
#define CDMA_SHAPE_STRIDE_1_LOW_RESET 0x00000000u
#define CDMA_SHAPE_STRIDE_1_LOW_VALUE_MASK 0xffffffffu
#define CDMA_SHAPE_STRIDE_1_LOW_VALUE_SHIFT 0u

/* shape.stride_1_high: Bytes from an entry of dimension 1 to the next, signed. */
#define CDMA_SHAPE_STRIDE_1_HIGH 0x004u
#define CDMA_SHAPE_STRIDE_1_HIGH_RESET 0x00000000u
#define CDMA_SHAPE_STRIDE_1_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_SHAPE_STRIDE_1_HIGH_VALUE_SHIFT 0u

/* shape.stride_2_low: Bytes from an entry of dimension 2 to the next, signed. */
#define CDMA_SHAPE_STRIDE_2_LOW 0x008u
#define CDMA_SHAPE_STRIDE_2_LOW_RESET 0x00000000u
#define CDMA_SHAPE_STRIDE_2_LOW_VALUE_MASK 0xffffffffu
#define CDMA_SHAPE_STRIDE_2_LOW_VALUE_SHIFT 0u

/* shape.stride_2_high: Bytes from an entry of dimension 2 to the next, signed. */
#define CDMA_SHAPE_STRIDE_2_HIGH 0x00cu
#define CDMA_SHAPE_STRIDE_2_HIGH_RESET 0x00000000u
#define CDMA_SHAPE_STRIDE_2_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_SHAPE_STRIDE_2_HIGH_VALUE_SHIFT 0u

/* shape.stride_3_low: Bytes from an entry of dimension 3 to the next, signed. */
#define CDMA_SHAPE_STRIDE_3_LOW 0x010u
#define CDMA_SHAPE_STRIDE_3_LOW_RESET 0x00000000u
#define CDMA_SHAPE_STRIDE_3_LOW_VALUE_MASK 0xffffffffu
#define CDMA_SHAPE_STRIDE_3_LOW_VALUE_SHIFT 0u

/* shape.stride_3_high: Bytes from an entry of dimension 3 to the next, signed. */
#define CDMA_SHAPE_STRIDE_3_HIGH 0x014u
#define CDMA_SHAPE_STRIDE_3_HIGH_RESET 0x00000000u
#define CDMA_SHAPE_STRIDE_3_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_SHAPE_STRIDE_3_HIGH_VALUE_SHIFT 0u

/* shape.stride_4_low: Bytes from an entry of dimension 4 to the next, signed. */
#define CDMA_SHAPE_STRIDE_4_LOW 0x018u
#define CDMA_SHAPE_STRIDE_4_LOW_RESET 0x00000000u
#define CDMA_SHAPE_STRIDE_4_LOW_VALUE_MASK 0xffffffffu
#define CDMA_SHAPE_STRIDE_4_LOW_VALUE_SHIFT 0u

/* shape.stride_4_high: Bytes from an entry of dimension 4 to the next, signed. */
#define CDMA_SHAPE_STRIDE_4_HIGH 0x01cu
#define CDMA_SHAPE_STRIDE_4_HIGH_RESET 0x00000000u
#define CDMA_SHAPE_STRIDE_4_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_SHAPE_STRIDE_4_HIGH_VALUE_SHIFT 0u

/* shape.extent_1: count_1, before_1, after_1. */
#define CDMA_SHAPE_EXTENT_1 0x020u
#define CDMA_SHAPE_EXTENT_1_RESET 0x00000000u
#define CDMA_SHAPE_EXTENT_1_COUNT_1_MASK 0x0000ffffu
#define CDMA_SHAPE_EXTENT_1_COUNT_1_SHIFT 0u
#define CDMA_SHAPE_EXTENT_1_BEFORE_1_MASK 0x00ff0000u
#define CDMA_SHAPE_EXTENT_1_BEFORE_1_SHIFT 16u
#define CDMA_SHAPE_EXTENT_1_AFTER_1_MASK 0xff000000u
#define CDMA_SHAPE_EXTENT_1_AFTER_1_SHIFT 24u

/* shape.extent_2: count_2, before_2, after_2. */
#define CDMA_SHAPE_EXTENT_2 0x024u
#define CDMA_SHAPE_EXTENT_2_RESET 0x00000000u
#define CDMA_SHAPE_EXTENT_2_COUNT_2_MASK 0x0000ffffu
#define CDMA_SHAPE_EXTENT_2_COUNT_2_SHIFT 0u
#define CDMA_SHAPE_EXTENT_2_BEFORE_2_MASK 0x00ff0000u
#define CDMA_SHAPE_EXTENT_2_BEFORE_2_SHIFT 16u
#define CDMA_SHAPE_EXTENT_2_AFTER_2_MASK 0xff000000u
#define CDMA_SHAPE_EXTENT_2_AFTER_2_SHIFT 24u

/* shape.extent_3: count_3, before_3, after_3. */
#define CDMA_SHAPE_EXTENT_3 0x028u
#define CDMA_SHAPE_EXTENT_3_RESET 0x00000000u
#define CDMA_SHAPE_EXTENT_3_COUNT_3_MASK 0x0000ffffu
#define CDMA_SHAPE_EXTENT_3_COUNT_3_SHIFT 0u
#define CDMA_SHAPE_EXTENT_3_BEFORE_3_MASK 0x00ff0000u
#define CDMA_SHAPE_EXTENT_3_BEFORE_3_SHIFT 16u
#define CDMA_SHAPE_EXTENT_3_AFTER_3_MASK 0xff000000u
#define CDMA_SHAPE_EXTENT_3_AFTER_3_SHIFT 24u

/* shape.order: order_1, order_2, order_3, order_4. */
#define CDMA_SHAPE_ORDER 0x02cu
#define CDMA_SHAPE_ORDER_RESET 0x00000000u
#define CDMA_SHAPE_ORDER_ORDER_1_MASK 0x00000003u
#define CDMA_SHAPE_ORDER_ORDER_1_SHIFT 0u
#define CDMA_SHAPE_ORDER_ORDER_2_MASK 0x0000000cu
#define CDMA_SHAPE_ORDER_ORDER_2_SHIFT 2u
#define CDMA_SHAPE_ORDER_ORDER_3_MASK 0x00000030u
#define CDMA_SHAPE_ORDER_ORDER_3_SHIFT 4u
#define CDMA_SHAPE_ORDER_ORDER_4_MASK 0x000000c0u
#define CDMA_SHAPE_ORDER_ORDER_4_SHIFT 6u

/* shape.extent_4: count_4, before_4, after_4. */
#define CDMA_SHAPE_EXTENT_4 0x030u
#define CDMA_SHAPE_EXTENT_4_RESET 0x00000000u
#define CDMA_SHAPE_EXTENT_4_COUNT_4_MASK 0x0000ffffu
#define CDMA_SHAPE_EXTENT_4_COUNT_4_SHIFT 0u
#define CDMA_SHAPE_EXTENT_4_BEFORE_4_MASK 0x00ff0000u
#define CDMA_SHAPE_EXTENT_4_BEFORE_4_SHIFT 16u
#define CDMA_SHAPE_EXTENT_4_AFTER_4_MASK 0xff000000u
#define CDMA_SHAPE_EXTENT_4_AFTER_4_SHIFT 24u

/* shape.margins: before_run, after_run. */
#define CDMA_SHAPE_MARGINS 0x034u
#define CDMA_SHAPE_MARGINS_RESET 0x00000000u
#define CDMA_SHAPE_MARGINS_BEFORE_RUN_MASK 0x0000ffffu
#define CDMA_SHAPE_MARGINS_BEFORE_RUN_SHIFT 0u
#define CDMA_SHAPE_MARGINS_AFTER_RUN_MASK 0xffff0000u
#define CDMA_SHAPE_MARGINS_AFTER_RUN_SHIFT 16u

/* shape.run: Bytes of a row, which are contiguous in memory; not 0. */
#define CDMA_SHAPE_RUN 0x03cu
#define CDMA_SHAPE_RUN_RESET 0x00000000u
#define CDMA_SHAPE_RUN_VALUE_MASK 0xffffffffu
#define CDMA_SHAPE_RUN_VALUE_SHIFT 0u

/* owner: Whose a channel's transfers may be: after a reset of the hardware that of stream 0, without a substream, alone. The fields lie as in `owner` of a descriptor. */
#define CDMA_OFFLOAD_OWNER_BASE 0x140u
#define CDMA_PREFETCH_OWNER_BASE 0x160u

/* owner.value: What the owner of a descriptor must be in the bits of `mask`; any other is refused as `OWNER`. */
#define CDMA_OWNER_VALUE 0x000u
#define CDMA_OWNER_VALUE_RESET 0x00000000u
#define CDMA_OWNER_VALUE_SUBSTREAM_MASK 0x000fffffu
#define CDMA_OWNER_VALUE_SUBSTREAM_SHIFT 0u
#define CDMA_OWNER_VALUE_STREAM_MASK 0x7ff00000u
#define CDMA_OWNER_VALUE_STREAM_SHIFT 20u
#define CDMA_OWNER_VALUE_SUBSTREAM_VALID_MASK 0x80000000u
#define CDMA_OWNER_VALUE_SUBSTREAM_VALID_SHIFT 31u

/* owner.mask: The bits that are compared. */
#define CDMA_OWNER_MASK 0x004u
#define CDMA_OWNER_MASK_RESET 0xffffffffu
#define CDMA_OWNER_MASK_SUBSTREAM_MASK 0x000fffffu
#define CDMA_OWNER_MASK_SUBSTREAM_SHIFT 0u
#define CDMA_OWNER_MASK_STREAM_MASK 0x7ff00000u
#define CDMA_OWNER_MASK_STREAM_SHIFT 20u
#define CDMA_OWNER_MASK_SUBSTREAM_VALID_MASK 0x80000000u
#define CDMA_OWNER_MASK_SUBSTREAM_VALID_SHIFT 31u

/* owner.ring: Whose the channel's rings and lists of pages are. What is written while `status.busy` is 1 waits until it is 0. */
#define CDMA_OWNER_RING 0x008u
#define CDMA_OWNER_RING_RESET 0x00000000u
#define CDMA_OWNER_RING_SUBSTREAM_MASK 0x000fffffu
#define CDMA_OWNER_RING_SUBSTREAM_SHIFT 0u
#define CDMA_OWNER_RING_STREAM_MASK 0x7ff00000u
#define CDMA_OWNER_RING_STREAM_SHIFT 20u
#define CDMA_OWNER_RING_SUBSTREAM_VALID_MASK 0x80000000u
#define CDMA_OWNER_RING_SUBSTREAM_VALID_SHIFT 31u

/* owner.lock: Freezes all of these until the hardware is reset. */
#define CDMA_OWNER_LOCK 0x00cu
#define CDMA_OWNER_LOCK_RESET 0x00000000u
#define CDMA_OWNER_LOCK_LOCKED_MASK 0x00000001u
#define CDMA_OWNER_LOCK_LOCKED_SHIFT 0u

/* message: A channel's interrupt as a write of a word on the host port: one for each event that sets a bit of `irq_status` which `irq_enable` names, and one where software enables a bit that is set. Events that come before their message has begun share it; one whose bit software clears before has none. */
#define CDMA_OFFLOAD_MESSAGE_BASE 0x580u
#define CDMA_PREFETCH_MESSAGE_BASE 0x5a0u

/* message.address_low: Where messages are written. No window holds for it. Bits 31 to 0. */
#define CDMA_MESSAGE_ADDRESS_LOW 0x000u
#define CDMA_MESSAGE_ADDRESS_LOW_RESET 0x00000000u
#define CDMA_MESSAGE_ADDRESS_LOW_WORD_MASK 0xfffffffcu
#define CDMA_MESSAGE_ADDRESS_LOW_WORD_SHIFT 2u

/* message.address_high: Where messages are written. No window holds for it. Bits 63 to 32. */
#define CDMA_MESSAGE_ADDRESS_HIGH 0x004u
#define CDMA_MESSAGE_ADDRESS_HIGH_RESET 0x00000000u
#define CDMA_MESSAGE_ADDRESS_HIGH_VALUE_MASK 0xffffffffu
#define CDMA_MESSAGE_ADDRESS_HIGH_VALUE_SHIFT 0u

/* message.data: The word that is written. */
#define CDMA_MESSAGE_DATA 0x008u
#define CDMA_MESSAGE_DATA_RESET 0x00000000u
#define CDMA_MESSAGE_DATA_VALUE_MASK 0xffffffffu
#define CDMA_MESSAGE_DATA_VALUE_SHIFT 0u

/* message.control: Messages. */
#define CDMA_MESSAGE_CONTROL 0x00cu
#define CDMA_MESSAGE_CONTROL_RESET 0x00000000u
#define CDMA_MESSAGE_CONTROL_ENABLE_MASK 0x00000001u
#define CDMA_MESSAGE_CONTROL_ENABLE_SHIFT 0u

/* message.status: State of the messages. */
#define CDMA_MESSAGE_STATUS 0x010u
#define CDMA_MESSAGE_STATUS_RESET 0x00000000u
#define CDMA_MESSAGE_STATUS_PENDING_MASK 0x00000001u
#define CDMA_MESSAGE_STATUS_PENDING_SHIFT 0u
#define CDMA_MESSAGE_STATUS_LOCKED_MASK 0x00000002u
#define CDMA_MESSAGE_STATUS_LOCKED_SHIFT 1u
#define CDMA_MESSAGE_STATUS_FAILED_MASK 0x00000100u
#define CDMA_MESSAGE_STATUS_FAILED_SHIFT 8u

/* shares: How queue pairs share the data path of a direction: a register for each pair, in the first one's page alone. What a descriptor moves counts in units of 256 raw bytes, at least one, whatever becomes of it. */
#define CDMA_OFFLOAD_SHARES_BASE 0x600u
#define CDMA_PREFETCH_SHARES_BASE 0x680u

/* shares.share: Which pair goes next: of those that have a descriptor the one of the highest level, and within a level as the weights say. */
#define CDMA_SHARES_SHARE(k) (0x000u + 4u * (k))
#define CDMA_SHARES_SHARE_COUNT 8u
#define CDMA_SHARES_SHARE_RESET 0x00000001u
#define CDMA_SHARES_SHARE_WEIGHT_MASK 0x000000ffu
#define CDMA_SHARES_SHARE_WEIGHT_SHIFT 0u
#define CDMA_SHARES_SHARE_PRIORITY_MASK 0x00000300u
#define CDMA_SHARES_SHARE_PRIORITY_SHIFT 8u

/* shares.limit: The most that a pair moves. */
#define CDMA_SHARES_LIMIT(k) (0x020u + 4u * (k))
#define CDMA_SHARES_LIMIT_COUNT 8u
#define CDMA_SHARES_LIMIT_RESET 0x00000000u
#define CDMA_SHARES_LIMIT_UNITS_MASK 0x0000ffffu
#define CDMA_SHARES_LIMIT_UNITS_SHIFT 0u

/* shares.period: The period of all limits of this direction. */
#define CDMA_SHARES_PERIOD 0x040u
#define CDMA_SHARES_PERIOD_RESET 0x00000400u
#define CDMA_SHARES_PERIOD_CYCLES_MASK 0x000fffffu
#define CDMA_SHARES_PERIOD_CYCLES_SHIFT 0u

/* shares.bank: Of more than 8 pairs: `share` and `limit` are those of the pairs from 8 times this on. */
#define CDMA_SHARES_BANK 0x044u
#define CDMA_SHARES_BANK_RESET 0x00000000u
#define CDMA_SHARES_BANK_VALUE_MASK 0x00000007u
#define CDMA_SHARES_BANK_VALUE_SHIFT 0u

#endif /* CDMA_REGS_H */
