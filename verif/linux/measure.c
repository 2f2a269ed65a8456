/* What is measured in the guest: interrupts, submissions, and many transfers of several processes. */
#include <time.h>

#include "trial.h"

#define PART 1024u
#define BATCHES 40u
#define BATCH 25u

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

/* Nanoseconds that the shortest of many submissions takes, from the call until the doorbell has been rung. */
static void submission(void) {
    struct cdma_user cdma = attach();
    unsigned char *host = cleared(4 * PART);
    struct cdma_request request = request_of(CDMA_OFFLOAD, place(&cdma), host, 4 * PART);
    struct timespec begin, end;
    unsigned long least = ~0ul, taken;
    int k, well = 1;
    request.bytes = PART;
    for (k = 0; k < 200; ++k) {
        clock_gettime(CLOCK_MONOTONIC, &begin);
        well &= cdma_submit_transfer(&cdma, &request) == 0;
        clock_gettime(CLOCK_MONOTONIC, &end);
        taken = (unsigned long)((end.tv_sec - begin.tv_sec) * 1000000000l + end.tv_nsec - begin.tv_nsec);
        least = taken < least ? taken : least;
        well &= take(&cdma);
    }
    say(well, "submissions are timed");
    measured("nanoseconds of a submission", least);
    cdma_detach(&cdma);
    free(host);
}

void measure(unsigned int transfers) {
    submission();
    moderation("coalesce=1", "interrupts for 1000 completions, one for each");
    moderation("coalesce=25 coalesce_cycles=1000000", "interrupts for 1000 completions, one for 25");
    reload("");
    many(transfers);
    leaks();
    need(unload_module() == 0, "unloading the driver");
}
