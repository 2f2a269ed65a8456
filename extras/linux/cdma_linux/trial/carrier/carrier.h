/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the module share. */
#ifndef CARRIER_H
#define CARRIER_H

#include <linux/pci.h>

/* Gives an engine that answers at once in place of a function, which has its interrupt. */
int answer_at_once(struct pci_dev *pdev, struct resource *registers);

#endif
