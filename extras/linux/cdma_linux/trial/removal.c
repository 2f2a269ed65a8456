/* An engine that is taken away while processes use it: by the system, and without a word. */
#define _GNU_SOURCE
#include <linux/udmabuf.h>

#include "trial.h"

#define UDMABUF "/dev/udmabuf"
/* A bit of what silences a memory: the function is gone, until somebody looks for it. */
#define GONE 4
/* The KiB that are free, and those that one run differs from another by, far less than the driver's host memory. */
#define MEMORY "/proc/meminfo", "MemFree:"
#define NOISE (1ul << 10)

static void take_away(void) {
    need(write_text(FUNCTION_FOLDER "remove", "1") == 0, "removing the device");
}

static void look_again(void) {
    need(write_text("/sys/bus/pci/rescan", "1") == 0, "looking for devices again");
}

/* Submits offloads; the buffer is that of all. */
static unsigned char *some_in_flight(struct cdma_user *cdma, unsigned int count) {
    unsigned char *host = cleared(stream.size);
    const struct cdma_request request = request_of(CDMA_OFFLOAD, place(cdma), host, stream.size);
    submit(cdma, &request, count);
    return host;
}

/* Takes replies; returns how many have ended well or not at all, if there is nothing else. */
static int all_end(struct cdma_user *cdma) {
    struct cdma_reply reply;
    int ended = 0;
    while (cdma_take_reply(cdma, &reply) == 0) {
        ended += reply.status == CDMA_STATUS_OK || (reply.status == CDMA_STATUS_ABORTED && reply.bytes_written == 0);
    }
    return errno == ENOENT ? ended : -1;
}

static struct cdma_user idle;

static void polls(void) {
    struct pollfd file = {.fd = idle.file, .events = POLLIN};
    const double begin = seconds();
    /* At its end a poll looks once more. */
    if (poll(&file, 1, 60000) != 1 || seconds() - begin > 30 || (file.revents & POLLHUP) == 0) _exit(1);
}

static void removed(int *exported) {
    struct cdma_user cdma = attach();
    struct pollfd ready = {.fd = cdma.file, .events = POLLIN};
    pid_t child;
    unsigned char *host;
    idle = attach();
    *exported = cdma_export(&idle, place(&idle), tensor.size);
    child = start(polls);
    usleep(100000);
    host = some_in_flight(&cdma, 6);
    need(poll(&ready, 1, -1) == 1, "the first completion");
    say(commands_end(&cdma, take_away), "commands complete once each when the device is taken away");
    say(all_end(&cdma) == 6 && equal(host, stream.bytes, stream.size),
        "transfers end once each when the device is taken away, and what had ended has its data");
    say(ended_well(child), "who polls is told of it");
    say(ioctl(cdma.file, CDMA_IOC_INFO, &cdma.info) == -1 && errno == ENODEV,
        "a file of a device that is gone refuses everything");
    free(host);
    cdma_detach(&cdma);
    cdma_detach(&idle);
}

static int refuses_buffer(struct cdma_user *cdma, int buffer, int error) {
    const struct cdma_request request = shared_of(CDMA_OFFLOAD, place(cdma), buffer, 0);
    return refused(cdma, &request, error);
}

/* A buffer of udmabuf, which the kernel does not map: or does, in later ones. */
static int user_buffer(void) {
    struct udmabuf_create create = {.size = 16 * PAGE};
    const int file = open(UDMABUF, O_RDWR);
    int buffer;
    create.memfd = (__u32)syscall(SYS_memfd_create, "buffer", 2u);
    need(ftruncate((int)create.memfd, (off_t)create.size) == 0 && fcntl((int)create.memfd, F_ADD_SEALS, F_SEAL_SHRINK) == 0, "memory");
    buffer = ioctl(file, UDMABUF_CREATE, &create);
    need(buffer >= 0, "a buffer of a process");
    close((int)create.memfd);
    close(file);
    return buffer;
}

static void buffers(int exported) {
    struct cdma_user cdma = attach();
    say(refuses_buffer(&cdma, exported, ENODEV), "a buffer of a device that is gone is refused");
    if (kernel_has(UDMABUF)) {
        const int buffer = user_buffer();
        say(refuses_buffer(&cdma, buffer, EOPNOTSUPP) || all_end(&cdma) == 1,
            "a buffer that its driver does not map is refused as such");
        close(buffer);
    }
    close(exported);
    cdma_detach(&cdma);
}

/* Nothing is told of it: what is read is all ones. */
static void unplugged(void) {
    struct cdma_user cdma = attach();
    const unsigned long before = number_in(MEMORY);
    unsigned char *host;
    silence(1);
    host = some_in_flight(&cdma, 4);
    silence(GONE | 1);
    take_away();
    say(all_end(&cdma) == 4, "transfers end once each when the device is not there any more");
    free(host);
    cdma_detach(&cdma);
    look_again();
    say(before < number_in(MEMORY) + NOISE, "and what it might have touched is free");
}

void removal(void) {
    int exported;
    removed(&exported);
    look_again();
    buffers(exported);
    unplugged();
}
