// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is handed out in runs of pages: the accelerator's, of which files
 * have pieces, and the host memory, of which jobs have runs.
 */
#include <linux/bitmap.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "driver.h"

int cdma_pool_init(struct cdma_pool *pool, u64 bytes)
{
	spin_lock_init(&pool->lock);
	pool->pages = bytes >> PAGE_SHIFT;
	pool->used = kvcalloc(BITS_TO_LONGS(pool->pages), sizeof(*pool->used), GFP_KERNEL);
	return pool->used ? 0 : -ENOMEM;
}

/* Takes the first run of free pages that is long enough, if there is one. */
bool cdma_pool_take(struct cdma_pool *pool, u64 pages, u64 *offset)
{
	unsigned long first;
	bool found;

	if (pages > pool->pages)
		return false;
	spin_lock(&pool->lock);
	first = bitmap_find_next_zero_area(pool->used, pool->pages, 0, pages, 0);
	found = first + pages <= pool->pages;
	if (found)
		bitmap_set(pool->used, first, pages);
	spin_unlock(&pool->lock);
	*offset = (u64)first << PAGE_SHIFT;
	return found;
}

static void give(struct cdma_pool *pool, u64 offset, u64 pages)
{
	spin_lock(&pool->lock);
	bitmap_clear(pool->used, offset >> PAGE_SHIFT, pages);
	spin_unlock(&pool->lock);
}

/* ---- host memory ---- */

/* The bytes that a user may have, so that some are left to others. */
u64 cdma_quota(const struct cdma_device *cd)
{
	return (u64)(cd->host.pages / 4) << PAGE_SHIFT;
}

/* Its user's others wait meanwhile. */
static bool charge(struct cdma_hold *hold, u64 pages)
{
	if (atomic_long_read(&hold->account->pages) + pages > hold->cd->host.pages / 4)
		return false;
	atomic_long_add(pages, &hold->account->pages);
	return true;
}

static void uncharge(struct cdma_hold *hold, u64 pages)
{
	atomic_long_sub(pages, &hold->account->pages);
	wake_up_all(&hold->cd->room);
}

static int take_turn(struct mutex *turn, bool wait)
{
	if (!wait)
		return mutex_trylock(turn) ? 0 : -EAGAIN;
	return mutex_lock_interruptible(turn) ? -ERESTARTSYS : 0;
}

static int take_pages(struct cdma_hold *hold, u64 pages, bool wait)
{
	struct cdma_device *cd = hold->cd;
	int err = take_turn(&cd->turn, wait);

	if (err)
		return err;
	if (wait)
		err = wait_event_interruptible(cd->room,
					       cdma_pool_take(&cd->host, pages, &hold->host));
	else
		err = cdma_pool_take(&cd->host, pages, &hold->host) ? 0 : -EAGAIN;
	mutex_unlock(&cd->turn);
	return err;
}

/*
 * Takes a run of host memory. A process waits behind those of its user until
 * the user may have more, and then behind all others until there is a run.
 */
int cdma_take_host(struct cdma_hold *hold, u64 bytes, bool wait)
{
	const u64 pages = cdma_pages_of(bytes);
	struct mutex *turn = &hold->account->turn;
	int err = take_turn(turn, wait);

	if (err)
		return err;
	if (wait)
		err = wait_event_interruptible(hold->cd->room, charge(hold, pages));
	else
		err = charge(hold, pages) ? 0 : -EAGAIN;
	if (!err) {
		err = take_pages(hold, pages, wait);
		if (err)
			uncharge(hold, pages);
		else
			hold->pages = pages;
	}
	mutex_unlock(turn);
	return err;
}

/* What a run has been taken for has ended, though the run stays taken. */
void cdma_disown_host(struct cdma_hold *hold)
{
	if (hold->account && hold->pages)
		uncharge(hold, hold->pages);
	hold->account = NULL;
}

void cdma_give_host(struct cdma_hold *hold)
{
	if (!hold->pages)
		return;
	give(&hold->cd->host, hold->host, hold->pages);
	if (hold->account)
		uncharge(hold, hold->pages);
	hold->pages = 0;
	wake_up_all(&hold->cd->room);
}

/* ---- the accelerator's memory ---- */

/* Writes are posted, and not any number of them: the read waits until they have arrived. */
void cdma_store(const struct cdma_device *cd, u64 address, const void *data, size_t bytes)
{
	memcpy_toio(cd->memory + address, data, bytes);
	readb(cd->memory + address);
}

/* Nothing of what another process left there is given away. Others wait for a page at most. */
static int clear(struct cdma_piece *piece)
{
	struct cdma_device *cd = piece->cd;
	u64 at;

	for (at = 0; at < piece->bytes; at += PAGE_SIZE) {
		if (fatal_signal_pending(current))
			return -EINTR;
		if (!cdma_get_presence(cd))
			return -ENODEV;
		cdma_store(cd, piece->address + at, page_address(ZERO_PAGE(0)), PAGE_SIZE);
		cdma_put_presence(cd);
		cond_resched();
	}
	return 0;
}

static void free_piece(struct kref *ref)
{
	struct cdma_piece *piece = container_of(ref, struct cdma_piece, ref);

	give(&piece->cd->device, piece->address, piece->bytes >> PAGE_SHIFT);
	dma_resv_fini(&piece->resv);
	cdma_put_device(piece->cd);
	kfree(piece);
}

void cdma_put_piece(struct cdma_piece *piece)
{
	if (piece)
		kref_put(&piece->ref, free_piece);
}

int cdma_allocate(struct cdma_file *file, struct cdma_range *range)
{
	const u64 pages = cdma_pages_of(range->bytes);
	struct cdma_device *cd = file->cd;
	struct cdma_piece *piece;
	int err;

	if (!pages)
		return -EINVAL;
	piece = kzalloc(sizeof(*piece), GFP_KERNEL_ACCOUNT);
	if (!piece)
		return -ENOMEM;
	if (!cdma_pool_take(&cd->device, pages, &piece->address)) {
		kfree(piece);
		return -ENOSPC;
	}
	kref_init(&piece->ref);
	dma_resv_init(&piece->resv);
	kref_get(&cd->ref);
	piece->cd = cd;
	piece->bytes = pages << PAGE_SHIFT;
	err = clear(piece);
	if (err) {
		cdma_put_piece(piece);
		return err;
	}
	range->address = piece->address;
	guard(mutex)(&file->mutex);
	list_add(&piece->link, &file->pieces);
	return 0;
}

static struct cdma_piece *piece_of(struct cdma_file *file, u64 address, u64 bytes)
{
	struct cdma_piece *piece;

	list_for_each_entry(piece, &file->pieces, link)
		if (address >= piece->address && bytes <= piece->bytes &&
		    address - piece->address <= piece->bytes - bytes)
			return piece;
	return NULL;
}

/* The piece of a file that has all of these bytes, or NULL; it is to be put. */
struct cdma_piece *cdma_find_piece(struct cdma_file *file, u64 address, u64 bytes)
{
	struct cdma_piece *piece;

	guard(mutex)(&file->mutex);
	piece = bytes ? piece_of(file, address, bytes) : NULL;
	if (piece)
		kref_get(&piece->ref);
	return piece;
}

/* A piece that a job, a map or another driver may still use stays. */
int cdma_free(struct cdma_file *file, const struct cdma_range *range)
{
	struct cdma_piece *piece;

	guard(mutex)(&file->mutex);
	piece = piece_of(file, range->address, range->bytes);
	if (!piece || piece->address != range->address ||
	    piece->bytes >> PAGE_SHIFT != cdma_pages_of(range->bytes))
		return -EACCES;
	if (kref_read(&piece->ref) > 1)
		return -EBUSY;
	list_del(&piece->link);
	cdma_put_piece(piece);
	return 0;
}

/* The file is closed. */
void cdma_free_all(struct cdma_file *file)
{
	struct cdma_piece *piece, *next;

	list_for_each_entry_safe(piece, next, &file->pieces, link)
		cdma_put_piece(piece);
}
