// SPDX-License-Identifier: GPL-2.0
/*
 * Transfers as commands of io_uring: the completion of the command is that of
 * the transfer, whose reply has been written then.
 */
#include <linux/uaccess.h>

#include "driver.h"
#include "kernels.h"

/* What waits does so in a thread of its own. */
int cdma_uring_command(struct io_uring_cmd *command, unsigned int flags)
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
