// SPDX-License-Identifier: GPL-2.0
/*
 * An engine from its probe to its end, on whatever bus it is: its interrupt, its
 * sleep, and what is done with all of its pairs.
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

/* Looks for the end of transfers before the machine sleeps, in 100 ms each. */
#define CDMA_DRAIN 10u

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

	unsigned int k;

	for (k = 0; k < cd->count; ++k)
		if (cd->pairs[k].host)
			gen_pool_destroy(cd->pairs[k].host);
	if (cd->device)
		gen_pool_destroy(cd->device);
	kfree(cd->pairs);
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

/* Nothing moves after it, as far as no pair fails; all are told before the first is waited for. */
static int stop_engine(struct cdma_device *cd)
{
	unsigned int k;
	int err = 0;

	for (k = 0; k < cd->count; ++k)
		cdma_write(&cd->pairs[k].engine, CDMA_ENGINE_BASE + CDMA_ENGINE_COMMAND,
			   CDMA_ENGINE_COMMAND_SOFT_RESET_MASK);
	for (k = 0; k < cd->count; ++k)
		if (cdma_stop_pair(&cd->pairs[k]))
			err = -EIO;
	return err;
}

static void look_after(struct cdma_device *cd)
{
	unsigned int k;

	if (cd->state != CDMA_WELL)
		return;
	cdma_collect(cd);
	for (k = 0; k < cd->count; ++k)
		if (cd->pairs[k].sick)
			cdma_cure_pair(&cd->pairs[k]);
		else
			cdma_dispatch(&cd->pairs[k]);
}

static bool is_busy(const struct cdma_device *cd)
{
	unsigned int k;

	for (k = 0; k < cd->count; ++k)
		if (cdma_is_busy(&cd->pairs[k]))
			return true;
	return false;
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
	unsigned int k;

	guard(mutex)(&cd->lock);
	/* An interrupt may have been lost. */
	look_after(cd);
	for (k = 0; cd->state == CDMA_WELL && k < cd->count; ++k)
		if (cd->pairs[k].stuck || cdma_is_late(&cd->pairs[k]))
			cdma_cure_pair(&cd->pairs[k]);
	if (cd->state == CDMA_WELL && is_busy(cd))
		cdma_keep_watch(cd);
}

/* ---- sleep ---- */

static void abort_running(struct cdma_device *cd, bool open)
{
	unsigned int k;

	for (k = 0; k < cd->count; ++k)
		cdma_abort_running(&cd->pairs[k], open);
}

/* What is in flight is ended, and nothing begins before the engine goes on. */
void cdma_halt(struct device *dev)
{
	struct cdma_device *cd = dev_get_drvdata(dev);

	mutex_lock(&cd->lock);
	if (cd->state != CDMA_GONE) {
		/* Without power it will be at rest. */
		abort_running(cd, stop_engine(cd));
		cd->state = CDMA_ASLEEP;
	}
	mutex_unlock(&cd->lock);
	cancel_delayed_work_sync(&cd->care);
}

int cdma_go_on(struct device *dev)
{
	struct cdma_device *cd = dev_get_drvdata(dev);

	unsigned int k;

	guard(mutex)(&cd->lock);
	if (cd->state == CDMA_GONE)
		return 0;
	cd->state = CDMA_WELL;
	for (k = 0; k < cd->count; ++k)
		cdma_cure_pair(&cd->pairs[k]);
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

	if (!cd)
		return NULL;
	if (cdma_make_space(cd)) {
		kfree(cd);
		return NULL;
	}
	kref_init(&cd->ref);
	init_rwsem(&cd->presence);
	mutex_init(&cd->lock);
	init_waitqueue_head(&cd->room);
	init_waitqueue_head(&cd->gone);
	INIT_DELAYED_WORK(&cd->care, care);
	cd->dev = get_device(dev);
	return cd;
}

/* Finds out what it is; another kernel may have left it running. */
static int find_engine(struct cdma_device *cd, unsigned int most)
{
	const struct cdma_io io = {
		.context = cd,
		.read32 = cdma_read32,
		.write32 = cdma_write32,
		.idle = cdma_idle_a_while,
	};
	const int err = cdma_make_pairs(cd, &io, most);

	return err ? err : stop_engine(cd);
}

static int open_engine(struct cdma_device *cd, u64 memory_bytes)
{
	unsigned int k;
	int err;

	/* Of less than a page nothing is handed out, and no window is opened. */
	if (memory_bytes < PAGE_SIZE)
		return -EINVAL;
	err = dma_set_mask_and_coherent(cd->dev,
					DMA_BIT_MASK(cdma_geometry(cd)->host_address_bits));
	if (err)
		return err;
	/* Where a buffer is moved for the device it keeps its place in a page. */
	dma_set_min_align_mask(cd->dev, CDMA_PAGE_BYTES - 1);
	dma_set_max_seg_size(cd->dev, UINT_MAX);
	cd->device = cdma_make_pool((__force unsigned long)cd->memory, 0, memory_bytes);
	if (!cd->device)
		return -ENOMEM;
	for (k = 0; k < cd->count && !err; ++k)
		err = cdma_give_memory(&cd->pairs[k]);
	return err ? err : cdma_start_pair(cd->pairs);
}

static void let_exposed_go(struct cdma_device *cd)
{
	unsigned int k;

	guard(mutex)(&cd->lock);
	for (k = 0; k < cd->count; ++k)
		cdma_let_exposed_go(&cd->pairs[k]);
}

/* Stops the engine, and frees what it may touch, which is lost if it does not come to rest. */
static void end_memory(struct cdma_device *cd)
{
	const int err = stop_engine(cd);
	unsigned int k;

	scoped_guard(mutex, &cd->lock) {
		abort_running(cd, err);
		for (k = 0; k < cd->count; ++k)
			cdma_abort_queued(&cd->pairs[k], NULL);
	}
	wait_event(cd->room, !atomic_read(&cd->busy));
	cancel_delayed_work_sync(&cd->care);
	if (err) {
		dev_err(cd->dev, "the engine does not come to rest: its memory is lost\n");
		return;
	}
	let_exposed_go(cd);
	wait_event(cd->room, !atomic_read(&cd->busy));
	for (k = 0; k < cd->count; ++k)
		if (cd->pairs[k].rings)
			dma_free_coherent(cd->dev, cd->host_bytes, cd->pairs[k].rings,
					  cd->pairs[k].rings_bus);
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
	wake_up_all(&cd->room);
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
	cd->misc.parent = cd->dev;
	cd->misc.name = devm_kasprintf(cd->dev, GFP_KERNEL, "cdma%d", cd->number);
	err = cd->misc.name ? cdma_make_groups(cd) : -ENOMEM;
	if (!err)
		err = misc_register(&cd->misc);
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
int cdma_add(struct device *dev, const struct resource *registers,
	     const struct resource *memory, bool mappable, int irq)
{
	struct cdma_device *cd = new_device(dev);
	int err;

	if (!cd)
		return -ENOMEM;
	dev_set_drvdata(dev, cd);
	err = devm_add_action_or_reset(dev, put_engine, cd);
	if (err)
		return err;
	cd->memory_bus = memory->start;
	cd->mappable = mappable && PAGE_ALIGNED(memory->start);
	cd->registers = devm_ioremap_resource(dev, registers);
	if (IS_ERR(cd->registers))
		return PTR_ERR(cd->registers);
	if (!devm_request_mem_region(dev, memory->start, resource_size(memory), "cdma"))
		return -EBUSY;
	cd->memory = devm_ioremap_wc(dev, memory->start, resource_size(memory));
	if (!cd->memory)
		return -ENOMEM;
	err = find_engine(cd, resource_size(registers) / CDMA_PAIR_SPAN);
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
		dev_info(dev, "%s: words of %u bits, windows of %u, %u units, %u queue pairs\n",
			 cd->misc.name, cdma_geometry(cd)->word_bits, cdma_geometry(cd)->window,
			 cdma_geometry(cd)->units, cd->count);
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
