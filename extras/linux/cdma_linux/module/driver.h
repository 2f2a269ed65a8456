/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the driver share. */
#ifndef CDMA_DRIVER_H
#define CDMA_DRIVER_H

#include <linux/dma-direction.h>
#include <linux/dma-resv.h>
#include <linux/genalloc.h>
#include <linux/iosys-map.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

/* Memory, which is coherent, against the registers of the engine. */
#define CDMA_WRITE_BARRIER() wmb()
/* The phase of a completion against the rest of it. */
#define CDMA_READ_BARRIER() rmb()
#include "cdma.h"
#include "cdma_ioctl.h"

#define CDMA_DIRECTIONS 2

/* Counters of a direction that are kept when it is reset. */
#define CDMA_COUNTERS 8

/* A code has four bits at most. */
#define CDMA_TABLE 15

/* Frequent values: those behind the entries are 0. */
struct cdma_table {
	u32 entries;
	u32 values[CDMA_TABLE];
};

enum cdma_state {
	CDMA_WELL,
	CDMA_ASLEEP,
	CDMA_GONE,	/* The hardware is not there any more. */
};

/*
 * A queue pair: an engine to its software, with rings, host memory and jobs that
 * no other one reaches. The first is the kernel's, and that of all files for
 * which there was no other; each of the others is of one file.
 */
struct cdma_pair {
	struct cdma_device *cd;
	struct cdma engine;
	unsigned int number;
	unsigned int files;		/* Whose it is. */
	unsigned int weight;		/* Of its turns. */
	u64 begin, end;			/* Where its window on the accelerator's memory is. */
	bool sick;			/* A memory was silent. */
	bool stuck;			/* A reset has not ended: nothing is submitted. */
	unsigned int resets;
	unsigned long progress[CDMA_DIRECTIONS]; /* When one ended, or the first began. */
	void *rings;			/* Host memory: the rings, and then the pool. */
	dma_addr_t rings_bus;
	struct gen_pool *host;		/* Of which jobs have runs. */
	struct mutex turn;		/* Of the one that waits for its pages. */
	struct list_head accounts;
	struct list_head exposed;	/* Memory that it may still write while it is stuck. */
	struct list_head queued[CDMA_DIRECTIONS];
	struct list_head running[CDMA_DIRECTIONS];
	struct cdma_table tables[CDMA_DIRECTIONS]; /* In the registers; none after a reset. */
};

/*
 * An engine. Its presence is read-held for what is done to the accelerator's
 * memory, and from where memory is mapped for the device until its job is
 * queued; and write-held where it goes. The lock is held, within the presence or
 * alone, for registers, pairs and all lists. Meanwhile no memory of a process is
 * copied, and no other driver called.
 */
struct cdma_device {
	struct kref ref;		/* Of the hardware, files and pieces. */
	struct rw_semaphore presence;
	struct mutex lock;		/* See above. */
	enum cdma_state state;		/* Changes with the lock held. */
	struct delayed_work care;	/* Looks for what is late or stuck. */
	struct device *dev;
	struct miscdevice misc;
	const struct attribute_group *groups[5];
	struct attribute_group weights;	/* The last of them. */
	int number;			/* Of the file in /dev. */
	void __iomem *registers;
	void __iomem *memory;		/* The accelerator's, */
	phys_addr_t memory_bus;		/* and where it is for a processor, */
	bool mappable;			/* whose pages are pages for a process. */
	struct inode *space;		/* All that processes have mapped is mapped of it. */
	struct gen_pool *device;	/* Its pages, of which files have pieces. */
	struct cdma_pair *pairs;
	unsigned int count;		/* Of them. */
	size_t host_bytes;		/* Of the host memory of each. */
	u64 counted[CDMA_DIRECTIONS][CDMA_COUNTERS]; /* Before resets. */
	wait_queue_head_t room;		/* For pages, for nobody to be busy, for a pair to rest. */
	wait_queue_head_t gone;		/* For it to go. */
	atomic_t busy;			/* Jobs whose memory is the device's. */
};

/* What a user has of the host memory of a pair. */
struct cdma_account {
	struct list_head link;
	kuid_t uid;
	unsigned int files;
	atomic_long_t pages;
	struct mutex turn;		/* Of the one that waits for its user's others. */
};

/* A piece of the accelerator's memory: of its file, and of maps, exports and jobs. */
struct cdma_piece {
	struct kref ref;
	struct list_head link;
	struct cdma_device *cd;
	u64 address;
	u64 bytes;			/* Whole pages. */
	struct dma_resv resv;		/* Of all its exports. */
	bool exported;			/* Ever; changes with the mutex of the file held. */
	atomic_t unfenced;		/* Jobs from before. */
};

/* An open file; it stays until its jobs have ended. */
struct cdma_file {
	struct cdma_device *cd;
	struct cdma_pair *pair;		/* From its first transfer on, */
	struct cdma_account *account;	/* when this is its user's there. */
	struct mutex mutex;		/* Held for its pieces. */
	struct list_head pieces;
	u64 begin, end;			/* Where all are that it ever had. */
	spinlock_t lock;		/* Held for all below. */
	struct list_head ended;		/* Jobs whose data are to be copied, */
	struct list_head spent;		/* those that have not let all go, */
	struct list_head done;		/* and those whose reply nobody has taken. */
	unsigned int jobs;		/* That are not done, */
	unsigned int replies;		/* and that are. */
	struct work_struct copies;	/* Has those spent that have ended, */
	struct work_struct frees;	/* and those done that are spent. */
	wait_queue_head_t wait;		/* For replies, and for no job to be left. */
};

/* A buffer of a process, whose pages stay; there is none without a process. */
struct cdma_pins {
	struct sg_table table;
	unsigned int count;		/* Of pages. */
	bool write;
	struct mm_struct *mm;		/* Whose limit they count against. */
};

/* What the engine may touch for a job. */
struct cdma_hold {
	struct list_head link;		/* Where it may so after the job has ended, */
	struct work_struct work;	/* after which this lets it go. */
	struct cdma_pair *pair;
	struct cdma_account *account;	/* Whose its pages are. */
	struct cdma_piece *piece;
	bool unfenced;			/* The piece was not exported. */
	struct cdma_pins pins;
	bool direct;			/* The engine reaches the process's pages itself, */
	bool mapped;			/* which are mapped for it. */
	enum dma_data_direction way;
	void *host;			/* In the pool: a copy, or the list of pages; */
	dma_addr_t host_bus;		/* where that is for the engine, */
	u64 pages;			/* and how many pages are there. */
	bool busy;
};

/* A buffer of another driver, if there is one, and where its bytes are. */
struct cdma_import {
	struct dma_buf *buffer;
	struct iosys_map map;
};

/* What a transfer does to a buffer that others have. */
struct cdma_use {
	struct dma_resv *resv;
	bool write;
};

struct dma_fence;
struct io_uring_cmd;
struct seq_file;

/* Jobs, which may belong to a command; the lock is held for those with an engine. */
int cdma_submit_command(struct cdma_file *file, fmode_t mode, const struct cdma_request *request,
			struct io_uring_cmd *command, u64 reply, bool wait);
int cdma_submit_batch(struct cdma_file *file, fmode_t mode, const struct cdma_batch *batch,
		      bool wait);
int cdma_reap_batch(struct cdma_file *file, const struct cdma_batch *batch, bool wait);
void cdma_begin_jobs(struct cdma_file *file);
void cdma_end_jobs(struct cdma_file *file);
void cdma_collect(struct cdma_device *cd);
void cdma_dispatch(struct cdma_pair *pair);
void cdma_abort_running(struct cdma_pair *pair, bool open);
void cdma_abort_queued(struct cdma_pair *pair, const struct cdma_file *file);
void cdma_show_jobs(struct seq_file *text, struct cdma_pair *pair, unsigned int direction);

static inline struct cdma_channel *cdma_channel_of(struct cdma_pair *pair, unsigned int direction)
{
	return direction == CDMA_OFFLOAD ? &pair->engine.offload : &pair->engine.prefetch;
}

static inline const struct cdma_geometry *cdma_geometry(const struct cdma_device *cd)
{
	return &cd->pairs->engine.geometry;
}

/* Whether jobs of a pair may run, as far as it is well. */
static inline bool cdma_serves(const struct cdma_pair *pair)
{
	return !pair->number || pair->files;
}

/* Queue pairs; the lock is held for those with a pair. */
int cdma_join_pair(struct cdma_file *file, bool own);
void cdma_leave_pair(struct cdma_file *file);
int cdma_make_pairs(struct cdma_device *cd, const struct cdma_io *io, unsigned int most);
int cdma_give_memory(struct cdma_pair *pair);
void cdma_let_exposed_go(struct cdma_pair *pair);
int cdma_start_pair(struct cdma_pair *pair);
int cdma_stop_pair(struct cdma_pair *pair);
void cdma_cure_pair(struct cdma_pair *pair);
bool cdma_widen(struct cdma_pair *pair, const struct cdma_file *file);
void cdma_set_weight(struct cdma_pair *pair, unsigned int weight);
bool cdma_is_late(const struct cdma_pair *pair);
bool cdma_is_busy(const struct cdma_pair *pair);

/* Memory that is handed out. */
struct gen_pool *cdma_make_pool(unsigned long memory, u64 address, u64 bytes);
int cdma_take_host(struct cdma_hold *hold, u64 bytes, bool wait);
void cdma_give_host(struct cdma_hold *hold);
void cdma_disown_host(struct cdma_hold *hold);
u64 cdma_quota(const struct cdma_device *cd);
int cdma_allocate(struct cdma_file *file, struct cdma_range *range);
int cdma_free(struct cdma_file *file, const struct cdma_range *range);
void cdma_free_all(struct cdma_file *file);
struct cdma_piece *cdma_find_piece(struct cdma_file *file, u64 address, u64 bytes);
void cdma_put_piece(struct cdma_piece *piece);
void cdma_store(const struct cdma_device *cd, u64 address, const void *data, size_t bytes);

static inline u64 cdma_pages_of(u64 bytes)
{
	return (bytes >> PAGE_SHIFT) + !!(bytes & ~PAGE_MASK);
}

/* Buffers of processes; no lock is held. */
int cdma_pin(struct cdma_pins *pins, u64 user, u64 bytes, bool write);
void cdma_unpin(struct cdma_pins *pins);
u32 cdma_direct_align(const struct cdma_device *cd);
bool cdma_is_direct(const struct cdma_device *cd, const struct cdma_request *request);
int cdma_map(struct cdma_hold *hold, struct cdma_pages *pages);
u64 cdma_place_in(const struct cdma_hold *hold, u64 address);
struct cdma_hold *cdma_new_hold(struct cdma_pair *pair);
void cdma_occupy(struct cdma_hold *hold);
void cdma_vacate(struct cdma_hold *hold);
void cdma_let_go(struct cdma_hold *hold);

/* The accelerator's memory in a process. */
int cdma_make_space(struct cdma_device *cd);
void cdma_drop_space(struct cdma_device *cd);
int cdma_mmap_file(struct file *filp, struct vm_area_struct *vma);
int cdma_mmap_piece(struct cdma_piece *piece, struct vm_area_struct *vma);

/* Buffers of others, and for them. */
struct dma_buf *cdma_export(struct cdma_file *file, const struct cdma_export *piece, int flags);
int cdma_import(struct cdma_import *import, const struct cdma_request *request, bool wait);
void cdma_drop_import(struct cdma_import *import, const struct cdma_request *request);

/* Fences; no lock is held. */
struct dma_fence *cdma_new_fence(const struct cdma_device *cd);
int cdma_publish(const struct cdma_device *cd, struct dma_fence *fence,
		 const struct cdma_use *uses, unsigned int count, bool wait);
void cdma_signal(struct dma_fence *fence, int error);

/* What there is to see: in sysfs, and in debugfs, which takes the lock. */
int cdma_make_groups(struct cdma_device *cd);
int cdma_show(struct cdma_device *cd);
void cdma_keep_counters(struct cdma_pair *pair);

/* Files; the last is of the kernel, which has memory mapped, and waits. */
struct cdma_file *cdma_new_file(struct cdma_device *cd, kuid_t uid);
void cdma_close_file(struct cdma_file *file);
int cdma_move(struct cdma_file *file, const struct cdma_request *request, dma_addr_t host);

/* The engine for the rest of the kernel. */
#ifdef CONFIG_DMA_ENGINE
int cdma_offer(struct cdma_device *cd);
#else
static inline int cdma_offer(struct cdma_device *cd) { return 0; }
#endif

extern const struct file_operations cdma_file_operations;

/* Hands a structure, of which a process may know less or more: what is more is 0. */
int cdma_return(void __user *user, size_t bytes, const void *known, size_t size);

/* Engines; the lock is held for the last two. */
int cdma_add(struct device *dev, const struct resource *registers,
	     const struct resource *memory, bool mappable, int irq);
void cdma_rest(struct device *dev);
void cdma_halt(struct device *dev);
int cdma_go_on(struct device *dev);
extern const struct dev_pm_ops cdma_pm;
/* What waits for one process, or its buffer, and for nobody else. */
extern struct workqueue_struct *cdma_works;
void cdma_put_device(struct cdma_device *cd);
bool cdma_get_presence(struct cdma_device *cd);
void cdma_put_presence(struct cdma_device *cd);
void cdma_expose(struct cdma_hold *hold);
void cdma_keep_watch(struct cdma_device *cd);

/* Buses. */
extern struct pci_driver cdma_pci_driver;
extern struct platform_driver cdma_platform_driver;

#endif
