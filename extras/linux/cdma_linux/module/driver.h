/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the driver share. */
#ifndef CDMA_DRIVER_H
#define CDMA_DRIVER_H

#include <linux/iosys-map.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

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

/* A code has four bits at most. */
#define CDMA_TABLE 15

/* Frequent values: those behind the entries are 0. */
struct cdma_table {
	u32 entries;
	u32 values[CDMA_TABLE];
};

enum cdma_state {
	CDMA_WELL,
	CDMA_STUCK,	/* A reset has not ended: nothing is submitted. */
	CDMA_ASLEEP,
	CDMA_GONE,	/* The hardware is not there any more. */
};

/**
 * struct cdma_device - an engine
 * @ref: one for the hardware, and one for each open file
 * @lock: held for everything below, and for the engine itself
 * @memory_lock: held, within @lock or alone, for the owners of @device, and with
 *	@lock where @state becomes CDMA_GONE; nothing of a process is touched meanwhile
 * @number: of its file in /dev
 * @irq: its interrupt
 * @state: see above
 * @sick: a memory was silent
 * @resets: how many there were
 * @care: looks whether transfers end, and tries again what is stuck
 * @progress: when a transfer of a direction has ended, or the first began
 * @dev: the device, of whatever bus
 * @misc: the file in /dev
 * @engine: what cdma.h keeps of the engine
 * @registers: of the engine
 * @memory: the accelerator's
 * @memory_bus: where that is for a processor
 * @device: the pages of @memory, which files own
 * @rings: what the engine may touch in host memory: the rings, and then @host
 * @rings_bus: where that is for the engine
 * @host_bytes: its size
 * @host: the pages there, which jobs own
 * @exposed: buffers of processes that an engine may still write
 * @host_memory: where the first of them is
 * @running: jobs that the engine has, by direction, in their order
 * @tables: what the registers have, by direction; none after a reset
 * @files: those that processes have open
 * @exports: pieces of @memory that others may have
 * @folder: in debugfs
 */
struct cdma_device {
	struct kref ref;
	struct mutex lock;	/* See above. */
	struct mutex memory_lock;	/* See above. */
	int number;
	int irq;
	enum cdma_state state;
	bool sick;
	unsigned int resets;
	struct delayed_work care;
	unsigned long progress[CDMA_DIRECTIONS];
	struct device *dev;
	struct miscdevice misc;
	struct cdma engine;
	void __iomem *registers;
	void __iomem *memory;
	phys_addr_t memory_bus;
	struct cdma_pool device;
	void *rings;
	dma_addr_t rings_bus;
	size_t host_bytes;
	struct cdma_pool host;
	struct list_head exposed;
	void *host_memory;
	struct list_head running[CDMA_DIRECTIONS];
	struct cdma_table tables[CDMA_DIRECTIONS];
	struct list_head files;
	struct list_head exports;
	struct dentry *folder;
};

/**
 * struct cdma_file - an open file
 * @ref: one for the process, and one for each job that runs, and each export
 * @cd: its engine
 * @link: in the engine's list, while a process has it
 * @mapping: what is mapped of it, meanwhile
 * @pinned: how many maps and exports have pieces of it
 * @done: jobs that nobody has taken the reply of
 * @event: what is told of each of them, or NULL
 * @jobs: how many run
 * @host_bytes: those of all its jobs
 * @wait: who waits for a reply
 */
struct cdma_file {
	struct kref ref;
	struct cdma_device *cd;
	struct list_head link;
	struct address_space *mapping;
	atomic_t pinned;
	struct list_head done;
	struct eventfd_ctx *event;
	unsigned int jobs;
	u64 host_bytes;
	wait_queue_head_t wait;
};

/**
 * struct cdma_export - a piece of the accelerator's memory as a buffer
 * @link: in the engine's list
 * @file: whose piece it is
 * @buffer: what others have
 * @address: where it begins
 */
struct cdma_export {
	struct list_head link;
	struct cdma_file *file;
	struct dma_buf *buffer;
	u64 address;
};

/**
 * struct cdma_import - a buffer of another driver
 * @buffer: NULL if there is none
 * @map: where its bytes are
 */
struct cdma_import {
	struct dma_buf *buffer;
	struct iosys_map map;
};

struct cdma_direct;
struct cdma_job;
struct io_uring_cmd;
struct seq_file;

/* Jobs, which may belong to a command; the lock is not held for the first five. */
int cdma_submit_request(struct cdma_file *file, const struct cdma_request *request,
			struct io_uring_cmd *command);
int cdma_submit_batch(struct cdma_file *file, const struct cdma_batch *batch);
int cdma_reap(struct cdma_file *file, struct cdma_reply *reply, bool wait);
int cdma_reap_batch(struct cdma_file *file, const struct cdma_batch *batch, bool wait);
int cdma_take_job(struct cdma_job *job, struct cdma_reply *reply, bool copy);
void cdma_collect(struct cdma_device *cd);
void cdma_end_all(struct cdma_device *cd, bool open);
void cdma_show_jobs(struct seq_file *text, struct cdma_device *cd, unsigned int direction);
void cdma_put_file(struct cdma_file *file);
u64 cdma_quota(const struct cdma_device *cd);
struct cdma_channel *cdma_channel_of(struct cdma_device *cd, unsigned int direction);

/* Pages. */
int cdma_pool_init(struct cdma_pool *pool, u64 base, u64 bytes);
void cdma_pool_exit(struct cdma_pool *pool);
int cdma_pool_take(struct cdma_pool *pool, const void *owner, u64 bytes, u64 *address);
bool cdma_pool_owns(const struct cdma_pool *pool, const void *owner, u64 address, u64 bytes);
void cdma_pool_pass(struct cdma_pool *pool, u64 address, u64 bytes, const void *heir);
void cdma_pool_pass_all(struct cdma_pool *pool, const void *owner, const void *heir);

/* Buffers that the engine reaches itself; cdma_drop() and the first two need no lock. */
u32 cdma_direct_align(const struct cdma_device *cd);
int cdma_pin(struct cdma_device *cd, const struct cdma_request *request,
	     struct cdma_direct **found);
u64 cdma_list(struct cdma_direct *found, unsigned char *list, bool *more);
u64 cdma_place_in(struct cdma_direct *found, u64 address);
void cdma_unmap(struct cdma_device *cd, struct cdma_direct *found, bool open);
void cdma_unpin(struct cdma_direct *found);
void cdma_drop(struct cdma_device *cd, struct cdma_direct *found);
void cdma_close_all(struct cdma_device *cd, bool lost);

/* The accelerator's memory in a process. */
int cdma_mmap_file(struct file *filp, struct vm_area_struct *vma);
int cdma_mmap_buffer(struct cdma_device *cd, struct vm_area_struct *vma, u64 address);
void cdma_unmap_all(struct cdma_device *cd);

/* Buffers of others, and for them. */
int cdma_export(struct cdma_file *file, struct cdma_buffer *piece);
int cdma_import(struct cdma_import *import, const struct cdma_request *request);
void cdma_let_go(struct cdma_import *import, const struct cdma_request *request);

/* What there is to see; without the lock. */
void cdma_describe(struct miscdevice *misc);
void cdma_show(struct cdma_device *cd);
void cdma_hide(struct cdma_device *cd);

/* Commands; the lock is held for the first. */
void cdma_end_command(struct io_uring_cmd *command, struct cdma_job *job);
int cdma_uring_command(struct io_uring_cmd *command, unsigned int flags);

extern const struct file_operations cdma_file_operations;

/**
 * struct cdma_place - where a bus has found an engine
 * @registers: of the engine
 * @memory: the accelerator's
 * @memory_bus: where that is for a processor
 * @memory_bytes: its size
 * @irq: the interrupt
 */
struct cdma_place {
	void __iomem *registers;
	void __iomem *memory;
	phys_addr_t memory_bus;
	u64 memory_bytes;
	int irq;
};

/* Engines; the lock is held for the last two. */
int cdma_add(struct device *dev, const struct cdma_place *place);
void cdma_rest(struct device *dev);
extern const struct dev_pm_ops cdma_pm;
void cdma_put_device(struct cdma_device *cd);
void cdma_look_after(struct cdma_device *cd);
void cdma_keep_watch(struct cdma_device *cd);

/* Buses. */
#ifdef CONFIG_PCI
int cdma_begin_pci(void);
void cdma_end_pci(void);
#else
static inline int cdma_begin_pci(void) { return 0; }
static inline void cdma_end_pci(void) { }
#endif
int cdma_begin_platform(void);
void cdma_end_platform(void);

#endif
