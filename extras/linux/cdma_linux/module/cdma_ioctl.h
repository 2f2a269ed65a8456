/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What a process may ask /dev/cdmaN for.
 *
 * Structures grow at their ends: a process may hand over longer ones than the
 * kernel knows, if what is more is 0, and is told 0 there. The number of a call
 * has the size of its structure, and a batch that of its elements. What is
 * reserved is 0.
 *
 * The accelerator's memory has addresses from 0 on. A process takes pieces of
 * it, which are its own until it closes the file, and reaches them by pread()
 * and pwrite() at their address, or by mmap(), shared, of that place.
 */
#ifndef CDMA_IOCTL_H
#define CDMA_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define CDMA_INTERFACE_VERSION	1

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
	__u32 table;		/* The most entries of a table, for CDMA_MODE_FVC. */
	__u32 lossy;		/* Numbers that a step is for: 0 none, 1 fp32, 2 bf16, 3 fp16. */
	__u32 direct;		/* Large buffers at multiples of it are not copied; 0: all are. */
	__u32 version;		/* CDMA_INTERFACE_VERSION of the driver. */
	__u64 device_bytes;	/* Of the accelerator's memory. */
	__u64 host_bytes;	/* Of one buffer, and of those of a user that are copied. */
};

/* A piece of the accelerator's memory. */
struct cdma_range {
	__u64 bytes;
	__u64 address;		/* Filled in. */
};

/* Such a piece as a buffer that other drivers, and processes, can have. */
struct cdma_export {
	__u64 bytes;
	__u64 address;
	__s32 file;		/* Filled in; it is written if the engine's file is. */
	__u32 reserved;
};

enum cdma_direction {
	CDMA_OFFLOAD,		/* From the accelerator's memory to the process. */
	CDMA_PREFETCH,		/* Back. */
};

#define CDMA_CHECK_CRC	1	/* Ends in an error unless the data have this CRC. */
#define CDMA_DMABUF	2	/* The buffer is one of another driver. */

struct cdma_request {
	__u32 direction;
	__u32 mode;		/* CDMA_MODE_RAW, _ZVC or _FVC of cdma_regs.h. */
	__u64 device;		/* Address in the accelerator's memory. */
	__u64 bytes;		/* There. */
	__u64 host;		/* Pointer to the buffer, or a place in that of a driver. */
	__u64 host_bytes;	/* Its room, or the length of the stream in it. */
	__u64 cookie;		/* Comes back with the reply. */
	__u32 flags;
	__u32 crc;
	__s32 dmabuf;		/* With CDMA_DMABUF: the file of the buffer. */
	__u32 step;		/* 0, or the exponent of the error bound; not with CDMA_MODE_RAW. */
	__u64 table;		/* With CDMA_MODE_FVC: pointer to so many values, */
	__u32 entries;		/* each a __u32; 0 in other modes. */
	__u32 reserved;
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
	__u32 range;		/* Numbers that the step was too small for. */
};

/* Requests, or room for replies, in a row: a call takes CDMA_MOST at most, and returns how many. */
struct cdma_batch {
	__u64 first;		/* Pointer to the first one. */
	__u32 count;
	__u32 size;		/* Of each. */
};

#define CDMA_MOST	64

#define CDMA_IOC	0xcd
#define CDMA_IOC_INFO	_IOR(CDMA_IOC, 0x40, struct cdma_info)
#define CDMA_IOC_ALLOC	_IOWR(CDMA_IOC, 0x41, struct cdma_range)
/* Of a whole piece; fails with EBUSY while transfers, maps or exports have it. */
#define CDMA_IOC_FREE	_IOW(CDMA_IOC, 0x42, struct cdma_range)
/*
 * Submits requests in their order, and tells the engine of all of them at once.
 * Ends at one that fails, which was not submitted; its error is returned if it
 * is the first. The first waits for room, unless the file is not to wait: then,
 * and where 1,024 replies have not been taken, it fails with EAGAIN.
 */
#define CDMA_IOC_SUBMIT	_IOW(CDMA_IOC, 0x43, struct cdma_batch)
/*
 * Takes the replies that there are, in the order in which they came. Waits for
 * one, or fails with EAGAIN if the file is not to wait, and with ENOENT where
 * nothing was submitted. Replies make the file readable.
 */
#define CDMA_IOC_REAP	_IOW(CDMA_IOC, 0x44, struct cdma_batch)
#define CDMA_IOC_EXPORT	_IOWR(CDMA_IOC, 0x45, struct cdma_export)

/*
 * As a command of io_uring: submits, and completes when the transfer has ended
 * and its reply, which CDMA_IOC_REAP does not take, has been written.
 */
struct cdma_command {
	__u64 request;		/* Pointers to the structures. */
	__u64 reply;
};

#define CDMA_URING_TRANSFER	_IOWR(CDMA_IOC, 0x60, struct cdma_command)

#endif
