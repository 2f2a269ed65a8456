/* An engine whose memory is silent, and one that sleeps. */
#include "trial.h"

/* Where the device that is tried has a byte with a bit for each memory that is to be silent: the accelerator's, the host's. */
#define SILENT 0x80

/* On QEMU no two processors may reach the configuration space and registers at once, but memory. */
static void write_memory(unsigned char memories) {
    const int file = open(FUNCTION_FOLDER "resource4", O_RDWR);
    unsigned char *byte = mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, file, 0);
    need(byte != MAP_FAILED, "the memory of tests");
    *byte = memories;
    munmap(byte, PAGE);
    close(file);
}

void silence(unsigned char memories) {
    const int file = open(FUNCTION_FOLDER "config", O_RDWR);
    if (QEMU) return write_memory(memories), (void)close(file);
    need(file >= 0 && pwrite(file, &memories, 1, SILENT) == 1, "a silent memory");
    close(file);
}

static void answer_later(void) {
    usleep(200000);
    silence(0);
}

pid_t silent_for_a_while(void) {
    silence(1);
    return start(answer_later);
}

void reload(const char *parameters) {
    need(unload_module() == 0, "unloading the driver");
    need(load_module(parameters) == 0, "loading the driver");
}

static void submit_some(struct cdma_user *cdma, uint64_t from, unsigned char *host, unsigned int count) {
    struct cdma_request request = request_of(CDMA_OFFLOAD, from, host, stream.size);
    for (request.cookie = 0; request.cookie < count; ++request.cookie) submit(cdma, &request, 1);
}

/* Whether so many replies come, in their order and once each: the first with one status, the others with another one. */
static int ends(struct cdma_user *cdma, unsigned int count, uint32_t first, uint32_t others) {
    struct cdma_reply reply;
    unsigned int k;
    int well = 1;
    for (k = 0; k < count; ++k) {
        well &= cdma_take_reply(cdma, &reply) == 0 && reply.cookie == k && reply.status == (k == 0 ? first : others);
    }
    return well && cdma_take_reply(cdma, &reply) == -1 && errno == ENOENT;
}

/* The engine is tried again and again, until it is well. */
static int moves_again(struct cdma_user *cdma, uint64_t from, unsigned char *host) {
    const struct cdma_request request = request_of(CDMA_OFFLOAD, from, host, stream.size);
    int tries = 200;
    memset(host, 0, stream.size);
    while (cdma_submit_transfer(cdma, &request) == -1 && errno == EIO && tries-- > 0) usleep(20000);
    return ends(cdma, 1, CDMA_STATUS_OK, 0) && equal(host, stream.bytes, stream.size);
}

static void watchdog(void) {
    struct cdma_user cdma, other;
    unsigned char *host = cleared(stream.size);
    struct cdma_request request;
    uint64_t from, all = 0;
    int tries = 200;
    reload("watchdog=2000");
    cdma = attach();
    other = attach();
    from = place(&cdma);
    request = request_of(CDMA_OFFLOAD, from, host, stream.size);
    silence(1);
    submit_some(&cdma, from, host, 3);
    say(ends(&cdma, 3, CDMA_STATUS_WATCHDOG, CDMA_STATUS_ABORTED), "what a silent memory has in flight ends once each");
    say(refused(&cdma, &request, EIO) && cdma_release(&cdma, from, tensor.size) == -1 && errno == EBUSY,
        "an engine that is stuck takes nothing");
    cdma_detach(&cdma);
    say(cdma_allocate(&other, other.info.device_bytes, &all) == -1 && errno == ENOSPC,
        "what an engine that is stuck may write is given to nobody");
    silence(0);
    while (cdma_allocate(&other, other.info.device_bytes, &all) == -1 && tries-- > 0) usleep(20000);
    need(cdma_store(&other, 0, tensor.bytes, tensor.size) == 0, "storing the tensor");
    say(tries > 0 && moves_again(&other, 0, host), "an engine is reset, and goes on, when its memory answers");
    cdma_detach(&other);
    free(host);
}

static void late(void) {
    struct cdma_user cdma;
    unsigned char *host = cleared(stream.size);
    uint64_t from;
    reload("watchdog=0 timeout=1");
    cdma = attach();
    from = place(&cdma);
    silence(1);
    submit_some(&cdma, from, host, 2);
    say(ends(&cdma, 2, CDMA_STATUS_ABORTED, CDMA_STATUS_ABORTED), "transfers that take too long end once each");
    silence(0);
    say(moves_again(&cdma, from, host), "and the next one is well");
    cdma_detach(&cdma);
    free(host);
}

/* All but the loss of power: devices sleep and wake up again. */
static void asleep(void) {
    need(write_text("/sys/power/state", "mem") == 0, "sleep");
}

static void sleeps(void) {
    struct cdma_user cdma;
    unsigned char *host = cleared(stream.size);
    uint64_t from;
    reload("watchdog=0");
    cdma = attach();
    from = place(&cdma);
    need(write_text("/sys/module/suspend/parameters/pm_test_delay", "0") == 0 &&
             write_text("/sys/power/pm_test", "core") == 0,
        "a trial of sleep");
    submit_some(&cdma, from, host, 6);
    asleep();
    say(ends(&cdma, 6, CDMA_STATUS_OK, CDMA_STATUS_OK) && equal(host, stream.bytes, stream.size),
        "transfers in flight end before the machine sleeps");
    say(moves_again(&cdma, from, host) && holds_tensor(&cdma, from), "the next one after it is well");
    silence(1);
    submit_some(&cdma, from, host, 2);
    asleep();
    say(ends(&cdma, 2, CDMA_STATUS_ABORTED, CDMA_STATUS_ABORTED), "those of a silent memory are ended");
    silence(0);
    say(moves_again(&cdma, from, host), "and the next one is well, too");
    cdma_detach(&cdma);
    free(host);
}

void health(void) {
    watchdog();
    late();
    sleeps();
}
