// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: whose they are, their start, their health and their end.
 *
 * A pair is sick when a memory was silent, or a transfer does not end. Then it is
 * reset, and what it had ends; other pairs go on. While the memory stays silent
 * the reset does not end either: the pair is stuck, nothing is submitted, and
 * what it may still write belongs to nobody. It is tried again until it is well.
 */
#include <linux/dma-mapping.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "driver.h"

/* Descriptors in a ring, where the engine takes as many. */
#define CDMA_ENTRIES 64u
/* Looks at a register until it must have changed. */
#define CDMA_PATIENCE 40u
/* Between two tries of a pair that is stuck, and of one that nobody has any more. */
#define CDMA_RETRY (HZ / 2)
#define CDMA_RETRY_UNUSED (HZ / 50 + 1)

static unsigned int host_kib = 4096;
module_param(host_kib, uint, 0444);
MODULE_PARM_DESC(host_kib, "KiB of host memory that a queue pair may touch, at most what is contiguous");

static unsigned int watchdog = 1000000;
module_param(watchdog, uint, 0444);
MODULE_PARM_DESC(watchdog, "clock cycles that a memory may be silent; 0 for ever");

static unsigned int timeout = 30;
module_param(timeout, uint, 0444);
MODULE_PARM_DESC(timeout, "seconds in which a transfer must end; 0 for ever");

static unsigned int coalesce = 1;
module_param(coalesce, uint, 0444);
MODULE_PARM_DESC(coalesce, "completions of a direction for each interrupt, up to 255");

static unsigned int coalesce_cycles = 4096;
module_param(coalesce_cycles, uint, 0444);
MODULE_PARM_DESC(coalesce_cycles, "clock cycles that a completion may wait for others");

/* Where the pool is, behind the rings. */
static size_t pool_at(void)
{
	return PAGE_ALIGN(CDMA_DIRECTIONS * cdma_ring_bytes(CDMA_ENTRIES));
}

/* ---- from a reset to a reset ---- */

/* The host memory of a pair, or all where it reaches buffers of processes. */
static int open_host(struct cdma_pair *pair)
{
	const bool anywhere = cdma_direct_align(pair->cd);
	const u32 bits = pair->engine.geometry.host_address_bits;

	return cdma_set_window(&pair->engine, CDMA_HOST_WINDOW_BASE,
			       anywhere ? 0 : pair->rings_bus,
			       anywhere ? DMA_BIT_MASK(bits) :
			       pair->rings_bus + pair->cd->host_bytes - 1, 0);
}

/* A window that ends below its base is closed, however many bits of it there are. */
static void close_windows(struct cdma_pair *pair)
{
	cdma_set_window(&pair->engine, CDMA_DEV_WINDOW_BASE, ~0xfffull, 0xfff, 0);
	cdma_set_window(&pair->engine, CDMA_HOST_WINDOW_BASE, ~0xfffull, 0xfff, 0);
}

/* A share of the data path, which is as large as those of others if their weights are. */
void cdma_set_weight(struct cdma_pair *pair, unsigned int weight)
{
	struct cdma_pair *first = pair->cd->pairs;
	unsigned int direction;

	pair->weight = weight;
	for (direction = 0; direction < CDMA_DIRECTIONS; ++direction)
		cdma_set_share(cdma_channel_of(first, direction), pair->number, weight, 0);
}

/* What the first pair has registers of, and loses in a reset, is that of all. */
static void set_all(struct cdma_device *cd)
{
	unsigned int k;

	cdma_set_watchdog(&cd->pairs->engine, watchdog);
	for (k = 0; k < cd->count; ++k)
		cdma_set_weight(&cd->pairs[k], cd->pairs[k].weight);
}

/* Opens windows but for that of a file's own pair on the accelerator's memory; starts channels. */
int cdma_start_pair(struct cdma_pair *pair)
{
	struct cdma_device *cd = pair->cd;
	const u32 entries = min(cdma_geometry(cd)->ring_entries, CDMA_ENTRIES);
	const u64 last = gen_pool_size(cd->device) - 1;
	unsigned int direction;
	int err = open_host(pair) ? -EIO : 0;

	if (!pair->number && cdma_set_window(&pair->engine, CDMA_DEV_WINDOW_BASE, 0, last, 0))
		err = -EIO;
	/* A reset has made every entry the first of the format. */
	memset(pair->tables, 0, sizeof(pair->tables));
	pair->begin = U64_MAX;
	pair->end = 0;
	if (!pair->number)
		set_all(cd);
	for (direction = 0; !err && direction < CDMA_DIRECTIONS; ++direction) {
		struct cdma_channel *channel = cdma_channel_of(pair, direction);
		const size_t at = direction * cdma_ring_bytes(entries);

		cdma_set_coalescing(channel, min(coalesce, 255u), max(coalesce_cycles, 1u));
		if (cdma_start(channel, pair->rings + at, pair->rings_bus + at, entries, CDMA_IRQ))
			err = -EIO;
	}
	return err;
}

/*
 * Has the window of a file's own pair span its pieces, and of others' what is in
 * between. A window changes while nothing runs: until then this is false.
 */
bool cdma_widen(struct cdma_pair *pair, const struct cdma_file *file)
{
	if (!pair->number || (pair->begin <= file->begin && pair->end >= file->end))
		return true;
	if (cdma_is_busy(pair))
		return false;
	pair->begin = file->begin;
	pair->end = file->end;
	cdma_set_window(&pair->engine, CDMA_DEV_WINDOW_BASE, pair->begin, pair->end - 1, 0);
	return true;
}

/*
 * Nothing moves after it, and nothing is reached. Or it fails, and the pair is
 * not at rest. One that is not there any more reaches nothing.
 */
int cdma_stop_pair(struct cdma_pair *pair)
{
	unsigned int direction;
	int status;

	for (direction = 0; direction < CDMA_DIRECTIONS; ++direction)
		cdma_channel_write(cdma_channel_of(pair, direction), CDMA_CHANNEL_IRQ_ENABLE, 0);
	status = cdma_soft_reset(&pair->engine, CDMA_PATIENCE);
	close_windows(pair);
	return status && cdma_read(&pair->engine, CDMA_ENGINE_BASE + CDMA_ENGINE_IDENT) != ~0u ?
	       -EIO : 0;
}

/* The pair writes no more. Nobody waits until the pages of processes have been let go. */
void cdma_let_exposed_go(struct cdma_pair *pair)
{
	struct cdma_hold *hold, *next;

	list_for_each_entry_safe(hold, next, &pair->exposed, link) {
		list_del(&hold->link);
		cdma_occupy(hold);
		queue_work(cdma_works, &hold->work);
	}
}

/* What a pair that is stuck may still write is given to nobody before its next reset. */
void cdma_expose(struct cdma_hold *hold)
{
	cdma_disown_host(hold);
	list_add(&hold->link, &hold->pair->exposed);
	cdma_vacate(hold);
}

/* ---- health ---- */

static void tell(const struct cdma_pair *pair, bool rests)
{
	struct device *dev = pair->cd->dev;

	if (rests)
		dev_warn(dev, "queue pair %u was reset\n", pair->number);
	else if (!pair->stuck)
		dev_err(dev, "queue pair %u is stuck\n", pair->number);
}

/* Resets a pair, and starts it for those that have it, or will try again. */
void cdma_cure_pair(struct cdma_pair *pair)
{
	const bool serves = cdma_serves(pair);
	int err;

	if (!pair->stuck)
		cdma_keep_counters(pair);
	err = cdma_stop_pair(pair);
	cdma_abort_running(pair, err);
	if (!err) {
		++pair->resets;
		cdma_let_exposed_go(pair);
		if (serves)
			err = cdma_start_pair(pair);
	}
	if (serves)
		tell(pair, !err);
	pair->stuck = err;
	pair->sick = false;
	if (err) {
		cdma_abort_queued(pair, NULL);
		mod_delayed_work(system_wq, &pair->cd->care,
				 serves ? CDMA_RETRY : CDMA_RETRY_UNUSED);
	}
	wake_up_all(&pair->cd->room);
	cdma_dispatch(pair);
}

/* Whether the oldest job of a direction has been there for too long. */
bool cdma_is_late(const struct cdma_pair *pair)
{
	unsigned int direction;

	for (direction = 0; direction < CDMA_DIRECTIONS; ++direction)
		if (timeout && !list_empty(&pair->running[direction]) &&
		    time_after(jiffies, pair->progress[direction] + timeout * HZ))
			return true;
	return false;
}

bool cdma_is_busy(const struct cdma_pair *pair)
{
	return !list_empty(&pair->running[CDMA_OFFLOAD]) ||
	       !list_empty(&pair->running[CDMA_PREFETCH]);
}

/* Looks again in a while, if a transfer may come to be late. */
void cdma_keep_watch(struct cdma_device *cd)
{
	if (timeout)
		queue_delayed_work(system_wq, &cd->care, timeout * HZ / 2 + 1);
}

/* ---- whose they are ---- */

/* The account of a user, which is a new one for the first file. */
static struct cdma_account *account_of(struct cdma_pair *pair, struct cdma_account *new)
{
	struct cdma_account *account;

	list_for_each_entry(account, &pair->accounts, link)
		if (uid_eq(account->uid, new->uid)) {
			kfree(new);
			return account;
		}
	mutex_init(&new->turn);
	list_add(&new->link, &pair->accounts);
	return new;
}

/* A pair that nobody has and that starts, or the first one. */
static struct cdma_pair *find_pair(struct cdma_device *cd)
{
	struct cdma_pair *pair;
	unsigned int k;

	for (k = 1; k < cd->count; ++k) {
		pair = &cd->pairs[k];
		if (pair->files || pair->stuck)
			continue;
		cdma_set_weight(pair, 1);
		if (!cdma_start_pair(pair))
			return pair;
		cdma_cure_pair(pair);
	}
	return cd->pairs;
}

/* Gives a file a pair, if it has none yet, until it is closed: one of its @own, or the first. */
int cdma_join_pair(struct cdma_file *file, bool own)
{
	struct cdma_device *cd = file->cd;

	guard(mutex)(&cd->lock);
	if (!file->pair) {
		if (cd->state != CDMA_WELL)
			return -EIO;
		file->pair = own ? find_pair(cd) : cd->pairs;
		++file->pair->files;
		file->account = account_of(file->pair, file->account);
		++file->account->files;
	}
	return file->pair->stuck ? -EIO : 0;
}

/* Ends the jobs of a file that goes: at once those of its own pair, which nobody else has. */
static void end_jobs(struct cdma_file *file)
{
	struct cdma_pair *pair = file->pair;

	guard(mutex)(&pair->cd->lock);
	--pair->files;
	cdma_abort_queued(pair, file);
	if (cdma_serves(pair))
		return;
	if (pair->cd->state == CDMA_WELL && !pair->stuck)
		cdma_cure_pair(pair);
}

static bool rests(const struct cdma_pair *pair)
{
	return cdma_serves(pair) || !READ_ONCE(pair->stuck) ||
	       READ_ONCE(pair->cd->state) != CDMA_WELL;
}

/* Ends the jobs of a file, and waits until nothing of them is in flight. */
void cdma_leave_pair(struct cdma_file *file)
{
	struct cdma_pair *pair = file->pair;

	if (pair) {
		end_jobs(file);
		wait_event(file->wait, !READ_ONCE(file->jobs));
		wait_event_timeout(pair->cd->room, rests(pair),
				   timeout ? timeout * HZ : MAX_SCHEDULE_TIMEOUT);
	}
	guard(mutex)(&file->cd->lock);
	if (pair && --file->account->files)
		return;
	if (pair)
		list_del(&file->account->link);
	kfree(file->account);
}

/* ---- from the probe to the end ---- */

static void make_pair(struct cdma_pair *pair, struct cdma_device *cd, unsigned int number)
{
	unsigned int direction;

	pair->cd = cd;
	pair->number = number;
	pair->weight = 1;
	mutex_init(&pair->turn);
	INIT_LIST_HEAD(&pair->accounts);
	INIT_LIST_HEAD(&pair->exposed);
	for (direction = 0; direction < CDMA_DIRECTIONS; ++direction) {
		INIT_LIST_HEAD(&pair->queued[direction]);
		INIT_LIST_HEAD(&pair->running[direction]);
	}
}

/* Finds out what the engine is, and makes its pairs, of which there are registers of so many. */
int cdma_make_pairs(struct cdma_device *cd, const struct cdma_io *io, unsigned int most)
{
	struct cdma engine;
	unsigned int k;

	if (cdma_open(&engine, io))
		return -ENODEV;
	cd->pairs = kcalloc(engine.geometry.pairs, sizeof(*cd->pairs), GFP_KERNEL);
	if (!cd->pairs)
		return -ENOMEM;
	cd->count = min(engine.geometry.pairs, most);
	for (k = 0; k < cd->count; ++k) {
		make_pair(&cd->pairs[k], cd, k);
		if (cdma_open_pair(&cd->pairs[k].engine, io, k))
			return -ENODEV;
	}
	return 0;
}

/* Gives a pair its host memory: of less than a page nothing is handed out. */
int cdma_give_memory(struct cdma_pair *pair)
{
	struct cdma_device *cd = pair->cd;

	cd->host_bytes = PAGE_ALIGN((size_t)host_kib << 10);
	if (cd->host_bytes <= pool_at())
		return -EINVAL;
	pair->rings = dma_alloc_coherent(cd->dev, cd->host_bytes, &pair->rings_bus, GFP_KERNEL);
	if (!pair->rings)
		return -ENOMEM;
	pair->host = cdma_make_pool((unsigned long)pair->rings + pool_at(),
				    pair->rings_bus + pool_at(), cd->host_bytes - pool_at());
	return pair->host ? 0 : -ENOMEM;
}
