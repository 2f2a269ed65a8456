// SPDX-License-Identifier: GPL-2.0
/*
 * Transfers from their submission to the reply.
 *
 * A job gets all that it needs in its process, and no lock is held then: its
 * buffer is pinned, or mapped by the driver whose it is, a run of host memory is
 * taken, and what a prefetch reads is copied there. Then it is queued behind all
 * others of its direction, and handed to the engine in turn. When the engine has
 * ended it, what an offload has written is copied, all that it holds is let go,
 * and its reply is left for its file, or its command completes. That is done by
 * the work of its file, in order: so nobody waits for the buffer of another one.
 */
#include <linux/dma-fence.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "driver.h"
#include "kernels.h"
#include "trace.h"

/* Completions that are taken at once. */
#define CDMA_BATCH 8
/* Jobs of a file that have not ended, and replies that were not taken. */
#define CDMA_MOST_JOBS 1024
/* The first version of what is handed over, which is the least. */
#define CDMA_REQUEST_BYTES 80
#define CDMA_REPLY_BYTES 56

struct cdma_job {
	struct list_head link;
	struct cdma_file *file;
	struct cdma_request request;
	struct cdma_table table;
	struct cdma_reply reply;
	struct cdma_hold *hold;
	u64 data;	/* Where they are in host memory, as the engine sees it; */
	u64 pages;	/* and the list of the pages that they are in, or 0. */
	struct cdma_import import;
	struct dma_fence *fence;	/* Others may wait for it; or NULL. */
	struct io_uring_cmd *command;	/* Gets the reply; otherwise the file does. */
	struct cdma_pins answer;	/* Where a command has it. */
	unsigned int resets;	/* There were so many when it ended. */
	bool open;		/* The engine has ended it, and may still write there. */
};

static void *memory_of(const struct cdma_job *job)
{
	return job->hold->host;
}

/* ---- ends ---- */

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
	if (job->hold->direct && !device)
		/* Nothing lies behind the last page. */
		return result->status != CDMA_STATUS_CAPACITY ?
		       cdma_place_in(job->hold, result->address) :
		       request->mode == CDMA_MODE_RAW ? request->host_bytes : result->bytes_written;
	base = device ? request->device : job->data;
	return result->address < base ? 0 : result->address - base;
}

static struct cdma_job *first_of(struct list_head *jobs)
{
	return list_first_entry_or_null(jobs, struct cdma_job, link);
}

/* Ends a job, which the work of its file does the rest of; the lock is held. */
static void end_job(struct cdma_pair *pair, struct cdma_job *job, const struct cdma_result *result)
{
	const unsigned int direction = job->request.direction;
	const u64 room = direction == CDMA_OFFLOAD ? job->request.host_bytes : job->request.bytes;
	struct cdma_file *file = job->file;

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
		pair->sick = true;
	}
	job->resets = pair->resets;
	trace_cdma_complete(pair->cd->number, direction, &job->reply);
	/* Once it is found there, the file may go. */
	spin_lock(&file->lock);
	list_move_tail(&job->link, &file->ended);
	queue_work(cdma_works, &file->copies);
	spin_unlock(&file->lock);
}

/* Ends the oldest job of a direction. */
static void finish(struct cdma_pair *pair, unsigned int direction, const struct cdma_result *result)
{
	struct cdma_job *job = first_of(&pair->running[direction]);

	if (WARN_ON_ONCE(!job))
		return;
	pair->progress[direction] = jiffies;
	end_job(pair, job, result);
}

/* Takes what a channel has completed; returns whether it had anything to say. */
static bool collect_channel(struct cdma_pair *pair, unsigned int direction)
{
	const struct cdma_result lost = { .status = CDMA_STATUS_COMPLETION_SLVERR };
	struct cdma_channel *channel = cdma_channel_of(pair, direction);
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
			finish(pair, direction, &results[k]);
	}
	return any;
}

/*
 * Takes all completions. The write that clears a cause is posted: what came
 * before it arrived is there after the next read. So the last look is at
 * channels without a cause, and then the interrupt is low, and will rise again.
 */
void cdma_collect(struct cdma_device *cd)
{
	struct cdma_pair *pair;
	bool any;

	do {
		any = false;
		for (pair = cd->pairs; pair < cd->pairs + cd->count; ++pair) {
			if (!cdma_serves(pair) || pair->stuck)
				continue;
			any |= collect_channel(pair, CDMA_OFFLOAD);
			any |= collect_channel(pair, CDMA_PREFETCH);
		}
	} while (any);
}

static void abort_list(struct cdma_pair *pair, struct list_head *jobs,
		       const struct cdma_file *file, bool open)
{
	const struct cdma_result aborted = { .status = CDMA_STATUS_ABORTED };
	struct cdma_job *job, *next;

	list_for_each_entry_safe(job, next, jobs, link)
		if (!file || job->file == file) {
			job->open = open;
			end_job(pair, job, &aborted);
		}
}

/* Ends all jobs of a pair that it has forgotten, or that are @open. */
void cdma_abort_running(struct cdma_pair *pair, bool open)
{
	abort_list(pair, &pair->running[CDMA_OFFLOAD], NULL, open);
	abort_list(pair, &pair->running[CDMA_PREFETCH], NULL, open);
}

/* Ends those jobs of a pair that have not begun, of a file or of all. */
void cdma_abort_queued(struct cdma_pair *pair, const struct cdma_file *file)
{
	abort_list(pair, &pair->queued[CDMA_OFFLOAD], file, false);
	abort_list(pair, &pair->queued[CDMA_PREFETCH], file, false);
}

/* What the engine may still write is given to nobody before its next reset. */
static bool is_exposed(struct cdma_job *job)
{
	const struct cdma_pair *pair = job->hold->pair;

	guard(mutex)(&pair->cd->lock);
	if (!job->open || job->resets != pair->resets)
		return false;
	cdma_expose(job->hold);
	return true;
}

/* Copies to the first bytes of a buffer. */
static void copy_out(const struct cdma_pins *pins, const void *data, size_t bytes)
{
	sg_copy_from_buffer(pins->table.sgl, pins->table.orig_nents, data, bytes);
}

/* Copies what an offload has written. */
static void copy_data(struct cdma_job *job)
{
	const struct cdma_request *request = &job->request;

	if (request->direction == CDMA_OFFLOAD && job->import.buffer)
		iosys_map_memcpy_to(&job->import.map, request->host, memory_of(job),
				    job->reply.bytes_written);
	else if (request->direction == CDMA_OFFLOAD && !job->hold->direct)
		copy_out(&job->hold->pins, memory_of(job), job->reply.bytes_written);
}

/* Lets all go, and tells of the end. */
static void retire(struct cdma_job *job)
{
	struct io_uring_cmd *command = job->command;
	struct cdma_file *file = job->file;

	if (!is_exposed(job))
		cdma_let_go(job->hold);
	cdma_drop_import(&job->import, &job->request);
	if (command)
		copy_out(&job->answer, &job->reply, sizeof(job->reply));
	spin_lock(&file->lock);
	--file->jobs;
	if (!command) {
		/* From here on it is whose who takes the reply. */
		++file->replies;
		list_add_tail(&job->link, &file->done);
	}
	spin_unlock(&file->lock);
	wake_up_all(&file->wait);
	if (command) {
		cdma_unpin(&job->answer);
		io_uring_cmd_done(command, 0, 0, IO_URING_F_UNLOCKED);
		kfree(job);
	}
}

static struct cdma_job *take_first(struct cdma_file *file, struct list_head *jobs)
{
	struct cdma_job *job;

	spin_lock(&file->lock);
	job = first_of(jobs);
	if (job)
		list_del_init(&job->link);
	spin_unlock(&file->lock);
	return job;
}

/* Nothing that others do while they wait for a fence is waited for. */
static void copy_all(struct work_struct *work)
{
	struct cdma_file *file = container_of(work, struct cdma_file, copies);
	const bool signals = dma_fence_begin_signalling();
	struct cdma_job *job;

	while ((job = take_first(file, &file->ended))) {
		copy_data(job);
		cdma_signal(job->fence, job->reply.status ? -EIO : 0);
		spin_lock(&file->lock);
		list_add_tail(&job->link, &file->spent);
		spin_unlock(&file->lock);
	}
	queue_work(cdma_works, &file->frees);
	dma_fence_end_signalling(signals);
}

static void retire_all(struct work_struct *work)
{
	struct cdma_file *file = container_of(work, struct cdma_file, frees);
	struct cdma_job *job;

	while ((job = take_first(file, &file->spent)))
		retire(job);
}

void cdma_begin_jobs(struct cdma_file *file)
{
	INIT_LIST_HEAD(&file->ended);
	INIT_LIST_HEAD(&file->spent);
	INIT_LIST_HEAD(&file->done);
	INIT_WORK(&file->copies, copy_all);
	INIT_WORK(&file->frees, retire_all);
	spin_lock_init(&file->lock);
	init_waitqueue_head(&file->wait);
}

/* Jobs have ended: forgets their replies. */
void cdma_end_jobs(struct cdma_file *file)
{
	struct cdma_job *job;

	flush_work(&file->copies);
	flush_work(&file->frees);
	while ((job = take_first(file, &file->done)))
		kfree(job);
}

/* One line for each job that the engine has. */
void cdma_show_jobs(struct seq_file *text, struct cdma_pair *pair, unsigned int direction)
{
	const struct cdma_job *job;

	list_for_each_entry(job, &pair->running[direction], link)
		seq_printf(text, "job cookie %llu bytes %llu host_bytes %llu\n",
			   job->request.cookie, job->request.bytes, job->request.host_bytes);
}

/* ---- the engine's turn ---- */

static void describe(const struct cdma_job *job, struct cdma_transfer *transfer)
{
	const struct cdma_request *request = &job->request;
	const bool offload = request->direction == CDMA_OFFLOAD;
	const bool stream = !offload && request->mode != CDMA_MODE_RAW;

	*transfer = (struct cdma_transfer){
		.source = offload ? request->device : job->data,
		.destination = offload ? job->data : request->device,
		.length = request->bytes,
		.capacity = offload ? request->host_bytes : request->bytes,
		.compressed_length = stream ? request->host_bytes : 0,
		.mode = request->mode,
		.step = request->step,
		.interrupt = 1,
		.check_crc = !!(request->flags & CDMA_CHECK_CRC),
		.crc = request->crc,
		.pages = job->pages,
	};
}

/*
 * Has a channel use the table of a job. All that it does with a table is done
 * with that in its registers, so another one waits until nothing runs.
 */
static bool use_table(struct cdma_pair *pair, const struct cdma_job *job)
{
	const unsigned int direction = job->request.direction;
	const struct cdma_table *table = &job->table;

	if (!table->entries || !memcmp(table, &pair->tables[direction], sizeof(*table)))
		return true;
	if (!list_empty(&pair->running[direction]))
		return false;
	cdma_set_table(cdma_channel_of(pair, direction), table->values, table->entries);
	pair->tables[direction] = *table;
	return true;
}

static void dispatch_channel(struct cdma_pair *pair, unsigned int direction)
{
	struct cdma_channel *channel = cdma_channel_of(pair, direction);
	struct list_head *running = &pair->running[direction];
	struct cdma_device *cd = pair->cd;
	struct cdma_transfer transfer;
	struct cdma_job *job;
	bool any = false;

	while (cdma_room(channel)) {
		job = first_of(&pair->queued[direction]);
		if (!job || !use_table(pair, job))
			break;
		describe(job, &transfer);
		trace_cdma_submit(cd->number, &job->request);
		cdma_enter(channel, &transfer);
		if (list_empty(running))
			pair->progress[direction] = jiffies;
		list_move_tail(&job->link, running);
		any = true;
	}
	if (any) {
		trace_cdma_doorbell(cd->number, direction, channel->tail);
		cdma_doorbell(channel);
		cdma_keep_watch(cd);
	}
}

/* Hands jobs to a pair in their order, as far as it has room, and tells it of all at once. */
void cdma_dispatch(struct cdma_pair *pair)
{
	const struct cdma_job *job = first_of(&pair->queued[CDMA_OFFLOAD]);

	if (!job)
		job = first_of(&pair->queued[CDMA_PREFETCH]);
	if (!job || pair->cd->state != CDMA_WELL || pair->stuck || !cdma_widen(pair, job->file))
		return;
	dispatch_channel(pair, CDMA_OFFLOAD);
	dispatch_channel(pair, CDMA_PREFETCH);
}

/* ---- submission ---- */

/*
 * The engine reads as many raw bytes as the tensor has, which must be those of
 * the buffer. With a step there would be fewer.
 */
static bool is_valid(const struct cdma_device *cd, const struct cdma_request *request)
{
	const struct cdma_geometry *geometry = cdma_geometry(cd);

	return request->direction < CDMA_DIRECTIONS && request->mode <= CDMA_MODE_FVC &&
	       !(request->flags & ~(CDMA_CHECK_CRC | CDMA_DMABUF)) && !request->reserved &&
	       (!(request->flags & CDMA_CHECK_CRC) || geometry->crc) &&
	       request->step <= U8_MAX &&
	       (!request->step || (request->mode != CDMA_MODE_RAW && geometry->lossy)) &&
	       request->entries <= min_t(u32, geometry->table_size, CDMA_TABLE) &&
	       (request->mode == CDMA_MODE_FVC) == (request->entries > 0) &&
	       request->bytes && request->host_bytes &&
	       (request->mode != CDMA_MODE_RAW || request->direction == CDMA_OFFLOAD ||
		request->host_bytes == request->bytes);
}

/* Whether the engine takes a request, which makes sense, of a file that may be used so. */
static int may_submit(struct cdma_file *file, fmode_t mode, const struct cdma_request *request)
{
	struct cdma_device *cd = file->cd;
	const enum cdma_state state = READ_ONCE(cd->state);

	if (!is_valid(cd, request))
		return -EINVAL;
	if (!(mode & (request->direction == CDMA_OFFLOAD ? FMODE_READ : FMODE_WRITE)))
		return -EACCES;
	if (state != CDMA_WELL)
		return state == CDMA_GONE ? -ENODEV : -EIO;
	if (request->host_bytes > cdma_quota(cd))
		return -EMSGSIZE;
	return READ_ONCE(file->jobs) + READ_ONCE(file->replies) < CDMA_MOST_JOBS ? 0 : -EAGAIN;
}

static int copy_table(struct cdma_device *cd, struct cdma_job *job)
{
	const struct cdma_geometry *geometry = cdma_geometry(cd);
	const u32 bits = geometry->field_bits ? geometry->field_bits : geometry->word_bits;
	u32 k;

	job->table.entries = job->request.entries;
	if (copy_from_user(job->table.values, u64_to_user_ptr(job->request.table),
			   job->table.entries * sizeof(*job->table.values)))
		return -EFAULT;
	for (k = 0; k < job->table.entries; ++k)
		if ((u64)job->table.values[k] >> bits)
			return -EINVAL;
	return 0;
}

/* A job of a piece that others may have has a fence, and one that writes a buffer of theirs. */
static int make_fence(struct cdma_job *job)
{
	struct cdma_hold *hold = job->hold;

	scoped_guard(mutex, &job->file->mutex) {
		hold->unfenced = !hold->piece->exported;
		atomic_add(hold->unfenced, &hold->piece->unfenced);
	}
	if (hold->unfenced && (!job->import.buffer || hold->way == DMA_TO_DEVICE))
		return 0;
	job->fence = cdma_new_fence(hold->pair->cd);
	return job->fence ? 0 : -ENOMEM;
}

/* Gets a job what it needs of its process and of other drivers, and host memory. */
static int equip(struct cdma_job *job, bool wait)
{
	const struct cdma_request *request = &job->request;
	const bool offload = request->direction == CDMA_OFFLOAD;
	struct cdma_file *file = job->file;
	struct cdma_hold *hold = job->hold;
	int err;

	hold->account = file->account;
	hold->way = offload ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
	hold->piece = cdma_find_piece(file, request->device, request->bytes);
	if (!hold->piece)
		return -EACCES;
	err = copy_table(file->cd, job);
	if (err)
		return err;
	if (request->flags & CDMA_DMABUF) {
		err = cdma_import(&job->import, request, wait);
	} else {
		err = cdma_pin(&hold->pins, request->host, request->host_bytes, offload);
		hold->direct = cdma_is_direct(file->cd, request);
	}
	if (!err)
		err = make_fence(job);
	if (err)
		return err;
	return cdma_take_host(hold, hold->direct ? CDMA_PAGE_BYTES : request->host_bytes, wait);
}

static void drop_job(struct cdma_job *job)
{
	cdma_signal(job->fence, -ECANCELED);
	cdma_let_go(job->hold);
	cdma_drop_import(&job->import, &job->request);
	cdma_unpin(&job->answer);
	kfree(job);
}

static struct cdma_job *new_job(struct cdma_file *file, const struct cdma_request *request)
{
	struct cdma_job *job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);

	if (!job)
		return NULL;
	INIT_LIST_HEAD(&job->link);
	job->file = file;
	job->request = *request;
	job->hold = cdma_new_hold(file->pair);
	if (job->hold)
		return job;
	kfree(job);
	return NULL;
}

/* Adds a job to those that are to start. */
static int make_job(struct cdma_file *file, fmode_t mode, const struct cdma_request *request,
		    struct list_head *jobs, bool wait)
{
	struct cdma_job *job;
	int err = may_submit(file, mode, request);

	if (!err)
		err = cdma_join_pair(file, true);
	if (err)
		return err;
	job = new_job(file, request);
	if (!job)
		return -ENOMEM;
	err = equip(job, wait);
	if (err)
		drop_job(job);
	else
		list_add_tail(&job->link, jobs);
	return err;
}

/* A buffer that cannot be mapped for the device is copied. */
static int map_or_copy(struct cdma_job *job)
{
	struct cdma_hold *hold = job->hold;
	struct cdma_pages pages;
	int err = 0;

	if (hold->direct) {
		if (!cdma_map(hold, &pages)) {
			job->data = pages.address;
			job->pages = pages.pages;
			return 0;
		}
		hold->direct = false;
		cdma_give_host(hold);
		err = cdma_take_host(hold, job->request.host_bytes, false);
	}
	job->data = hold->host_bus;
	return err;
}

/* Has the data of a job where the engine will look for them; the device is there. */
static int fill(struct cdma_job *job)
{
	const struct cdma_request *request = &job->request;
	const size_t bytes = request->host_bytes;
	struct cdma_hold *hold = job->hold;
	struct sg_table *table = &hold->pins.table;
	int err = map_or_copy(job);

	if (err)
		return err;
	cdma_occupy(hold);
	if (hold->direct)
		return 0;
	/* Of what others left there, nothing is given away. */
	if (request->direction == CDMA_OFFLOAD)
		memset(memory_of(job), 0, bytes);
	else if (job->import.buffer)
		iosys_map_memcpy_from(memory_of(job), &job->import.map, request->host, bytes);
	else
		sg_copy_to_buffer(table->sgl, table->orig_nents, memory_of(job), bytes);
	return 0;
}

/* Has others see the fence of a job, if it has one. */
static int publish(const struct cdma_job *job, bool wait)
{
	const struct cdma_hold *hold = job->hold;
	const bool offload = job->request.direction == CDMA_OFFLOAD;
	struct cdma_use uses[2];
	unsigned int count = 0;

	if (!job->fence)
		return 0;
	if (job->import.buffer && offload)
		uses[count++] = (struct cdma_use){ job->import.buffer->resv, true };
	/* A piece may be moved into itself. */
	if (!hold->unfenced && (!count || uses[0].resv != &hold->piece->resv))
		uses[count++] = (struct cdma_use){ &hold->piece->resv, !offload };
	return cdma_publish(hold->pair->cd, job->fence, uses, count, wait);
}

/* Queues a job that is filled, unless the engine takes none, which is told of all at the last. */
static int queue(struct cdma_job *job, bool wait, bool last)
{
	struct cdma_file *file = job->file;
	struct cdma_pair *pair = file->pair;
	int err = publish(job, wait);

	guard(mutex)(&pair->cd->lock);
	if (!err && (pair->cd->state != CDMA_WELL || pair->stuck))
		err = -EIO;
	if (!err) {
		spin_lock(&file->lock);
		++file->jobs;
		spin_unlock(&file->lock);
		list_move_tail(&job->link, &pair->queued[job->request.direction]);
	}
	if (err || last)
		cdma_dispatch(pair);
	return err;
}

/* Fills jobs and queues them until one fails; the device is there. */
static int start(struct list_head *jobs, bool wait)
{
	struct cdma_job *job, *next;
	bool fenced = false;
	LIST_HEAD(filled);
	int err = 0, failed = 0;

	list_for_each_entry_safe(job, next, jobs, link) {
		err = fill(job);
		if (err)
			break;
		fenced |= !!job->fence;
		list_move_tail(&job->link, &filled);
	}
	/* What others wait for does not wait for the others of a row. */
	list_for_each_entry_safe(job, next, &filled, link) {
		failed = queue(job, wait, fenced || list_is_singular(&filled));
		if (failed)
			break;
	}
	list_splice(&filled, jobs);
	return failed ? failed : err;
}

/* Starts jobs until one fails, and drops the others; takes those from their number. */
static int submit(struct cdma_file *file, struct list_head *jobs, unsigned int *number, bool wait)
{
	struct cdma_job *job, *next;
	int err = -ENODEV;

	if (cdma_get_presence(file->cd)) {
		err = start(jobs, wait);
		cdma_put_presence(file->cd);
	}
	list_for_each_entry_safe(job, next, jobs, link) {
		drop_job(job);
		--*number;
	}
	return err;
}

int cdma_submit_command(struct cdma_file *file, fmode_t mode, const struct cdma_request *request,
			struct io_uring_cmd *command, u64 reply, bool wait)
{
	unsigned int number = 1;
	struct cdma_job *job;
	LIST_HEAD(jobs);
	int err = make_job(file, mode, request, &jobs, wait);

	if (err)
		return err;
	job = list_first_entry(&jobs, struct cdma_job, link);
	job->command = command;
	err = cdma_pin(&job->answer, reply, sizeof(job->reply), true);
	if (!err)
		return submit(file, &jobs, &number, wait);
	drop_job(job);
	return err;
}

/* A transfer between a piece and memory that is mapped for the engine in one run. */
int cdma_move(struct cdma_file *file, const struct cdma_request *request, dma_addr_t host)
{
	struct cdma_job *job = new_job(file, request);
	int err = -ENODEV;

	if (!job)
		return -ENOMEM;
	job->hold->direct = true;
	job->hold->piece = cdma_find_piece(file, request->device, request->bytes);
	job->data = host;
	if (cdma_get_presence(file->cd)) {
		cdma_occupy(job->hold);
		err = queue(job, true, true);
		cdma_put_presence(file->cd);
	}
	if (err) {
		drop_job(job);
		return err;
	}
	wait_event(file->wait, !list_empty_careful(&file->done));
	job = take_first(file, &file->done);
	--file->replies;
	err = job->reply.status ? -EIO : 0;
	kfree(job);
	return err;
}

/* Requests may be longer than they are known to be here, if what is more is 0. */
int cdma_submit_batch(struct cdma_file *file, fmode_t mode, const struct cdma_batch *batch,
		      bool wait)
{
	const char __user *requests = u64_to_user_ptr(batch->first);
	const unsigned int count = min_t(u32, batch->count, CDMA_MOST);
	unsigned int number = 0;
	LIST_HEAD(jobs);
	int err = 0, failed = 0;

	if (batch->size < CDMA_REQUEST_BYTES || batch->size > PAGE_SIZE)
		return -EINVAL;
	while (number < count) {
		struct cdma_request request;

		err = copy_struct_from_user(&request, sizeof(request),
					    requests + number * batch->size, batch->size);
		if (!err)
			err = make_job(file, mode, &request, &jobs, wait && !number);
		if (err)
			break;
		++number;
	}
	if (number)
		failed = submit(file, &jobs, &number, wait);
	return number ? number : failed ? failed : err;
}

/* ---- replies ---- */

static bool has_news(struct cdma_file *file)
{
	return !list_empty_careful(&file->done) || !READ_ONCE(file->jobs);
}

/* Takes the job that ended first out of its list, or says whether one is to come. */
static int try_done(struct cdma_file *file, struct cdma_job **job)
{
	int err = 0;

	spin_lock(&file->lock);
	*job = first_of(&file->done);
	if (*job)
		list_del_init(&(*job)->link);
	else
		err = file->jobs ? -EAGAIN : -ENOENT;
	spin_unlock(&file->lock);
	return err;
}

/* Takes the job that ended first, or waits for it. */
static int next_done(struct cdma_file *file, struct cdma_job **job, bool wait)
{
	int err;

	while ((err = try_done(file, job)) == -EAGAIN && wait) {
		err = wait_event_interruptible(file->wait, has_news(file));
		if (err)
			break;
	}
	return err;
}

/* A reply that cannot be written is the first of the next call. */
int cdma_reap_batch(struct cdma_file *file, const struct cdma_batch *batch, bool wait)
{
	char __user *replies = u64_to_user_ptr(batch->first);
	const unsigned int count = min_t(u32, batch->count, CDMA_MOST);
	struct cdma_job *job;
	unsigned int number;
	int err = 0;

	if (batch->size < CDMA_REPLY_BYTES || batch->size > PAGE_SIZE)
		return -EINVAL;
	for (number = 0; number < count; ++number) {
		err = next_done(file, &job, wait && !number);
		if (err)
			break;
		err = cdma_return(replies + number * batch->size, batch->size, &job->reply,
				  sizeof(job->reply));
		spin_lock(&file->lock);
		if (err)
			list_add(&job->link, &file->done);
		else
			--file->replies;
		spin_unlock(&file->lock);
		if (err) {
			wake_up_all(&file->wait);
			break;
		}
		kfree(job);
	}
	return number ? number : err;
}
