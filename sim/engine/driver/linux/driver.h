/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the driver share. */
#ifndef CDMA_DRIVER_H
#define CDMA_DRIVER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/wait.h>

/* Memory, which is coherent, against the registers of the engine. */
#define CDMA_WRITE_BARRIER() wmb()
/* The phase of a completion against the rest of it. */
#define CDMA_READ_BARRIER() rmb()
#include "cdma.h"
#include "cdma_ioctl.h"

#define CDMA_DIRECTIONS 2

/**
 * struct cdma_pool - memory that is handed out in runs of pages
 * @owner: who has each page, or NULL
 * @pages: how many there are
 * @base: the address of the first one, as the engine sees it
 */
struct cdma_pool {
	const void **owner;
	unsigned int pages;
	u64 base;
};

/**
 * struct cdma_device - an engine
 * @ref: one for the hardware, and one for each open file
 * @lock: held for everything below, and for the engine itself
 * @number: of its file in /dev
 * @gone: the hardware is not there any more
 * @dev: for messages
 * @misc: the file in /dev
 * @engine: what cdma.h keeps of the engine
 * @registers: BAR 0
 * @memory: BAR 2, the accelerator's memory
 * @device: the pages of @memory, which files own
 * @host: the pages that the engine may touch in host memory, which jobs own
 * @host_memory: where the first page of @host is
 * @running: jobs that the engine has, by direction, in their order
 */
struct cdma_device {
	struct kref ref;
	struct mutex lock;	/* See above. */
	int number;
	bool gone;
	struct device *dev;
	struct miscdevice misc;
	struct cdma engine;
	void __iomem *registers;
	void __iomem *memory;
	struct cdma_pool device;
	struct cdma_pool host;
	void *host_memory;
	struct list_head running[CDMA_DIRECTIONS];
};

/**
 * struct cdma_file - an open file
 * @ref: one for the process, and one for each job that runs
 * @cd: its engine
 * @done: jobs that nobody has taken the reply of
 * @jobs: how many run
 * @host_bytes: those of all its jobs
 * @wait: who waits for a reply
 */
struct cdma_file {
	struct kref ref;
	struct cdma_device *cd;
	struct list_head done;
	unsigned int jobs;
	u64 host_bytes;
	wait_queue_head_t wait;
};

/* Jobs; the lock is held, but for cdma_reap(). */
int cdma_submit_job(struct cdma_file *file, const struct cdma_request *request);
int cdma_reap(struct cdma_file *file, struct cdma_reply *reply, bool wait);
void cdma_collect(struct cdma_device *cd);
void cdma_end_all(struct cdma_device *cd);
void cdma_put_file(struct cdma_file *file);
u64 cdma_quota(const struct cdma_device *cd);
struct cdma_channel *cdma_channel_of(struct cdma_device *cd, unsigned int direction);

/* Pages. */
int cdma_pool_init(struct cdma_pool *pool, u64 base, u64 bytes);
void cdma_pool_exit(struct cdma_pool *pool);
int cdma_pool_take(struct cdma_pool *pool, const void *owner, u64 bytes, u64 *address);
bool cdma_pool_owns(const struct cdma_pool *pool, const void *owner, u64 address, u64 bytes);
void cdma_pool_give(struct cdma_pool *pool, u64 address, u64 bytes);
void cdma_pool_give_all(struct cdma_pool *pool, const void *owner);

extern const struct file_operations cdma_file_operations;
void cdma_put_device(struct cdma_device *cd);

#endif
