/* Calls that nobody would make, at random: what is right with one thing wrong, and what is wrong with everything. */
#include "trial.h"

/* Of a piece; transfers may have a buffer twice as long, for any stream, and around it is what they must not touch. */
#define ROOM 8192u
#define GUARD 0xa5

struct caller {
    struct cdma_user cdma;
    uint64_t piece;
};

uint64_t state;
static unsigned char *room;
static unsigned int taken, refusals;

uint64_t some(uint64_t below) {
    uint64_t mixed = state += 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
    return (mixed ^ mixed >> 31) % below;
}

/* A number that is often at the edge of something. */
static uint64_t odd_number(void) {
    static const uint64_t edges[] = {0, 1, 63, 64, 65, PAGE - 1, PAGE, PAGE + 1, 1u << 20, 0x7fffffff, 0x80000000u, 0xffffffffu};
    switch (some(4)) {
    case 0: return edges[some(sizeof edges / sizeof *edges)];
    case 1: return ~edges[some(sizeof edges / sizeof *edges)];
    case 2: return 1ull << some(64);
    default: return some(1u << 16);
    }
}

/* Spoils some of the words of a structure, or none. */
static void spoil(void *structure, size_t size) {
    uint32_t *words = structure;
    while (some(2) == 0) {
        const uint64_t number = odd_number();
        words[some(size / sizeof *words)] = (uint32_t)(some(2) ? number : number >> 32);
    }
}

static void count(long result) {
    ++*(result < 0 ? &refusals : &taken);
}

static void submits(struct caller *caller) {
    struct cdma_request requests[4];
    struct cdma_batch batch = {(uintptr_t)requests, 1 + (uint32_t)some(4), sizeof *requests};
    size_t k;
    for (k = 0; k < 4; ++k) {
        const uint64_t bytes = 32 * (1 + some(64));
        requests[k] = request_of(some(2) ? CDMA_OFFLOAD : CDMA_PREFETCH, caller->piece, room, 2 * bytes);
        requests[k].mode = (uint32_t)some(3);
        requests[k].bytes = bytes;
        if (requests[k].mode == CDMA_MODE_RAW) requests[k].host_bytes = bytes;
        spoil(&requests[k], sizeof requests[k]);
    }
    spoil(&batch, sizeof batch);
    count(ioctl(caller->cdma.file, CDMA_IOC_SUBMIT, &batch));
}

static void takes(struct caller *caller) {
    struct cdma_reply replies[4];
    struct cdma_batch batch = {(uintptr_t)replies, 1 + (uint32_t)some(4), sizeof *replies};
    if (some(8) == 0) spoil(&batch, sizeof batch);
    /* Far more than there are would be written beyond these. */
    if (batch.count > 4) batch.count = 4;
    if (batch.size > sizeof *replies) batch.size = sizeof *replies;
    if (batch.first != (uintptr_t)replies) batch.first = some(PAGE);
    count(ioctl(caller->cdma.file, CDMA_IOC_REAP, &batch));
}

static void allocates(struct caller *caller) {
    struct cdma_range range = {some(4 * PAGE), 0}, other;
    spoil(&range, sizeof range);
    if (ioctl(caller->cdma.file, CDMA_IOC_ALLOC, &range) != 0) {
        ++refusals;
        return;
    }
    ++taken;
    other = range;
    spoil(&other, sizeof other);
    if (other.address == caller->piece) other = range;
    count(ioctl(caller->cdma.file, CDMA_IOC_FREE, &other));
    ioctl(caller->cdma.file, CDMA_IOC_FREE, &range);
}

static void exports(struct caller *caller) {
    struct cdma_export piece = {ROOM, caller->piece, 0, 0};
    spoil(&piece, sizeof piece);
    if (ioctl(caller->cdma.file, CDMA_IOC_EXPORT, &piece) == 0) {
        ++taken;
        close(piece.file);
    } else {
        ++refusals;
    }
}

static void reaches(struct caller *caller) {
    unsigned char bytes[256];
    const off_t at = (off_t)(some(2) ? caller->piece + some(ROOM) : odd_number());
    void *place;
    switch (some(3)) {
    case 0: count(pread(caller->cdma.file, bytes, some(sizeof bytes), at)); break;
    case 1: count(pwrite(caller->cdma.file, room, some(ROOM), at)); break;
    default:
        place = mmap(NULL, 1 + some(2 * ROOM), PROT_READ, MAP_SHARED, caller->cdma.file, at & ~(off_t)(PAGE - 1));
        count(place == MAP_FAILED ? -1 : 0);
        if (place != MAP_FAILED) munmap(place, PAGE);
    }
}

/* Any call, of any size, with any bytes; not of a size that would write beyond them. */
static void calls(struct caller *caller) {
    uint64_t bytes[64];
    size_t k;
    for (k = 0; k < 64; ++k) bytes[k] = odd_number();
    count(ioctl(caller->cdma.file, _IOC(some(4), some(16) ? CDMA_IOC : some(256), 0x3e + some(12), some(sizeof bytes)),
        some(8) ? (void *)bytes : (void *)some(PAGE)));
}

static void asks(struct caller *caller) {
    struct pollfd look = {caller->cdma.file, POLLIN | POLLOUT, 0};
    struct cdma_info info;
    count(some(2) ? poll(&look, 1, 0) : ioctl(caller->cdma.file, CDMA_IOC_INFO, &info));
}

static void storms(unsigned int most) {
    static void (*const jobs[])(struct caller *) = {submits, submits, takes, takes, allocates, exports, reaches, calls, asks};
    static const int modes[] = {O_RDWR | O_NONBLOCK, O_RDWR | O_NONBLOCK, O_RDONLY | O_NONBLOCK, O_RDWR | O_NONBLOCK};
    struct caller callers[4];
    unsigned char *memory = aligned_alloc(PAGE, 4 * ROOM);
    size_t k;
    need(memory != NULL, "memory");
    memset(memory, GUARD, 4 * ROOM);
    room = memory + ROOM;
    for (k = 0; k < 4; ++k) {
        callers[k].cdma = (struct cdma_user){.file = open(DEVICE, modes[k])};
        need(callers[k].cdma.file >= 0 && cdma_allocate(&callers[k].cdma, ROOM, &callers[k].piece) == 0, "a file");
    }
    for (k = 0; k < most; ++k) jobs[some(sizeof jobs / sizeof *jobs)](&callers[some(4)]);
    for (k = 0; k < 4; ++k) close(callers[k].cdma.file);
    for (k = 0; k < ROOM; ++k) {
        if (memory[k] != GUARD || memory[3 * ROOM + k] != GUARD) _exit(1);
    }
    /* Some calls of each kind were right, and most were not. */
    _exit(taken < most / 20 || refusals < most / 4);
}

void fuzz(unsigned int calls) {
    struct cdma_user cdma = attach();
    const uint64_t mine = place(&cdma);
    unsigned char *host = cleared(stream.size);
    int status = 0, well = 1;
    pid_t child;
    state = 1;
    child = fork();
    if (child == 0) storms(calls);
    do {
        well &= offloads(&cdma, mine, host);
    } while (waitpid(child, &status, WNOHANG) == 0);
    say(WIFEXITED(status) && WEXITSTATUS(status) == 0, "calls at random touch nothing that they were not given");
    say(well && holds_tensor(&cdma, mine), "and another process has its own bytes meanwhile");
    free(host);
    cdma_detach(&cdma);
}
