/* What others are told of transfers of a buffer that they have, and what transfers wait for. */
#include <linux/dma-buf.h>

#include "trial.h"

/* Fences that a test makes, and moves on: the kernel has no header for them. */
struct sw_sync_fence {
    __u32 value;
    char name[32];
    __s32 file;
};
#define SW_SYNC "/sys/kernel/debug/sync/sw_sync"
#define SW_SYNC_MAKE _IOWR('W', 0, struct sw_sync_fence)
#define SW_SYNC_MOVE _IOW('W', 1, __u32)

/* Whether a buffer may be used so now: read with POLLIN, written with POLLOUT. */
static int may(int buffer, short use, int milliseconds) {
    struct pollfd file = {.fd = buffer, .events = use};
    return poll(&file, 1, milliseconds) == 1 && (file.revents & use) != 0;
}

/* The first waits for a memory that is silent, and so do those that look. */
static void others_wait(struct cdma_user *cdma, uint64_t own, int buffer) {
    unsigned char *host = cleared(stream.size);
    struct cdma_request request = request_of(CDMA_OFFLOAD, own, host, stream.size);
    int well;
    silence(1);
    submit(cdma, &request, 1);
    well = may(buffer, POLLIN, 0) && !may(buffer, POLLOUT, 100);
    silence(0);
    say(well && may(buffer, POLLOUT, 10000) && end_well(cdma, 1),
        "what an offload reads of a buffer may be read by others, and written when it has ended");
    memcpy(host, stream.bytes, stream.size);
    request.direction = CDMA_PREFETCH;
    silence(1);
    submit(cdma, &request, 1);
    well = !may(buffer, POLLIN, 100);
    silence(0);
    say(well && may(buffer, POLLIN, 10000) && end_well(cdma, 1) && holds_tensor(cdma, own),
        "what a prefetch writes of a buffer may be read by others when it has ended");
    free(host);
}

static void transfers_wait(struct cdma_user *cdma, uint64_t own, int buffer) {
    struct sw_sync_fence fence = {.value = 1};
    struct dma_buf_import_sync_file import = {.flags = DMA_BUF_SYNC_WRITE};
    const int timeline = open(SW_SYNC, O_RDWR);
    unsigned char *host = cleared(stream.size);
    const struct cdma_request request = request_of(CDMA_OFFLOAD, own, host, stream.size);
    const __u32 one = 1;
    pid_t child;
    need(timeline >= 0 && ioctl(timeline, SW_SYNC_MAKE, &fence) == 0, "a fence");
    import.fd = fence.file;
    need(ioctl(buffer, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import) == 0, "a fence of a buffer");
    need(fcntl(cdma->file, F_SETFL, O_RDWR | O_NONBLOCK) == 0, "a file that does not wait");
    say(refused(cdma, &request, EAGAIN), "a transfer of a buffer that another device still writes does not begin");
    need(fcntl(cdma->file, F_SETFL, O_RDWR) == 0, "a file that waits");
    child = fork();
    if (child == 0) {
        usleep(100000);
        _exit(host[0] != 0 || ioctl(timeline, SW_SYNC_MOVE, &one) != 0);
    }
    say(moves(cdma, &request) && equal(host, stream.bytes, stream.size) && waitpid(child, NULL, WNOHANG) == child,
        "and waits until it has done so");
    close(fence.file);
    close(timeline);
    free(host);
}

static void buffers_of_others(struct cdma_user *cdma) {
    const int buffer = heap_buffer(stream.size, O_RDWR | O_CLOEXEC);
    const uint64_t to = piece(cdma, tensor.size);
    struct cdma_request request = shared_of(CDMA_OFFLOAD, place(cdma), buffer, 0);
    int well;
    silence(1);
    submit(cdma, &request, 1);
    well = !may(buffer, POLLIN, 100);
    request.direction = CDMA_PREFETCH;
    request.device = to;
    need(fcntl(cdma->file, F_SETFL, O_RDWR | O_NONBLOCK) == 0, "a file that does not wait");
    well &= refused(cdma, &request, EAGAIN);
    need(fcntl(cdma->file, F_SETFL, O_RDWR) == 0, "a file that waits");
    silence(0);
    /* It is submitted while the offload is in flight. */
    say(well && cdma_submit_transfer(cdma, &request) == 0 && end_well(cdma, 2) && holds_tensor(cdma, to),
        "a buffer of another driver is read when what writes it has ended");
    close(buffer);
}

/* Who has a fence has the driver. */
static void fences_stay(void) {
    struct dma_buf_export_sync_file export = {.flags = DMA_BUF_SYNC_RW};
    struct cdma_user cdma = attach();
    unsigned char *host = cleared(stream.size);
    const uint64_t own = place(&cdma);
    const struct cdma_request request = request_of(CDMA_OFFLOAD, own, host, stream.size);
    const int buffer = cdma_export(&cdma, own, tensor.size);
    int fence;
    silence(1);
    need(cdma_submit_transfer(&cdma, &request) == 0 && ioctl(buffer, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export) == 0,
        "the fence of a buffer");
    fence = export.fd;
    silence(0);
    need(end_well(&cdma, 1) && may(fence, POLLIN, 10000), "a fence");
    close(buffer);
    cdma_detach(&cdma);
    say(unload_module() == -1 && errno == EWOULDBLOCK && close(fence) == 0, "a driver whose fence somebody has is not unloaded");
    reload("");
    free(host);
}

void fences(void) {
    struct cdma_user cdma = attach();
    const uint64_t own = place(&cdma);
    const int buffer = cdma_export(&cdma, own, tensor.size);
    need(buffer >= 0, "exporting");
    others_wait(&cdma, own, buffer);
    if (kernel_has(SW_SYNC)) transfers_wait(&cdma, own, buffer);
    if (kernel_has(HEAP)) buffers_of_others(&cdma);
    close(buffer);
    cdma_detach(&cdma);
    fences_stay();
}
