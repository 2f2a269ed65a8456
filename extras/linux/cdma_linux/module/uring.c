// SPDX-License-Identifier: GPL-2.0
/*
 * Transfers as commands of io_uring: the completion of the command is that of
 * the transfer, whose reply has been written then.
 */
#include <linux/uaccess.h>

#include "driver.h"
#include "kernels.h"

struct cdma_pending {
	struct cdma_job *job;
	void __user *reply;
};

static struct cdma_pending *pending_of(struct io_uring_cmd *command)
{
	BUILD_BUG_ON(sizeof(struct cdma_pending) > sizeof(command->pdu));
	return (struct cdma_pending *)command->pdu;
}

/* In the process that has submitted it, or, if that is gone, in a thread that has no memory. */
static void write_reply(struct io_uring_cmd *command, unsigned int flags)
{
	const struct cdma_pending *pending = pending_of(command);
	const bool gone = current->flags & PF_KTHREAD;
	struct cdma_reply reply;
	int err = cdma_take_job(pending->job, &reply, !gone);

	if (gone)
		err = -ECANCELED;
	else if (!err && copy_to_user(pending->reply, &reply, sizeof(reply)))
		err = -EFAULT;
	io_uring_cmd_done(command, err, 0, flags);
}

void cdma_end_command(struct io_uring_cmd *command, struct cdma_job *job)
{
	pending_of(command)->job = job;
	io_uring_cmd_complete_in_task(command, write_reply);
}

/* What waits for other drivers does so in a thread of its own. */
int cdma_uring_command(struct io_uring_cmd *command, unsigned int flags)
{
	const struct cdma_command *shared = cdma_command_of(command);
	struct cdma_request request;
	void __user *user;
	int err;

	if (command->cmd_op != CDMA_URING_TRANSFER)
		return -ENOTTY;
	user = u64_to_user_ptr(READ_ONCE(shared->request));
	pending_of(command)->reply = u64_to_user_ptr(READ_ONCE(shared->reply));
	if (copy_from_user(&request, user, sizeof(request)))
		return -EFAULT;
	if (request.flags & CDMA_DMABUF && flags & IO_URING_F_NONBLOCK)
		return -EAGAIN;
	err = cdma_submit_request(command->file->private_data, &request, command);
	return err ? err : -EIOCBQUEUED;
}
