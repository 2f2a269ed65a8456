/* Files with queue pairs of their own, and those for whom there is none. */
#include "trial.h"

#define WEIGHTS "/sys/class/misc/cdma0/weight/"
#define DRIVER "/sys/bus/pci/drivers/cdma/"
#define TRACES "/sys/kernel/tracing/"
#define FILES 8u

static unsigned long pairs_there(void) { return number_in("/sys/class/misc/cdma0/geometry/pairs", ""); }

/* The pair of a file, or -1 while it has none. */
static int pair_of(const struct cdma_user *cdma) {
    char path[64];
    const char *line;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", cdma->file);
    line = strstr(text_of(path), "pair:\t");
    return line == NULL ? -1 : atoi(line + 6);
}

/* Several offloads of a file, each into a buffer of its own. */
struct burst {
    struct cdma_user cdma;
    struct cdma_request request;
    unsigned char *host;
    unsigned int count;
};

static struct burst begin(unsigned int count) {
    struct burst burst = {.cdma = attach(), .host = cleared(count * stream.size), .count = count};
    burst.request = request_of(CDMA_OFFLOAD, place(&burst.cdma), burst.host, stream.size);
    return burst;
}

static void submit_all(struct burst *burst) {
    unsigned int k;
    for (k = 0; k < burst->count; ++k) {
        burst->request.host = (uintptr_t)burst->host + k * stream.size;
        burst->request.cookie = k;
        submit(&burst->cdma, &burst->request, 1);
    }
}

static int all_right(struct burst *burst) {
    unsigned int k;
    int well = end_well(&burst->cdma, burst->count);
    for (k = 0; k < burst->count; ++k) well &= equal(burst->host + k * stream.size, stream.bytes, stream.size);
    return well;
}

static void end(struct burst *burst) {
    cdma_detach(&burst->cdma);
    free(burst->host);
}

/* The last has what others have, too, and all move what they should. */
static void each_has_its_own(struct cdma_user *idle) {
    const unsigned long pairs = pairs_there();
    struct burst bursts[FILES];
    unsigned int k, seen = 0;
    int well = pairs < FILES && pair_of(idle) == -1, own;
    for (k = 0; k < FILES; ++k) bursts[k] = begin(3);
    for (k = 0; k < FILES; ++k) submit_all(&bursts[k]);
    for (k = 0; k < FILES; ++k) {
        own = pair_of(&bursts[k].cdma);
        well &= k < pairs - 1 ? own > 0 && (seen >> own & 1) == 0 : own == 0;
        seen |= 1u << own;
    }
    say(well && seen == (1u << pairs) - 1, "each file that submits has a pair of its own, and the others have the first");
    for (well = 1, k = 0; k < FILES; ++k) well &= all_right(&bursts[k]);
    say(well, "all of them move what they should");
    own = pair_of(&bursts[0].cdma);
    end(&bursts[0]);
    bursts[0] = begin(1);
    submit_all(&bursts[0]);
    say(all_right(&bursts[0]) && pair_of(&bursts[0].cdma) == own, "a pair is the next file's once its own is closed");
    for (k = 0; k < FILES; ++k) end(&bursts[k]);
}

/* Only the file whose transfer was silent for too long loses what it has in flight. */
static void one_is_reset(struct cdma_user *unused) {
    struct burst first = begin(3), other = begin(6);
    struct cdma_reply reply;
    int well = 1, k, tries = 200;
    (void)unused;
    silence(1);
    submit_all(&first);
    usleep(20000);
    submit_all(&other);
    for (k = 0; k < 3; ++k) {
        well &= cdma_take_reply(&first.cdma, &reply) == 0 &&
                reply.status == (k == 0 ? CDMA_STATUS_WATCHDOG : CDMA_STATUS_ABORTED);
    }
    silence(0);
    say(well && all_right(&other), "where the transfer of one file is silent for too long the others' go on");
    while (cdma_submit_transfer(&first.cdma, &first.request) == -1 && errno == EIO && tries-- > 0) usleep(20000);
    say(tries > 0 && end_well(&first.cdma, 1), "and that file's, too, once its pair was reset");
    end(&first);
    end(&other);
}

/* Errors of one file, which never stop, are no other's. */
static void one_has_errors(struct cdma_user *unused) {
    struct burst other = begin(12);
    struct cdma_user bad = attach();
    unsigned char *host = cleared(PAGE);
    struct cdma_request request = raw_of(CDMA_OFFLOAD, BAD_BYTE / PAGE * PAGE, host, PAGE);
    struct cdma_reply reply;
    int k, well = 1;
    (void)unused;
    /* All but what the other one has. */
    piece(&bad, bad.info.device_bytes - (tensor.size + PAGE - 1) / PAGE * PAGE);
    submit(&bad, &request, 20);
    submit_all(&other);
    for (k = 0; k < 20; ++k) well &= cdma_take_reply(&bad, &reply) == 0 && reply.status == CDMA_STATUS_READ_SLVERR;
    say(well && all_right(&other), "errors of one file are no other's");
    cdma_detach(&bad);
    end(&other);
    free(host);
}

static unsigned int count_of(const char *text, const char *what) {
    unsigned int count = 0;
    while ((text = strstr(text, what)) != NULL) ++count, ++text;
    return count;
}

/* What a file has in flight ends at once when it is closed, and nothing of another one does. */
static void close_ends_its_own(struct cdma_user *unused) {
    struct burst mine = begin(40), other = begin(6);
    const char *text;
    char aborted[32];
    double started;
    pid_t later;
    int well;
    (void)unused;
    snprintf(aborted, sizeof aborted, "status=%d ", CDMA_STATUS_ABORTED);
    need(write_text(TRACES "trace", "") == 0 && write_text(TRACES "events/cdma/cdma_complete/enable", "1") == 0, "tracefs");
    silence(1);
    submit_all(&mine);
    submit_all(&other);
    later = silent_for_a_while();
    started = seconds();
    end(&mine);
    well = seconds() - started < 20;
    well &= ended_well(later) & all_right(&other);
    need(write_text(TRACES "events/cdma/cdma_complete/enable", "0") == 0, "tracefs");
    text = text_of(TRACES "trace");
    say(well && count_of(text, aborted) == 40 && count_of(text, "status=0 ") == 6,
        "what a file has in flight ends when it is closed, and nothing of another one");
    end(&other);
}

struct window {
    unsigned long long begin, last;
};

/* A window of the pair of a file, as the engine has it. */
static struct window window_of(const struct burst *burst, const char *memory) {
    struct window window = {0, 0};
    char pair[32], from[32];
    const char *line;
    snprintf(pair, sizeof pair, "pair %d ", pair_of(&burst->cdma));
    snprintf(from, sizeof from, "\n%s from ", memory);
    line = strstr(text_of("/sys/kernel/debug/cdma0/rings"), pair);
    need(line != NULL && (line = strstr(line, from)) != NULL, "a window");
    need(sscanf(line + strlen(from), "%llu to %llu", &window.begin, &window.last) == 2, "a window");
    return window;
}

/* The accelerator's memory that each has is in its window alone; and its host memory, where the engine reaches no pages. */
static void windows(struct cdma_user *unused) {
    struct burst bursts[2] = {begin(4), begin(4)};
    struct window device[2], host[2];
    uint64_t more;
    int k, well = 1;
    (void)unused;
    for (k = 0; k < 2; ++k) {
        const uint64_t from = bursts[k].request.device;
        submit_all(&bursts[k]);
        well &= all_right(&bursts[k]);
        device[k] = window_of(&bursts[k], "device");
        host[k] = window_of(&bursts[k], "host");
        well &= device[k].begin == from && device[k].last == from + (tensor.size + PAGE - 1) / PAGE * PAGE - 1;
    }
    well &= bursts[0].cdma.info.direct != 0 || host[0].last < host[1].begin || host[1].last < host[0].begin;
    say(well, "a pair reaches the memory of its file, and of no other");
    silence(1);
    submit_all(&bursts[0]);
    more = place(&bursts[0].cdma);
    bursts[0].request.device = more;
    submit_all(&bursts[0]);
    silence(0);
    well = all_right(&bursts[0]) & all_right(&bursts[0]);
    device[0] = window_of(&bursts[0], "device");
    say(well && device[0].begin <= more && device[0].last >= more + tensor.size - 1, "and what it takes later");
    for (k = 0; k < 2; ++k) end(&bursts[k]);
}

/* What the shares do is the engine's matter, and tested there. */
static void weights(struct cdma_user *unused) {
    struct burst burst = begin(1);
    char path[64];
    int well, round;
    (void)unused;
    for (well = 1, round = 0; round < 2; ++round) {
        submit_all(&burst);
        well &= all_right(&burst);
        snprintf(path, sizeof path, WEIGHTS "%d", pair_of(&burst.cdma));
        well &= number_in(path, "") == 1 && write_text(path, "8") == 0 && number_in(path, "") == 8;
        well &= write_text(path, "0") == -1 && write_text(path, "256") == -1 && number_in(path, "") == 8;
        submit_all(&burst);
        well &= all_right(&burst);
        end(&burst);
        burst = begin(1);
    }
    say(well, "a pair has the weight that is written, and its next file 1");
    end(&burst);
}

static void unbound(void) {
    struct burst bursts[3];
    struct cdma_reply reply;
    unsigned int k, ended = 0;
    for (k = 0; k < 3; ++k) bursts[k] = begin(10);
    for (k = 0; k < 3; ++k) submit_all(&bursts[k]);
    need(write_text(DRIVER "unbind", FUNCTION) == 0, "taking the driver away");
    for (k = 0; k < 3; ++k) {
        while (cdma_take_reply(&bursts[k].cdma, &reply) == 0) {
            ended += reply.status == CDMA_STATUS_OK || reply.status == CDMA_STATUS_ABORTED;
        }
        end(&bursts[k]);
    }
    say(ended == 30 && write_text(DRIVER "bind", FUNCTION) == 0, "transfers of all pairs end once each when the driver goes");
}

void pairs(void) {
    static test *const tests[] = {each_has_its_own, windows, one_has_errors, close_ends_its_own, weights, NULL};
    static test *const silent[] = {one_is_reset, NULL};
    if (pairs_there() < 3) return;
    reload("watchdog=0");
    try_each(tests);
    reload("watchdog=2000");
    try_each(silent);
    unbound();
}
