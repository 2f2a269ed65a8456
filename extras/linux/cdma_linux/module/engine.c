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
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/platform_device.h>
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
	cdma_drop_space(cd);
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

/* Opens the windows from their bases to their last bytes. */
static int set_windows(struct cdma_device *cd, u64 device, u64 device_limit, u64 host,
		       u64 host_limit)
{
	const int err = cdma_set_window(&cd->engine, CDMA_DEV_WINDOW_BASE, device, device_limit, 0);

	return cdma_set_window(&cd->engine, CDMA_HOST_WINDOW_BASE, host, host_limit, 0) || err ?
	       -EIO : 0;
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
	unsigned int direction;
	int err = set_windows(cd, 0, limit_of(&cd->device, 0), anywhere ? 0 : cd->rings_bus,
			      anywhere ? DMA_BIT_MASK(geometry->host_address_bits) :
			      limit_of(&cd->host, cd->host_bus));

	/* A reset has made every entry the first of the format. */
	memset(cd->tables, 0, sizeof(cd->tables));
	cdma_set_watchdog(&cd->engine, watchdog);
	for (direction = 0; !err && direction < CDMA_DIRECTIONS; ++direction) {
		struct cdma_channel *channel = cdma_channel_of(cd, direction);
		const size_t at = direction * cdma_ring_bytes(entries);

		cdma_set_coalescing(channel, min(coalesce, 255u), max(coalesce_cycles, 1u));
		if (cdma_start(channel, cd->rings + at, cd->rings_bus + at, entries, CDMA_IRQ))
			err = -EIO;
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
	int status;

	for (direction = 0; direction < CDMA_DIRECTIONS; ++direction)
		cdma_channel_write(cdma_channel_of(cd, direction), CDMA_CHANNEL_IRQ_ENABLE, 0);
	status = cdma_soft_reset(&cd->engine, CDMA_PATIENCE);
	set_windows(cd, nowhere, 0xfff, nowhere, 0xfff);
	return status && cdma_read32(cd, CDMA_ENGINE_BASE + CDMA_ENGINE_IDENT) != ~0u ? -EIO : 0;
}

/* ---- health ---- */

/* What an engine that is stuck may still write is given to nobody before its next reset. */
void cdma_expose(struct cdma_hold *hold)
{
	struct cdma_device *cd = hold->cd;

	cdma_disown_host(hold);
	list_add(&hold->link, &cd->exposed);
	cdma_vacate(hold);
}

/* The engine writes no more. Nobody waits until the pages of processes have been let go. */
static void let_exposed_go(struct cdma_device *cd)
{
	struct cdma_hold *hold, *next;

	list_for_each_entry_safe(hold, next, &cd->exposed, link) {
		list_del(&hold->link);
		cdma_occupy(hold);
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

	scoped_guard(mutex, &cd->lock)
		look_after(cd);
	dma_fence_end_signalling(signals);
	return IRQ_HANDLED;
}

static void care(struct work_struct *work)
{
	struct cdma_device *cd = container_of(to_delayed_work(work), struct cdma_device, care);

	guard(mutex)(&cd->lock);
	/* An interrupt may have been lost. */
	look_after(cd);
	if (cd->state == CDMA_STUCK || (cd->state == CDMA_WELL && is_late(cd)))
		cure(cd);
	if (cd->state == CDMA_WELL && is_busy(cd))
		cdma_keep_watch(cd);
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

	guard(mutex)(&cd->lock);
	if (cd->state != CDMA_GONE)
		cure(cd);
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

static struct cdma_device *new_device(struct device *dev)
{
	struct cdma_device *cd = kzalloc(sizeof(*cd), GFP_KERNEL);
	unsigned int direction;

	if (!cd)
		return NULL;
	if (cdma_make_space(cd)) {
		kfree(cd);
		return NULL;
	}
	kref_init(&cd->ref);
	init_rwsem(&cd->presence);
	mutex_init(&cd->lock);
	mutex_init(&cd->turn);
	init_waitqueue_head(&cd->room);
	init_waitqueue_head(&cd->gone);
	for (direction = 0; direction < CDMA_DIRECTIONS; ++direction) {
		INIT_LIST_HEAD(&cd->queued[direction]);
		INIT_LIST_HEAD(&cd->running[direction]);
	}
	INIT_LIST_HEAD(&cd->accounts);
	INIT_LIST_HEAD(&cd->exposed);
	INIT_DELAYED_WORK(&cd->care, care);
	cd->dev = get_device(dev);
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

	return cdma_open(&cd->engine, &io) ? -ENODEV : stop_engine(cd);
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

/* Stops the engine, and frees what it may touch, which is lost if it does not come to rest. */
static void end_memory(struct cdma_device *cd)
{
	const int err = stop_engine(cd);

	scoped_guard(mutex, &cd->lock)
		cdma_abort_all(cd, err, true);
	wait_event(cd->room, !atomic_read(&cd->busy));
	cancel_delayed_work_sync(&cd->care);
	if (err) {
		dev_err(cd->dev, "the engine does not come to rest: its memory is lost\n");
		return;
	}
	scoped_guard(mutex, &cd->lock)
		let_exposed_go(cd);
	wait_event(cd->room, !atomic_read(&cd->busy));
	if (cd->rings)
		dma_free_coherent(cd->dev, cd->host_bytes, cd->rings, cd->rings_bus);
	cd->rings = NULL;
}

/* Files have been told, and processes have no page any more; returns whether they had. */
static bool leave(struct cdma_device *cd)
{
	guard(rwsem_write)(&cd->presence);
	guard(mutex)(&cd->lock);
	if (cd->state == CDMA_GONE)
		return false;
	if (cd->state == CDMA_WELL)
		cdma_collect(cd);
	cd->state = CDMA_GONE;
	unmap_mapping_range(cd->space->i_mapping, 0, 0, 1);
	wake_up_all(&cd->gone);
	return true;
}

/* Whatever files ask for from now on fails, and their jobs end. */
static void end_engine(void *context)
{
	if (leave(context))
		end_memory(context);
}

/* Files may stay open. */
static void put_engine(void *context)
{
	cdma_put_device(context);
}

static void remove_file(void *context)
{
	struct cdma_device *cd = context;

	misc_deregister(&cd->misc);
	ida_free(&cdma_numbers, cd->number);
}

static int make_file(struct cdma_device *cd)
{
	int err = ida_alloc(&cdma_numbers, GFP_KERNEL);

	if (err < 0)
		return err;
	cd->number = err;
	cd->misc.minor = MISC_DYNAMIC_MINOR;
	cd->misc.fops = &cdma_file_operations;
	cd->misc.groups = cdma_groups;
	cd->misc.parent = cd->dev;
	cd->misc.name = devm_kasprintf(cd->dev, GFP_KERNEL, "cdma%d", cd->number);
	err = cd->misc.name ? misc_register(&cd->misc) : -ENOMEM;
	if (err) {
		ida_free(&cdma_numbers, cd->number);
		return err;
	}
	return devm_add_action_or_reset(cd->dev, remove_file, cd);
}

/*
 * A device has been found, and its bus has done its part. What begins here ends
 * in the other order, and with the driver.
 */
int cdma_add(struct device *dev, void __iomem *registers, const struct resource *memory,
	     bool mappable, int irq)
{
	struct cdma_device *cd = new_device(dev);
	int err;

	if (!cd)
		return -ENOMEM;
	dev_set_drvdata(dev, cd);
	err = devm_add_action_or_reset(dev, put_engine, cd);
	if (err)
		return err;
	cd->registers = registers;
	cd->memory_bus = memory->start;
	cd->mappable = mappable && PAGE_ALIGNED(memory->start);
	if (!devm_request_mem_region(dev, memory->start, resource_size(memory), "cdma"))
		return -EBUSY;
	cd->memory = devm_ioremap_wc(dev, memory->start, resource_size(memory));
	if (!cd->memory)
		return -ENOMEM;
	err = find_engine(cd);
	if (!err)
		err = devm_add_action_or_reset(dev, end_engine, cd);
	if (!err)
		err = open_engine(cd, resource_size(memory));
	if (!err)
		err = devm_request_threaded_irq(dev, irq, NULL, cdma_interrupt, IRQF_ONESHOT,
						"cdma", cd);
	if (!err)
		err = make_file(cd);
	if (!err)
		err = cdma_show(cd);
	if (!err)
		err = cdma_offer(cd);
	if (!err)
		dev_info(dev, "%s: words of %u bits, windows of %u, %u units\n", cd->misc.name,
			 cd->engine.geometry.word_bits, cd->engine.geometry.window,
			 cd->engine.geometry.units);
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

	cdma_works = alloc_workqueue("cdma", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!cdma_works)
		return -ENOMEM;
	err = pci_register_driver(&cdma_pci_driver);
	if (err)
		goto destroy;
	err = platform_driver_register(&cdma_platform_driver);
	if (!err)
		return 0;
	pci_unregister_driver(&cdma_pci_driver);
destroy:
	destroy_workqueue(cdma_works);
	return err;
}
module_init(cdma_begin);

static void __exit cdma_end(void)
{
	platform_driver_unregister(&cdma_platform_driver);
	pci_unregister_driver(&cdma_pci_driver);
	destroy_workqueue(cdma_works);
}
module_exit(cdma_end);

MODULE_DESCRIPTION("Compressing DMA engine");
MODULE_VERSION("0.2.0");
MODULE_LICENSE("GPL");
