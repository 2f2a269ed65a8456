// SPDX-License-Identifier: GPL-2.0
/* What an engine is and has done, for sysfs and debugfs; and its tracepoints. */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/sysfs.h>

#include "driver.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/* Looks at a register until counters are held. */
#define CDMA_HOLD_PATIENCE 1000u

static const char * const directions[] = { "offload", "prefetch" };

static struct cdma_device *device_of(struct device *dev)
{
	return container_of(dev_get_drvdata(dev), struct cdma_device, misc);
}

/* ---- files of one value ---- */

/* A value and its place: a field of the geometry, or a register of a channel. */
struct cdma_value {
	struct device_attribute attribute;
	unsigned int direction;
	size_t place;
};

static const struct cdma_value *value_of(const struct device_attribute *attribute)
{
	return container_of(attribute, struct cdma_value, attribute);
}

static ssize_t fact_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	const void *geometry = &device_of(dev)->engine.geometry;

	return sysfs_emit(text, "%u\n", *(const u32 *)(geometry + value_of(attribute)->place));
}

/* Both halves of a counter are of one moment. */
static ssize_t counter_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	const struct cdma_value *value = value_of(attribute);
	struct cdma_device *cd = device_of(dev);
	struct cdma_channel *channel = cdma_channel_of(cd, value->direction);
	ssize_t size = -EIO;

	guard(mutex)(&cd->lock);
	if (cd->state != CDMA_WELL)
		return -ENODEV;
	if (cdma_hold_counters(channel, CDMA_HOLD_PATIENCE) == CDMA_OK)
		size = sysfs_emit(text, "%llu\n", cdma_counter(channel, value->place));
	cdma_release_counters(channel);
	return size;
}

#define CDMA_FACT(field) \
	(&((struct cdma_value){ \
		.attribute = { { .name = #field, .mode = 0444 }, .show = fact_show }, \
		.place = offsetof(struct cdma_geometry, field), \
	}).attribute.attr)

#define CDMA_COUNTER(label, way, at) \
	(&((struct cdma_value){ \
		.attribute = { { .name = #label, .mode = 0444 }, .show = counter_show }, \
		.direction = way, \
		.place = CDMA_COUNTERS_##at##_LOW, \
	}).attribute.attr)

static struct attribute *facts[] = {
	CDMA_FACT(version_major), CDMA_FACT(version_minor), CDMA_FACT(word_bits),
	CDMA_FACT(window), CDMA_FACT(code_bits), CDMA_FACT(align), CDMA_FACT(any_length),
	CDMA_FACT(units), CDMA_FACT(lanes), CDMA_FACT(ring_entries), CDMA_FACT(dev_data_bits),
	CDMA_FACT(dev_address_bits), CDMA_FACT(dev_align), CDMA_FACT(host_data_bits),
	CDMA_FACT(host_address_bits), CDMA_FACT(host_align), CDMA_FACT(crc), CDMA_FACT(lossy),
	CDMA_FACT(dimensions), CDMA_FACT(pages), NULL
};

static struct attribute *offload_counters[] = {
	CDMA_COUNTER(cycles, CDMA_OFFLOAD, CYCLES),
	CDMA_COUNTER(bytes_read, CDMA_OFFLOAD, BYTES_READ),
	CDMA_COUNTER(bytes_written, CDMA_OFFLOAD, BYTES_WRITTEN),
	CDMA_COUNTER(literals, CDMA_OFFLOAD, LITERALS),
	CDMA_COUNTER(raw_words, CDMA_OFFLOAD, RAW_WORDS),
	CDMA_COUNTER(descriptors, CDMA_OFFLOAD, DESCRIPTORS),
	CDMA_COUNTER(errors, CDMA_OFFLOAD, ERRORS),
	NULL
};

static struct attribute *prefetch_counters[] = {
	CDMA_COUNTER(cycles, CDMA_PREFETCH, CYCLES),
	CDMA_COUNTER(bytes_read, CDMA_PREFETCH, BYTES_READ),
	CDMA_COUNTER(bytes_written, CDMA_PREFETCH, BYTES_WRITTEN),
	CDMA_COUNTER(literals, CDMA_PREFETCH, LITERALS),
	CDMA_COUNTER(raw_words, CDMA_PREFETCH, RAW_WORDS),
	CDMA_COUNTER(descriptors, CDMA_PREFETCH, DESCRIPTORS),
	CDMA_COUNTER(errors, CDMA_PREFETCH, ERRORS),
	NULL
};

const struct attribute_group *cdma_groups[] = {
	&(const struct attribute_group){ .name = "geometry", .attrs = facts },
	&(const struct attribute_group){ .name = "offload", .attrs = offload_counters },
	&(const struct attribute_group){ .name = "prefetch", .attrs = prefetch_counters },
	NULL
};

/* ---- rings ---- */

static void show_ring(struct seq_file *text, struct cdma_device *cd, unsigned int direction)
{
	const struct cdma_channel *channel = cdma_channel_of(cd, direction);

	seq_printf(text, "%s entries %u tail %u head %u\n", directions[direction],
		   channel->entries, channel->tail,
		   cdma_channel_read(channel, CDMA_CHANNEL_RING_HEAD));
	seq_printf(text, "%s completions tail %u head %u outstanding %u\n", directions[direction],
		   channel->consumed, cdma_channel_read(channel, CDMA_CHANNEL_COMPLETION_HEAD),
		   channel->outstanding);
	seq_printf(text, "%s status %#x\n", directions[direction],
		   cdma_channel_read(channel, CDMA_CHANNEL_STATUS));
	cdma_show_jobs(text, cd, direction);
}

static int rings_show(struct seq_file *text, void *unused)
{
	struct cdma_device *cd = text->private;
	unsigned int direction;

	guard(mutex)(&cd->lock);
	for (direction = 0; cd->state == CDMA_WELL && direction < CDMA_DIRECTIONS; ++direction)
		show_ring(text, cd, direction);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(rings);

static void hide(void *folder)
{
	debugfs_remove_recursive(folder);
}

/* In a folder of its name, until the driver goes. */
int cdma_show(struct cdma_device *cd)
{
	struct dentry *folder = debugfs_create_dir(cd->misc.name, NULL);

	debugfs_create_file("rings", 0400, folder, cd, &rings_fops);
	return devm_add_action_or_reset(cd->dev, hide, folder);
}
