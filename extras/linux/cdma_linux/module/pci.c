// SPDX-License-Identifier: GPL-2.0
/*
 * The engine as a PCI function: registers in BAR 0, the accelerator's memory
 * in BAR 2, and a message as interrupt, sent when its line rises.
 */
#include <linux/module.h>

#include "driver.h"

/* Not assigned by anybody: for simulations, and for boards until their owner has one. */
#define CDMA_VENDOR 0x1234
#define CDMA_DEVICE 0xcd4a

#define CDMA_REGISTERS_BAR 0
#define CDMA_MEMORY_BAR 2

static int cdma_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	int err;

	err = pcim_enable_device(pdev);
	if (err)
		return err;
	pci_set_master(pdev);
	pci_save_state(pdev);
	err = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSI | PCI_IRQ_MSIX);
	if (err < 0)
		return err;
	/* A kernel in user mode has a BAR by messages. */
	return cdma_add(&pdev->dev, &pdev->resource[CDMA_REGISTERS_BAR],
			&pdev->resource[CDMA_MEMORY_BAR], !IS_ENABLED(CONFIG_UML),
			pci_irq_vector(pdev, 0));
}

static void cdma_shutdown(struct pci_dev *pdev)
{
	cdma_rest(&pdev->dev);
}

/* An error of the bus: nothing moves before the device has been reset. */
static pci_ers_result_t cdma_error(struct pci_dev *pdev, pci_channel_state_t state)
{
	cdma_halt(&pdev->dev);
	return state == pci_channel_io_perm_failure ? PCI_ERS_RESULT_DISCONNECT :
	       PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t cdma_slot_reset(struct pci_dev *pdev)
{
	pci_restore_state(pdev);
	pci_set_master(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static void cdma_resume_device(struct pci_dev *pdev)
{
	cdma_go_on(&pdev->dev);
}

static const struct pci_error_handlers cdma_errors = {
	.error_detected = cdma_error,
	.slot_reset = cdma_slot_reset,
	.resume = cdma_resume_device,
};

static const struct pci_device_id cdma_ids[] = {
	{ PCI_DEVICE(CDMA_VENDOR, CDMA_DEVICE) },
	{ }
};
MODULE_DEVICE_TABLE(pci, cdma_ids);

struct pci_driver cdma_pci_driver = {
	.name = "cdma",
	.id_table = cdma_ids,
	.probe = cdma_probe,
	.shutdown = cdma_shutdown,
	.err_handler = &cdma_errors,
	.driver.pm = pm_sleep_ptr(&cdma_pm),
};
