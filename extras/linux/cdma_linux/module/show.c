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

/* A file with one value: its name, and the place of the value. */
struct cdma_value {
	struct device_attribute attribute;
	unsigned int direction;
	size_t place;
};

static const struct cdma_value *value_of(const struct device_attribute *attribute)
{
	return container_of(attribute, struct cdma_value, attribute);
}

#define VALUE(group, name, direction, place) \
	static struct cdma_value group##_##name = { \
		__ATTR(name, 0444, group##_show, NULL), direction, place \
	}
#define FILE_OF(group, name) (&group##_##name.attribute.attr)

/* ---- geometry ---- */

static ssize_t geometry_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	const void *geometry = &device_of(dev)->engine.geometry;

	return sysfs_emit(text, "%u\n", *(const u32 *)(geometry + value_of(attribute)->place));
}

#define FACTS(X) \
	X(version_major) X(version_minor) X(word_bits) X(window) X(code_bits) X(align) \
	X(any_length) X(units) X(lanes) X(ring_entries) X(dev_data_bits) X(dev_address_bits) \
	X(dev_align) X(host_data_bits) X(host_address_bits) X(host_align) X(crc) X(lossy) \
	X(dimensions) X(pages)

#define FACT(name) VALUE(geometry, name, 0, offsetof(struct cdma_geometry, name));
#define FACT_FILE(name) FILE_OF(geometry, name),
FACTS(FACT)
static struct attribute *geometry_files[] = { FACTS(FACT_FILE) NULL };

/* ---- counters ---- */

/* Both halves of a counter are of one moment. */
static ssize_t counter_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	const struct cdma_value *value = value_of(attribute);
	struct cdma_device *cd = device_of(dev);
	struct cdma_channel *channel = cdma_channel_of(cd, value->direction);
	ssize_t size = -ENODEV;

	mutex_lock(&cd->lock);
	if (cd->state == CDMA_WELL) {
		size = -EIO;
		if (cdma_hold_counters(channel, CDMA_HOLD_PATIENCE) == CDMA_OK)
			size = sysfs_emit(text, "%llu\n", cdma_counter(channel, value->place));
		cdma_release_counters(channel);
	}
	mutex_unlock(&cd->lock);
	return size;
}

#define offload_show counter_show
#define prefetch_show counter_show

#define COUNTERS(X, group, direction) \
	X(group, cycles, direction, CDMA_COUNTERS_CYCLES_LOW) \
	X(group, bytes_read, direction, CDMA_COUNTERS_BYTES_READ_LOW) \
	X(group, bytes_written, direction, CDMA_COUNTERS_BYTES_WRITTEN_LOW) \
	X(group, literals, direction, CDMA_COUNTERS_LITERALS_LOW) \
	X(group, raw_words, direction, CDMA_COUNTERS_RAW_WORDS_LOW) \
	X(group, descriptors, direction, CDMA_COUNTERS_DESCRIPTORS_LOW) \
	X(group, errors, direction, CDMA_COUNTERS_ERRORS_LOW)

#define COUNTER(group, name, direction, place) VALUE(group, name, direction, place);
#define COUNTER_FILE(group, name, direction, place) FILE_OF(group, name),
COUNTERS(COUNTER, offload, CDMA_OFFLOAD)
COUNTERS(COUNTER, prefetch, CDMA_PREFETCH)
static struct attribute *offload_files[] = { COUNTERS(COUNTER_FILE, offload, 0) NULL };
static struct attribute *prefetch_files[] = { COUNTERS(COUNTER_FILE, prefetch, 0) NULL };

static const struct attribute_group geometry_group = { .name = "geometry", .attrs = geometry_files };
static const struct attribute_group offload_group = { .name = "offload", .attrs = offload_files };
static const struct attribute_group prefetch_group = { .name = "prefetch", .attrs = prefetch_files };

static const struct attribute_group *cdma_groups[] = {
	&geometry_group, &offload_group, &prefetch_group, NULL
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
