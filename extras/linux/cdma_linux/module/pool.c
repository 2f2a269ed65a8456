// SPDX-License-Identifier: GPL-2.0
/* Memory that is handed out in runs of pages. */
#include <linux/mm.h>
#include <linux/slab.h>

#include "driver.h"

static u64 pages_of(u64 bytes)
{
	return (bytes >> PAGE_SHIFT) + !!(bytes & ~PAGE_MASK);
}

int cdma_pool_init(struct cdma_pool *pool, u64 base, u64 bytes)
{
	pool->base = base;
	pool->pages = bytes >> PAGE_SHIFT;
	pool->owner = kvcalloc(pool->pages, sizeof(*pool->owner), GFP_KERNEL);
	return pool->owner ? 0 : -ENOMEM;
}

void cdma_pool_exit(struct cdma_pool *pool)
{
	kvfree(pool->owner);
}

/* Gives the owner the first run of free pages that is long enough. */
int cdma_pool_take(struct cdma_pool *pool, const void *owner, u64 bytes, u64 *address)
{
	const u64 wanted = pages_of(bytes);
	unsigned int page, run = 0;

	if (!wanted)
		return -EINVAL;
	for (page = 0; page < pool->pages; ++page) {
		run = pool->owner[page] ? 0 : run + 1;
		if (run == wanted)
			break;
	}
	if (run != wanted)
		return -ENOSPC;
	page -= run - 1;
	*address = pool->base + ((u64)page << PAGE_SHIFT);
	while (run--)
		pool->owner[page++] = owner;
	return 0;
}

/* Whether all of these bytes lie in pages of the owner. */
bool cdma_pool_owns(const struct cdma_pool *pool, const void *owner, u64 address, u64 bytes)
{
	const u64 end = pool->base + ((u64)pool->pages << PAGE_SHIFT);
	u64 page, last;

	if (!bytes || address < pool->base || address >= end || bytes > end - address)
		return false;
	last = (address + bytes - 1 - pool->base) >> PAGE_SHIFT;
	for (page = (address - pool->base) >> PAGE_SHIFT; page <= last; ++page)
		if (pool->owner[page] != owner)
			return false;
	return true;
}

/* Gives pages to somebody else, or with NULL back. */
void cdma_pool_pass(struct cdma_pool *pool, u64 address, u64 bytes, const void *heir)
{
	unsigned int page = (address - pool->base) >> PAGE_SHIFT;
	u64 run = pages_of(bytes);

	while (run--)
		pool->owner[page++] = heir;
}

void cdma_pool_pass_all(struct cdma_pool *pool, const void *owner, const void *heir)
{
	unsigned int page;

	for (page = 0; page < pool->pages; ++page)
		if (pool->owner[page] == owner)
			pool->owner[page] = heir;
}
