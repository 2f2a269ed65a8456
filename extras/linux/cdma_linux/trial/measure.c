/* What is measured in the guest: interrupts, submissions, and many transfers of several processes. */
#include "trial.h"

#define PART 1024u
#define BATCHES 40u
#define BATCH 25u
/* Bytes of a transfer where the processor's time is that of the data. */
#define MUCH (128u << 10)

/* What the kernel has counted of the engine's interrupts. */
static unsigned long interrupts(void) {
    char *line = strstr(text_of("/proc/interrupts"), "cdma");
    need(line != NULL, "interrupts");
    while (line[-1] != '\n') --line;
    return strtoul(strchr(line, ':') + 1, NULL, 10);
}

static void measured(const char *what, unsigned long value) { printf("# measured %s %lu\n", what, value); }

/* A thousand offloads, some of which are in flight; returns whether all were well. */
static int offload_many(void) {
    struct cdma_user cdma = attach();
    unsigned char *host = cleared(4 * PART);
    struct cdma_request request = request_of(CDMA_OFFLOAD, place(&cdma), host, 4 * PART);
    unsigned int batch;
    int well = 1;
    request.bytes = PART;
    for (batch = 0; batch < BATCHES; ++batch) {
        submit(&cdma, &request, BATCH);
        well &= end_well(&cdma, BATCH);
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

static unsigned long nanoseconds(void) { return (unsigned long)(1e9 * seconds()); }

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
        well &= end_well(&cdma, 1);
    }
    say(well, "submissions are timed");
    measured("nanoseconds of a submission", least);
    cdma_detach(&cdma);
    free(host);
}

/* Nanoseconds of the shortest of many transfers, from the call that submits it until its reply has been taken. */
static unsigned long shortest(struct cdma_user *cdma, enum cdma_direction direction, uint64_t device, void *host) {
    const struct cdma_request request = raw_of(direction, device, host, MUCH);
    unsigned long least = ~0ul;
    int k, well = 1;
    for (k = 0; k < 200; ++k) {
        const unsigned long begin = nanoseconds();
        unsigned long taken;
        well &= moves(cdma, &request);
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
    uint64_t device;
    reload(parameters);
    cdma = attach();
    device = piece(&cdma, MUCH);
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
