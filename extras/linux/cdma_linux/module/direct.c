// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers of processes. The pages of a buffer are pinned until its transfer has
 * ended, and so nothing of a process is touched then: it may have gone.
 *
 * Where the engine takes lists of pages it reads and writes them itself. They
 * are mapped for the device, and listed in a page of host memory that no
 * process reaches. Other buffers are copied to and from host memory.
 */
#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "driver.h"

static unsigned int direct = 16384;
module_param(direct, uint, 0444);
MODULE_PARM_DESC(direct, "bytes of the smallest buffer that the engine reaches itself; 0 to copy all");

/* The most that a list has pages for. */
#define CDMA_MOST_LISTED ((u64)CDMA_PAGE_BYTES / 8 * CDMA_PAGE_BYTES)

/* ---- pages that stay ---- */

/* Charges the process, as RLIMIT_MEMLOCK has it. */
static bool charge(struct mm_struct *mm, unsigned int pages)
{
	const u64 limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	if (atomic64_add_return(pages, &mm->pinned_vm) <= limit || capable(CAP_IPC_LOCK))
		return true;
	atomic64_sub(pages, &mm->pinned_vm);
	return false;
}

/* Brings pages in, for as long as that takes, and pins them. */
static int pin_pages(struct cdma_pins *pins, struct page **pages, u64 user, u64 bytes)
{
	const unsigned int flags = pins->write ? FOLL_WRITE : 0;
	int pinned = pin_user_pages_fast(user, pins->count, flags, pages);
	int err = pinned < 0 ? pinned : -EFAULT;

	if (pinned == pins->count)
		err = sg_alloc_table_from_pages(&pins->table, pages, pinned, offset_in_page(user),
						bytes, GFP_KERNEL_ACCOUNT);
	if (err && pinned > 0)
		unpin_user_pages(pages, pinned);
	return err;
}

int cdma_pin(struct cdma_pins *pins, u64 user, u64 bytes, bool write)
{
	struct mm_struct *mm = current->mm;
	struct page **pages;
	int err = -ENOMEM;

	if (!mm || user + bytes < user || user + bytes > ULONG_MAX)
		return -EFAULT;
	pins->count = cdma_pages_of(offset_in_page(user) + bytes);
	pins->write = write;
	if (!charge(mm, pins->count))
		return -ENOMEM;
	pages = kvcalloc(pins->count, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (pages)
		err = pin_pages(pins, pages, user, bytes);
	kvfree(pages);
	if (err) {
		atomic64_sub(pins->count, &mm->pinned_vm);
		return err;
	}
	pins->mm = mm;
	mmgrab(mm);
	return 0;
}

void cdma_unpin(struct cdma_pins *pins)
{
	struct scatterlist *run;
	unsigned int k;

	if (!pins->mm)
		return;
	for_each_sgtable_sg(&pins->table, run, k)
		unpin_user_page_range_dirty_lock(sg_page(run),
						 cdma_pages_of(run->offset + run->length),
						 pins->write);
	sg_free_table(&pins->table);
	atomic64_sub(pins->count, &pins->mm->pinned_vm);
	mmdrop(pins->mm);
	pins->mm = NULL;
}

/* ---- buffers that the engine reaches ---- */

/* Of what buffers must begin at multiples for the engine to reach them; 0 if it reaches none. */
u32 cdma_direct_align(const struct cdma_device *cd)
{
	const struct cdma_geometry *geometry = cdma_geometry(cd);

	if (!direct || !geometry->pages)
		return 0;
	return max_t(u32, geometry->host_align, dma_get_cache_alignment());
}

/* No line of a cache is of the buffer and of something else, where caches matter. */
bool cdma_is_direct(const struct cdma_device *cd, const struct cdma_request *request)
{
	const u32 align = cdma_direct_align(cd);

	return align && request->host_bytes >= direct && request->host_bytes <= CDMA_MOST_LISTED &&
	       IS_ALIGNED(request->host, align) &&
	       IS_ALIGNED(request->host_bytes, dma_get_cache_alignment());
}

/* Lists the pages of a buffer in its host memory, if the engine can have them so. */
static int list_pages(struct cdma_hold *hold, struct cdma_pages *pages)
{
	struct sg_table *table = &hold->pins.table;
	struct cdma_run *runs = kvcalloc(table->nents, sizeof(*runs), GFP_KERNEL);
	struct scatterlist *run;
	unsigned int k;
	int err;

	if (!runs)
		return -ENOMEM;
	for_each_sgtable_dma_sg(table, run, k)
		runs[k] = (struct cdma_run){ sg_dma_address(run), sg_dma_len(run) };
	err = cdma_list_pages(runs, k, hold->host, hold->host_bus, pages);
	kvfree(runs);
	return err ? -EINVAL : 0;
}

/*
 * Maps a buffer for the device, which is there, and lists it; fails where it is
 * to be copied. A process may have several transfers of one buffer: so caches are
 * looked after apart from its mapping.
 */
int cdma_map(struct cdma_hold *hold, struct cdma_pages *pages)
{
	struct sg_table *table = &hold->pins.table;
	struct device *dev = hold->pair->cd->dev;
	int err = dma_map_sgtable(dev, table, hold->way, DMA_ATTR_SKIP_CPU_SYNC);

	if (err)
		return err;
	err = list_pages(hold, pages);
	if (err) {
		dma_unmap_sgtable(dev, table, hold->way, DMA_ATTR_SKIP_CPU_SYNC);
		return err;
	}
	dma_sync_sgtable_for_device(dev, table, hold->way);
	hold->mapped = true;
	return 0;
}

/* The place in the buffer of what the engine calls so, or of the beat that the buffer begins in. */
u64 cdma_place_in(const struct cdma_hold *hold, u64 address)
{
	struct scatterlist *run;
	unsigned int k;
	u64 before = 0;

	for_each_sgtable_dma_sg(&hold->pins.table, run, k) {
		const u64 begin = ALIGN_DOWN(sg_dma_address(run), CDMA_PAGE_BYTES);
		const u64 end = sg_dma_address(run) + sg_dma_len(run);

		if (address >= begin && address < end)
			return before + (address > sg_dma_address(run) ?
					 address - sg_dma_address(run) : 0);
		before += sg_dma_len(run);
	}
	return CDMA_NO_FAULT;
}

/* Its memory is the device's, which does not go before it is vacated. */
void cdma_occupy(struct cdma_hold *hold)
{
	hold->busy = true;
	atomic_inc(&hold->pair->cd->busy);
}

void cdma_vacate(struct cdma_hold *hold)
{
	if (hold->busy && atomic_dec_and_test(&hold->pair->cd->busy))
		wake_up_all(&hold->pair->cd->room);
	hold->busy = false;
}

/* Lets all go that the engine does not reach any more, or never has. */
void cdma_let_go(struct cdma_hold *hold)
{
	struct cdma_device *cd = hold->pair->cd;

	lockdep_assert_not_held(&cd->lock);
	if (hold->mapped) {
		dma_sync_sgtable_for_cpu(cd->dev, &hold->pins.table, hold->way);
		dma_unmap_sgtable(cd->dev, &hold->pins.table, hold->way,
				  DMA_ATTR_SKIP_CPU_SYNC);
	}
	cdma_give_host(hold);
	cdma_vacate(hold);
	cdma_unpin(&hold->pins);
	if (hold->unfenced && atomic_dec_and_test(&hold->piece->unfenced))
		wake_up_all(&cd->room);
	cdma_put_piece(hold->piece);
	kfree(hold);
}

static void let_go(struct work_struct *work)
{
	cdma_let_go(container_of(work, struct cdma_hold, work));
}

struct cdma_hold *cdma_new_hold(struct cdma_pair *pair)
{
	struct cdma_hold *hold = kzalloc(sizeof(*hold), GFP_KERNEL_ACCOUNT);

	if (hold) {
		hold->pair = pair;
		INIT_WORK(&hold->work, let_go);
	}
	return hold;
}
