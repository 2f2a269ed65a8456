/* Buffers, which the engine reads and writes itself where it takes lists of pages; elsewhere they are copied. */
#include "trial.h"

#define AREA (16 * PAGE)
#define GUARD 0x5a

/* Pages that lie anywhere, as each is touched after the one behind it. */
static unsigned char *area(void) {
    unsigned char *bytes = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t page = AREA;
    need(bytes != MAP_FAILED, "memory");
    while (page != 0) memset(bytes + (page -= PAGE), GUARD, PAGE);
    return bytes;
}

static int guarded(const unsigned char *bytes, size_t size) {
    while (size != 0 && *bytes == GUARD) ++bytes, --size;
    return size == 0;
}

/* Whether the data of an offload are in a buffer that begins so far in a page, and nothing is beside them. */
static int is_there(struct cdma_user *cdma, uint64_t from, size_t at) {
    unsigned char *bytes = area(), *host = bytes + at;
    const struct cdma_request request = raw_of(CDMA_OFFLOAD, from, host, tensor.size);
    struct pollfd file = {cdma->file, POLLIN, 0};
    int well;
    need(cdma_submit_transfer(cdma, &request) == 0 && poll(&file, 1, 10000) == 1, "an offload");
    well = equal(host, tensor.bytes, tensor.size) && end_well(cdma, 1);
    well &= guarded(bytes, at) && guarded(host + tensor.size, AREA - at - tensor.size);
    munmap(bytes, AREA);
    return well;
}

/* Where a beat begins, and amid one. */
static void anywhere(struct cdma_user *cdma, uint64_t from) {
    const size_t step = cdma->info.direct != 0 ? cdma->info.direct : 16;
    const size_t places[] = {0, step, PAGE - 3 * step, PAGE - step, step / 2, PAGE - step / 2};
    int well = 1;
    size_t k;
    for (k = 0; k < sizeof places / sizeof *places; ++k) well &= is_there(cdma, from, places[k]);
    say(well, "data are in a buffer that begins anywhere when its reply is there, and nothing is beside them");
}

static void back(struct cdma_user *cdma) {
    unsigned char *bytes = area(), *host = bytes + PAGE - 64;
    const uint64_t to = place(cdma);
    const struct cdma_request request = raw_of(CDMA_PREFETCH, to, host, tensor.size);
    const uint64_t other = place(cdma);
    memcpy(host, tensor.bytes, tensor.size);
    need(cdma_store(cdma, to, bytes, tensor.size) == 0 && cdma_store(cdma, other, bytes, tensor.size) == 0, "storing");
    say(moves(cdma, &request) && holds_tensor(cdma, to), "a prefetch reads a buffer of several pages");
    memcpy(host, stream.bytes, stream.size);
    say(prefetches(cdma, other, host), "a stream in several pages is expanded");
    munmap(bytes, AREA);
}

/* Rooms of a few beats and bytes, which end before a page does, with it, and behind. */
static void room_ends(struct cdma_user *cdma, uint64_t from) {
    const size_t rooms[] = {16, 48, 64, 66, 80, PAGE + 64, PAGE + 66};
    struct cdma_reply reply;
    int well = 1;
    size_t k;
    for (k = 0; k < sizeof rooms / sizeof *rooms; ++k) {
        unsigned char *bytes = area(), *host = bytes + PAGE - 64;
        struct cdma_request request = raw_of(CDMA_OFFLOAD, from, host, tensor.size);
        well &= cdma_offload(cdma, from, tensor.size, host, rooms[k], &reply) == 0 &&
                reply.status == CDMA_STATUS_CAPACITY && reply.fault == reply.bytes_written && reply.fault <= rooms[k] &&
                equal(host, stream.bytes, reply.fault) && guarded(bytes, PAGE - 64) &&
                guarded(host + rooms[k], AREA - PAGE + 64 - rooms[k]);
        request.host_bytes = rooms[k];
        well &= cdma_submit_transfer(cdma, &request) == 0 && cdma_take_reply(cdma, &reply) == 0 &&
                reply.status == CDMA_STATUS_CAPACITY && reply.fault == rooms[k];
        munmap(bytes, AREA);
    }
    say(well, "an offload without room in its pages says where, and writes no byte behind it");
}

/* Pages that the engine still writes are given to nobody. */
static void goes_away(struct cdma_user *cdma, uint64_t from) {
    unsigned char *others[4], *bytes = area();
    const struct cdma_request request = raw_of(CDMA_OFFLOAD, from, bytes, tensor.size);
    int k, well = 1;
    submit(cdma, &request, 8);
    munmap(bytes, AREA);
    for (k = 0; k < 4; ++k) others[k] = area();
    well &= end_well(cdma, 8);
    for (k = 0; k < 4; ++k) well &= guarded(others[k], AREA), munmap(others[k], AREA);
    say(well, "a buffer may be unmapped while the engine writes it, and its pages are nobody's until it has");
}

static void nothing(void) {}

static void forks(struct cdma_user *cdma, uint64_t from) {
    unsigned char *bytes = area();
    const struct cdma_request request = raw_of(CDMA_OFFLOAD, from, bytes, tensor.size);
    int well = cdma_submit_transfer(cdma, &request) == 0 && child_succeeds(nothing);
    memset(bytes + AREA - PAGE, 1, 1);
    say(well && end_well(cdma, 1) && equal(bytes, tensor.bytes, tensor.size),
        "a process that forks meanwhile gets its data itself");
    munmap(bytes, AREA);
}

static void read_only(struct cdma_user *cdma, uint64_t from) {
    unsigned char *bytes = area();
    const struct cdma_request request = raw_of(CDMA_OFFLOAD, from, bytes, tensor.size);
    mprotect(bytes, AREA, PROT_READ);
    say(refused(cdma, &request, EFAULT) && guarded(bytes, AREA), "a buffer that the process may not write is not written");
    munmap(bytes, AREA);
}

void direct(void) {
    struct cdma_user cdma = attach();
    uint64_t from = place(&cdma);
    say((cdma.info.direct != 0) == (number_in("/sys/class/misc/cdma0/geometry/pages", "") != 0),
        "the engine reaches buffers if it takes lists");
    anywhere(&cdma, from);
    back(&cdma);
    room_ends(&cdma, from);
    goes_away(&cdma, from);
    forks(&cdma, from);
    read_only(&cdma, from);
    cdma_detach(&cdma);
    reload("direct=0");
    cdma = attach();
    from = place(&cdma);
    say(cdma.info.direct == 0 && is_there(&cdma, from, 0), "buffers are copied where one wants it");
    cdma_detach(&cdma);
    reload("");
}

void pins(void) {
    const unsigned long had = number_in("/proc/vmstat", "nr_foll_pin_acquired ");
    say(had == number_in("/proc/vmstat", "nr_foll_pin_released ") && had != 0, "every page that was pinned was let go");
}
