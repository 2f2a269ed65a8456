// SPDX-License-Identifier: GPL-2.0
/*
 * Carries the engine from PCI to the platform: its function becomes a device
 * with the node of a device tree, registers and an interrupt. Its memory is a
 * file that the guest's kernel has as pages, which a process can have as well.
 * With "answers" the registers are those of an engine that answers at once.
 */
#include <linux/io.h>
#include <linux/logic_iomem.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/pci.h>
#include <linux/platform_device.h>

#include "carrier.h"

unsigned long find_iomem(char *driver, unsigned long *size);

static bool answers;
module_param(answers, bool, 0);

static void *memory;

/* ---- the file as memory of a device ---- */

static unsigned long read_memory(void *unused, unsigned int at, int size)
{
	unsigned long value = 0;

	memcpy(&value, memory + at, size);
	return value;
}

static void write_memory(void *unused, unsigned int at, int size, unsigned long value)
{
	memcpy(memory + at, &value, size);
}

static void copy_from(void *unused, void *to, unsigned int at, int size)
{
	memcpy(to, memory + at, size);
}

static void copy_to(void *unused, unsigned int at, const void *from, int size)
{
	memcpy(memory + at, from, size);
}

static const struct logic_iomem_ops memory_operations = {
	.read = read_memory,
	.write = write_memory,
	.copy_from = copy_from,
	.copy_to = copy_to,
};

static long map_memory(unsigned long at, size_t size, const struct logic_iomem_ops **operations,
		       void **context)
{
	*operations = &memory_operations;
	return at;
}

static const struct logic_iomem_region_ops region_operations = { .map = map_memory };

static struct resource region = { .name = "accelerator", .flags = IORESOURCE_MEM };

/* ---- the device ---- */

static int carry(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct resource resources[] = {
		{ .name = "registers", .flags = IORESOURCE_MEM, .parent = &pdev->resource[0] },
		{ .name = "memory", .flags = IORESOURCE_MEM, .parent = &region },
		{ .flags = IORESOURCE_IRQ },
	};
	struct platform_device_info info = {
		.parent = &pdev->dev,
		.name = "carried",
		.id = PLATFORM_DEVID_NONE,
		.res = resources,
		.num_res = ARRAY_SIZE(resources),
		.dma_mask = DMA_BIT_MASK(32),
	};
	struct platform_device *carried;
	struct device_node *node;
	int err;

	err = pcim_enable_device(pdev);
	if (err)
		return err;
	pci_set_master(pdev);
	err = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSI);
	if (err < 0)
		return err;
	resources[0].start = pci_resource_start(pdev, 0);
	resources[0].end = pci_resource_end(pdev, 0);
	err = answers ? answer_at_once(pdev, &resources[0]) : 0;
	if (err)
		return err;
	resources[1].start = region.start;
	resources[1].end = region.start + pci_resource_len(pdev, 2) - 1;
	resources[2].start = pci_irq_vector(pdev, 0);
	resources[2].end = resources[2].start;
	node = of_find_compatible_node(NULL, NULL, "cdma,engine");
	if (!node)
		return -ENODEV;
	info.fwnode = of_fwnode_handle(node);
	carried = platform_device_register_full(&info);
	of_node_put(node);
	if (IS_ERR(carried))
		return PTR_ERR(carried);
	pci_set_drvdata(pdev, carried);
	return 0;
}

static void let_go(struct pci_dev *pdev)
{
	platform_device_unregister(pci_get_drvdata(pdev));
}

static const struct pci_device_id functions[] = { { PCI_DEVICE(0x1234, 0xcd4a) }, { } };

static struct pci_driver carrier = {
	.name = "carrier",
	.id_table = functions,
	.probe = carry,
	.remove = let_go,
};

/* Memory of a device is not taken away again, and so this is not unloaded. */
static int __init begin(void)
{
	unsigned long size = 0;
	int err;

	memory = (void *)find_iomem("accelerator", &size);
	if (!memory)
		return -ENODEV;
	region.start = __pa(memory);
	region.end = region.start + size - 1;
	err = logic_iomem_add_region(&region, &region_operations);
	return err ? err : pci_register_driver(&carrier);
}
module_init(begin);

MODULE_DESCRIPTION("A PCI function as a device of the platform");
MODULE_LICENSE("GPL");
