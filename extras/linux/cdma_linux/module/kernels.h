/* SPDX-License-Identifier: GPL-2.0 */
/* What kernels from 6.1 on call differently. */
#ifndef CDMA_KERNELS_H
#define CDMA_KERNELS_H

#include <linux/dma-buf.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#include <linux/io_uring.h>
#else
#include <linux/io_uring/cmd.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define dma_buf_vmap_unlocked dma_buf_vmap
#define dma_buf_vunmap_unlocked dma_buf_vunmap
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

static inline const void *cdma_command_of(const struct io_uring_cmd *command)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	return command->cmd;
#else
	return io_uring_sqe_cmd(command->sqe);
#endif
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define CDMA_IMPORT_NS(name) MODULE_IMPORT_NS(name)
#else
#define CDMA_IMPORT_NS(name) MODULE_IMPORT_NS(#name)
#endif

#endif
