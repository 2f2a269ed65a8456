// SPDX-License-Identifier: GPL-2.0
/*
 * The accelerator's memory in the address space of a process.
 *
 * Pages are put there when they are touched, and all of them are taken away
 * with the device: then a touch is a SIGBUS.
 */
#include <linux/fs.h>

#include "driver.h"
#include "kernels.h"

static vm_fault_t put_page_there(struct vm_fault *fault, struct cdma_device *cd)
{
	const unsigned long first = cd->memory_bus >> PAGE_SHIFT;
	vm_fault_t result = VM_FAULT_SIGBUS;

	mutex_lock(&cd->memory_lock);
	if (cd->state != CDMA_GONE)
		result = vmf_insert_pfn(fault->vma, fault->address, first + fault->pgoff);
	mutex_unlock(&cd->memory_lock);
	return result;
}

static vm_fault_t fault_of_file(struct vm_fault *fault)
{
	const struct cdma_file *file = fault->vma->vm_private_data;

	return put_page_there(fault, file->cd);
}

static void open_map(struct vm_area_struct *vma)
{
	struct cdma_file *file = vma->vm_private_data;

	atomic_inc(&file->pinned);
}

static void close_map(struct vm_area_struct *vma)
{
	struct cdma_file *file = vma->vm_private_data;

	atomic_dec(&file->pinned);
}

static const struct vm_operations_struct operations_of_file = {
	.open = open_map,
	.close = close_map,
	.fault = fault_of_file,
};

static vm_fault_t fault_of_buffer(struct vm_fault *fault)
{
	return put_page_there(fault, fault->vma->vm_private_data);
}

/* What is mapped of a buffer keeps the buffer. */
static const struct vm_operations_struct operations_of_buffer = {
	.fault = fault_of_buffer,
};

static void make_memory(struct vm_area_struct *vma)
{
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
}

/* The place in the file is the address; pieces that are mapped are not given back. */
int cdma_mmap_file(struct file *filp, struct vm_area_struct *vma)
{
	struct cdma_file *file = filp->private_data;
	const u64 address = (u64)vma->vm_pgoff << PAGE_SHIFT;
	const u64 bytes = vma->vm_end - vma->vm_start;
	struct cdma_device *cd = file->cd;
	int err = 0;

	if (is_cow_mapping(vma->vm_flags) || vma->vm_pgoff > cd->device.pages)
		return -EINVAL;
	mutex_lock(&cd->memory_lock);
	if (cd->state == CDMA_GONE)
		err = -ENODEV;
	else if (!cdma_pool_owns(&cd->device, file, address, bytes))
		err = -EACCES;
	else
		atomic_inc(&file->pinned);
	mutex_unlock(&cd->memory_lock);
	if (err)
		return err;
	make_memory(vma);
	vma->vm_private_data = file;
	vma->vm_ops = &operations_of_file;
	return 0;
}

/* The same for a buffer that begins at an address; what the area has of it has been looked at. */
int cdma_mmap_buffer(struct cdma_device *cd, struct vm_area_struct *vma, u64 address)
{
	if (is_cow_mapping(vma->vm_flags))
		return -EINVAL;
	make_memory(vma);
	vma->vm_pgoff += address >> PAGE_SHIFT;
	vma->vm_private_data = cd;
	vma->vm_ops = &operations_of_buffer;
	return 0;
}

/* Takes all pages away; none is put there any more. The lock is held. */
void cdma_unmap_all(struct cdma_device *cd)
{
	struct cdma_export *export;
	struct cdma_file *file;

	list_for_each_entry(file, &cd->files, link)
		unmap_mapping_range(file->mapping, 0, 0, 1);
	list_for_each_entry(export, &cd->exports, link)
		unmap_mapping_range(export->buffer->file->f_mapping, 0, 0, 1);
}
