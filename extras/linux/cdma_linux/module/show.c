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
	const void *geometry = cdma_geometry(device_of(dev));

	return sysfs_emit(text, "%u\n", *(const u32 *)(geometry + value_of(attribute)->place));
}

/* Adds what a pair has counted of a direction, all at one moment. */
static int count(struct cdma_pair *pair, unsigned int direction,
		 struct attribute * const *attributes, u64 *sums)
{
	struct cdma_channel *channel = cdma_channel_of(pair, direction);
	const int err = cdma_hold_counters(channel, CDMA_HOLD_PATIENCE);

	for (; !err && *attributes; ++attributes) {
		const size_t place =
			container_of(*attributes, struct cdma_value, attribute.attr)->place;
		const u64 counted = cdma_counter(channel, place);

		/* All ones: there is no device any more. */
		if (~counted)
			sums[place / sizeof(u64)] += counted;
	}
	cdma_release_counters(channel);
	return err ? -EIO : 0;
}

static ssize_t counter_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	struct attribute * const only[] = { &attribute->attr, NULL };
	const struct cdma_value *value = value_of(attribute);
	struct cdma_device *cd = device_of(dev);
	u64 sums[CDMA_COUNTERS];
	struct cdma_pair *pair;
	int err = 0;

	guard(mutex)(&cd->lock);
	if (cd->state != CDMA_WELL)
		return -ENODEV;
	memcpy(sums, cd->counted[value->direction], sizeof(sums));
	for (pair = cd->pairs; !err && pair < cd->pairs + cd->count; ++pair)
		if (cdma_serves(pair))
			err = pair->stuck ? -ENODEV : count(pair, value->direction, only, sums);
	return err ? err : sysfs_emit(text, "%llu\n", sums[value->place / sizeof(u64)]);
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
	CDMA_FACT(dimensions), CDMA_FACT(pages), CDMA_FACT(pairs), NULL
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

/* What a pair has counted is not lost by its reset. */
void cdma_keep_counters(struct cdma_pair *pair)
{
	u64 (*sums)[CDMA_COUNTERS] = pair->cd->counted;

	count(pair, CDMA_OFFLOAD, offload_counters, sums[CDMA_OFFLOAD]);
	count(pair, CDMA_PREFETCH, prefetch_counters, sums[CDMA_PREFETCH]);
}

/* ---- weights ---- */

/* A file for each pair, by its number. */
static struct cdma_pair *pair_of(struct device *dev, const struct device_attribute *attribute)
{
	return &device_of(dev)->pairs[value_of(attribute)->place];
}

static ssize_t weight_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	return sysfs_emit(text, "%u\n", READ_ONCE(pair_of(dev, attribute)->weight));
}

static ssize_t weight_store(struct device *dev, struct device_attribute *attribute,
			    const char *text, size_t size)
{
	struct cdma_pair *pair = pair_of(dev, attribute);
	u8 weight;
	int err = kstrtou8(text, 0, &weight);

	if (err || !weight)
		return err ? err : -EINVAL;
	guard(mutex)(&pair->cd->lock);
	if (pair->cd->state != CDMA_WELL)
		return -ENODEV;
	cdma_set_weight(pair, weight);
	return size;
}

static int make_weights(struct cdma_device *cd, struct attribute_group *group)
{
	struct cdma_value *values = devm_kcalloc(cd->dev, cd->count, sizeof(*values), GFP_KERNEL);
	unsigned int k;

	group->name = "weight";
	group->attrs = devm_kcalloc(cd->dev, cd->count + 1, sizeof(*group->attrs), GFP_KERNEL);
	for (k = 0; values && group->attrs && k < cd->count; ++k) {
		struct device_attribute *attribute = &values[k].attribute;

		values[k].place = k;
		sysfs_attr_init(&attribute->attr);
		attribute->attr.name = devm_kasprintf(cd->dev, GFP_KERNEL, "%u", k);
		attribute->attr.mode = 0644;
		attribute->show = weight_show;
		attribute->store = weight_store;
		group->attrs[k] = &attribute->attr;
		if (!attribute->attr.name)
			return -ENOMEM;
	}
	return values && group->attrs ? 0 : -ENOMEM;
}

/* The files of an engine, and of its pairs. */
int cdma_make_groups(struct cdma_device *cd)
{
	static const struct attribute_group fixed[] = {
		{ .name = "geometry", .attrs = facts },
		{ .name = "offload", .attrs = offload_counters },
		{ .name = "prefetch", .attrs = prefetch_counters },
	};
	unsigned int k;

	for (k = 0; k < ARRAY_SIZE(fixed); ++k)
		cd->groups[k] = &fixed[k];
	cd->groups[k] = &cd->weights;
	cd->misc.groups = cd->groups;
	return make_weights(cd, &cd->weights);
}

/* ---- rings ---- */

static void show_ring(struct seq_file *text, struct cdma_pair *pair, unsigned int direction)
{
	const struct cdma_channel *channel = cdma_channel_of(pair, direction);

	seq_printf(text, "%s entries %u tail %u head %u\n", directions[direction],
		   channel->entries, channel->tail,
		   cdma_channel_read(channel, CDMA_CHANNEL_RING_HEAD));
	seq_printf(text, "%s completions tail %u head %u outstanding %u\n", directions[direction],
		   channel->consumed, cdma_channel_read(channel, CDMA_CHANNEL_COMPLETION_HEAD),
		   channel->outstanding);
	seq_printf(text, "%s status %#x\n", directions[direction],
		   cdma_channel_read(channel, CDMA_CHANNEL_STATUS));
	cdma_show_jobs(text, pair, direction);
}

static void show_window(struct seq_file *text, struct cdma_pair *pair, const char *name, u32 at)
{
	seq_printf(text, "%s from %llu to %llu\n", name,
		   cdma_read64(&pair->engine, at + CDMA_DEV_WINDOW_BASE_LOW),
		   cdma_read64(&pair->engine, at + CDMA_DEV_WINDOW_LIMIT_LOW));
}

static void show_pair(struct seq_file *text, struct cdma_pair *pair)
{
	seq_printf(text, "pair %u files %u weight %u%s\n", pair->number, pair->files,
		   pair->weight, pair->stuck ? " stuck" : "");
	if (pair->stuck)
		return;
	show_window(text, pair, "device", CDMA_DEV_WINDOW_BASE);
	show_window(text, pair, "host", CDMA_HOST_WINDOW_BASE);
	show_ring(text, pair, CDMA_OFFLOAD);
	show_ring(text, pair, CDMA_PREFETCH);
}

/* Those of pairs that are somebody's. */
static int rings_show(struct seq_file *text, void *unused)
{
	struct cdma_device *cd = text->private;
	struct cdma_pair *pair;

	guard(mutex)(&cd->lock);
	if (cd->state != CDMA_WELL)
		return 0;
	for (pair = cd->pairs; pair < cd->pairs + cd->count; ++pair)
		if (cdma_serves(pair))
			show_pair(text, pair);
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
