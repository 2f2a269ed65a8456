// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is handed out in runs of pages: the accelerator's, of which files
 * have pieces, and the host memory of a pair, of which its jobs have runs.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "driver.h"

/* A pool of memory, in pages, or NULL; it is destroyed with the engine. */
struct gen_pool *cdma_make_pool(unsigned long memory, u64 address, u64 bytes)
{
	struct gen_pool *pool = gen_pool_create(PAGE_SHIFT, NUMA_NO_NODE);

	if (!pool || !gen_pool_add_virt(pool, memory, address, PAGE_ALIGN_DOWN(bytes),
					NUMA_NO_NODE))
		return pool;
	gen_pool_destroy(pool);
	return NULL;
}

/* ---- host memory ---- */

/* The bytes that a user may have of a pair's, so that some are left to others. */
u64 cdma_quota(const struct cdma_device *cd)
{
	return PAGE_ALIGN_DOWN(gen_pool_size(cd->pairs->host) / 4);
}

/* Its user's others wait meanwhile. */
static bool charge(struct cdma_hold *hold, u64 pages)
{
	const u64 quota = cdma_quota(hold->pair->cd) >> PAGE_SHIFT;

	if (atomic_long_read(&hold->account->pages) + pages > quota)
		return false;
	atomic_long_add(pages, &hold->account->pages);
	return true;
}

static void uncharge(struct cdma_hold *hold, u64 pages)
{
	atomic_long_sub(pages, &hold->account->pages);
	wake_up_all(&hold->pair->cd->room);
}

static int take_turn(struct mutex *turn, bool wait)
{
	if (!wait)
		return mutex_trylock(turn) ? 0 : -EAGAIN;
	return mutex_lock_interruptible(turn) ? -ERESTARTSYS : 0;
}

static bool find_pages(struct cdma_hold *hold, u64 pages)
{
	hold->host = gen_pool_dma_alloc(hold->pair->host, pages << PAGE_SHIFT, &hold->host_bus);
	return hold->host;
}

static int take_pages(struct cdma_hold *hold, u64 pages, bool wait)
{
	struct cdma_pair *pair = hold->pair;
	int err = take_turn(&pair->turn, wait);

	if (err)
		return err;
	if (wait)
		err = wait_event_interruptible(pair->cd->room, find_pages(hold, pages));
	else
		err = find_pages(hold, pages) ? 0 : -EAGAIN;
	mutex_unlock(&pair->turn);
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
		err = wait_event_interruptible(hold->pair->cd->room, charge(hold, pages));
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
	gen_pool_free(hold->pair->host, (unsigned long)hold->host, hold->pages << PAGE_SHIFT);
	if (hold->account)
		uncharge(hold, hold->pages);
	hold->pages = 0;
	wake_up_all(&hold->pair->cd->room);
}

/* ---- the accelerator's memory ---- */

/* What the pool calls its first page, for which it returns an address that is not 0. */
static unsigned long place_of(const struct cdma_device *cd)
{
	return (__force unsigned long)cd->memory;
}

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

	gen_pool_free(piece->cd->device, place_of(piece->cd) + piece->address, piece->bytes);
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
	const u64 bytes = cdma_pages_of(range->bytes) << PAGE_SHIFT;
	struct cdma_device *cd = file->cd;
	struct cdma_piece *piece;
	unsigned long place;
	int err;

	if (!bytes)
		return -EINVAL;
	piece = kzalloc(sizeof(*piece), GFP_KERNEL_ACCOUNT);
	if (!piece)
		return -ENOMEM;
	place = gen_pool_alloc(cd->device, bytes);
	if (!place) {
		kfree(piece);
		return -ENOSPC;
	}
	piece->address = place - place_of(cd);
	kref_init(&piece->ref);
	dma_resv_init(&piece->resv);
	kref_get(&cd->ref);
	piece->cd = cd;
	piece->bytes = bytes;
	err = clear(piece);
	if (err) {
		cdma_put_piece(piece);
		return err;
	}
	range->address = piece->address;
	guard(mutex)(&file->mutex);
	list_add(&piece->link, &file->pieces);
	guard(mutex)(&cd->lock);
	file->begin = min(file->begin, piece->address);
	file->end = max(file->end, piece->address + piece->bytes);
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
