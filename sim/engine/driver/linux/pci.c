// SPDX-License-Identifier: GPL-2.0
/*
 * The engine as a PCI function: registers in BAR 0, the accelerator's memory
 * in BAR 2, and a message as interrupt, sent when its line rises.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "driver.h"

/* Not assigned by anybody: for simulations, and for boards until their owner has one. */
#define CDMA_VENDOR 0x1234
#define CDMA_DEVICE 0xcd4a

#define CDMA_REGISTERS_BAR 0
#define CDMA_MEMORY_BAR 2
/* Descriptors in a ring, where the engine takes as many. */
#define CDMA_ENTRIES 64u
/* Looks at a register until it must have changed. */
#define CDMA_PATIENCE 100000u

static unsigned int host_kib = 4096;
module_param(host_kib, uint, 0444);
MODULE_PARM_DESC(host_kib, "KiB of host memory that the engine may touch, at most what is contiguous");

static unsigned int watchdog = 1000000;
module_param(watchdog, uint, 0444);
MODULE_PARM_DESC(watchdog, "clock cycles that a memory may be silent; 0 for ever");

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
	usleep_range(20, 40);
}

static void free_device(struct kref *ref)
{
	struct cdma_device *cd = container_of(ref, struct cdma_device, ref);

	cdma_pool_exit(&cd->device);
	cdma_pool_exit(&cd->host);
	kfree(cd->misc.name);
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
	if (!cd->gone)
		cdma_collect(cd);
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

static int open_window(struct cdma_device *cd, u32 window, const struct cdma_pool *pool, u64 base)
{
	const u64 limit = pool->base + ((u64)pool->pages << PAGE_SHIFT) - 1;

	return error_of(cdma_set_window(&cd->engine, window, base, limit, 0));
}

/* Opens the windows on nothing but rings and pools, and starts both channels. */
static int start_engine(struct cdma_device *cd, void *rings, dma_addr_t rings_bus)
{
	const u32 entries = min(cd->engine.geometry.ring_entries, CDMA_ENTRIES);
	unsigned int direction;
	int err;

	err = open_window(cd, CDMA_DEV_WINDOW_BASE, &cd->device, cd->device.base);
	if (!err)
		err = open_window(cd, CDMA_HOST_WINDOW_BASE, &cd->host, rings_bus);
	cdma_set_watchdog(&cd->engine, watchdog);
	for (direction = 0; !err && direction < CDMA_DIRECTIONS; ++direction) {
		struct cdma_channel *channel = cdma_channel_of(cd, direction);
		const size_t at = direction * cdma_ring_bytes(entries);

		err = error_of(cdma_start(channel, rings + at, rings_bus + at, entries, CDMA_IRQ));
	}
	return err;
}

/* Nothing moves after it, and nothing is reached: a window that ends below its base is closed. */
static void stop_engine(struct cdma_device *cd)
{
	const u64 nowhere = ~0xfffull;

	if (cdma_soft_reset(&cd->engine, CDMA_PATIENCE) != CDMA_OK)
		dev_err(cd->dev, "the engine does not come to rest\n");
	cdma_set_window(&cd->engine, CDMA_DEV_WINDOW_BASE, nowhere, 0xfff, 0);
	cdma_set_window(&cd->engine, CDMA_HOST_WINDOW_BASE, nowhere, 0xfff, 0);
}

static int cdma_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	const size_t rings = PAGE_ALIGN(CDMA_DIRECTIONS * cdma_ring_bytes(CDMA_ENTRIES));
	const size_t host_bytes = PAGE_ALIGN((size_t)host_kib << 10);
	const int bars = BIT(CDMA_REGISTERS_BAR) | BIT(CDMA_MEMORY_BAR);
	struct cdma_io io = {
		.read32 = cdma_read32,
		.write32 = cdma_write32,
		.idle = cdma_idle_a_while,
	};
	const struct cdma_geometry *geometry;
	struct cdma_device *cd;
	dma_addr_t bus;
	void *memory;
	int err;

	if (host_bytes <= rings)
		return -EINVAL;
	cd = kzalloc(sizeof(*cd), GFP_KERNEL);
	if (!cd)
		return -ENOMEM;
	kref_init(&cd->ref);
	mutex_init(&cd->lock);
	mutex_init(&cd->memory_lock);
	INIT_LIST_HEAD(&cd->files);
	INIT_LIST_HEAD(&cd->exports);
	INIT_LIST_HEAD(&cd->running[CDMA_OFFLOAD]);
	INIT_LIST_HEAD(&cd->running[CDMA_PREFETCH]);
	cd->dev = &pdev->dev;
	pci_set_drvdata(pdev, cd);

	err = pcim_enable_device(pdev);
	if (!err)
		err = pcim_iomap_regions(pdev, bars, "cdma");
	if (err)
		goto put;
	cd->registers = pcim_iomap_table(pdev)[CDMA_REGISTERS_BAR];
	cd->memory = pcim_iomap_table(pdev)[CDMA_MEMORY_BAR];
	cd->memory_bus = pci_resource_start(pdev, CDMA_MEMORY_BAR);
	io.context = cd;
	err = error_of(cdma_open(&cd->engine, &io));
	if (err)
		goto put;

	pci_set_master(pdev);
	geometry = &cd->engine.geometry;
	err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(geometry->host_address_bits));
	if (err)
		goto put;
	memory = dmam_alloc_coherent(&pdev->dev, host_bytes, &bus, GFP_KERNEL);
	err = memory ? cdma_pool_init(&cd->host, bus + rings, host_bytes - rings) : -ENOMEM;
	if (!err)
		err = cdma_pool_init(&cd->device, 0, pci_resource_len(pdev, CDMA_MEMORY_BAR));
	if (err)
		goto put;
	cd->host_memory = memory + rings;

	err = start_engine(cd, memory, bus);
	if (err)
		goto stop;
	err = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSI | PCI_IRQ_MSIX);
	if (err < 0)
		goto stop;
	err = request_threaded_irq(pci_irq_vector(pdev, 0), NULL, cdma_interrupt, IRQF_ONESHOT,
				   "cdma", cd);
	if (err)
		goto vectors;

	cd->misc.minor = MISC_DYNAMIC_MINOR;
	cd->misc.fops = &cdma_file_operations;
	cdma_describe(&cd->misc);
	cd->misc.parent = &pdev->dev;
	err = ida_alloc(&cdma_numbers, GFP_KERNEL);
	if (err < 0)
		goto irq;
	cd->number = err;
	cd->misc.name = kasprintf(GFP_KERNEL, "cdma%d", cd->number);
	err = cd->misc.name ? misc_register(&cd->misc) : -ENOMEM;
	if (err)
		goto number;
	cdma_show(cd);
	dev_info(cd->dev, "%s: words of %u bits, windows of %u, %u units\n", cd->misc.name,
		 geometry->word_bits, geometry->window, geometry->units);
	return 0;

number:
	ida_free(&cdma_numbers, cd->number);
irq:
	free_irq(pci_irq_vector(pdev, 0), cd);
vectors:
	pci_free_irq_vectors(pdev);
stop:
	stop_engine(cd);
put:
	cdma_put_device(cd);
	return err;
}

/* Whatever files ask for from now on fails, and their jobs have ended. */
static void end_engine(struct cdma_device *cd)
{
	mutex_lock(&cd->lock);
	if (!cd->gone) {
		mutex_lock(&cd->memory_lock);
		cd->gone = true;
		mutex_unlock(&cd->memory_lock);
		cdma_unmap_all(cd);
		cdma_collect(cd);
		stop_engine(cd);
		cdma_end_all(cd);
	}
	mutex_unlock(&cd->lock);
}

/* The machine halts, or another kernel starts: the engine must be at rest. */
static void cdma_shutdown(struct pci_dev *pdev)
{
	end_engine(pci_get_drvdata(pdev));
}

/* Files may stay open. */
static void cdma_remove(struct pci_dev *pdev)
{
	struct cdma_device *cd = pci_get_drvdata(pdev);

	cdma_hide(cd);
	misc_deregister(&cd->misc);
	ida_free(&cdma_numbers, cd->number);
	free_irq(pci_irq_vector(pdev, 0), cd);
	pci_free_irq_vectors(pdev);
	end_engine(cd);
	pci_clear_master(pdev);
	cdma_put_device(cd);
}

static const struct pci_device_id cdma_ids[] = {
	{ PCI_DEVICE(CDMA_VENDOR, CDMA_DEVICE) },
	{ }
};
MODULE_DEVICE_TABLE(pci, cdma_ids);

static struct pci_driver cdma_driver = {
	.name = "cdma",
	.id_table = cdma_ids,
	.probe = cdma_probe,
	.remove = cdma_remove,
	.shutdown = cdma_shutdown,
};
module_pci_driver(cdma_driver);

MODULE_DESCRIPTION("Compressing DMA engine");
MODULE_LICENSE("GPL");
