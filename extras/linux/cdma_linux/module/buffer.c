// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers that drivers share: pieces of the accelerator's memory that others
 * may have, and those of others as the host memory of a transfer.
 *
 * Operations of a buffer are called with its locks held, and those of other
 * drivers take locks of their own: so the lock of the engine is never held here.
 */
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/slab.h>

#include "driver.h"
#include "kernels.h"

/* A part of a piece as a buffer. */
struct cdma_exported {
	struct cdma_piece *piece;
	u64 address;
};

/* ---- pieces that others have ---- */

/* Other devices have no way to it: they would have to let it go when this one does. */
static int refuse_device(struct dma_buf *buffer, struct dma_buf_attachment *attachment)
{
	return -EOPNOTSUPP;
}

static struct sg_table *map_nothing(struct dma_buf_attachment *attachment,
				    enum dma_data_direction direction)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static void unmap_nothing(struct dma_buf_attachment *attachment, struct sg_table *table,
			  enum dma_data_direction direction)
{
}

/* It is asked before a buffer is mapped, which is not expected to fail. */
static int begin_access(struct dma_buf *buffer, enum dma_data_direction direction)
{
	struct cdma_exported *export = buffer->priv;

	return READ_ONCE(export->piece->cd->state) == CDMA_GONE ? -ENODEV : 0;
}

static int vmap_export(struct dma_buf *buffer, struct iosys_map *map)
{
	struct cdma_exported *export = buffer->priv;
	struct cdma_device *cd = export->piece->cd;
	void __iomem *memory;

	if (READ_ONCE(cd->state) == CDMA_GONE)
		return -ENODEV;
	memory = ioremap_wc(cd->memory_bus + export->address, buffer->size);
	if (!memory)
		return -ENOMEM;
	iosys_map_set_vaddr_iomem(map, memory);
	return 0;
}

static void vunmap_export(struct dma_buf *buffer, struct iosys_map *map)
{
	iounmap(map->vaddr_iomem);
}

static int mmap_export(struct dma_buf *buffer, struct vm_area_struct *vma)
{
	struct cdma_exported *export = buffer->priv;

	vma->vm_pgoff += export->address >> PAGE_SHIFT;
	return cdma_mmap_piece(export->piece, vma);
}

static void release_export(struct dma_buf *buffer)
{
	struct cdma_exported *export = buffer->priv;

	cdma_put_piece(export->piece);
	kfree(export);
}

static const struct dma_buf_ops export_operations = {
	.attach = refuse_device,
	.map_dma_buf = map_nothing,
	.unmap_dma_buf = unmap_nothing,
	.begin_cpu_access = begin_access,
	.vmap = vmap_export,
	.vunmap = vunmap_export,
	.mmap = mmap_export,
	.release = release_export,
};

/* From now on jobs have fences, and those that have none have ended. */
static int begin_fences(struct cdma_file *file, struct cdma_piece *piece)
{
	mutex_lock(&file->mutex);
	piece->exported = true;
	mutex_unlock(&file->mutex);
	return wait_event_interruptible(file->cd->room, !atomic_read(&piece->unfenced));
}

/* The piece stays until nobody has the buffer any more, which may be written if @flags say so. */
struct dma_buf *cdma_export(struct cdma_file *file, const struct cdma_export *request, int flags)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct cdma_exported *export;
	struct dma_buf *made;
	int err = -EACCES;

	if (request->reserved)
		return ERR_PTR(-EINVAL);
	export = kzalloc(sizeof(*export), GFP_KERNEL_ACCOUNT);
	if (!export)
		return ERR_PTR(-ENOMEM);
	info.ops = &export_operations;
	info.size = PAGE_ALIGN(request->bytes);
	info.flags = flags | O_CLOEXEC;
	info.priv = export;
	export->address = request->address;
	export->piece = cdma_find_piece(file, request->address, info.size);
	if (export->piece && PAGE_ALIGNED(request->address))
		err = begin_fences(file, export->piece);
	if (err)
		goto free;
	info.resv = &export->piece->resv;
	made = dma_buf_export(&info);
	if (!IS_ERR(made)) {
		made->file->f_mapping = file->cd->space->i_mapping;
		return made;
	}
	err = PTR_ERR(made);
free:
	cdma_put_piece(export->piece);
	kfree(export);
	return ERR_PTR(err);
}

/* ---- buffers of others ---- */

/* Waits for those that still write it, or read what is to be written, or says that it would. */
int cdma_import(struct cdma_import *import, const struct cdma_request *request, bool wait)
{
	const bool offload = request->direction == CDMA_OFFLOAD;
	struct dma_buf *buffer = dma_buf_get(request->dmabuf);
	int err;

	if (IS_ERR(buffer))
		return PTR_ERR(buffer);
	import->buffer = buffer;
	err = -EOPNOTSUPP;
	if (!buffer->ops->vmap)
		goto put;
	err = -EINVAL;
	if (request->host > buffer->size || request->host_bytes > buffer->size - request->host)
		goto put;
	err = -EACCES;
	if (!(buffer->file->f_mode & (offload ? FMODE_WRITE : FMODE_READ)))
		goto put;
	err = -EAGAIN;
	if (!wait && !dma_resv_test_signaled(buffer->resv, dma_resv_usage_rw(offload)))
		goto put;
	err = dma_buf_begin_cpu_access(buffer, offload ? DMA_TO_DEVICE : DMA_FROM_DEVICE);
	if (err)
		goto put;
	err = dma_buf_vmap_unlocked(buffer, &import->map);
	if (!err)
		return 0;
	dma_buf_end_cpu_access(buffer, offload ? DMA_TO_DEVICE : DMA_FROM_DEVICE);
put:
	dma_buf_put(buffer);
	import->buffer = NULL;
	return err;
}

void cdma_drop_import(struct cdma_import *import, const struct cdma_request *request)
{
	const bool offload = request->direction == CDMA_OFFLOAD;

	if (!import->buffer)
		return;
	dma_buf_vunmap_unlocked(import->buffer, &import->map);
	dma_buf_end_cpu_access(import->buffer, offload ? DMA_TO_DEVICE : DMA_FROM_DEVICE);
	dma_buf_put(import->buffer);
}

CDMA_IMPORT_NS(DMA_BUF);
