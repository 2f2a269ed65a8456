// SPDX-License-Identifier: GPL-2.0
/* /dev/cdmaN: what a process sees of an engine. */
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "driver.h"
#include "kernels.h"

static int cdma_open_file(struct inode *inode, struct file *filp)
{
	struct cdma_device *cd = container_of(filp->private_data, struct cdma_device, misc);
	struct cdma_file *file = kzalloc(sizeof(*file), GFP_KERNEL);

	if (!file)
		return -ENOMEM;
	kref_init(&file->ref);
	kref_get(&cd->ref);
	file->cd = cd;
	file->mapping = filp->f_mapping;
	INIT_LIST_HEAD(&file->done);
	init_waitqueue_head(&file->wait);
	mutex_lock(&cd->lock);
	list_add(&file->link, &cd->files);
	mutex_unlock(&cd->lock);
	filp->private_data = file;
	return 0;
}

/* Jobs that run and exports keep the file, and with it the accelerator's memory that they use. */
static int cdma_release_file(struct inode *inode, struct file *filp)
{
	struct cdma_file *file = filp->private_data;
	struct cdma_device *cd = file->cd;

	mutex_lock(&cd->lock);
	list_del(&file->link);
	cdma_put_file(file);
	mutex_unlock(&cd->lock);
	cdma_put_device(cd);
	return 0;
}

/* Writes are posted, and not any number of them: the read waits until they have arrived. */
static void store(const struct cdma_device *cd, u64 address, const void *data, size_t bytes)
{
	memcpy_toio(cd->memory + address, data, bytes);
	readb(cd->memory + address);
}

/* Copies between the accelerator's memory and a process, a page at a time. */
static ssize_t access_memory(struct file *filp, char __user *user, size_t count, loff_t *at,
			     bool write)
{
	struct cdma_file *file = filp->private_data;
	struct cdma_device *cd = file->cd;
	size_t copied = 0;
	ssize_t err = 0;
	void *page;

	if (!count)
		return 0;
	page = (void *)__get_free_page(GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	while (copied < count) {
		const size_t part = min_t(size_t, count - copied, PAGE_SIZE);

		err = -EFAULT;
		if (write && copy_from_user(page, user + copied, part))
			break;
		mutex_lock(&cd->lock);
		err = cd->state == CDMA_GONE ? -ENODEV : 0;
		if (!err && !cdma_pool_owns(&cd->device, file, *at, part))
			err = -EACCES;
		if (!err && write)
			store(cd, *at, page, part);
		else if (!err)
			memcpy_fromio(page, cd->memory + *at, part);
		mutex_unlock(&cd->lock);
		if (err)
			break;
		err = -EFAULT;
		if (!write && copy_to_user(user + copied, page, part))
			break;
		copied += part;
		*at += part;
	}
	free_page((unsigned long)page);
	return copied ? copied : err;
}

static ssize_t cdma_read_file(struct file *filp, char __user *user, size_t count, loff_t *at)
{
	return access_memory(filp, user, count, at, false);
}

static ssize_t cdma_write_file(struct file *filp, const char __user *user, size_t count, loff_t *at)
{
	return access_memory(filp, (char __user *)user, count, at, true);
}

static __poll_t cdma_poll_file(struct file *filp, poll_table *table)
{
	struct cdma_file *file = filp->private_data;
	__poll_t events = 0;

	poll_wait(filp, &file->wait, table);
	mutex_lock(&file->cd->lock);
	if (!list_empty(&file->done))
		events |= EPOLLIN | EPOLLRDNORM;
	if (file->cd->state == CDMA_GONE)
		events |= EPOLLHUP;
	mutex_unlock(&file->cd->lock);
	return events;
}

static void describe_engine(const struct cdma_device *cd, struct cdma_info *info)
{
	const struct cdma_geometry *geometry = &cd->engine.geometry;

	*info = (struct cdma_info){
		.word_bits = geometry->word_bits,
		.window = geometry->window,
		.code_bits = geometry->code_bits,
		.field_bits = geometry->field_bits,
		.padding = geometry->align,
		.device_align = geometry->dev_align,
		.in_flight = cd->engine.offload.entries,
		.crc = geometry->crc,
		.table = geometry->table_size,
		.lossy = geometry->lossy,
		.direct = cdma_direct_align(cd),
		.device_bytes = (u64)cd->device.pages << PAGE_SHIFT,
		.host_bytes = cdma_quota(cd),
	};
}

/* Nothing of what another process left there is given away. */
static int allocate(struct cdma_file *file, struct cdma_range *range)
{
	struct cdma_device *cd = file->cd;
	u64 at;
	int err;

	mutex_lock(&cd->memory_lock);
	err = cdma_pool_take(&cd->device, file, range->bytes, &range->address);
	if (!err)
		for (at = 0; at < range->bytes; at += PAGE_SIZE)
			store(cd, range->address + at, page_address(ZERO_PAGE(0)), PAGE_SIZE);
	mutex_unlock(&cd->memory_lock);
	return err;
}

/* Memory that a job, a map or another driver may still use stays. */
static int release(struct cdma_file *file, const struct cdma_range *range)
{
	struct cdma_device *cd = file->cd;
	int err = 0;

	mutex_lock(&cd->memory_lock);
	if (file->jobs || atomic_read(&file->pinned) || cd->state == CDMA_STUCK)
		err = -EBUSY;
	else if (!PAGE_ALIGNED(range->address) ||
		 !cdma_pool_owns(&cd->device, file, range->address, range->bytes))
		err = -EACCES;
	else
		cdma_pool_pass(&cd->device, range->address, range->bytes, NULL);
	mutex_unlock(&cd->memory_lock);
	return err;
}

/* Tells an eventfd of replies from now on. */
static int tell(struct cdma_file *file, int fd)
{
	struct eventfd_ctx *event = fd < 0 ? NULL : eventfd_ctx_fdget(fd);

	if (IS_ERR(event))
		return PTR_ERR(event);
	swap(file->event, event);
	if (event)
		eventfd_ctx_put(event);
	return 0;
}

static int command(struct cdma_file *file, unsigned int code, void *argument)
{
	switch (code) {
	case CDMA_IOC_INFO:
		describe_engine(file->cd, argument);
		return 0;
	case CDMA_IOC_ALLOC:
		return allocate(file, argument);
	case CDMA_IOC_FREE:
		return release(file, argument);
	case CDMA_IOC_EXPORT:
		return cdma_export(file, argument);
	case CDMA_IOC_EVENT:
		return tell(file, *(const s32 *)argument);
	default:
		return -ENOTTY;
	}
}

static long cdma_ioctl_file(struct file *filp, unsigned int code, unsigned long user)
{
	struct cdma_file *file = filp->private_data;
	void __user *pointer = (void __user *)user;
	union {
		struct cdma_info info;
		struct cdma_range range;
		struct cdma_buffer buffer;
		struct cdma_request request;
		struct cdma_reply reply;
		struct cdma_batch batch;
	} argument = {};
	const bool wait = !(filp->f_flags & O_NONBLOCK);
	const size_t bytes = _IOC_SIZE(code);
	long err;

	if (bytes > sizeof(argument))
		return -ENOTTY;
	if (_IOC_DIR(code) & _IOC_WRITE && copy_from_user(&argument, pointer, bytes))
		return -EFAULT;
	if (code == CDMA_IOC_REAP) {
		err = cdma_reap(file, &argument.reply, wait);
	} else if (code == CDMA_IOC_REAP_ALL) {
		err = cdma_reap_batch(file, &argument.batch, wait);
	} else if (code == CDMA_IOC_SUBMIT) {
		err = cdma_submit_request(file, &argument.request, NULL);
	} else if (code == CDMA_IOC_SUBMIT_ALL) {
		err = cdma_submit_batch(file, &argument.batch);
	} else {
		mutex_lock(&file->cd->lock);
		err = file->cd->state == CDMA_GONE ? -ENODEV : command(file, code, &argument);
		mutex_unlock(&file->cd->lock);
	}
	if (!err && _IOC_DIR(code) & _IOC_READ && copy_to_user(pointer, &argument, bytes))
		return -EFAULT;
	return err;
}

const struct file_operations cdma_file_operations = {
	.owner = THIS_MODULE,
	.open = cdma_open_file,
	.release = cdma_release_file,
	.read = cdma_read_file,
	.write = cdma_write_file,
	.llseek = default_llseek,
	.mmap = cdma_mmap_file,
	.poll = cdma_poll_file,
	.unlocked_ioctl = cdma_ioctl_file,
	.compat_ioctl = compat_ptr_ioctl,
	.uring_cmd = cdma_uring_command,
};
