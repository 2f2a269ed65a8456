// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers that drivers share: pieces of the accelerator's memory that others
 * may have, and those of others as the host memory of a transfer.
 *
 * Operations of a buffer are called with its locks held, and a job lets its
 * buffer go with the lock of the engine held: so they take none of the latter.
 */
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/pci-p2pdma.h>
#include <linux/slab.h>

#include "driver.h"
#include "kernels.h"

/* ---- pieces that others have ---- */

/* Others reach it at its address on the bus, if their device can. */
static int attach_export(struct dma_buf *buffer, struct dma_buf_attachment *attachment)
{
	struct cdma_export *export = buffer->priv;
	struct device *dev = export->file->cd->dev;

	if (READ_ONCE(export->file->cd->state) == CDMA_GONE)
		return -ENODEV;
	if (dev_is_pci(dev) && pci_p2pdma_distance(to_pci_dev(dev), attachment->dev, false) < 0)
		attachment->peer2peer = false;
	return 0;
}

static struct sg_table *map_export(struct dma_buf_attachment *attachment,
				   enum dma_data_direction direction)
{
	struct cdma_export *export = attachment->dmabuf->priv;
	const size_t bytes = attachment->dmabuf->size;
	const phys_addr_t at = export->file->cd->memory_bus + export->address;
	struct sg_table *table;
	dma_addr_t bus;
	int err;

	if (!attachment->peer2peer)
		return ERR_PTR(-EOPNOTSUPP);
	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return ERR_PTR(-ENOMEM);
	err = sg_alloc_table(table, 1, GFP_KERNEL);
	if (err)
		goto free;
	bus = dma_map_resource(attachment->dev, at, bytes, direction, DMA_ATTR_SKIP_CPU_SYNC);
	err = dma_mapping_error(attachment->dev, bus);
	if (err)
		goto free_table;
	/* There are no pages. */
	sg_set_page(table->sgl, NULL, bytes, 0);
	sg_dma_address(table->sgl) = bus;
	sg_dma_len(table->sgl) = bytes;
	return table;

free_table:
	sg_free_table(table);
free:
	kfree(table);
	return ERR_PTR(err);
}

static void unmap_export(struct dma_buf_attachment *attachment, struct sg_table *table,
			 enum dma_data_direction direction)
{
	dma_unmap_resource(attachment->dev, sg_dma_address(table->sgl), sg_dma_len(table->sgl),
			   direction, DMA_ATTR_SKIP_CPU_SYNC);
	sg_free_table(table);
	kfree(table);
}

static int vmap_export(struct dma_buf *buffer, struct iosys_map *map)
{
	struct cdma_export *export = buffer->priv;
	struct cdma_device *cd = export->file->cd;
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
	struct cdma_export *export = buffer->priv;

	return cdma_mmap_buffer(export->file->cd, vma, export->address);
}

static void release_export(struct dma_buf *buffer)
{
	struct cdma_export *export = buffer->priv;
	struct cdma_file *file = export->file;
	struct cdma_device *cd = file->cd;

	mutex_lock(&cd->lock);
	list_del(&export->link);
	atomic_dec(&file->pinned);
	cdma_put_file(file);
	mutex_unlock(&cd->lock);
	cdma_put_device(cd);
	kfree(export);
}

static const struct dma_buf_ops export_operations = {
	.attach = attach_export,
	.map_dma_buf = map_export,
	.unmap_dma_buf = unmap_export,
	.vmap = vmap_export,
	.vunmap = vunmap_export,
	.mmap = mmap_export,
	.release = release_export,
};

/* The piece stays with the file until nobody has the buffer any more. */
int cdma_export(struct cdma_file *file, struct cdma_buffer *piece)
{
	const u64 bytes = PAGE_ALIGN(piece->bytes);
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct cdma_device *cd = file->cd;
	struct cdma_export *export;
	struct dma_buf *buffer;
	int fd;

	if (!PAGE_ALIGNED(piece->address) ||
	    !cdma_pool_owns(&cd->device, file, piece->address, bytes))
		return -EACCES;
	export = kzalloc(sizeof(*export), GFP_KERNEL);
	if (!export)
		return -ENOMEM;
	export->file = file;
	export->address = piece->address;
	info.ops = &export_operations;
	info.size = bytes;
	info.flags = O_RDWR;
	info.priv = export;
	buffer = dma_buf_export(&info);
	if (IS_ERR(buffer)) {
		kfree(export);
		return PTR_ERR(buffer);
	}
	export->buffer = buffer;
	kref_get(&cd->ref);
	kref_get(&file->ref);
	atomic_inc(&file->pinned);
	list_add(&export->link, &cd->exports);
	fd = dma_buf_fd(buffer, O_CLOEXEC);
	if (fd < 0) {
		dma_buf_put(buffer);
		return fd;
	}
	piece->file = fd;
	return 0;
}

/* ---- buffers of others ---- */

/* Waits for those that still write it. The lock is not held. */
int cdma_import(struct cdma_import *import, const struct cdma_request *request)
{
	const bool offload = request->direction == CDMA_OFFLOAD;
	struct dma_buf *buffer = dma_buf_get(request->dmabuf);
	int err;

	if (IS_ERR(buffer))
		return PTR_ERR(buffer);
	import->buffer = buffer;
	err = -EINVAL;
	if (request->host > buffer->size || request->host_bytes > buffer->size - request->host)
		goto put;
	err = -EACCES;
	if (!(buffer->file->f_mode & (offload ? FMODE_WRITE : FMODE_READ)))
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

void cdma_let_go(struct cdma_import *import, const struct cdma_request *request)
{
	const bool offload = request->direction == CDMA_OFFLOAD;

	if (!import->buffer)
		return;
	dma_buf_vunmap_unlocked(import->buffer, &import->map);
	dma_buf_end_cpu_access(import->buffer, offload ? DMA_TO_DEVICE : DMA_FROM_DEVICE);
	dma_buf_put(import->buffer);
}

CDMA_IMPORT_NS(DMA_BUF);
