// SPDX-License-Identifier: GPL-2.0
/*
 * The accelerator's memory in the address space of a process.
 *
 * Pages are put there when they are touched, and all of them are taken away
 * with the device: then a touch is a SIGBUS.
 */
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>

#include "driver.h"
#include "kernels.h"

/* An inode of no file: of a file system that is there while an engine is. */
static int begin_space(struct fs_context *context)
{
	return init_pseudo(context, 0xcd4a) ? 0 : -ENOMEM;
}

/* No owner: what has a space has the driver. */
static struct file_system_type space_type = {
	.name = "cdma",
	.init_fs_context = begin_space,
	.kill_sb = kill_anon_super,
};

static struct vfsmount *space_mount;
static int spaces;

/* What processes have mapped of an engine is mapped of its space, so that it can be unmapped. */
int cdma_make_space(struct cdma_device *cd)
{
	int err = simple_pin_fs(&space_type, &space_mount, &spaces);

	if (err)
		return err;
	cd->space = alloc_anon_inode(space_mount->mnt_sb);
	if (IS_ERR(cd->space))
		simple_release_fs(&space_mount, &spaces);
	return PTR_ERR_OR_ZERO(cd->space);
}

void cdma_drop_space(struct cdma_device *cd)
{
	iput(cd->space);
	simple_release_fs(&space_mount, &spaces);
}

static vm_fault_t fault_of_piece(struct vm_fault *fault)
{
	struct cdma_piece *piece = fault->vma->vm_private_data;
	struct cdma_device *cd = piece->cd;
	vm_fault_t result;

	if (!cdma_get_presence(cd))
		return VM_FAULT_SIGBUS;
	result = vmf_insert_pfn(fault->vma, fault->address,
				(cd->memory_bus >> PAGE_SHIFT) + fault->pgoff);
	cdma_put_presence(cd);
	return result;
}

static void open_map(struct vm_area_struct *vma)
{
	struct cdma_piece *piece = vma->vm_private_data;

	kref_get(&piece->ref);
}

static void close_map(struct vm_area_struct *vma)
{
	cdma_put_piece(vma->vm_private_data);
}

/* What is mapped of a piece keeps it. */
static const struct vm_operations_struct operations = {
	.open = open_map,
	.close = close_map,
	.fault = fault_of_piece,
};

/* Maps a piece, in which the area has been looked for; its place in the file is the address. */
int cdma_mmap_piece(struct cdma_piece *piece, struct vm_area_struct *vma)
{
	if (is_cow_mapping(vma->vm_flags))
		return -EINVAL;
	if (!piece->cd->mappable)
		return -EOPNOTSUPP;
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	vma->vm_private_data = piece;
	vma->vm_ops = &operations;
	open_map(vma);
	return 0;
}

/* A map of the engine's file is of one piece. */
int cdma_mmap_file(struct file *filp, struct vm_area_struct *vma)
{
	struct cdma_file *file = filp->private_data;
	struct cdma_piece *piece;
	int err;

	if (vma->vm_pgoff > gen_pool_size(file->cd->device) >> PAGE_SHIFT)
		return -EINVAL;
	piece = cdma_find_piece(file, (u64)vma->vm_pgoff << PAGE_SHIFT,
				vma->vm_end - vma->vm_start);
	if (!piece)
		return -EACCES;
	err = cdma_mmap_piece(piece, vma);
	cdma_put_piece(piece);
	return err;
}
