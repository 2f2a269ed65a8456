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

/* A line for each of what belongs together: its name, and its place. */
struct cdma_line {
	const char *name;
	size_t place;
};

/* ---- geometry ---- */

#define FACT(name) { #name, offsetof(struct cdma_geometry, name) }

static const struct cdma_line facts[] = {
	FACT(version_major), FACT(version_minor), FACT(word_bits), FACT(window), FACT(code_bits),
	FACT(align), FACT(any_length), FACT(units), FACT(lanes), FACT(ring_entries),
	FACT(dev_data_bits), FACT(dev_address_bits), FACT(dev_align), FACT(host_data_bits),
	FACT(host_address_bits), FACT(host_align), FACT(crc), FACT(lossy), FACT(dimensions),
	FACT(pages),
};

static ssize_t geometry_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	const void *geometry = &device_of(dev)->engine.geometry;
	ssize_t size = 0;
	unsigned int k;

	for (k = 0; k < ARRAY_SIZE(facts); ++k)
		size += sysfs_emit_at(text, size, "%s %u\n", facts[k].name,
				      *(const u32 *)(geometry + facts[k].place));
	return size;
}

/* ---- counters ---- */

static const struct cdma_line counters[] = {
	{ "cycles", CDMA_COUNTERS_CYCLES_LOW },
	{ "bytes_read", CDMA_COUNTERS_BYTES_READ_LOW },
	{ "bytes_written", CDMA_COUNTERS_BYTES_WRITTEN_LOW },
	{ "literals", CDMA_COUNTERS_LITERALS_LOW },
	{ "raw_words", CDMA_COUNTERS_RAW_WORDS_LOW },
	{ "descriptors", CDMA_COUNTERS_DESCRIPTORS_LOW },
	{ "errors", CDMA_COUNTERS_ERRORS_LOW },
};

/* All of one moment. */
static ssize_t show_counters(struct cdma_device *cd, unsigned int direction, char *text)
{
	struct cdma_channel *channel = cdma_channel_of(cd, direction);
	ssize_t size = -ENODEV;
	unsigned int k;

	mutex_lock(&cd->lock);
	if (cd->state == CDMA_WELL) {
		size = cdma_hold_counters(channel, CDMA_HOLD_PATIENCE) == CDMA_OK ? 0 : -EIO;
		for (k = 0; size >= 0 && k < ARRAY_SIZE(counters); ++k)
			size += sysfs_emit_at(text, size, "%s %llu\n", counters[k].name,
					      cdma_counter(channel, counters[k].place));
		cdma_release_counters(channel);
	}
	mutex_unlock(&cd->lock);
	return size;
}

static ssize_t offload_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	return show_counters(device_of(dev), CDMA_OFFLOAD, text);
}

static ssize_t prefetch_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	return show_counters(device_of(dev), CDMA_PREFETCH, text);
}

static DEVICE_ATTR_RO(geometry);
static DEVICE_ATTR_RO(offload);
static DEVICE_ATTR_RO(prefetch);

static struct attribute *cdma_attrs[] = {
	&dev_attr_geometry.attr,
	&dev_attr_offload.attr,
	&dev_attr_prefetch.attr,
	NULL
};

ATTRIBUTE_GROUPS(cdma);

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

	mutex_lock(&cd->lock);
	for (direction = 0; cd->state == CDMA_WELL && direction < CDMA_DIRECTIONS; ++direction)
		show_ring(text, cd, direction);
	mutex_unlock(&cd->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(rings);

/* Before the file is there: what it shows beside it. */
void cdma_describe(struct miscdevice *misc)
{
	misc->groups = cdma_groups;
}

/* In a folder of its name. */
void cdma_show(struct cdma_device *cd)
{
	cd->folder = debugfs_create_dir(cd->misc.name, NULL);
	debugfs_create_file("rings", 0400, cd->folder, cd, &rings_fops);
}

void cdma_hide(struct cdma_device *cd)
{
	debugfs_remove_recursive(cd->folder);
}
