// SPDX-License-Identifier: GPL-2.0
/* /dev/cdmaN: what a process sees of an engine. */
#include <linux/cred.h>
#include <linux/dma-buf.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "driver.h"
#include "kernels.h"

/* An open file of a user, or NULL if there is no memory. */
struct cdma_file *cdma_new_file(struct cdma_device *cd, kuid_t uid)
{
	struct cdma_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	struct cdma_account *account = kzalloc(sizeof(*account), GFP_KERNEL_ACCOUNT);

	if (!file || !account) {
		kfree(file);
		kfree(account);
		return NULL;
	}
	account->uid = uid;
	file->account = account;
	file->cd = cd;
	file->begin = U64_MAX;
	mutex_init(&file->mutex);
	INIT_LIST_HEAD(&file->pieces);
	cdma_begin_jobs(file);
	kref_get(&cd->ref);
	return file;
}

/* Nothing of its process is written afterwards. What others have of its memory they keep. */
void cdma_close_file(struct cdma_file *file)
{
	struct cdma_device *cd = file->cd;

	cdma_leave_pair(file);
	cdma_end_jobs(file);
	cdma_free_all(file);
	kfree(file);
	cdma_put_device(cd);
}

static int cdma_open_file(struct inode *inode, struct file *filp)
{
	struct cdma_device *cd = container_of(filp->private_data, struct cdma_device, misc);
	struct cdma_file *file = cdma_new_file(cd, filp->f_cred->uid);

	if (!file)
		return -ENOMEM;
	filp->private_data = file;
	filp->f_mapping = cd->space->i_mapping;
	return 0;
}

static int cdma_release_file(struct inode *inode, struct file *filp)
{
	cdma_close_file(filp->private_data);
	return 0;
}

/* Copies a page at most between the accelerator's memory and memory of the kernel. */
static int access_page(struct cdma_file *file, void *page, u64 at, size_t bytes, bool write)
{
	struct cdma_piece *piece;
	int err = -ENODEV;

	if (!cdma_get_presence(file->cd))
		return err;
	piece = cdma_find_piece(file, at, bytes);
	err = piece ? 0 : -EACCES;
	if (!err && write)
		cdma_store(file->cd, at, page, bytes);
	else if (!err)
		memcpy_fromio(page, file->cd->memory + at, bytes);
	cdma_put_piece(piece);
	cdma_put_presence(file->cd);
	return err;
}

/* Copies between the accelerator's memory and a process. */
static ssize_t access_memory(struct kiocb *call, struct iov_iter *data)
{
	const bool write = iov_iter_rw(data) == WRITE;
	size_t copied = 0, part;
	ssize_t err = 0;
	void *page = (void *)__get_free_page(GFP_KERNEL);

	if (!page)
		return -ENOMEM;
	for (; iov_iter_count(data); copied += part, call->ki_pos += part) {
		part = min_t(size_t, iov_iter_count(data), PAGE_SIZE);
		err = -EFAULT;
		if (write && copy_from_iter(page, part, data) != part)
			break;
		err = access_page(call->ki_filp->private_data, page, call->ki_pos, part, write);
		if (err)
			break;
		err = -EFAULT;
		if (!write && copy_to_iter(page, part, data) != part)
			break;
	}
	free_page((unsigned long)page);
	return copied ? copied : err;
}

static __poll_t cdma_poll_file(struct file *filp, poll_table *table)
{
	struct cdma_file *file = filp->private_data;
	__poll_t events = 0;

	poll_wait(filp, &file->wait, table);
	poll_wait(filp, &file->cd->gone, table);
	if (!list_empty_careful(&file->done))
		events |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(file->cd->state) == CDMA_GONE)
		events |= EPOLLHUP;
	return events;
}

static void describe_engine(const struct cdma_device *cd, struct cdma_info *info)
{
	const struct cdma_geometry *geometry = cdma_geometry(cd);

	*info = (struct cdma_info){
		.version = CDMA_INTERFACE_VERSION,
		.word_bits = geometry->word_bits,
		.window = geometry->window,
		.code_bits = geometry->code_bits,
		.field_bits = geometry->field_bits,
		.padding = geometry->align,
		.device_align = geometry->dev_align,
		.in_flight = cd->pairs->engine.offload.entries,
		.crc = geometry->crc,
		.table = geometry->table_size,
		.lossy = geometry->lossy,
		.direct = cdma_direct_align(cd),
		.device_bytes = gen_pool_size(cd->device),
		.host_bytes = cdma_quota(cd),
	};
}

/* What is asked for, as the kernel has it: it may be longer in a process, if what is more is 0. */
union argument {
	struct cdma_info info;
	struct cdma_range range;
	struct cdma_export export;
	struct cdma_batch batch;
};

static const unsigned int calls[] = {
	CDMA_IOC_INFO, CDMA_IOC_ALLOC, CDMA_IOC_FREE, CDMA_IOC_SUBMIT, CDMA_IOC_REAP,
	CDMA_IOC_EXPORT,
};

static bool is_call(unsigned int known, unsigned int code)
{
	const unsigned int size = _IOC_SIZEMASK << _IOC_SIZESHIFT;

	return (known & ~size) == (code & ~size) && _IOC_SIZE(code) >= _IOC_SIZE(known);
}

int cdma_return(void __user *user, size_t bytes, const void *known, size_t size)
{
	const size_t part = min(bytes, size);

	if (copy_to_user(user, known, part) || clear_user(user + part, bytes - part))
		return -EFAULT;
	return 0;
}

/* The process gets the buffer once it has been told of its file, or not at all. */
static int export(struct file *filp, struct cdma_export *piece, void __user *user, size_t bytes)
{
	struct dma_buf *made = cdma_export(filp->private_data, piece, filp->f_flags & O_ACCMODE);
	int err;

	if (IS_ERR(made))
		return PTR_ERR(made);
	piece->file = get_unused_fd_flags(O_CLOEXEC);
	err = piece->file < 0 ? piece->file : cdma_return(user, bytes, piece, sizeof(*piece));
	if (!err) {
		fd_install(piece->file, made->file);
		return 0;
	}
	if (piece->file >= 0)
		put_unused_fd(piece->file);
	dma_buf_put(made);
	return err;
}

/* A piece that the process cannot be told of is given back. */
static int allocate(struct cdma_file *file, struct cdma_range *range, void __user *user,
		    size_t bytes)
{
	int err = cdma_allocate(file, range);

	if (err)
		return err;
	err = cdma_return(user, bytes, range, sizeof(*range));
	if (err)
		cdma_free(file, range);
	return err;
}

static long call(struct file *filp, unsigned int code, void __user *user, size_t bytes,
		 union argument *argument)
{
	const bool wait = !(filp->f_flags & O_NONBLOCK);
	struct cdma_file *file = filp->private_data;

	switch (code) {
	case CDMA_IOC_REAP:
		return cdma_reap_batch(file, &argument->batch, wait);
	case CDMA_IOC_FREE:
		return cdma_free(file, &argument->range);
	}
	if (READ_ONCE(file->cd->state) == CDMA_GONE)
		return -ENODEV;
	switch (code) {
	case CDMA_IOC_INFO:
		describe_engine(file->cd, &argument->info);
		return cdma_return(user, bytes, argument, sizeof(argument->info));
	case CDMA_IOC_ALLOC:
		return allocate(file, &argument->range, user, bytes);
	case CDMA_IOC_SUBMIT:
		return cdma_submit_batch(file, filp->f_mode, &argument->batch, wait);
	default:
		return export(filp, &argument->export, user, bytes);
	}
}

static long cdma_ioctl_file(struct file *filp, unsigned int code, unsigned long pointer)
{
	void __user *user = (void __user *)pointer;
	union argument argument = {};
	unsigned int k = 0;
	int err = 0;

	while (!is_call(calls[k], code))
		if (++k == ARRAY_SIZE(calls))
			return -ENOTTY;
	if (_IOC_DIR(code) & _IOC_WRITE)
		err = copy_struct_from_user(&argument, _IOC_SIZE(calls[k]), user, _IOC_SIZE(code));
	return err ? err : call(filp, calls[k], user, _IOC_SIZE(code), &argument);
}

/* A transfer as a command of io_uring. What waits does so in a thread of its own. */
static int cdma_uring_command(struct io_uring_cmd *command, unsigned int flags)
{
	const struct cdma_command *shared = cdma_command_of(command);
	const bool wait = !(flags & IO_URING_F_NONBLOCK);
	struct cdma_request request;
	int err;

	if (command->cmd_op != CDMA_URING_TRANSFER)
		return -ENOTTY;
	if (copy_from_user(&request, u64_to_user_ptr(READ_ONCE(shared->request)), sizeof(request)))
		return -EFAULT;
	if (request.flags & CDMA_DMABUF && !wait)
		return -EAGAIN;
	err = cdma_submit_command(command->file->private_data, command->file->f_mode, &request,
				  command, READ_ONCE(shared->reply), wait);
	return err == -ERESTARTSYS ? -EINTR : err ? err : -EIOCBQUEUED;
}

/* Which pair it has: 0 is that of files that have none of their own. */
static void show_file(struct seq_file *text, struct file *filp)
{
	struct cdma_file *file = filp->private_data;

	guard(mutex)(&file->cd->lock);
	if (file->pair)
		seq_printf(text, "pair:\t%u\n", file->pair->number);
}

const struct file_operations cdma_file_operations = {
	.owner = THIS_MODULE,
	.open = cdma_open_file,
	.release = cdma_release_file,
	.read_iter = access_memory,
	.write_iter = access_memory,
	.llseek = default_llseek,
	.mmap = cdma_mmap_file,
	.poll = cdma_poll_file,
	.unlocked_ioctl = cdma_ioctl_file,
	.compat_ioctl = compat_ptr_ioctl,
	.uring_cmd = cdma_uring_command,
	.show_fdinfo = show_file,
};
