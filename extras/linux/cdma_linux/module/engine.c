// SPDX-License-Identifier: GPL-2.0
/*
 * An engine from its probe to its end, on whatever bus it is: its start, its
 * interrupt, its health, its sleep.
 *
 * An engine is sick when a memory was silent, or a transfer does not end. Then
 * it is reset, and what it had ends. While the memory stays silent the reset
 * does not end either: the engine is stuck, nothing is submitted, and what it
 * may still write belongs to nobody. It is tried again until it is well.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/pm.h>
#include <linux/slab.h>

#include "driver.h"

/* Descriptors in a ring, where the engine takes as many. */
#define CDMA_ENTRIES 64u
/* Looks at a register until it must have changed. */
#define CDMA_PATIENCE 40u
/* Looks for the end of transfers before the machine sleeps, in 100 ms each. */
#define CDMA_DRAIN 10u
/* Between two tries of an engine that is stuck. */
#define CDMA_RETRY (HZ / 2)

static unsigned int host_kib = 4096;
module_param(host_kib, uint, 0444);
MODULE_PARM_DESC(host_kib, "KiB of host memory that the engine may touch, at most what is contiguous");

static unsigned int watchdog = 1000000;
module_param(watchdog, uint, 0444);
MODULE_PARM_DESC(watchdog, "clock cycles that a memory may be silent; 0 for ever");

static unsigned int timeout = 30;
module_param(timeout, uint, 0444);
MODULE_PARM_DESC(timeout, "seconds in which a transfer must end; 0 for ever");

static unsigned int coalesce = 1;
module_param(coalesce, uint, 0444);
MODULE_PARM_DESC(coalesce, "completions of a direction for each interrupt, up to 255");

static unsigned int coalesce_cycles = 4096;
module_param(coalesce_cycles, uint, 0444);
MODULE_PARM_DESC(coalesce_cycles, "clock cycles that a completion may wait for others");

static DEFINE_IDA(cdma_numbers);

static uint32_t cdma_read32(void *context, uint32_t offset)
{
	const struct cdma_device *cd = context;

	return readl(cd->registers + offset);
}

static void cdma_write32(void *context, uint32_t offset, uint32_t value)
{
	const struct cdma_device *cd = context;

	writel(value, cd->registers + offset);
}

static void cdma_idle_a_while(void *context)
{
	usleep_range(50, 100);
}

static void free_device(struct kref *ref)
{
	struct cdma_device *cd = container_of(ref, struct cdma_device, ref);

	cdma_pool_exit(&cd->device);
	cdma_pool_exit(&cd->host);
	kfree(cd->misc.name);
	put_device(cd->dev);
	kfree(cd);
}

void cdma_put_device(struct cdma_device *cd)
{
	kref_put(&cd->ref, free_device);
}

static irqreturn_t cdma_interrupt(int irq, void *context)
{
	struct cdma_device *cd = context;

	mutex_lock(&cd->lock);
	if (cd->state == CDMA_WELL)
		cdma_look_after(cd);
	mutex_unlock(&cd->lock);
	return IRQ_HANDLED;
}

/* What the portable driver says, as the kernel says it. */
static int error_of(int status)
{
	switch (status) {
	case CDMA_OK:
		return 0;
	case CDMA_NO_ENGINE:
	case CDMA_BAD_VERSION:
		return -ENODEV;
	case CDMA_TIMEOUT:
		return -ETIMEDOUT;
	default:
		return -EIO;
	}
}

static u64 limit_of(const struct cdma_pool *pool)
{
	return pool->base + ((u64)pool->pages << PAGE_SHIFT) - 1;
}

/* Opens the windows on rings, pools and buffers that it reaches, and starts both channels. */
static int start_engine(struct cdma_device *cd)
{
	const struct cdma_geometry *geometry = &cd->engine.geometry;
	const u32 entries = min(geometry->ring_entries, CDMA_ENTRIES);
	const bool anywhere = cdma_direct_align(cd);
	const u64 all = DMA_BIT_MASK(geometry->host_address_bits);
	unsigned int direction;
	int err;

	/* A reset has made every entry the first of the format. */
	memset(cd->tables, 0, sizeof(cd->tables));
	err = error_of(cdma_set_window(&cd->engine, CDMA_DEV_WINDOW_BASE, cd->device.base,
				       limit_of(&cd->device), 0));
	if (!err)
		err = error_of(cdma_set_window(&cd->engine, CDMA_HOST_WINDOW_BASE,
					       anywhere ? 0 : cd->rings_bus,
					       anywhere ? all : limit_of(&cd->host), 0));
	cdma_set_watchdog(&cd->engine, watchdog);
	for (direction = 0; !err && direction < CDMA_DIRECTIONS; ++direction) {
		struct cdma_channel *channel = cdma_channel_of(cd, direction);
		const size_t at = direction * cdma_ring_bytes(entries);

		cdma_set_coalescing(channel, min(coalesce, 255u), max(coalesce_cycles, 1u));
		err = error_of(cdma_start(channel, cd->rings + at, cd->rings_bus + at, entries,
					  CDMA_IRQ));
	}
	return err;
}

/*
 * Nothing moves after it, and nothing is reached: a window that ends below its
 * base is closed. Or it fails, and the engine is not at rest.
 */
static int stop_engine(struct cdma_device *cd)
{
	const u64 nowhere = ~0xfffull;
	unsigned int direction;
	int err;

	for (direction = 0; direction < CDMA_DIRECTIONS; ++direction)
		cdma_channel_write(cdma_channel_of(cd, direction), CDMA_CHANNEL_IRQ_ENABLE, 0);
	err = error_of(cdma_soft_reset(&cd->engine, CDMA_PATIENCE));
	cdma_set_window(&cd->engine, CDMA_DEV_WINDOW_BASE, nowhere, 0xfff, 0);
	cdma_set_window(&cd->engine, CDMA_HOST_WINDOW_BASE, nowhere, 0xfff, 0);
	return err;
}

/* ---- health ---- */

/* Resets an engine and starts it, or will try again. */
static void cure(struct cdma_device *cd)
{
	int err = stop_engine(cd);
	const bool rests = !err;

	cdma_end_all(cd, !rests);
	if (rests) {
		++cd->resets;
		cdma_pool_pass_all(&cd->host, cd, NULL);
		cdma_close_all(cd, false);
		mutex_lock(&cd->memory_lock);
		cdma_pool_pass_all(&cd->device, cd, NULL);
		mutex_unlock(&cd->memory_lock);
		err = start_engine(cd);
	}
	if (!err)
		dev_warn(cd->dev, "the engine was reset\n");
	else if (cd->state != CDMA_STUCK)
		dev_err(cd->dev, "the engine is stuck\n");
	cd->state = err ? CDMA_STUCK : CDMA_WELL;
	cd->sick = false;
	if (err)
		mod_delayed_work(system_wq, &cd->care, CDMA_RETRY);
}

void cdma_look_after(struct cdma_device *cd)
{
	cdma_collect(cd);
	if (cd->sick)
		cure(cd);
}

/* Whether the oldest job of a direction has been there for too long. */
static bool is_late(const struct cdma_device *cd)
{
	unsigned int direction;

	for (direction = 0; direction < CDMA_DIRECTIONS; ++direction)
		if (timeout && !list_empty(&cd->running[direction]) &&
		    time_after(jiffies, cd->progress[direction] + timeout * HZ))
			return true;
	return false;
}

static bool is_busy(const struct cdma_device *cd)
{
	return !list_empty(&cd->running[CDMA_OFFLOAD]) || !list_empty(&cd->running[CDMA_PREFETCH]);
}

/* Looks again in a while, if a transfer may come to be late. */
void cdma_keep_watch(struct cdma_device *cd)
{
	if (timeout)
		queue_delayed_work(system_wq, &cd->care, timeout * HZ / 2 + 1);
}

static void care(struct work_struct *work)
{
	struct cdma_device *cd = container_of(to_delayed_work(work), struct cdma_device, care);

	mutex_lock(&cd->lock);
	if (cd->state == CDMA_STUCK) {
		cure(cd);
	} else if (cd->state == CDMA_WELL) {
		/* An interrupt may have been lost. */
		cdma_look_after(cd);
		if (is_late(cd))
			cure(cd);
		if (is_busy(cd))
			cdma_keep_watch(cd);
	}
	mutex_unlock(&cd->lock);
}

/* ---- sleep ---- */

/* Processes are frozen; what they have in flight ends, or is ended. */
static int suspend_engine(struct device *dev)
{
	struct cdma_device *cd = dev_get_drvdata(dev);
	unsigned int looks;
	int err;

	cancel_delayed_work_sync(&cd->care);
	mutex_lock(&cd->lock);
	for (looks = 0; cd->state == CDMA_WELL && is_busy(cd) && looks < CDMA_DRAIN; ++looks) {
		msleep(100);
		cdma_look_after(cd);
	}
	err = stop_engine(cd);
	cdma_end_all(cd, err);
	cd->state = CDMA_ASLEEP;
	mutex_unlock(&cd->lock);
	cancel_delayed_work_sync(&cd->care);
	/* Without power it will be at rest. */
	return 0;
}

static int resume_engine(struct device *dev)
{
	struct cdma_device *cd = dev_get_drvdata(dev);

	mutex_lock(&cd->lock);
	cure(cd);
	mutex_unlock(&cd->lock);
	return 0;
}

DEFINE_SIMPLE_DEV_PM_OPS(cdma_pm, suspend_engine, resume_engine);

/* ---- from its probe to its end ---- */

static struct cdma_device *new_device(struct device *dev, const struct cdma_place *place)
{
	struct cdma_device *cd = kzalloc(sizeof(*cd), GFP_KERNEL);

	if (!cd)
		return NULL;
	kref_init(&cd->ref);
	mutex_init(&cd->lock);
	mutex_init(&cd->memory_lock);
	INIT_LIST_HEAD(&cd->running[CDMA_OFFLOAD]);
	INIT_LIST_HEAD(&cd->running[CDMA_PREFETCH]);
	INIT_LIST_HEAD(&cd->files);
	INIT_LIST_HEAD(&cd->exports);
	INIT_LIST_HEAD(&cd->exposed);
	INIT_DELAYED_WORK(&cd->care, care);
	cd->dev = get_device(dev);
	cd->registers = place->registers;
	cd->memory = place->memory;
	cd->memory_bus = place->memory_bus;
	cd->irq = place->irq;
	return cd;
}

static int open_engine(struct cdma_device *cd, u64 memory_bytes)
{
	const size_t rings = PAGE_ALIGN(CDMA_DIRECTIONS * cdma_ring_bytes(CDMA_ENTRIES));
	const struct cdma_geometry *geometry = &cd->engine.geometry;
	const struct cdma_io io = {
		.context = cd,
		.read32 = cdma_read32,
		.write32 = cdma_write32,
		.idle = cdma_idle_a_while,
	};
	int err;

	cd->host_bytes = PAGE_ALIGN((size_t)host_kib << 10);
	if (cd->host_bytes <= rings)
		return -EINVAL;
	err = error_of(cdma_open(&cd->engine, &io));
	if (!err)
		err = dma_set_mask_and_coherent(cd->dev, DMA_BIT_MASK(geometry->host_address_bits));
	if (err)
		return err;
	/* Where a buffer is moved for the device it keeps its place in a page. */
	dma_set_min_align_mask(cd->dev, CDMA_PAGE_BYTES - 1);
	cd->rings = dma_alloc_coherent(cd->dev, cd->host_bytes, &cd->rings_bus, GFP_KERNEL);
	if (!cd->rings)
		return -ENOMEM;
	cd->host_memory = cd->rings + rings;
	err = cdma_pool_init(&cd->host, cd->rings_bus + rings, cd->host_bytes - rings);
	if (!err)
		err = cdma_pool_init(&cd->device, 0, memory_bytes);
	return err ? err : start_engine(cd);
}

/* Whatever files ask for from now on fails, and their jobs have ended. */
static void end_engine(struct cdma_device *cd)
{
	int err;

	mutex_lock(&cd->lock);
	if (cd->state != CDMA_GONE) {
		if (cd->state == CDMA_WELL)
			cdma_collect(cd);
		mutex_lock(&cd->memory_lock);
		cd->state = CDMA_GONE;
		mutex_unlock(&cd->memory_lock);
		cdma_unmap_all(cd);
		err = stop_engine(cd);
		cdma_end_all(cd, err);
		cdma_close_all(cd, err);
		/* It may still write there. */
		if (err) {
			dev_err(cd->dev, "the engine does not come to rest: its memory is lost\n");
			cd->rings = NULL;
		}
	}
	mutex_unlock(&cd->lock);
	cancel_delayed_work_sync(&cd->care);
}

static void free_memory(struct cdma_device *cd)
{
	if (cd->rings)
		dma_free_coherent(cd->dev, cd->host_bytes, cd->rings, cd->rings_bus);
}

static int make_file(struct cdma_device *cd)
{
	int err = ida_alloc(&cdma_numbers, GFP_KERNEL);

	if (err < 0)
		return err;
	cd->number = err;
	cd->misc.minor = MISC_DYNAMIC_MINOR;
	cd->misc.fops = &cdma_file_operations;
	cd->misc.parent = cd->dev;
	cd->misc.name = kasprintf(GFP_KERNEL, "cdma%d", cd->number);
	cdma_describe(&cd->misc);
	err = cd->misc.name ? misc_register(&cd->misc) : -ENOMEM;
	if (err)
		ida_free(&cdma_numbers, cd->number);
	return err;
}

/* Files may stay open. */
static void drop(void *context)
{
	struct cdma_device *cd = context;

	cdma_hide(cd);
	misc_deregister(&cd->misc);
	ida_free(&cdma_numbers, cd->number);
	free_irq(cd->irq, cd);
	end_engine(cd);
	free_memory(cd);
	cdma_put_device(cd);
}

/* A device has been found, and its bus has done its part. The engine goes with the driver. */
int cdma_add(struct device *dev, const struct cdma_place *place)
{
	struct cdma_device *cd = new_device(dev, place);
	int err;

	if (!cd)
		return -ENOMEM;
	dev_set_drvdata(dev, cd);
	err = open_engine(cd, place->memory_bytes);
	if (err)
		goto free;
	err = request_threaded_irq(cd->irq, NULL, cdma_interrupt, IRQF_ONESHOT, "cdma", cd);
	if (err)
		goto stop;
	err = make_file(cd);
	if (err)
		goto irq;
	cdma_show(cd);
	dev_info(dev, "%s: words of %u bits, windows of %u, %u units\n", cd->misc.name,
		 cd->engine.geometry.word_bits, cd->engine.geometry.window,
		 cd->engine.geometry.units);
	return devm_add_action_or_reset(dev, drop, cd);

irq:
	free_irq(cd->irq, cd);
stop:
	stop_engine(cd);
free:
	free_memory(cd);
	cdma_put_device(cd);
	return err;
}

/* The machine halts, or another kernel starts: the engine must be at rest. */
void cdma_rest(struct device *dev)
{
	end_engine(dev_get_drvdata(dev));
}

static int __init cdma_begin(void)
{
	int err = cdma_begin_pci();

	if (err)
		return err;
	err = cdma_begin_platform();
	if (err)
		cdma_end_pci();
	return err;
}
module_init(cdma_begin);

static void __exit cdma_end(void)
{
	cdma_end_platform();
	cdma_end_pci();
}
module_exit(cdma_end);

MODULE_DESCRIPTION("Compressing DMA engine");
MODULE_LICENSE("GPL");
