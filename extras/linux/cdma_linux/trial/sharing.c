/* The accelerator's memory in an address space, and buffers that drivers share. */
#include <linux/dma-heap.h>

#include "trial.h"

/* Where in a buffer a stream lies: not where a page begins. */
#define PLACE 100u

static int refused_map(int file, uint64_t address, int flags, int error) {
    return mmap(NULL, PAGE, PROT_READ, flags, file, (off_t)address) == MAP_FAILED && errno == error;
}

/* A kernel in user mode has no pages of a PCI device: platform.c has those that can be touched. */
static void maps(struct cdma_user *cdma) {
    struct cdma_user other = attach();
    const uint64_t mine = piece(cdma, 2 * PAGE), theirs = piece(&other, PAGE);
    say(refused_map(cdma->file, theirs, MAP_SHARED, EACCES) && refused_map(cdma->file, mine, MAP_PRIVATE, EINVAL) &&
            refused_map(cdma->file, cdma->info.device_bytes, MAP_SHARED, EACCES) &&
            refused_map(cdma->file, UINT64_C(1) << 62, MAP_SHARED, EINVAL),
        "a process maps no memory but its own");
    if (!QEMU) say(refused_map(cdma->file, mine, MAP_SHARED, EOPNOTSUPP), "memory whose pages are none is not mapped");
    cdma_detach(&other);
}

int heap_buffer(size_t size, int flags) {
    struct dma_heap_allocation_data data = {.len = size, .fd_flags = (unsigned int)flags};
    const int heap = open(HEAP, O_RDWR);
    need(heap >= 0 && ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &data) == 0, "a buffer of another driver");
    close(heap);
    return (int)data.fd;
}

static void buffer_of_another_driver(struct cdma_user *cdma) {
    const size_t size = (stream.size + PLACE + PAGE) / PAGE * PAGE;
    const int buffer = heap_buffer(size, O_RDWR | O_CLOEXEC), closed = heap_buffer(size, O_RDONLY | O_CLOEXEC);
    unsigned char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, buffer, 0);
    const uint64_t from = place(cdma), to = piece(cdma, tensor.size);
    struct cdma_request request = shared_of(CDMA_OFFLOAD, from, buffer, PLACE);
    int well;
    need(bytes != MAP_FAILED, "memory");
    say(moves(cdma, &request) && equal(bytes + PLACE, stream.bytes, stream.size) && bytes[PLACE - 1] == 0 &&
            bytes[PLACE + stream.size] == 0,
        "an offload writes into a buffer of another driver");
    request = shared_of(CDMA_PREFETCH, to, buffer, PLACE);
    say(moves(cdma, &request) && holds_tensor(cdma, to), "a prefetch reads one");
    request = shared_of(CDMA_OFFLOAD, from, buffer, size - stream.size + 1);
    well = refused(cdma, &request, EINVAL);
    request.host = ~UINT64_C(0);
    well &= refused(cdma, &request, EINVAL);
    request = shared_of(CDMA_OFFLOAD, from, closed, 0);
    well &= refused(cdma, &request, EACCES);
    request = shared_of(CDMA_OFFLOAD, from, cdma->file, 0);
    well &= refused(cdma, &request, EINVAL);
    request = shared_of(CDMA_OFFLOAD, from, -1, 0);
    well &= refused(cdma, &request, EBADF);
    say(well, "a buffer is refused that is too short, cannot be written, or is none");
    munmap(bytes, size);
    close(buffer);
    close(closed);
}

static int exported;

static void write_what_another_exports(void) {
    struct cdma_user cdma = attach();
    const struct cdma_request request = shared_of(CDMA_OFFLOAD, place(&cdma), exported, PLACE);
    if (!moves(&cdma, &request)) _exit(1);
}

static void exports(struct cdma_user *cdma) {
    const size_t size = (stream.size + PLACE + PAGE) / PAGE * PAGE;
    unsigned char *found = cleared(size);
    const uint64_t own = piece(cdma, size);
    say(cdma_export(cdma, own + 1, PAGE) == -1 && errno == EACCES &&
            cdma_export(cdma, own, cdma->info.device_bytes) == -1 && errno == EACCES &&
            cdma_export(cdma, own, ~UINT64_C(0)) == -1 && errno == EACCES && cdma_export(cdma, own, 0) == -1,
        "a process exports no memory but its own");
    exported = cdma_export(cdma, own, size);
    say(exported >= 0 && child_succeeds(write_what_another_exports) && cdma_load(cdma, own, found, size) == 0 &&
            equal(found + PLACE, stream.bytes, stream.size),
        "a process writes into a piece that another one has exported");
    say(refused_map(exported, 0, MAP_PRIVATE, EINVAL) && (QEMU || refused_map(exported, 0, MAP_SHARED, EOPNOTSUPP)) &&
            refused_map(exported, size, MAP_SHARED, EINVAL) && cdma_release(cdma, own, size) == -1 && errno == EBUSY &&
            close(exported) == 0 && cdma_release(cdma, own, size) == 0,
        "memory that is exported is not given back before the last has let it go");
    free(found);
}

/* What others have of a process stays when it goes. */
static void exports_stay(void) {
    struct cdma_user cdma = attach(), other = attach();
    const int buffer = cdma_export(&cdma, piece(&cdma, PAGE), PAGE);
    uint64_t all = 0;
    cdma_detach(&cdma);
    say(buffer >= 0 && cdma_allocate(&other, other.info.device_bytes, &all) == -1 && errno == ENOSPC &&
            close(buffer) == 0 && cdma_allocate(&other, other.info.device_bytes, &all) == 0,
        "a piece that is exported outlives its process, and is free then");
    cdma_detach(&other);
}

void sharing(void) {
    static test *const tests[] = {maps, exports, NULL}, *const others[] = {buffer_of_another_driver, NULL};
    try_each(tests);
    if (kernel_has(HEAP)) try_each(others);
    exports_stay();
}
