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

/* The name of a value and its place: a field of the geometry, or a register. */
struct cdma_named {
	const char *name;
	size_t place;
};

#define CDMA_FACT(field) { .name = #field, .place = offsetof(struct cdma_geometry, field) }

static const struct cdma_named facts[] = {
	CDMA_FACT(version_major), CDMA_FACT(version_minor), CDMA_FACT(word_bits),
	CDMA_FACT(window), CDMA_FACT(code_bits), CDMA_FACT(align), CDMA_FACT(any_length),
	CDMA_FACT(units), CDMA_FACT(lanes), CDMA_FACT(ring_entries), CDMA_FACT(dev_data_bits),
	CDMA_FACT(dev_address_bits), CDMA_FACT(dev_align), CDMA_FACT(host_data_bits),
	CDMA_FACT(host_address_bits), CDMA_FACT(host_align), CDMA_FACT(crc), CDMA_FACT(lossy),
	CDMA_FACT(dimensions), CDMA_FACT(pages),
};

static const struct cdma_named counters[] = {
	{ "cycles", CDMA_COUNTERS_CYCLES_LOW },
	{ "bytes_read", CDMA_COUNTERS_BYTES_READ_LOW },
	{ "bytes_written", CDMA_COUNTERS_BYTES_WRITTEN_LOW },
	{ "literals", CDMA_COUNTERS_LITERALS_LOW },
	{ "raw_words", CDMA_COUNTERS_RAW_WORDS_LOW },
	{ "descriptors", CDMA_COUNTERS_DESCRIPTORS_LOW },
	{ "errors", CDMA_COUNTERS_ERRORS_LOW },
};

struct cdma_value {
	struct device_attribute attribute;
	unsigned int direction;
	size_t place;
};

static struct cdma_value fact_values[ARRAY_SIZE(facts)];
static struct cdma_value counter_values[CDMA_DIRECTIONS][ARRAY_SIZE(counters)];
static struct attribute *fact_files[ARRAY_SIZE(facts) + 1];
static struct attribute *counter_files[CDMA_DIRECTIONS][ARRAY_SIZE(counters) + 1];

static const struct attribute_group geometry_group = {
	.name = "geometry", .attrs = fact_files
};

static const struct attribute_group counter_groups[] = {
	{ .name = "offload", .attrs = counter_files[CDMA_OFFLOAD] },
	{ .name = "prefetch", .attrs = counter_files[CDMA_PREFETCH] },
};

static const struct attribute_group *cdma_groups[] = {
	&geometry_group, &counter_groups[0], &counter_groups[1], NULL
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

static struct attribute *file_of(struct cdma_value *value, const struct cdma_named *place,
				 unsigned int direction, typeof(fact_show) *show)
{
	value->attribute.attr.name = place->name;
	value->attribute.attr.mode = 0444;
	value->attribute.show = show;
	value->direction = direction;
	value->place = place->place;
	sysfs_attr_init(&value->attribute.attr);
	return &value->attribute.attr;
}

/* Once, before the first engine. */
void __init cdma_name_values(void)
{
	unsigned int way, i;

	for (i = 0; i < ARRAY_SIZE(facts); ++i)
		fact_files[i] = file_of(&fact_values[i], &facts[i], 0, fact_show);
	for (way = 0; way < CDMA_DIRECTIONS; ++way)
		for (i = 0; i < ARRAY_SIZE(counters); ++i)
			counter_files[way][i] = file_of(&counter_values[way][i], &counters[i],
							way, counter_show);
}

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
