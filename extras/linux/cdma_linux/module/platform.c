// SPDX-License-Identifier: GPL-2.0
/* The engine in a system on a chip, as a device tree has it: see cdma,engine.yaml. */
#include <linux/io.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/platform_device.h>

#include "driver.h"

static struct resource *find(struct platform_device *pdev, const char *name)
{
	return platform_get_resource_byname(pdev, IORESOURCE_MEM, name);
}

static int cdma_probe(struct platform_device *pdev)
{
	struct resource *registers = find(pdev, "registers"), *memory = find(pdev, "memory");
	const int irq = platform_get_irq(pdev, 0);

	if (!registers || !memory)
		return -EINVAL;
	return irq < 0 ? irq : cdma_add(&pdev->dev, registers, memory, true, irq);
}

static void cdma_shutdown(struct platform_device *pdev)
{
	cdma_rest(&pdev->dev);
}

static const struct of_device_id cdma_nodes[] = {
	{ .compatible = "cdma,engine" },
	{ }
};
MODULE_DEVICE_TABLE(of, cdma_nodes);

struct platform_driver cdma_platform_driver = {
	.probe = cdma_probe,
	.shutdown = cdma_shutdown,
	.driver = {
		.name = "cdma",
		.of_match_table = cdma_nodes,
		.pm = pm_sleep_ptr(&cdma_pm),
	},
};
