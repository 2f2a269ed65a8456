/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What a process may ask /dev/cdmaN for.
 *
 * The accelerator's memory has addresses from 0 on. A process takes pieces of
 * it, which are its own until it closes the file, and reaches them by pread()
 * and pwrite() at their address.
 */
#ifndef CDMA_IOCTL_H
#define CDMA_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* The engine, as it was generated. Sizes are in bytes but for those of a word. */
struct cdma_info {
	__u32 word_bits;
	__u32 window;
	__u32 code_bits;
	__u32 field_bits;
	__u32 padding;		/* A window is padded to whole multiples. */
	__u32 device_align;	/* Of addresses in the accelerator's memory. */
	__u32 in_flight;	/* Transfers that one direction takes at once. */
	__u32 crc;		/* 1: transfers have a CRC-32C. */
	__u64 device_bytes;	/* Of the accelerator's memory. */
	__u64 host_bytes;	/* Of all buffers of a process in flight. */
};

/* A piece of the accelerator's memory. */
struct cdma_range {
	__u64 bytes;
	__u64 address;		/* Filled in. */
};

enum cdma_direction {
	CDMA_OFFLOAD,		/* From the accelerator's memory to the process. */
	CDMA_PREFETCH,		/* Back. */
};

#define CDMA_CHECK_CRC	1	/* Ends in an error unless the data have this CRC. */

struct cdma_request {
	__u32 direction;
	__u32 mode;		/* CDMA_MODE_RAW or CDMA_MODE_ZVC of cdma_regs.h. */
	__u64 device;		/* Address in the accelerator's memory. */
	__u64 bytes;		/* There. */
	__u64 host;		/* Pointer to the buffer of the process. */
	__u64 host_bytes;	/* Its room, or the length of the stream in it. */
	__u64 cookie;		/* Comes back with the reply. */
	__u32 flags;
	__u32 crc;
};

#define CDMA_NO_FAULT	(~0ULL)

struct cdma_reply {
	__u64 cookie;
	__u64 bytes_read;
	__u64 bytes_written;
	__u64 fault;		/* Where in its buffer an error was met. */
	__u64 cycles;		/* Of the engine. */
	__u32 literals;		/* Words that were not left out. */
	__u32 status;		/* 0, or what went wrong, as in cdma_regs.h. */
	__u32 crc;
	__u32 reserved;
};

#define CDMA_IOC_INFO	_IOR('d', 0x40, struct cdma_info)
#define CDMA_IOC_ALLOC	_IOWR('d', 0x41, struct cdma_range)
#define CDMA_IOC_FREE	_IOW('d', 0x42, struct cdma_range)
/* Fails with EAGAIN while there is no room: take a reply first. */
#define CDMA_IOC_SUBMIT	_IOW('d', 0x43, struct cdma_request)
/*
 * Takes the reply that came first, and with that of an offload what was
 * written. Waits for one, or fails with EAGAIN if the file is not to wait, and
 * with ENOENT where nothing was submitted. Replies make the file readable.
 */
#define CDMA_IOC_REAP	_IOR('d', 0x44, struct cdma_reply)

#endif
