// SPDX-License-Identifier: GPL-2.0
/*
 * An engine that answers at once: its registers are memory, which says what
 * those of the function say, and a doorbell completes all descriptors before it
 * returns. It moves nothing. So what is left of the time is the driver's.
 */
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/irq.h>
#include <linux/logic_iomem.h>

#include "cdma_regs.h"
#include "carrier.h"

static u32 registers[SZ_4K / sizeof(u32)];
static unsigned int interrupt;

/* Where nothing is: what the function has lies above. */
static struct resource region = {
	.name = "registers",
	.flags = IORESOURCE_MEM,
	.start = 0xe0000000,
	.end = 0xe0000000 + sizeof(registers) - 1,
};

/* The registers of a channel lie alike. */
static u32 *channel_register(u32 channel, u32 offset)
{
	return &registers[(channel + offset) / sizeof(u32)];
}

static void *ring_at(u32 channel, u32 low)
{
	const u64 high = *channel_register(channel, low + sizeof(u32));

	return phys_to_virt(high << 32 | *channel_register(channel, low));
}

/* Completes what was put into the ring of a channel. */
static void complete_ring(u32 channel, u32 tail)
{
	const struct cdma_descriptor *descriptors = ring_at(channel, CDMA_CHANNEL_RING_BASE_LOW);
	struct cdma_completion *completions = ring_at(channel, CDMA_CHANNEL_COMPLETION_BASE_LOW);
	const u32 limits = registers[CDMA_ENGINE_LIMITS / sizeof(u32)];
	const u32 wrap = 2u << (limits & CDMA_ENGINE_LIMITS_RING_LOG2_MASK);
	const u32 entries = 1u << *channel_register(channel, CDMA_CHANNEL_RING_SIZE);
	u32 *head = channel_register(channel, CDMA_CHANNEL_RING_HEAD);

	for (; *head != tail; *head = (*head + 1) % wrap) {
		const struct cdma_descriptor *descriptor = &descriptors[*head % entries];
		const u32 phase = ~(*head / entries) & 1;

		completions[*head % entries] = (struct cdma_completion){
			.tag = descriptor->tag,
			.bytes_read = descriptor->length,
			.bytes_written = descriptor->length,
			.cycles = 1,
			.result = phase << CDMA_COMPLETION_PHASE_SHIFT,
		};
	}
	*channel_register(channel, CDMA_CHANNEL_COMPLETION_HEAD) = *head;
}

static void ring_doorbell(u32 channel, u32 tail)
{
	unsigned long flags;

	complete_ring(channel, tail);
	*channel_register(channel, CDMA_CHANNEL_IRQ_STATUS) =
		CDMA_CHANNEL_IRQ_STATUS_COMPLETION_MASK;
	local_irq_save(flags);
	generic_handle_irq(interrupt);
	local_irq_restore(flags);
}

static unsigned long read_register(void *unused, unsigned int at, int size)
{
	return registers[at / sizeof(u32)];
}

static void write_register(void *unused, unsigned int at, int size, unsigned long value)
{
	const u32 channel = at & ~0xff;
	u32 *place = &registers[at / sizeof(u32)];
	const bool is_channel = channel == CDMA_OFFLOAD_BASE || channel == CDMA_PREFETCH_BASE;

	if (is_channel && at - channel == CDMA_CHANNEL_IRQ_STATUS) {
		*place &= ~value;
		return;
	}
	*place = value;
	if (!is_channel)
		return;
	if (at - channel == CDMA_CHANNEL_CONTROL && !value)
		*channel_register(channel, CDMA_CHANNEL_RING_HEAD) = 0;
	if (at - channel == CDMA_CHANNEL_RING_TAIL &&
	    *channel_register(channel, CDMA_CHANNEL_CONTROL))
		ring_doorbell(channel, value);
}

static const struct logic_iomem_ops operations = {
	.read = read_register,
	.write = write_register,
};

static long map_registers(unsigned long at, size_t size, const struct logic_iomem_ops **used,
			  void **context)
{
	*used = &operations;
	return at;
}

static const struct logic_iomem_region_ops region_operations = { .map = map_registers };

int answer_at_once(struct pci_dev *pdev, struct resource *resource)
{
	void __iomem *function = pcim_iomap(pdev, 0, 0);
	u32 at;

	if (!function)
		return -ENOMEM;
	for (at = 0; at < CDMA_DEV_WINDOW_BASE; at += sizeof(u32))
		registers[at / sizeof(u32)] = readl(function + at);
	interrupt = pci_irq_vector(pdev, 0);
	resource->parent = &region;
	resource->start = region.start;
	resource->end = region.end;
	return logic_iomem_add_region(&region, &region_operations);
}
