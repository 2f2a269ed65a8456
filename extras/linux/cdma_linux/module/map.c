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
	vm_fault_t result;

	if (!cdma_get_presence(cd))
		return VM_FAULT_SIGBUS;
	result = vmf_insert_pfn(fault->vma, fault->address, first + fault->pgoff);
	cdma_put_presence(cd);
	return result;
}

static vm_fault_t fault_of_file(struct vm_fault *fault)
{
	const struct cdma_piece *piece = fault->vma->vm_private_data;

	return put_page_there(fault, piece->cd);
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

static int make_memory(struct cdma_device *cd, struct vm_area_struct *vma)
{
	if (is_cow_mapping(vma->vm_flags))
		return -EINVAL;
	if (!cd->mappable)
		return -EOPNOTSUPP;
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	return 0;
}

/* The place in the file is the address, and a map is of one piece. */
int cdma_mmap_file(struct file *filp, struct vm_area_struct *vma)
{
	struct cdma_file *file = filp->private_data;
	struct cdma_piece *piece;
	int err;

	if (vma->vm_pgoff > file->cd->device.pages)
		return -EINVAL;
	piece = cdma_find_piece(file, (u64)vma->vm_pgoff << PAGE_SHIFT,
				vma->vm_end - vma->vm_start);
	if (!piece)
		return -EACCES;
	err = make_memory(file->cd, vma);
	if (err) {
		cdma_put_piece(piece);
		return err;
	}
	vma->vm_private_data = piece;
	vma->vm_ops = &operations_of_file;
	return 0;
}

/* The same for a buffer that begins at an address; what the area has of it has been looked at. */
int cdma_mmap_buffer(struct cdma_device *cd, struct vm_area_struct *vma, u64 address)
{
	const int err = make_memory(cd, vma);

	if (err)
		return err;
	vma->vm_pgoff += address >> PAGE_SHIFT;
	vma->vm_private_data = cd;
	vma->vm_ops = &operations_of_buffer;
	return 0;
}
