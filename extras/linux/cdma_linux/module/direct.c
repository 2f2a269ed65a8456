// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers of processes that the engine reads and writes itself.
 *
 * Where the engine takes lists of pages, those of a buffer are pinned, mapped
 * for the device, and listed in a page of host memory that no process reaches.
 * They are unmapped when the transfer has ended, and go when its reply is
 * taken. What cannot be pinned, or does not lie as the engine needs it, is
 * copied instead.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "driver.h"

static unsigned int direct = 16384;
module_param(direct, uint, 0444);
MODULE_PARM_DESC(direct, "bytes of the smallest buffer that the engine reaches itself; 0 to copy all");

/* The most that a list has pages for. */
#define CDMA_MOST_LISTED ((u64)CDMA_PAGE_BYTES / 8 * CDMA_PAGE_BYTES)

/**
 * struct cdma_direct - a buffer of a process that the engine reaches
 * @link: while the engine has ended its transfer and may still write there
 * @pages: those of the buffer, which are pinned
 * @count: how many
 * @table: where they are for the engine
 * @way: that of the data
 * @orphan: nobody waits for it any more
 * @lost: the engine may write there for ever
 */
struct cdma_direct {
	struct list_head link;
	struct page **pages;
	unsigned int count;
	struct sg_table table;
	enum dma_data_direction way;
	bool orphan;
	bool lost;
};

/* Of what buffers must begin at multiples for the engine to reach them; 0 if it reaches none. */
u32 cdma_direct_align(const struct cdma_device *cd)
{
	const struct cdma_geometry *geometry = &cd->engine.geometry;

	if (!direct || !geometry->pages)
		return 0;
	return max_t(u32, geometry->host_align, dma_get_cache_alignment());
}

/* No line of a cache is of the buffer and of something else, where caches matter. */
static bool is_suitable(const struct cdma_device *cd, const struct cdma_request *request)
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

static int map(struct cdma_device *cd, struct cdma_direct *found,
	       const struct cdma_request *request)
{
	int err = sg_alloc_table_from_pages(&found->table, found->pages, found->count,
					    offset_in_page(request->host), request->host_bytes,
					    GFP_KERNEL);

	if (err)
		return err;
	err = dma_map_sgtable(cd->dev, &found->table, found->way, 0);
	if (!err && !is_listable(&found->table)) {
		dma_unmap_sgtable(cd->dev, &found->table, found->way, 0);
		err = -EINVAL;
	}
	if (err)
		sg_free_table(&found->table);
	return err;
}

/*
 * Pins and maps the buffer of a request; @found is NULL afterwards where it is
 * to be copied. The process alone waits for its pages: the lock is not held.
 */
int cdma_pin(struct cdma_device *cd, const struct cdma_request *request,
	     struct cdma_direct **found)
{
	const bool offload = request->direction == CDMA_OFFLOAD;
	const unsigned int flags = FOLL_LONGTERM | (offload ? FOLL_WRITE : 0);
	const unsigned int count =
		PAGE_ALIGN(offset_in_page(request->host) + request->host_bytes) >> PAGE_SHIFT;
	struct cdma_direct *made;
	int err = -ENOMEM;
	int pinned;

	*found = NULL;
	if (!is_suitable(cd, request))
		return 0;
	made = kzalloc(sizeof(*made), GFP_KERNEL);
	if (!made)
		return err;
	INIT_LIST_HEAD(&made->link);
	made->way = offload ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
	made->pages = kvcalloc(count, sizeof(*made->pages), GFP_KERNEL);
	if (!made->pages)
		goto free;
	pinned = pin_user_pages_fast(request->host, count, flags, made->pages);
	made->count = max(pinned, 0);
	err = pinned < 0 ? pinned : -EFAULT;
	if (made->count == count)
		err = map(cd, made, request);
	if (!err) {
		*found = made;
		return 0;
	}
	unpin_user_pages(made->pages, made->count);
free:
	kvfree(made->pages);
	kfree(made);
	return err == -ENOMEM || err == -EINTR ? err : 0;
}

/* Writes the list of all pages but the first; gives where the buffer begins. */
u64 cdma_list(struct cdma_direct *found, unsigned char *list, bool *more)
{
	u64 first = 0, at;
	struct scatterlist *run;
	unsigned int k, number = 0;

	for_each_sgtable_dma_sg(&found->table, run, k) {
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
u64 cdma_place_in(struct cdma_direct *found, u64 address)
{
	struct scatterlist *run;
	unsigned int k;
	u64 before = 0;

	for_each_sgtable_dma_sg(&found->table, run, k) {
		const u64 begin = ALIGN_DOWN(sg_dma_address(run), CDMA_PAGE_BYTES);
		const u64 end = sg_dma_address(run) + sg_dma_len(run);

		if (address >= begin && address < end)
			return before + (address > sg_dma_address(run) ?
					 address - sg_dma_address(run) : 0);
		before += sg_dma_len(run);
	}
	return CDMA_NO_FAULT;
}

/* The transfer has ended; with @open the engine may still write. The lock is held. */
void cdma_unmap(struct cdma_device *cd, struct cdma_direct *found, bool open)
{
	if (open)
		list_add(&found->link, &cd->exposed);
	else
		dma_unmap_sgtable(cd->dev, &found->table, found->way, 0);
}

static void unpin(struct cdma_direct *found)
{
	if (!found->lost)
		unpin_user_pages_dirty_lock(found->pages, found->count,
					    found->way == DMA_FROM_DEVICE);
	sg_free_table(&found->table);
	kvfree(found->pages);
	kfree(found);
}

/* Nobody waits for the buffer, which was unmapped. What is open goes with the next reset. */
void cdma_unpin(struct cdma_direct *found)
{
	if (list_empty(&found->link))
		unpin(found);
	else
		found->orphan = true;
}

/* One that was never given to the engine. */
void cdma_drop(struct cdma_device *cd, struct cdma_direct *found)
{
	if (!found)
		return;
	dma_unmap_sgtable(cd->dev, &found->table, found->way, 0);
	unpin(found);
}

/* The engine writes no more, or the pages are @lost. The lock is held. */
void cdma_close_all(struct cdma_device *cd, bool lost)
{
	struct cdma_direct *found, *next;

	list_for_each_entry_safe(found, next, &cd->exposed, link) {
		list_del_init(&found->link);
		found->lost = lost;
		if (!lost)
			dma_unmap_sgtable(cd->dev, &found->table, found->way, 0);
		if (found->orphan)
			unpin(found);
	}
}
