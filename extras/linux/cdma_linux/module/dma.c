// SPDX-License-Identifier: GPL-2.0
/*
 * The engine for the rest of the kernel: a channel of dmaengine that copies
 * memory, where the engine reaches any page.
 *
 * The engine moves data between host memory and its accelerator's memory, and so
 * a copy is two raw transfers by way of a piece of the latter: behind those of
 * processes, as theirs are. Copies are done one after another.
 */
#include <linux/dmaengine.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "driver.h"

/* Of a copy that is done by one transfer each way. */
#define CDMA_BOUNCE SZ_16K

struct cdma_copy {
	struct dma_async_tx_descriptor tx;
	struct list_head link;
	dma_addr_t from;
	dma_addr_t to;
	size_t bytes;
};

struct cdma_dma {
	struct dma_device dma;
	struct dma_chan channel;
	struct cdma_device *cd;
	struct cdma_file *file;		/* Whose transfers these are, while the channel is used. */
	u64 bounce;			/* Where its piece is. */
	spinlock_t lock;		/* Held for the lists, and cookies. */
	struct list_head submitted;
	struct list_head issued;
	struct work_struct work;
};

static struct cdma_dma *dma_of(struct dma_chan *channel)
{
	return container_of(channel, struct cdma_dma, channel);
}

static int move(struct cdma_dma *dma, enum cdma_direction direction, dma_addr_t host, size_t bytes)
{
	const struct cdma_request request = {
		.direction = direction,
		.mode = CDMA_MODE_RAW,
		.device = dma->bounce,
		.bytes = bytes,
		.host_bytes = bytes,
	};

	return cdma_move(dma->file, &request, host);
}

static int copy(struct cdma_dma *dma, const struct cdma_copy *copy)
{
	size_t at, part;
	int err = 0;

	for (at = 0; !err && at < copy->bytes; at += part) {
		part = min_t(size_t, copy->bytes - at, CDMA_BOUNCE);
		err = move(dma, CDMA_PREFETCH, copy->from + at, part);
		if (!err)
			err = move(dma, CDMA_OFFLOAD, copy->to + at, part);
	}
	return err;
}

/* Tells of the end of a copy, which is over then. */
static void end_copy(struct cdma_dma *dma, struct cdma_copy *copy, int err)
{
	const struct dmaengine_result result = {
		.result = err ? DMA_TRANS_ABORTED : DMA_TRANS_NOERROR,
		.residue = err ? copy->bytes : 0,
	};
	struct dma_async_tx_descriptor *tx = &copy->tx;

	spin_lock_bh(&dma->lock);
	dma->channel.completed_cookie = tx->cookie;
	spin_unlock_bh(&dma->lock);
	dma_descriptor_unmap(tx);
	if (tx->callback_result)
		tx->callback_result(tx->callback_param, &result);
	else if (tx->callback)
		tx->callback(tx->callback_param);
	dma_run_dependencies(tx);
	kfree(copy);
}

static struct cdma_copy *take_copy(struct cdma_dma *dma)
{
	struct cdma_copy *next;

	spin_lock_bh(&dma->lock);
	next = list_first_entry_or_null(&dma->issued, struct cdma_copy, link);
	if (next)
		list_del(&next->link);
	spin_unlock_bh(&dma->lock);
	return next;
}

static void copy_all(struct work_struct *work)
{
	struct cdma_dma *dma = container_of(work, struct cdma_dma, work);
	struct cdma_copy *next;

	while ((next = take_copy(dma)))
		end_copy(dma, next, copy(dma, next));
}

static dma_cookie_t submit(struct dma_async_tx_descriptor *tx)
{
	struct cdma_dma *dma = dma_of(tx->chan);

	spin_lock_bh(&dma->lock);
	tx->cookie = max(dma->channel.cookie + 1, DMA_MIN_COOKIE);
	dma->channel.cookie = tx->cookie;
	list_add_tail(&container_of(tx, struct cdma_copy, tx)->link, &dma->submitted);
	spin_unlock_bh(&dma->lock);
	return tx->cookie;
}

static struct dma_async_tx_descriptor *prepare(struct dma_chan *channel, dma_addr_t to,
					       dma_addr_t from, size_t bytes, unsigned long flags)
{
	struct cdma_copy *copy = kzalloc(sizeof(*copy), GFP_NOWAIT);

	if (!copy)
		return NULL;
	dma_async_tx_descriptor_init(&copy->tx, channel);
	copy->tx.tx_submit = submit;
	copy->tx.flags = flags;
	copy->from = from;
	copy->to = to;
	copy->bytes = bytes;
	return &copy->tx;
}

static void issue(struct dma_chan *channel)
{
	struct cdma_dma *dma = dma_of(channel);

	spin_lock_bh(&dma->lock);
	list_splice_tail_init(&dma->submitted, &dma->issued);
	spin_unlock_bh(&dma->lock);
	queue_work(cdma_works, &dma->work);
}

static enum dma_status status(struct dma_chan *channel, dma_cookie_t cookie,
			      struct dma_tx_state *state)
{
	const dma_cookie_t used = READ_ONCE(channel->cookie);
	const dma_cookie_t completed = READ_ONCE(channel->completed_cookie);

	dma_set_tx_state(state, completed, used, 0);
	return dma_async_is_complete(cookie, completed, used);
}

static void synchronize(struct dma_chan *channel)
{
	flush_work(&dma_of(channel)->work);
}

/* Forgets what has not begun. */
static int terminate(struct dma_chan *channel)
{
	struct cdma_dma *dma = dma_of(channel);
	struct cdma_copy *copy, *next;
	LIST_HEAD(copies);

	spin_lock_bh(&dma->lock);
	list_splice_init(&dma->submitted, &copies);
	list_splice_init(&dma->issued, &copies);
	spin_unlock_bh(&dma->lock);
	list_for_each_entry_safe(copy, next, &copies, link) {
		dma_descriptor_unmap(&copy->tx);
		kfree(copy);
	}
	return 0;
}

static int get_channel(struct dma_chan *channel)
{
	struct cdma_range range = { .bytes = CDMA_BOUNCE };
	struct cdma_dma *dma = dma_of(channel);
	int err;

	dma->file = cdma_new_file(dma->cd, GLOBAL_ROOT_UID);
	if (!dma->file)
		return -ENOMEM;
	err = cdma_join_pair(dma->file, false);
	if (!err)
		err = cdma_allocate(dma->file, &range);
	if (err)
		cdma_close_file(dma->file);
	dma->bounce = range.address;
	return err;
}

static void put_channel(struct dma_chan *channel)
{
	terminate(channel);
	synchronize(channel);
	cdma_close_file(dma_of(channel)->file);
}

static void release_dma(struct dma_device *device)
{
	kfree(container_of(device, struct cdma_dma, dma));
}

/* What the engine can copy, and how. */
static void describe(struct cdma_dma *dma, const struct cdma_device *cd)
{
	const struct cdma_geometry *geometry = cdma_geometry(cd);
	struct dma_device *device = &dma->dma;

	device->dev = cd->dev;
	device->copy_align = ilog2(max3(geometry->host_align, geometry->dev_align, 1u));
	device->directions = BIT(DMA_MEM_TO_MEM);
	device->residue_granularity = DMA_RESIDUE_GRANULARITY_DESCRIPTOR;
	device->device_prep_dma_memcpy = prepare;
	device->device_issue_pending = issue;
	device->device_tx_status = status;
	device->device_terminate_all = terminate;
	device->device_synchronize = synchronize;
	device->device_alloc_chan_resources = get_channel;
	device->device_free_chan_resources = put_channel;
	device->device_release = release_dma;
	dma_cap_set(DMA_MEMCPY, device->cap_mask);
	dma_cap_set(DMA_PRIVATE, device->cap_mask);
	INIT_LIST_HEAD(&device->channels);
	dma->channel.device = device;
	list_add_tail(&dma->channel.device_node, &device->channels);
}

/* Who still has the channel is told of errors, until it is put. */
static void withdraw(void *device)
{
	dma_async_device_unregister(device);
}

/* An engine that reaches pages has a channel. */
int cdma_offer(struct cdma_device *cd)
{
	struct cdma_dma *dma;
	int err;

	if (!cdma_direct_align(cd))
		return 0;
	dma = kzalloc(sizeof(*dma), GFP_KERNEL);
	if (!dma)
		return -ENOMEM;
	spin_lock_init(&dma->lock);
	INIT_LIST_HEAD(&dma->submitted);
	INIT_LIST_HEAD(&dma->issued);
	INIT_WORK(&dma->work, copy_all);
	dma->cd = cd;
	describe(dma, cd);
	err = dma_async_device_register(&dma->dma);
	if (!err)
		return devm_add_action_or_reset(cd->dev, withdraw, &dma->dma);
	kfree(dma);
	return err;
}
