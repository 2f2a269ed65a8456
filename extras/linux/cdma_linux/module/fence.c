// SPDX-License-Identifier: GPL-2.0
/*
 * Fences: the order of transfers and of what others do to the same buffer.
 *
 * A transfer that reads or writes a piece that is exported, or writes a buffer
 * of another driver, begins after what the reservation of the buffer has of
 * others, and is in it until it has ended. Transfers of one engine have an order
 * of their own, and do not wait for each other here.
 *
 * What others wait for ends without waiting for them: so a job is queued at once
 * when its fence can be seen, and nothing is allocated in between.
 */
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "driver.h"

struct cdma_fence {
	struct dma_fence base;
	spinlock_t lock;	/* Of the fence. */
	const struct cdma_device *cd;	/* Whose it is; it may have gone. */
};

static const char *driver_of(struct dma_fence *fence)
{
	return "cdma";
}

/* Others may have it for as long as they want. */
static void release_fence(struct dma_fence *fence)
{
	dma_fence_free(fence);
	module_put(THIS_MODULE);
}

static const struct dma_fence_ops cdma_fence_operations = {
	.get_driver_name = driver_of,
	.get_timeline_name = driver_of,
	.release = release_fence,
};

/* A fence by itself: those of an engine end in any order. */
struct dma_fence *cdma_new_fence(const struct cdma_device *cd)
{
	struct cdma_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL_ACCOUNT);

	if (!fence)
		return NULL;
	__module_get(THIS_MODULE);
	spin_lock_init(&fence->lock);
	fence->cd = cd;
	dma_fence_init(&fence->base, &cdma_fence_operations, &fence->lock,
		       dma_fence_context_alloc(1), 1);
	return &fence->base;
}

/* The transfer of a fence, if it has one, has ended, with this error. */
void cdma_signal(struct dma_fence *fence, int error)
{
	if (!fence)
		return;
	if (error)
		dma_fence_set_error(fence, error);
	dma_fence_signal(fence);
	dma_fence_put(fence);
}

/* A fence of somebody else that a use of a buffer is to wait for; it is to be put. */
static struct dma_fence *other_fence(const struct cdma_device *cd, const struct cdma_use *use)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	dma_resv_for_each_fence(&cursor, use->resv, dma_resv_usage_rw(use->write), fence)
		if (!dma_fence_is_signaled(fence) &&
		    (fence->ops != &cdma_fence_operations ||
		     container_of(fence, struct cdma_fence, base)->cd != cd))
			return dma_fence_get(fence);
	return NULL;
}

/* Locks one reservation or two, which others may lock in the other order. */
static void lock_all(const struct cdma_use *uses, unsigned int count)
{
	struct dma_resv *first = uses[0].resv, *second = uses[count - 1].resv;

	dma_resv_lock(first, NULL);
	while (first != second && !dma_resv_trylock(second)) {
		dma_resv_unlock(first);
		swap(first, second);
		dma_resv_lock(first, NULL);
	}
}

/* Adds a fence to all reservations, or waits for what one of them has of others. */
static int try_to_publish(const struct cdma_device *cd, struct dma_fence *fence,
			  const struct cdma_use *uses, unsigned int count,
			  struct dma_fence **other)
{
	unsigned int k;
	int err = 0;

	lock_all(uses, count);
	for (k = 0; k < count && !err && !*other; ++k) {
		*other = other_fence(cd, &uses[k]);
		err = dma_resv_reserve_fences(uses[k].resv, 1);
	}
	for (k = 0; k < count; ++k) {
		if (!err && !*other)
			dma_resv_add_fence(uses[k].resv, fence, uses[k].write ?
					   DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ);
		dma_resv_unlock(uses[k].resv);
	}
	return err;
}

/*
 * Has others see a fence, in the reservations of one buffer or of two, once they
 * have done with these; the job is to be queued at once.
 */
int cdma_publish(const struct cdma_device *cd, struct dma_fence *fence,
		 const struct cdma_use *uses, unsigned int count, bool wait)
{
	struct dma_fence *other;
	int err;

	do {
		other = NULL;
		err = try_to_publish(cd, fence, uses, count, &other);
		if (other && !err)
			err = wait ? dma_fence_wait(other, true) : -EAGAIN;
		dma_fence_put(other);
	} while (other && !err);
	return err;
}
