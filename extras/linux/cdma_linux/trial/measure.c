/* What is measured in the guest: interrupts, submissions, and many transfers of several processes. */
#include <time.h>

#include "trial.h"

#define PART 1024u
#define BATCHES 40u
#define BATCH 25u
/* Bytes of what is fed, so few that the time is not theirs. */
#define LITTLE 64u
/* Bytes of a transfer where the processor's time is that of the data. */
#define MUCH (128u << 10)

/* What the kernel has counted of the engine's interrupts. */
static unsigned long interrupts(void) {
    char line[256];
    unsigned long count = 0;
    FILE *file = fopen("/proc/interrupts", "r");
    need(file != NULL, "interrupts");
    while (fgets(line, sizeof line, file) != NULL) {
        if (strstr(line, "cdma") != NULL) sscanf(line, "%*[^:]: %lu", &count);
    }
    fclose(file);
    return count;
}

static void measured(const char *what, unsigned long value) { printf("# measured %s %lu\n", what, value); }

static int take(struct cdma_user *cdma) {
    struct cdma_reply reply;
    return cdma_take_reply(cdma, &reply) == 0 && reply.status == CDMA_STATUS_OK;
}

/* A thousand offloads, some of which are in flight; returns whether all were well. */
static int offload_many(void) {
    struct cdma_user cdma = attach();
    unsigned char *host = cleared(4 * PART);
    struct cdma_request request = request_of(CDMA_OFFLOAD, place(&cdma), host, 4 * PART);
    unsigned int batch, k;
    int well = 1;
    request.bytes = PART;
    for (batch = 0; batch < BATCHES; ++batch) {
        for (k = 0; k < BATCH; ++k) need(cdma_submit_transfer(&cdma, &request) == 0, "submitting");
        for (k = 0; k < BATCH; ++k) well &= take(&cdma);
    }
    cdma_detach(&cdma);
    free(host);
    return well;
}

static void moderation(const char *parameters, const char *what) {
    unsigned long before;
    reload(parameters);
    before = interrupts();
    say(offload_many(), what);
    measured(what, interrupts() - before);
}

static unsigned long nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long)(now.tv_sec * 1000000000l + now.tv_nsec);
}

/* Nanoseconds that the shortest of many submissions takes, from the call until the doorbell has been rung. */
static void submission(void) {
    struct cdma_user cdma = attach();
    unsigned char *host = cleared(4 * PART);
    struct cdma_request request = request_of(CDMA_OFFLOAD, place(&cdma), host, 4 * PART);
    unsigned long least = ~0ul, taken;
    int k, well = 1;
    request.bytes = PART;
    for (k = 0; k < 200; ++k) {
        const unsigned long begin = nanoseconds();
        well &= cdma_submit_transfer(&cdma, &request) == 0;
        taken = nanoseconds() - begin;
        least = taken < least ? taken : least;
        well &= take(&cdma);
    }
    say(well, "submissions are timed");
    measured("nanoseconds of a submission", least);
    cdma_detach(&cdma);
    free(host);
}

/* Nanoseconds of the shortest of many transfers, from the call that submits it until its reply has been taken. */
static unsigned long shortest(struct cdma_user *cdma, enum cdma_direction direction, uint64_t device, void *host) {
    struct cdma_request request = request_of(direction, device, host, MUCH);
    unsigned long least = ~0ul;
    int k, well = 1;
    request.bytes = MUCH;
    request.mode = CDMA_MODE_RAW;
    for (k = 0; k < 200; ++k) {
        const unsigned long begin = nanoseconds();
        unsigned long taken;
        well &= cdma_submit_transfer(cdma, &request) == 0 && take(cdma);
        taken = nanoseconds() - begin;
        least = taken < least ? taken : least;
    }
    need(well, "a transfer");
    return least;
}

/* What the processor has to do for data, on an engine that answers at once and moves nothing. */
static void processor(const char *parameters, const char *how) {
    unsigned char *host = aligned_alloc(PAGE, MUCH);
    struct cdma_user cdma;
    char what[96];
    uint64_t device = 0;
    reload(parameters);
    cdma = attach();
    need(host != NULL && cdma_allocate(&cdma, MUCH, &device) == 0, "memory");
    memset(host, 1, MUCH);
    snprintf(what, sizeof what, "nanoseconds of the processor for an offload of 128 KiB, %s", how);
    measured(what, shortest(&cdma, CDMA_OFFLOAD, device, host));
    snprintf(what, sizeof what, "nanoseconds of the processor for a prefetch of 128 KiB, %s", how);
    measured(what, shortest(&cdma, CDMA_PREFETCH, device, host));
    cdma_detach(&cdma);
    free(host);
}

void measure(unsigned int transfers) {
    struct cdma_user cdma;
    submission();
    moderation("coalesce=1", "interrupts for 1000 completions, one for each");
    moderation("coalesce=25 coalesce_cycles=1000000", "interrupts for 1000 completions, one for 25");
    reload("");
    many(transfers);
    leaks();
    cdma = attach();
    cdma_detach(&cdma);
    need(unload_module() == 0 && load("/carrier.ko", "answers=1") == 0 && load_module("") == 0, "the engine that answers");
    processor("direct=0", "copied");
    if (cdma.info.direct != 0) processor("", "in its pages");
    need(unload_module() == 0, "unloading the driver");
}

/* What the engine that answers at once has taken itself. */
static unsigned long of_the_engine(void) {
    FILE *file = fopen("/sys/module/carrier/parameters/nanoseconds", "r");
    unsigned long taken = 0;
    need(file != NULL && fscanf(file, "%lu", &taken) == 1, "the engine's time");
    fclose(file);
    return taken;
}

/* A call of the driver that does nothing. */
static unsigned long of_a_call(struct cdma_user *cdma) {
    const unsigned long begin = nanoseconds();
    unsigned int k;
    for (k = 0; k < 1000; ++k) need(cdma_submit_transfers(cdma, NULL, 0) == 0, "a call");
    return (nanoseconds() - begin) / 1000;
}

/* Feeds a row again and again; returns whether each of its requests ends once, in its order, and well. */
static int feed_rows(struct cdma_user *cdma, struct cdma_request *row, unsigned int descriptors) {
    struct cdma_reply replies[CDMA_MOST];
    unsigned int begun = 0, ended = 0, k;
    int well = 1;
    while (well && ended < descriptors) {
        const unsigned int left = descriptors - begun, most = left < CDMA_MOST ? left : CDMA_MOST;
        int number;
        for (k = 0; k < most; ++k) row[k].cookie = begun + k;
        number = cdma_submit_transfers(cdma, row, most);
        if (number > 0) begun += (unsigned int)number;
        number = cdma_take_replies(cdma, replies, CDMA_MOST);
        well = number > 0;
        for (k = 0; well && k < (unsigned int)number; ++k) {
            well &= replies[k].cookie == ended++ && replies[k].status == CDMA_STATUS_OK;
        }
    }
    return well && begun == descriptors;
}

/* The engine whose registers say what the one that answers at once is. */
static void one_offload(void) {
    struct cdma_user cdma = attach();
    unsigned char *host = cleared(stream.size);
    struct cdma_reply reply;
    say(cdma_offload(&cdma, place(&cdma), tensor.size, host, stream.size, &reply) == 0 && reply.status == CDMA_STATUS_OK &&
            equal(host, stream.bytes, stream.size),
        "the engine itself offloads");
    cdma_detach(&cdma);
    free(host);
}

/* As many in flight as the ring takes, of a few bytes each, from the call of a process to the reply that it has. */
static void feed_buffers(const char *parameters, const char *how, unsigned int descriptors) {
    struct cdma_request row[CDMA_MOST];
    static unsigned char hosts[CDMA_MOST][LITTLE] __attribute__((aligned(LITTLE)));
    struct cdma_user cdma;
    unsigned long begin, taken, engine;
    char what[96];
    uint64_t from;
    unsigned int k;
    reload(parameters);
    cdma = attach();
    from = place(&cdma);
    for (k = 0; k < CDMA_MOST; ++k) {
        row[k] = request_of(CDMA_OFFLOAD, from, hosts[k], LITTLE);
        row[k].bytes = LITTLE;
    }
    engine = of_the_engine();
    begin = nanoseconds();
    say(feed_rows(&cdma, row, descriptors), "descriptors that are fed end once each, in their order");
    taken = nanoseconds() - begin;
    engine = of_the_engine() - engine;
    snprintf(what, sizeof what, "descriptors in a second, %s", how);
    measured(what, (unsigned long)(1e9 * descriptors / (double)(taken - engine)));
    snprintf(what, sizeof what, "nanoseconds of a descriptor, %s", how);
    measured(what, (taken - engine) / descriptors);
    measured("nanoseconds of a descriptor in the engine that answers at once", engine / descriptors);
    cdma_detach(&cdma);
}

void feed(unsigned int descriptors) {
    struct cdma_user cdma;
    int lists;
    one_offload();
    need(unload_module() == 0 && load("/carrier.ko", "answers=1") == 0 && load_module("") == 0, "the engine that answers");
    cdma = attach();
    lists = cdma.info.direct != 0;
    measured("nanoseconds of a call that does nothing", of_a_call(&cdma));
    cdma_detach(&cdma);
    feed_buffers("direct=0", "copied", descriptors);
    if (lists) feed_buffers("direct=1", "in pages", descriptors);
    need(unload_module() == 0, "unloading the driver");
}
