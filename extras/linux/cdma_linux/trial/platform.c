/* The engine as a device of a device tree, and pages of its memory in a process: on PCI this kernel has none. */
#include "trial.h"

#define DRIVER "/sys/bus/platform/drivers/cdma/"

static void there_and_back(struct cdma_user *cdma) {
    const uint64_t from = place(cdma);
    unsigned char *host = cleared(stream.size), *map;
    struct cdma_reply reply;
    uint64_t to = 0;
    need(cdma_allocate(cdma, tensor.size, &to) == 0, "accelerator memory");
    say(cdma_offload(cdma, from, tensor.size, host, stream.size, &reply) == 0 && reply.status == CDMA_STATUS_OK &&
            equal(host, stream.bytes, stream.size),
        "an engine of a device tree offloads");
    map = cdma_map(cdma, to, tensor.size);
    say(map != MAP_FAILED && cdma_prefetch(cdma, to, tensor.size, host, stream.size, &reply) == 0 &&
            reply.status == CDMA_STATUS_OK && equal(map, tensor.bytes, tensor.size),
        "a process sees in its own memory what a prefetch writes");
    munmap(map, tensor.size);
    free(host);
}

/* The driver copies between a process and pages of its own device. */
static void device_pages_as_buffer(struct cdma_user *cdma) {
    uint64_t from = 0, beside = 0;
    struct cdma_reply reply;
    unsigned char *map, *other;
    need(cdma_allocate(cdma, tensor.size, &from) == 0 && cdma_allocate(cdma, stream.size, &beside) == 0, "memory");
    map = cdma_map(cdma, from, tensor.size);
    other = cdma_map(cdma, beside, stream.size);
    need(map != MAP_FAILED && other != MAP_FAILED, "maps");
    memcpy(map, tensor.bytes, tensor.size);
    say(cdma_offload(cdma, from, tensor.size, other, stream.size, &reply) == 0 && reply.status == CDMA_STATUS_OK &&
            equal(other, stream.bytes, stream.size) && cdma_load(cdma, beside, map, stream.size) == 0 &&
            equal(map, stream.bytes, stream.size),
        "what a process writes there is offloaded, into such memory too");
    munmap(map, tensor.size);
    munmap(other, stream.size);
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
    child = fork();
    if (child == 0) {
        touch();
        _exit(0);
    }
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS;
}

/* Pages of a file and of a buffer that are mapped when the device goes. */
static void pages_of_what_is_gone(void) {
    struct cdma_user cdma = attach();
    const uint64_t piece = place(&cdma);
    unsigned char *map = cdma_map(&cdma, piece, tensor.size), *shared;
    exported = cdma_export(&cdma, piece, tensor.size);
    shared = mmap(NULL, tensor.size, PROT_READ | PROT_WRITE, MAP_SHARED, exported, 0);
    need(map != MAP_FAILED && shared != MAP_FAILED && map[0] == tensor.bytes[0] && shared[0] == tensor.bytes[0], "maps");
    need(write_text(DRIVER "unbind", "carried") == 0, "taking the driver away");
    say(is_killed_by_touching(map) && is_killed_by_touching(shared) && is_killed_by_touching(map + PAGE),
        "pages of a device that is gone are a SIGBUS");
    need(write_text(DRIVER "bind", "carried") == 0, "the driver again");
    say(is_killed_by_touching(map), "and are not those of the next one");
    munmap(map, tensor.size);
    munmap(shared, tensor.size);
    close(exported);
    cdma_detach(&cdma);
}

/* The function is taken from its driver, which is not loaded, and carried to the platform. */
void platform(void) {
    struct cdma_user cdma;
    need(load("/carrier.ko", "") == 0 && load_module("") == 0, "loading the modules");
    need(access(DRIVER "carried", F_OK) == 0, "the engine of a device tree");
    cdma = attach();
    there_and_back(&cdma);
    device_pages_as_buffer(&cdma);
    exported_pages(&cdma);
    cdma_detach(&cdma);
    pages_of_what_is_gone();
    need(syscall(SYS_delete_module, "cdma", O_NONBLOCK) == 0, "unloading the driver");
}
