/* Pages of the engine's memory in a process: a kernel in user mode has them of a device of a device tree, QEMU of PCI. */
#include "trial.h"

#if QEMU
#define DRIVER "/sys/bus/pci/drivers/cdma/"
#define NAME FUNCTION
#else
#define DRIVER "/sys/bus/platform/drivers/cdma/"
#define NAME "carried"
#endif

static void there_and_back(struct cdma_user *cdma) {
    const uint64_t to = piece(cdma, tensor.size);
    unsigned char *host = cleared(stream.size), *map;
    say(offloads(cdma, place(cdma), host), "an engine whose memory has pages offloads");
    map = cdma_map(cdma, to, tensor.size);
    say(map != MAP_FAILED && prefetches(cdma, to, host) && equal(map, tensor.bytes, tensor.size),
        "a process sees in its own memory what a prefetch writes");
    say(cdma_release(cdma, to, tensor.size) == -1 && errno == EBUSY && munmap(map, PAGE) == 0 &&
            cdma_release(cdma, to, tensor.size) == -1 && errno == EBUSY && munmap(map + PAGE, tensor.size - PAGE) == 0 &&
            cdma_release(cdma, to, tensor.size) == 0,
        "memory that is mapped is not given back");
    free(host);
}

/* Pages of a device are no pages of the process. */
static void device_pages_as_buffer(struct cdma_user *cdma) {
    const uint64_t from = place(cdma);
    unsigned char *map = cdma_map(cdma, from, tensor.size);
    struct cdma_request request = request_of(CDMA_OFFLOAD, from, map, tensor.size);
    need(map != MAP_FAILED, "a map");
    say(refused(cdma, &request, EFAULT), "pages of a device are refused as a buffer, which a dma-buf of them is");
    request = shared_of(CDMA_OFFLOAD, from, cdma_export(cdma, place(cdma), tensor.size), 0);
    say(moves(cdma, &request), "a piece of the same memory is a buffer by its dma-buf");
    close(request.dmabuf);
    munmap(map, tensor.size);
}

static int exported;

static void read_what_another_exports(void) {
    const unsigned char *map = mmap(NULL, tensor.size, PROT_READ, MAP_SHARED, exported, 0);
    if (map == MAP_FAILED || !equal(map, tensor.bytes, tensor.size)) _exit(1);
}

static void exported_pages(struct cdma_user *cdma) {
    exported = cdma_export(cdma, place(cdma), tensor.size);
    say(exported >= 0 && child_succeeds(read_what_another_exports), "a process reads a piece that another one exports");
    close(exported);
}

static volatile unsigned char *touched;

static void touch(void) { (void)*touched; }

static int is_killed_by_touching(volatile unsigned char *map) {
    int status = 0;
    pid_t child;
    touched = map;
    child = start(touch);
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS;
}

/* Pages of a file and of a buffer that are mapped when the device goes. */
static void pages_of_what_is_gone(void) {
    struct cdma_user cdma = attach();
    const uint64_t own = place(&cdma);
    unsigned char *map = cdma_map(&cdma, own, tensor.size), *shared;
    exported = cdma_export(&cdma, own, tensor.size);
    shared = mmap(NULL, tensor.size, PROT_READ | PROT_WRITE, MAP_SHARED, exported, 0);
    need(map != MAP_FAILED && shared != MAP_FAILED && map[0] == tensor.bytes[0] && shared[0] == tensor.bytes[0], "maps");
    need(write_text(DRIVER "unbind", NAME) == 0, "taking the driver away");
    say(is_killed_by_touching(map) && is_killed_by_touching(shared) && is_killed_by_touching(map + PAGE),
        "pages of a device that is gone are a SIGBUS");
    need(write_text(DRIVER "bind", NAME) == 0, "the driver again");
    say(is_killed_by_touching(map), "and are not those of the next one");
    munmap(map, tensor.size);
    munmap(shared, tensor.size);
    close(exported);
    cdma_detach(&cdma);
}

/* Buffers whose last process goes while the device does. */
static void buffers_that_go_at_once(void) {
    enum { ROUNDS = 7, CHILDREN = 4 };
    int round, child, well = 1;
    for (round = 0; round < ROUNDS; ++round) {
        struct cdma_user cdma = attach();
        pid_t children[CHILDREN];
        for (child = 0; child < CHILDREN; ++child) {
            const int buffer = cdma_export(&cdma, place(&cdma), tensor.size);
            children[child] = fork();
            if (children[child] == 0) {
                volatile unsigned char *map = mmap(NULL, tensor.size, PROT_READ, MAP_SHARED, buffer, 0);
                (void)*map;
                usleep((unsigned int)(1000 * (round + child)));
                _exit(0);
            }
            close(buffer);
        }
        well &= write_text(DRIVER "unbind", NAME) == 0;
        for (child = 0; child < CHILDREN; ++child) well &= waitpid(children[child], NULL, 0) == children[child];
        cdma_detach(&cdma);
        well &= write_text(DRIVER "bind", NAME) == 0;
    }
    say(well, "buffers may go while their device does");
}

/* The function is taken from its driver, which is not loaded, and carried to the platform. */
void platform(void) {
    static test *const tests[] = {there_and_back, device_pages_as_buffer, exported_pages, NULL};
    need((QEMU || load("/carrier.ko", "") == 0) && load_module("") == 0, "loading the modules");
    need(access(DRIVER NAME, F_OK) == 0, "the engine of a device tree");
    try_each(tests);
    pages_of_what_is_gone();
    buffers_that_go_at_once();
    need(syscall(SYS_delete_module, "cdma", O_NONBLOCK) == 0, "unloading the driver");
}
