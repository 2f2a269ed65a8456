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
int cdma_pin(struct cdma_pins *pins, u64 user, u64 bytes, bool write)
{
	const unsigned int count = cdma_pages_of(offset_in_page(user) + bytes);
	struct mm_struct *mm = current->mm;
	int err = -ENOMEM, pinned = 0;

	if (!mm || user + bytes < user || user + bytes > ULONG_MAX)
		return -EFAULT;
	if (!charge(mm, count))
		return -ENOMEM;
	pins->pages = kvcalloc(count, sizeof(*pins->pages), GFP_KERNEL_ACCOUNT);
	if (pins->pages) {
		pinned = pin_user_pages_fast(user, count, write ? FOLL_WRITE : 0, pins->pages);
		err = pinned < 0 ? pinned : -EFAULT;
	}
	if (pinned == count) {
		pins->count = count;
		pins->offset = offset_in_page(user);
		pins->write = write;
		pins->mm = mm;
		mmgrab(mm);
		return 0;
	}
	if (pinned > 0)
		unpin_user_pages(pins->pages, pinned);
	kvfree(pins->pages);
	atomic64_sub(count, &mm->pinned_vm);
	return err;
}

void cdma_unpin(struct cdma_pins *pins)
{
	if (!pins->count)
		return;
	unpin_user_pages_dirty_lock(pins->pages, pins->count, pins->write);
	kvfree(pins->pages);
	atomic64_sub(pins->count, &pins->mm->pinned_vm);
	mmdrop(pins->mm);
	pins->count = 0;
}

/* Copies memory @out to the first bytes of a buffer, or those to memory. */
void cdma_copy(const struct cdma_pins *pins, void *memory, u64 bytes, bool out)
{
	size_t at = pins->offset, part;
	struct page **page;

	for (page = pins->pages; bytes; ++page) {
		part = min_t(u64, bytes, PAGE_SIZE - at);
		if (out)
			memcpy_to_page(*page, at, memory, part);
		else
			memcpy_from_page(memory, *page, at, part);
		memory += part;
		bytes -= part;
		at = 0;
	}
}

/* ---- buffers that the engine reaches ---- */

/* Of what buffers must begin at multiples for the engine to reach them; 0 if it reaches none. */
u32 cdma_direct_align(const struct cdma_device *cd)
{
	const struct cdma_geometry *geometry = &cd->engine.geometry;

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

/* Only the first run may begin, and only the last may end, within a page of the engine. */
static bool is_listable(struct sg_table *table)
{
	const u64 inside = CDMA_PAGE_BYTES - 1;
	struct scatterlist *run;
	unsigned int k;

	for_each_sgtable_dma_sg(table, run, k)
		if ((k && sg_dma_address(run) & inside) ||
		    (k + 1 != table->nents && (sg_dma_address(run) + sg_dma_len(run)) & inside))
			return false;
	return true;
}

static void unmap(struct cdma_hold *hold)
{
	dma_unmap_sgtable(hold->cd->dev, &hold->table, hold->way, DMA_ATTR_SKIP_CPU_SYNC);
	sg_free_table(&hold->table);
}

/*
 * Maps a buffer for the device, which is there; fails where it is to be copied. A
 * process may have several transfers of one buffer: so caches are looked after
 * apart from its mapping.
 */
int cdma_map(struct cdma_hold *hold, const struct cdma_request *request)
{
	int err = sg_alloc_table_from_pages(&hold->table, hold->pins.pages, hold->pins.count,
					    hold->pins.offset, request->host_bytes, GFP_KERNEL);

	if (err)
		return err;
	err = dma_map_sgtable(hold->cd->dev, &hold->table, hold->way, DMA_ATTR_SKIP_CPU_SYNC);
	if (err) {
		sg_free_table(&hold->table);
		return err;
	}
	if (!is_listable(&hold->table)) {
		unmap(hold);
		return -EINVAL;
	}
	dma_sync_sgtable_for_device(hold->cd->dev, &hold->table, hold->way);
	return 0;
}

/* Writes the list of all pages but the first; gives where the buffer begins. */
u64 cdma_list(const struct cdma_hold *hold, unsigned char *list, bool *more)
{
	u64 first = 0, at;
	struct scatterlist *run;
	unsigned int k, number = 0;

	for_each_sgtable_dma_sg(&hold->table, run, k) {
		const u64 begin = sg_dma_address(run), end = begin + sg_dma_len(run);

		if (!k)
			first = begin;
		for (at = ALIGN_DOWN(begin, CDMA_PAGE_BYTES); at < end; at += CDMA_PAGE_BYTES)
			if (at > first || k)
				cdma_put(list + 8 * number++, at, 8);
	}
	*more = number;
	return first;
}

/* The place in the buffer of what the engine calls so, or of the beat that the buffer begins in. */
u64 cdma_place_in(const struct cdma_hold *hold, u64 address)
{
	struct scatterlist *run;
	unsigned int k;
	u64 before = 0;

	for_each_sgtable_dma_sg(&hold->table, run, k) {
		const u64 begin = ALIGN_DOWN(sg_dma_address(run), CDMA_PAGE_BYTES);
		const u64 end = sg_dma_address(run) + sg_dma_len(run);

		if (address >= begin && address < end)
			return before + (address > sg_dma_address(run) ?
					 address - sg_dma_address(run) : 0);
		before += sg_dma_len(run);
	}
	return CDMA_NO_FAULT;
}

/* Lets all go that the engine does not reach any more, or never has. */
void cdma_let_go(struct cdma_hold *hold)
{
	lockdep_assert_not_held(&hold->cd->lock);
	if (hold->table.sgl) {
		dma_sync_sgtable_for_cpu(hold->cd->dev, &hold->table, hold->way);
		unmap(hold);
	}
	cdma_give_host(hold);
	if (hold->busy && atomic_dec_and_test(&hold->cd->busy))
		wake_up_all(&hold->cd->room);
	cdma_unpin(&hold->pins);
	if (hold->unfenced && atomic_dec_and_test(&hold->piece->unfenced))
		wake_up_all(&hold->cd->room);
	cdma_put_piece(hold->piece);
	kfree(hold);
}

static void let_go(struct work_struct *work)
{
	cdma_let_go(container_of(work, struct cdma_hold, work));
}

void cdma_init_hold(struct cdma_hold *hold, struct cdma_device *cd)
{
	hold->cd = cd;
	INIT_WORK(&hold->work, let_go);
}
