// SPDX-License-Identifier: GPL-2.0
/* The engine in a system on a chip, as a device tree has it: see cdma,engine.yaml. */
#include <linux/io.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/platform_device.h>

#include "driver.h"

static int cdma_probe(struct platform_device *pdev)
{
	struct cdma_place place = {};
	struct resource *memory;

	place.registers = devm_platform_ioremap_resource_byname(pdev, "registers");
	if (IS_ERR(place.registers))
		return PTR_ERR(place.registers);
	memory = platform_get_resource_byname(pdev, IORESOURCE_MEM, "memory");
	if (!memory)
		return -EINVAL;
	if (!devm_request_mem_region(&pdev->dev, memory->start, resource_size(memory), "cdma"))
		return -EBUSY;
	place.memory = devm_ioremap_wc(&pdev->dev, memory->start, resource_size(memory));
	if (!place.memory)
		return -ENOMEM;
	place.memory_bus = memory->start;
	place.memory_bytes = resource_size(memory);
	place.mappable = true;
	place.irq = platform_get_irq(pdev, 0);
	return place.irq < 0 ? place.irq : cdma_add(&pdev->dev, &place);
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

static struct platform_driver cdma_driver = {
	.probe = cdma_probe,
	.shutdown = cdma_shutdown,
	.driver = {
		.name = "cdma",
		.of_match_table = cdma_nodes,
		.pm = pm_sleep_ptr(&cdma_pm),
	},
};

int cdma_begin_platform(void)
{
	return platform_driver_register(&cdma_driver);
}

void cdma_end_platform(void)
{
	platform_driver_unregister(&cdma_driver);
}
