// SPDX-License-Identifier: GPL-2.0
/*
 * Transfers from their submission to the reply.
 *
 * An engine without lists of pages reads and writes whole tensors at one
 * address, and a buffer of a process is scattered. So each job has a run of
 * pages that the engine may touch, and data are copied in the process: before a
 * prefetch, and when the reply of an offload is taken. Buffers that the engine
 * reaches itself are those of direct.c: their jobs have a page for the list.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "driver.h"
#include "kernels.h"
#include "trace.h"

/* How often pages of a process may go away again before they are copied. */
#define CDMA_TRIES 16u
/* Completions that are taken at once. */
#define CDMA_BATCH 8

struct cdma_job {
	struct list_head link;
	struct cdma_file *file;
	struct cdma_request request;
	struct cdma_table table;
	struct cdma_reply reply;
	u64 host;	/* Its run of pages, or the list of its buffer's, as the engine sees it. */
	struct cdma_direct *direct;	/* Its buffer, or NULL if that is copied. */
	unsigned int resets;	/* There were so many when it ended. */
	unsigned int tries;	/* Its pages may still go away so often before it starts. */
	bool open;		/* The engine has ended it, and may still write there. */
	struct cdma_import import;
	struct io_uring_cmd *command;	/* Gets the reply; otherwise the file does. */
};

struct cdma_channel *cdma_channel_of(struct cdma_device *cd, unsigned int direction)
{
	return direction == CDMA_OFFLOAD ? &cd->engine.offload : &cd->engine.prefetch;
}

/* The bytes that the jobs of one file may have, so that it leaves some to others. */
u64 cdma_quota(const struct cdma_device *cd)
{
	return (u64)(cd->host.pages / 4) << PAGE_SHIFT;
}

static u64 run_of_job(const struct cdma_job *job)
{
	return job->direct ? CDMA_PAGE_BYTES : job->request.host_bytes;
}

static void *pages_of_job(const struct cdma_job *job)
{
	const struct cdma_device *cd = job->file->cd;

	return cd->host_memory + (job->host - cd->host.base);
}

/* What the engine may still write is given to nobody before its next reset. */
static void free_job(struct cdma_job *job)
{
	struct cdma_device *cd = job->file->cd;
	const bool open = job->open && job->resets == cd->resets;

	cdma_pool_pass(&cd->host, job->host, run_of_job(job), open ? cd : NULL);
	job->file->host_bytes -= job->request.host_bytes;
	cdma_let_go(&job->import, &job->request);
	if (job->direct)
		cdma_unpin(job->direct);
	kfree(job);
}

static void free_file(struct kref *ref)
{
	struct cdma_file *file = container_of(ref, struct cdma_file, ref);
	struct cdma_device *cd = file->cd;
	struct cdma_job *job, *next;

	list_for_each_entry_safe(job, next, &file->done, link)
		free_job(job);
	if (file->event)
		eventfd_ctx_put(file->event);
	mutex_lock(&cd->memory_lock);
	cdma_pool_pass_all(&cd->device, file, cd->state == CDMA_STUCK ? cd : NULL);
	mutex_unlock(&cd->memory_lock);
	kfree(file);
}

void cdma_put_file(struct cdma_file *file)
{
	kref_put(&file->ref, free_file);
}

/* Where in its buffer an error was met; the beat with it may begin before the buffer. */
static u64 fault_of(const struct cdma_job *job, const struct cdma_result *result)
{
	const struct cdma_request *request = &job->request;
	bool device = request->direction == CDMA_OFFLOAD;
	u64 base;

	switch (result->status) {
	case CDMA_STATUS_READ_SLVERR:
	case CDMA_STATUS_READ_DECERR:
		break;
	case CDMA_STATUS_WRITE_SLVERR:
	case CDMA_STATUS_WRITE_DECERR:
	case CDMA_STATUS_CAPACITY:
		device = !device;
		break;
	case CDMA_STATUS_ALIGNMENT:
		/* Pages of the host are aligned. */
		device = true;
		break;
	default:
		return CDMA_NO_FAULT;
	}
	if (job->direct && !device)
		/* Nothing lies behind the last page. */
		return result->status != CDMA_STATUS_CAPACITY ?
		       cdma_place_in(job->direct, result->address) :
		       request->mode == CDMA_MODE_RAW ? request->host_bytes : result->bytes_written;
	base = device ? request->device : job->host;
	return result->address < base ? 0 : result->address - base;
}

/* Ends the oldest job of a direction. */
static void finish(struct cdma_device *cd, unsigned int direction, const struct cdma_result *result)
{
	struct list_head *running = &cd->running[direction];
	struct cdma_job *job = list_first_entry_or_null(running, struct cdma_job, link);
	struct cdma_file *file;
	u64 room;

	if (WARN_ON_ONCE(!job))
		return;
	file = job->file;
	room = direction == CDMA_OFFLOAD ? job->request.host_bytes : job->request.bytes;
	job->reply = (struct cdma_reply){
		.cookie = job->request.cookie,
		.bytes_read = result->bytes_read,
		.bytes_written = min(result->bytes_written, room),
		.fault = fault_of(job, result),
		.cycles = result->cycles,
		.literals = result->literals,
		.status = result->status,
		.crc = result->crc,
		.range = result->status == CDMA_STATUS_LOSSY_RANGE ? result->range_count : 0,
	};
	if (result->status == CDMA_STATUS_WATCHDOG) {
		job->open = true;
		cd->sick = true;
	}
	if (job->direct)
		cdma_unmap(cd, job->direct, job->open);
	job->resets = cd->resets;
	cd->progress[direction] = jiffies;
	trace_cdma_complete(cd->number, direction, &job->reply);
	list_del(&job->link);
	--file->jobs;
	if (job->command) {
		cdma_end_command(job->command, job);
	} else {
		list_add_tail(&job->link, &file->done);
		if (file->event)
			cdma_signal(file->event);
	}
	wake_up_interruptible(&file->wait);
	cdma_put_file(file);
}

/* Takes what a channel has completed; returns whether it had anything to say. */
static bool collect_channel(struct cdma_device *cd, unsigned int direction)
{
	const struct cdma_result lost = { .status = CDMA_STATUS_COMPLETION_SLVERR };
	struct cdma_channel *channel = cdma_channel_of(cd, direction);
	const u32 cause = cdma_channel_read(channel, CDMA_CHANNEL_IRQ_STATUS);
	/* A completion that could not be written is not in memory. */
	const enum cdma_how how =
		cause & CDMA_CHANNEL_IRQ_STATUS_ERROR_MASK ? CDMA_BY_REGISTERS : CDMA_BY_MEMORY;
	struct cdma_result results[CDMA_BATCH];
	bool any = cause;
	int found, k;

	/* All ones: there is no device any more. */
	if (cause == ~0u)
		return false;
	if (cause)
		cdma_channel_write(channel, CDMA_CHANNEL_IRQ_STATUS, cause);
	while ((found = cdma_poll(channel, how, results, CDMA_BATCH))) {
		any = true;
		if (found < 0) {
			results[0] = lost;
			found = 1;
		}
		for (k = 0; k < found; ++k)
			finish(cd, direction, &results[k]);
	}
	return any;
}

/*
 * Takes all completions. The write that clears a cause is posted: what came
 * before it arrived is there after the next read. So the last look is at a
 * channel without a cause, and then the interrupt is low, and will rise again.
 */
void cdma_collect(struct cdma_device *cd)
{
	unsigned int direction;
	bool any;

	do {
		any = false;
		for (direction = 0; direction < CDMA_DIRECTIONS; ++direction)
			any |= collect_channel(cd, direction);
	} while (any);
}

/* Ends all jobs: the engine has forgotten them, or they are @open. */
void cdma_end_all(struct cdma_device *cd, bool open)
{
	const struct cdma_result aborted = { .status = CDMA_STATUS_ABORTED };
	unsigned int direction;
	struct cdma_job *job;

	for (direction = 0; direction < CDMA_DIRECTIONS; ++direction)
		while (!list_empty(&cd->running[direction])) {
			job = list_first_entry(&cd->running[direction], struct cdma_job, link);
			job->open = open;
			finish(cd, direction, &aborted);
		}
}

/* One line for each job that the engine has. */
void cdma_show_jobs(struct seq_file *text, struct cdma_device *cd, unsigned int direction)
{
	const struct cdma_job *job;

	list_for_each_entry(job, &cd->running[direction], link)
		seq_printf(text, "job cookie %llu bytes %llu host_bytes %llu\n",
			   job->request.cookie, job->request.bytes, job->request.host_bytes);
}

/*
 * The engine reads as many raw bytes as the tensor has, which must be those of
 * the buffer. With a step there would be fewer.
 */
static bool is_valid(const struct cdma_request *request)
{
	return request->direction < CDMA_DIRECTIONS && request->mode <= CDMA_MODE_FVC &&
	       !(request->flags & ~(CDMA_CHECK_CRC | CDMA_DMABUF)) && !request->reserved &&
	       request->step <= U8_MAX && (!request->step || request->mode != CDMA_MODE_RAW) &&
	       request->entries <= CDMA_TABLE &&
	       (request->mode == CDMA_MODE_FVC) == (request->entries > 0) &&
	       request->bytes && request->host_bytes &&
	       (request->mode != CDMA_MODE_RAW || request->direction == CDMA_OFFLOAD ||
		request->host_bytes == request->bytes);
}

/* Where the data of a job are in host memory; writes the list of them, if there is one. */
static u64 host_of(const struct cdma_job *job, u64 *pages)
{
	u64 first = job->host;
	bool more = false;

	if (job->direct)
		first = cdma_list(job->direct, pages_of_job(job), &more);
	*pages = more ? job->host : 0;
	return first;
}

static void describe(const struct cdma_job *job, struct cdma_transfer *transfer)
{
	const struct cdma_request *request = &job->request;
	const bool offload = request->direction == CDMA_OFFLOAD;
	const bool stream = !offload && request->mode != CDMA_MODE_RAW;
	u64 pages;
	const u64 host = host_of(job, &pages);

	*transfer = (struct cdma_transfer){
		.source = offload ? request->device : host,
		.destination = offload ? host : request->device,
		.length = request->bytes,
		.capacity = offload ? request->host_bytes : request->bytes,
		.compressed_length = stream ? request->host_bytes : 0,
		.mode = request->mode,
		.step = request->step,
		.interrupt = 1,
		.check_crc = !!(request->flags & CDMA_CHECK_CRC),
		.crc = request->crc,
		.pages = pages,
	};
}

/*
 * Copies between a job and a process, with the lock held. A process may have
 * pages that it takes for ever to bring in, for which nobody else is to wait:
 * where one is missing this fails, and they are brought in without the lock.
 */
static int copy_out(struct cdma_job *job, u64 bytes)
{
	void __user *user = u64_to_user_ptr(job->request.host);
	const void *pages = pages_of_job(job);
	unsigned long left;

	if (job->import.buffer) {
		iosys_map_memcpy_to(&job->import.map, job->request.host, pages, bytes);
		return 0;
	}
	pagefault_disable();
	left = copy_to_user(user, pages, bytes);
	pagefault_enable();
	return left ? -EFAULT : 0;
}

static int copy_in(struct cdma_job *job)
{
	void __user *user = u64_to_user_ptr(job->request.host);
	const u64 bytes = job->request.host_bytes;
	void *pages = pages_of_job(job);
	unsigned long left;

	if (job->import.buffer) {
		iosys_map_memcpy_from(pages, &job->import.map, job->request.host, bytes);
		return 0;
	}
	pagefault_disable();
	left = copy_from_user(pages, user, bytes);
	pagefault_enable();
	return left ? -EFAULT : 0;
}

/* Brings pages in, unless that cannot be or has been done too often. */
static bool bring_in(u64 host, u64 bytes, bool write, unsigned int *tries)
{
	char __user *user = u64_to_user_ptr(host);

	if (!*tries || fatal_signal_pending(current))
		return false;
	--*tries;
	return !(write ? fault_in_writeable(user, bytes) : fault_in_readable(user, bytes));
}

/* Whether the engine takes a request now, which makes sense. */
static int may_submit(const struct cdma_file *file, const struct cdma_request *request)
{
	struct cdma_device *cd = file->cd;

	if (cd->state != CDMA_WELL)
		return cd->state == CDMA_GONE ? -ENODEV : -EIO;
	if (!cdma_pool_owns(&cd->device, file, request->device, request->bytes))
		return -EACCES;
	if (request->host_bytes > cdma_quota(cd))
		return -EMSGSIZE;
	if (request->host_bytes > cdma_quota(cd) - file->host_bytes ||
	    !cdma_room(cdma_channel_of(cd, request->direction)))
		return -EAGAIN;
	return 0;
}

/*
 * Has a channel use the table of a job. All that it does with a table is done
 * with that in its registers, so another one waits until nothing runs.
 */
static int use_table(struct cdma_channel *channel, const struct cdma_job *job)
{
	struct cdma_device *cd = job->file->cd;
	const unsigned int direction = job->request.direction;
	const struct cdma_table *table = &job->table;

	if (!table->entries || !memcmp(table, &cd->tables[direction], sizeof(*table)))
		return 0;
	if (!list_empty(&cd->running[direction]))
		return -EAGAIN;
	if (cdma_set_table(channel, table->values, table->entries))
		return -EINVAL;
	cd->tables[direction] = *table;
	return 0;
}

/* Puts a job into the ring, or fails and has nothing of it; the lock is held. */
static int start(struct cdma_job *job)
{
	const struct cdma_request *request = &job->request;
	struct cdma_file *file = job->file;
	struct cdma_device *cd = file->cd;
	struct cdma_channel *channel = cdma_channel_of(cd, request->direction);
	struct cdma_transfer transfer;
	int err = may_submit(file, request);

	if (!err)
		err = use_table(channel, job);
	if (err)
		return err;
	if (cdma_pool_take(&cd->host, job, run_of_job(job), &job->host))
		return -EAGAIN;
	if (job->direct)
		err = 0;
	else if (request->direction == CDMA_OFFLOAD)
		/* Of what others left there, nothing is given away. */
		memset(pages_of_job(job), 0, request->host_bytes);
	else
		err = copy_in(job);
	if (err)
		goto give;
	describe(job, &transfer);
	trace_cdma_submit(cd->number, request);
	err = -EINVAL;
	if (cdma_lacks_option(channel, &transfer))
		goto give;
	cdma_enter(channel, &transfer);
	file->host_bytes += request->host_bytes;
	if (list_empty(&cd->running[request->direction]))
		cd->progress[request->direction] = jiffies;
	cdma_keep_watch(cd);
	list_move_tail(&job->link, &cd->running[request->direction]);
	kref_get(&file->ref);
	++file->jobs;
	return 0;

give:
	cdma_pool_pass(&cd->host, job->host, run_of_job(job), NULL);
	return err;
}

/*
 * Hands jobs to the engine in their order, until one fails, and tells it of all
 * at once. Those that it has are in the list no more; the lock is held.
 */
static int start_all(struct cdma_device *cd, struct list_head *jobs)
{
	bool told[CDMA_DIRECTIONS] = {};
	unsigned int direction;
	struct cdma_job *job;
	int err = 0;

	while (!err && !list_empty(jobs)) {
		job = list_first_entry(jobs, struct cdma_job, link);
		direction = job->request.direction;
		err = start(job);
		told[direction] |= !err;
	}
	for (direction = 0; direction < CDMA_DIRECTIONS; ++direction)
		if (told[direction]) {
			struct cdma_channel *channel = cdma_channel_of(cd, direction);

			trace_cdma_doorbell(cd->number, direction, channel->tail);
			cdma_doorbell(channel);
		}
	return err;
}

/* Adds a job to those that are to start. */
static int make_job(struct cdma_file *file, const struct cdma_request *request,
		    struct io_uring_cmd *command, struct list_head *jobs)
{
	struct cdma_job *job;
	int err;

	if (!is_valid(request))
		return -EINVAL;
	job = kzalloc(sizeof(*job), GFP_KERNEL);
	if (!job)
		return -ENOMEM;
	job->file = file;
	job->request = *request;
	job->command = command;
	job->tries = CDMA_TRIES;
	job->table.entries = request->entries;
	err = 0;
	if (copy_from_user(job->table.values, u64_to_user_ptr(request->table),
			   request->entries * sizeof(*job->table.values)))
		err = -EFAULT;
	else if (request->flags & CDMA_DMABUF)
		err = cdma_import(&job->import, request);
	else
		err = cdma_pin(file->cd, request, &job->direct);
	if (err)
		kfree(job);
	else
		list_add_tail(&job->link, jobs);
	return err;
}

/* Starts jobs until one fails, and frees the others; takes those from their number. */
static int submit(struct cdma_file *file, struct list_head *jobs, unsigned int *number)
{
	struct cdma_job *job, *next;
	int err;

	do {
		mutex_lock(&file->cd->lock);
		err = start_all(file->cd, jobs);
		mutex_unlock(&file->cd->lock);
		job = list_first_entry_or_null(jobs, struct cdma_job, link);
	} while (err == -EFAULT && bring_in(job->request.host, job->request.host_bytes, false,
					    &job->tries));
	list_for_each_entry_safe(job, next, jobs, link) {
		cdma_let_go(&job->import, &job->request);
		cdma_drop(file->cd, job->direct);
		kfree(job);
		--*number;
	}
	return err;
}

int cdma_submit_request(struct cdma_file *file, const struct cdma_request *request,
			struct io_uring_cmd *command)
{
	unsigned int number = 1;
	LIST_HEAD(jobs);
	int err = make_job(file, request, command, &jobs);

	return err ? err : submit(file, &jobs, &number);
}

int cdma_submit_batch(struct cdma_file *file, const struct cdma_batch *batch)
{
	const struct cdma_request __user *requests = u64_to_user_ptr(batch->first);
	const unsigned int count = min_t(u64, batch->count, CDMA_MOST);
	unsigned int number = 0;
	LIST_HEAD(jobs);
	int err = 0, failed;

	while (number < count) {
		struct cdma_request request;

		err = -EFAULT;
		if (!copy_from_user(&request, requests + number, sizeof(request)))
			err = make_job(file, &request, NULL, &jobs);
		if (err)
			break;
		++number;
	}
	failed = submit(file, &jobs, &number);
	return number ? number : failed ? failed : err;
}

static bool has_news(struct cdma_file *file)
{
	return !list_empty_careful(&file->done) || !READ_ONCE(file->jobs);
}

/* Tells how a job has ended, and frees it unless pages are missing; the lock is held. */
static int end_job(struct cdma_job *job, struct cdma_reply *reply, bool copy)
{
	*reply = job->reply;
	if (job->file->cd->state == CDMA_GONE) {
		/* The pages went with the device. */
		reply->status = CDMA_STATUS_ABORTED;
		reply->bytes_written = 0;
		reply->fault = CDMA_NO_FAULT;
	}
	if (copy && !job->direct && job->request.direction == CDMA_OFFLOAD &&
	    copy_out(job, reply->bytes_written))
		return -EFAULT;
	free_job(job);
	return 0;
}

/* The same, and brings pages in; the lock is not held. */
static int try_job(struct cdma_job *job, struct cdma_reply *reply)
{
	struct mutex *lock = &job->file->cd->lock;
	const u64 host = job->request.host;
	unsigned int tries = CDMA_TRIES;
	int err;

	do {
		mutex_lock(lock);
		err = end_job(job, reply, true);
		mutex_unlock(lock);
	} while (err && bring_in(host, reply->bytes_written, true, &tries));
	return err;
}

/* The job is in no list any more, and its file stays meanwhile. */
int cdma_take_job(struct cdma_job *job, struct cdma_reply *reply, bool copy)
{
	struct mutex *lock = &job->file->cd->lock;
	int err = copy ? try_job(job, reply) : 0;

	if (err || !copy) {
		mutex_lock(lock);
		end_job(job, reply, false);
		mutex_unlock(lock);
	}
	return err;
}

/* Takes the job that ended first out of its list, or waits for it. */
static int next_job(struct cdma_file *file, struct cdma_job **job, bool wait)
{
	struct mutex *lock = &file->cd->lock;
	int err;

	mutex_lock(lock);
	while (list_empty(&file->done)) {
		err = !file->jobs ? -ENOENT : !wait ? -EAGAIN : 0;
		mutex_unlock(lock);
		if (!err)
			err = wait_event_interruptible(file->wait, has_news(file));
		if (err)
			return err;
		mutex_lock(lock);
	}
	*job = list_first_entry(&file->done, struct cdma_job, link);
	list_del(&(*job)->link);
	mutex_unlock(lock);
	return 0;
}

int cdma_reap(struct cdma_file *file, struct cdma_reply *reply, bool wait)
{
	struct cdma_job *job;
	int err = next_job(file, &job, wait);

	return err ? err : cdma_take_job(job, reply, true);
}

/* Puts a job back, whose data cannot be copied: it is the first of the next call, which says so. */
static void put_back(struct cdma_file *file, struct cdma_job *job)
{
	mutex_lock(&file->cd->lock);
	list_add(&job->link, &file->done);
	mutex_unlock(&file->cd->lock);
	wake_up_interruptible(&file->wait);
}

int cdma_reap_batch(struct cdma_file *file, const struct cdma_batch *batch, bool wait)
{
	struct cdma_reply __user *replies = u64_to_user_ptr(batch->first);
	const unsigned int count = min_t(u64, batch->count, CDMA_MOST);
	struct cdma_reply reply;
	struct cdma_job *job;
	unsigned int number;
	int err = 0;

	/* No reply is taken that has nowhere to go. */
	if (fault_in_writeable((char __user *)replies, count * sizeof(reply)))
		return -EFAULT;
	for (number = 0; number < count; ++number) {
		err = next_job(file, &job, wait && !number);
		if (err)
			break;
		err = number ? try_job(job, &reply) : cdma_take_job(job, &reply, true);
		if (err && number)
			put_back(file, job);
		if (!err && copy_to_user(replies + number, &reply, sizeof(reply)))
			err = -EFAULT;
		if (err)
			break;
	}
	return number ? number : err;
}
