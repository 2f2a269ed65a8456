/*
 * libcdma.h: the engine behind /dev/cdmaN for a program in C, in this one
 * header. Functions return 0 or -1 with errno, as those of the system do.
 *
 *     struct cdma_user cdma;
 *     struct cdma_reply reply;
 *     uint64_t tensor;
 *
 *     cdma_attach(&cdma, "/dev/cdma0");
 *     cdma_allocate(&cdma, bytes, &tensor);
 *     cdma_store(&cdma, tensor, data, bytes);
 *     cdma_offload(&cdma, tensor, bytes, stream, cdma_bound(&cdma, bytes), &reply);
 *     cdma_prefetch(&cdma, tensor, bytes, stream, reply.bytes_written, &reply);
 *
 * cdma_submit_transfer and cdma_take_reply keep several in flight, and
 * cdma_submit_transfers and cdma_take_replies do so by fewer calls; a buffer
 * stays as it is until its reply is taken. One at a multiple of info.direct
 * bytes, such as a page, is not copied where the engine can reach it. The file
 * cdma.file is readable when there is a reply. After <linux/io_uring.h> or <liburing.h> there is cdma_prepare, too.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIBCDMA_H
#define LIBCDMA_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cdma_ioctl.h"
#include "cdma_regs.h"

struct cdma_user {
    int file;
    struct cdma_info info;
};

static inline int cdma_attach(struct cdma_user *cdma, const char *path) {
    cdma->file = open(path, O_RDWR | O_CLOEXEC);
    return cdma->file < 0 ? -1 : ioctl(cdma->file, CDMA_IOC_INFO, &cdma->info);
}

/* Gives all of the accelerator's memory back. */
static inline int cdma_detach(struct cdma_user *cdma) { return close(cdma->file); }

/* A piece of the accelerator's memory, which holds zeros. */
static inline int cdma_allocate(struct cdma_user *cdma, uint64_t bytes, uint64_t *address) {
    struct cdma_range range = {bytes, 0};
    const int status = ioctl(cdma->file, CDMA_IOC_ALLOC, &range);
    *address = range.address;
    return status;
}

static inline int cdma_release(struct cdma_user *cdma, uint64_t address, uint64_t bytes) {
    const struct cdma_range range = {bytes, address};
    return ioctl(cdma->file, CDMA_IOC_FREE, &range);
}

/* Copies into the accelerator's memory, and out of it, by the processor. */
static inline int cdma_store(struct cdma_user *cdma, uint64_t address, const void *data, size_t bytes) {
    return pwrite(cdma->file, data, bytes, (off_t)address) == (ssize_t)bytes ? 0 : -1;
}

static inline int cdma_load(struct cdma_user *cdma, uint64_t address, void *data, size_t bytes) {
    return pread(cdma->file, data, bytes, (off_t)address) == (ssize_t)bytes ? 0 : -1;
}

/* A piece in the address space of the process, or MAP_FAILED; munmap takes it away. The address is that of a page. */
static inline void *cdma_map(struct cdma_user *cdma, uint64_t address, size_t bytes) {
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, cdma->file, (off_t)address);
}

/* A piece as a dma-buf: the file, which is to be closed, or -1. */
static inline int cdma_export(struct cdma_user *cdma, uint64_t address, uint64_t bytes) {
    struct cdma_export buffer = {bytes, address, -1, 0};
    return ioctl(cdma->file, CDMA_IOC_EXPORT, &buffer) != 0 ? -1 : buffer.file;
}

/* The most bytes that a tensor of so many can become. */
static inline uint64_t cdma_bound(const struct cdma_user *cdma, uint64_t bytes) {
    const struct cdma_info *info = &cdma->info;
    const uint64_t words = (bytes * 8 + info->word_bits - 1) / info->word_bits;
    const uint64_t windows = (words + info->window - 1) / info->window;
    return words * info->word_bits / 8 + windows * ((uint64_t)info->window * info->code_bits / 8 + info->padding);
}

/* Several at once: how many of them were, from the first on, or -1 if none. */
static inline int cdma_submit_transfers(struct cdma_user *cdma, const struct cdma_request *requests, uint32_t count) {
    const struct cdma_batch batch = {(uintptr_t)requests, count, sizeof *requests};
    return ioctl(cdma->file, CDMA_IOC_SUBMIT, &batch);
}

static inline int cdma_take_replies(struct cdma_user *cdma, struct cdma_reply *replies, uint32_t count) {
    const struct cdma_batch batch = {(uintptr_t)replies, count, sizeof *replies};
    return ioctl(cdma->file, CDMA_IOC_REAP, &batch);
}

static inline int cdma_submit_transfer(struct cdma_user *cdma, const struct cdma_request *request) {
    return cdma_submit_transfers(cdma, request, 1) == 1 ? 0 : -1;
}

static inline int cdma_take_reply(struct cdma_user *cdma, struct cdma_reply *reply) {
    return cdma_take_replies(cdma, reply, 1) == 1 ? 0 : -1;
}

#ifdef IORING_SETUP_SQE128
/* A transfer as an entry of io_uring, to which its user_data is added. All that it names must stay until it completes. */
static inline void cdma_prepare(const struct cdma_user *cdma, struct io_uring_sqe *entry,
    const struct cdma_request *request, struct cdma_reply *reply) {
    const struct cdma_command command = {(uintptr_t)request, (uintptr_t)reply};
    memset(entry, 0, sizeof *entry);
    entry->opcode = IORING_OP_URING_CMD;
    entry->fd = cdma->file;
    entry->cmd_op = CDMA_URING_TRANSFER;
    memcpy(entry->cmd, &command, sizeof command);
}
#endif

/* Nothing else is in flight. A signal does not end it: the transfer goes on, and so does the wait for its reply. */
static inline int cdma_transfer_and_wait(struct cdma_user *cdma, enum cdma_direction direction, uint64_t device,
    uint64_t bytes, const void *host, uint64_t host_bytes, struct cdma_reply *reply) {
    struct cdma_request request;
    memset(&request, 0, sizeof request);
    request.direction = direction;
    request.mode = CDMA_MODE_ZVC;
    request.device = device;
    request.bytes = bytes;
    request.host = (uintptr_t)host;
    request.host_bytes = host_bytes;
    while (cdma_submit_transfer(cdma, &request) != 0) {
        if (errno != EINTR) return -1;
    }
    while (cdma_take_reply(cdma, reply) != 0) {
        if (errno != EINTR) return -1;
    }
    return 0;
}

/* Compresses a tensor into host memory, of which room bytes may be written; reply.bytes_written are. */
static inline int cdma_offload(struct cdma_user *cdma, uint64_t tensor, uint64_t bytes, void *host, uint64_t room,
    struct cdma_reply *reply) {
    return cdma_transfer_and_wait(cdma, CDMA_OFFLOAD, tensor, bytes, host, room, reply);
}

/* Brings it back. */
static inline int cdma_prefetch(struct cdma_user *cdma, uint64_t tensor, uint64_t bytes, const void *host,
    uint64_t stream_bytes, struct cdma_reply *reply) {
    return cdma_transfer_and_wait(cdma, CDMA_PREFETCH, tensor, bytes, host, stream_bytes, reply);
}

#endif
