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
#include <linux/dma-fence.h>
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

struct workqueue_struct *cdma_works;

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

	kvfree(cd->device.used);
	kvfree(cd->host.used);
	kfree(cd->misc.name);
	put_device(cd->dev);
	kfree(cd);
}

void cdma_put_device(struct cdma_device *cd)
{
	kref_put(&cd->ref, free_device);
}

/* Whether the hardware is there, and stays until its presence is put. */
bool cdma_get_presence(struct cdma_device *cd)
{
	down_read(&cd->presence);
	if (cd->state != CDMA_GONE)
		return true;
	up_read(&cd->presence);
	return false;
}

void cdma_put_presence(struct cdma_device *cd)
{
	up_read(&cd->presence);
}

/* What the portable driver says, as the kernel says it. */
static int error_of(int status)
{
	return status == CDMA_OK ? 0 :
	       status == CDMA_NO_ENGINE || status == CDMA_BAD_VERSION ? -ENODEV : -EIO;
}

/* The last byte of a pool that begins at an address, and has a page at least. */
static u64 limit_of(const struct cdma_pool *pool, u64 base)
{
	return base + ((u64)pool->pages << PAGE_SHIFT) - 1;
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
	err = error_of(cdma_set_window(&cd->engine, CDMA_DEV_WINDOW_BASE, 0,
				       limit_of(&cd->device, 0), 0));
	if (!err)
		err = error_of(cdma_set_window(&cd->engine, CDMA_HOST_WINDOW_BASE,
					       anywhere ? 0 : cd->rings_bus,
					       anywhere ? all : limit_of(&cd->host, cd->host_bus),
					       0));
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
 * base is closed. Or it fails, and the engine is not at rest. One that is not
 * there any more reaches nothing.
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
	return cdma_read32(cd, CDMA_ENGINE_BASE + CDMA_ENGINE_IDENT) == ~0u ? 0 : err;
}

/* ---- health ---- */

/* What an engine that is stuck may still write is given to nobody before its next reset. */
void cdma_expose(struct cdma_hold *hold)
{
	struct cdma_device *cd = hold->cd;

	cdma_disown_host(hold);
	list_add(&hold->link, &cd->exposed);
	hold->busy = false;
	if (atomic_dec_and_test(&cd->busy))
		wake_up_all(&cd->room);
}

/* The engine writes no more. Nobody waits until the pages of processes have been let go. */
static void let_exposed_go(struct cdma_device *cd)
{
	struct cdma_hold *hold, *next;

	list_for_each_entry_safe(hold, next, &cd->exposed, link) {
		list_del(&hold->link);
		hold->busy = true;
		atomic_inc(&cd->busy);
		queue_work(cdma_works, &hold->work);
	}
}

/* Resets an engine and starts it, or will try again. */
static void cure(struct cdma_device *cd)
{
	int err = stop_engine(cd);
	const bool rests = !err;

	cdma_abort_all(cd, !rests, false);
	if (rests) {
		++cd->resets;
		let_exposed_go(cd);
		err = start_engine(cd);
	}
	if (!err)
		dev_warn(cd->dev, "the engine was reset\n");
	else if (cd->state != CDMA_STUCK)
		dev_err(cd->dev, "the engine is stuck\n");
	cd->state = err ? CDMA_STUCK : CDMA_WELL;
	cd->sick = false;
	if (err) {
		cdma_abort_all(cd, false, true);
		mod_delayed_work(system_wq, &cd->care, CDMA_RETRY);
	}
	cdma_dispatch(cd);
}

static void look_after(struct cdma_device *cd)
{
	if (cd->state != CDMA_WELL)
		return;
	cdma_collect(cd);
	if (cd->sick)
		cure(cd);
	else
		cdma_dispatch(cd);
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

static irqreturn_t cdma_interrupt(int irq, void *context)
{
	const bool signals = dma_fence_begin_signalling();
	struct cdma_device *cd = context;

	mutex_lock(&cd->lock);
	look_after(cd);
	mutex_unlock(&cd->lock);
	dma_fence_end_signalling(signals);
	return IRQ_HANDLED;
}

static void care(struct work_struct *work)
{
	struct cdma_device *cd = container_of(to_delayed_work(work), struct cdma_device, care);

	mutex_lock(&cd->lock);
	/* An interrupt may have been lost. */
	look_after(cd);
	if (cd->state == CDMA_STUCK || (cd->state == CDMA_WELL && is_late(cd)))
		cure(cd);
	if (cd->state == CDMA_WELL && is_busy(cd))
		cdma_keep_watch(cd);
	mutex_unlock(&cd->lock);
}

/* ---- sleep ---- */

/* What is in flight is ended, and nothing begins before the engine goes on. */
void cdma_halt(struct device *dev)
{
	struct cdma_device *cd = dev_get_drvdata(dev);

	mutex_lock(&cd->lock);
	if (cd->state != CDMA_GONE) {
		/* Without power it will be at rest. */
		cdma_abort_all(cd, stop_engine(cd), false);
		cd->state = CDMA_ASLEEP;
	}
	mutex_unlock(&cd->lock);
	cancel_delayed_work_sync(&cd->care);
}

int cdma_go_on(struct device *dev)
{
	struct cdma_device *cd = dev_get_drvdata(dev);

	mutex_lock(&cd->lock);
	if (cd->state != CDMA_GONE)
		cure(cd);
	mutex_unlock(&cd->lock);
	return 0;
}

/* Processes are frozen; what they have in flight may end. */
static int suspend_engine(struct device *dev)
{
	struct cdma_device *cd = dev_get_drvdata(dev);
	unsigned int looks;

	mutex_lock(&cd->lock);
	for (looks = 0; cd->state == CDMA_WELL && is_busy(cd) && looks < CDMA_DRAIN; ++looks) {
		msleep(100);
		look_after(cd);
	}
	mutex_unlock(&cd->lock);
	cdma_halt(dev);
	return 0;
}

DEFINE_SIMPLE_DEV_PM_OPS(cdma_pm, suspend_engine, cdma_go_on);

/* ---- from its probe to its end ---- */

static struct cdma_device *new_device(struct device *dev, const struct cdma_place *place)
{
	struct cdma_device *cd = kzalloc(sizeof(*cd), GFP_KERNEL);

	if (!cd)
		return NULL;
	kref_init(&cd->ref);
	init_rwsem(&cd->presence);
	mutex_init(&cd->lock);
	mutex_init(&cd->turn);
	init_waitqueue_head(&cd->room);
	INIT_LIST_HEAD(&cd->queued[CDMA_OFFLOAD]);
	INIT_LIST_HEAD(&cd->queued[CDMA_PREFETCH]);
	INIT_LIST_HEAD(&cd->running[CDMA_OFFLOAD]);
	INIT_LIST_HEAD(&cd->running[CDMA_PREFETCH]);
	INIT_LIST_HEAD(&cd->files);
	INIT_LIST_HEAD(&cd->accounts);
	INIT_LIST_HEAD(&cd->exports);
	INIT_LIST_HEAD(&cd->exposed);
	INIT_DELAYED_WORK(&cd->care, care);
	cd->dev = get_device(dev);
	cd->registers = place->registers;
	cd->memory = place->memory;
	cd->memory_bus = place->memory_bus;
	cd->mappable = place->mappable && PAGE_ALIGNED(place->memory_bus);
	cd->irq = place->irq;
	return cd;
}

/* Finds out what it is; another kernel may have left it running. */
static int find_engine(struct cdma_device *cd)
{
	const struct cdma_io io = {
		.context = cd,
		.read32 = cdma_read32,
		.write32 = cdma_write32,
		.idle = cdma_idle_a_while,
	};
	int err = error_of(cdma_open(&cd->engine, &io));

	return err ? err : stop_engine(cd);
}

static int open_engine(struct cdma_device *cd, u64 memory_bytes)
{
	const size_t rings = PAGE_ALIGN(CDMA_DIRECTIONS * cdma_ring_bytes(CDMA_ENTRIES));
	const struct cdma_geometry *geometry = &cd->engine.geometry;
	int err;

	cd->host_bytes = PAGE_ALIGN((size_t)host_kib << 10);
	/* Of less than a page nothing is handed out, and no window is opened. */
	if (cd->host_bytes <= rings || memory_bytes < PAGE_SIZE)
		return -EINVAL;
	err = dma_set_mask_and_coherent(cd->dev, DMA_BIT_MASK(geometry->host_address_bits));
	if (err)
		return err;
	/* Where a buffer is moved for the device it keeps its place in a page. */
	dma_set_min_align_mask(cd->dev, CDMA_PAGE_BYTES - 1);
	dma_set_max_seg_size(cd->dev, UINT_MAX);
	cd->rings = dma_alloc_coherent(cd->dev, cd->host_bytes, &cd->rings_bus, GFP_KERNEL);
	if (!cd->rings)
		return -ENOMEM;
	cd->host_memory = cd->rings + rings;
	cd->host_bus = cd->rings_bus + rings;
	err = cdma_pool_init(&cd->host, cd->host_bytes - rings);
	if (!err)
		err = cdma_pool_init(&cd->device, memory_bytes);
	return err ? err : start_engine(cd);
}

/* Takes all pages away from processes, none of which gets another one. */
static void unmap_all(struct cdma_device *cd)
{
	struct cdma_file *file;

	list_for_each_entry(file, &cd->files, link) {
		if (file->inode)
			unmap_mapping_range(file->inode->i_mapping, 0, 0, 1);
		wake_up_all(&file->wait);
	}
	cdma_unmap_exports(cd);
}

/* Stops the engine, and frees what it may touch, which is lost if it does not come to rest. */
static void end_memory(struct cdma_device *cd)
{
	const int err = stop_engine(cd);

	mutex_lock(&cd->lock);
	cdma_abort_all(cd, err, true);
	mutex_unlock(&cd->lock);
	wait_event(cd->room, !atomic_read(&cd->busy));
	cancel_delayed_work_sync(&cd->care);
	if (err) {
		dev_err(cd->dev, "the engine does not come to rest: its memory is lost\n");
		return;
	}
	mutex_lock(&cd->lock);
	let_exposed_go(cd);
	mutex_unlock(&cd->lock);
	wait_event(cd->room, !atomic_read(&cd->busy));
	if (cd->rings)
		dma_free_coherent(cd->dev, cd->host_bytes, cd->rings, cd->rings_bus);
	cd->rings = NULL;
}

/* Whatever files ask for from now on fails, and their jobs end. */
static void end_engine(struct cdma_device *cd)
{
	bool first;

	down_write(&cd->presence);
	mutex_lock(&cd->lock);
	first = cd->state != CDMA_GONE;
	if (cd->state == CDMA_WELL)
		cdma_collect(cd);
	cd->state = CDMA_GONE;
	unmap_all(cd);
	mutex_unlock(&cd->lock);
	up_write(&cd->presence);
	if (first)
		end_memory(cd);
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

	cdma_withdraw(cd);
	cdma_hide(cd);
	misc_deregister(&cd->misc);
	ida_free(&cdma_numbers, cd->number);
	free_irq(cd->irq, cd);
	end_engine(cd);
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
	err = find_engine(cd);
	if (err)
		goto put;
	err = open_engine(cd, place->memory_bytes);
	if (err)
		goto end;
	err = request_threaded_irq(cd->irq, NULL, cdma_interrupt, IRQF_ONESHOT, "cdma", cd);
	if (err)
		goto end;
	err = make_file(cd);
	if (err)
		goto irq;
	cdma_show(cd);
	cdma_offer(cd);
	dev_info(dev, "%s: words of %u bits, windows of %u, %u units\n", cd->misc.name,
		 cd->engine.geometry.word_bits, cd->engine.geometry.window,
		 cd->engine.geometry.units);
	return devm_add_action_or_reset(dev, drop, cd);

irq:
	free_irq(cd->irq, cd);
end:
	end_engine(cd);
put:
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
	int err;

	cdma_name_values();
	cdma_works = alloc_workqueue("cdma", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!cdma_works)
		return -ENOMEM;
	err = cdma_begin_pci();
	if (err)
		goto destroy;
	err = cdma_begin_platform();
	if (!err)
		return 0;
	cdma_end_pci();
destroy:
	destroy_workqueue(cdma_works);
	return err;
}
module_init(cdma_begin);

static void __exit cdma_end(void)
{
	cdma_end_platform();
	cdma_end_pci();
	destroy_workqueue(cdma_works);
}
module_exit(cdma_end);

MODULE_DESCRIPTION("Compressing DMA engine");
MODULE_VERSION("0.2.0");
MODULE_LICENSE("GPL");
