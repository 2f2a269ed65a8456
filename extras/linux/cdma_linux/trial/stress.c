/* The driver under processes that mean harm, without memory, and with much to do. */
#include "trial.h"

/* Bytes of the tensor that are moved where much is. */
#define PART 1024u

static uint32_t state = 1;

/* A number that follows from the one before. */
static uint32_t draw(uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

/* ---- requests at random ---- */

static uint64_t strange(uint64_t address, const void *buffer) {
    const uint64_t values[] = {0, 1, address, address + 2, address + 4095, (uintptr_t)buffer, PART, 4096, 1 << 20, 1u << 31,
        ~UINT64_C(0), ~UINT64_C(0) - 4095, UINT64_C(1) << 63, draw(1 << 14)};
    return values[draw(sizeof values / sizeof *values)];
}

#define REQUEST_WORDS (sizeof(struct cdma_request) / sizeof(uint64_t))

/* Directions, modes and flags that there are, so that some requests are done. */
static void make_sense(uint64_t *request) {
    if (draw(2) != 0) request[0] = draw(2) | (uint64_t)draw(2) << 32;
    if (draw(2) != 0) request[6] = draw(4);
    if (draw(2) != 0) request[7] = draw(16);
}

static void ask_at_random(void) {
    static const unsigned long codes[] = {
        CDMA_IOC_INFO, CDMA_IOC_ALLOC, CDMA_IOC_FREE, CDMA_IOC_SUBMIT, CDMA_IOC_SUBMIT, CDMA_IOC_REAP, CDMA_IOC_EXPORT,
        CDMA_IOC_SUBMIT, 0, ~0ul};
    struct cdma_user cdma = attach();
    const uint64_t address = place(&cdma);
    unsigned char *buffer = cleared(1 << 16);
    int k;
    fcntl(cdma.file, F_SETFL, O_NONBLOCK);
    for (k = 0; k < 4000; ++k) {
        uint64_t words[16], row[4 * REQUEST_WORDS];
        unsigned int word;
        for (word = 0; word < 16; ++word) words[word] = strange(address, buffer);
        make_sense(words);
        for (word = 0; word < 4 * REQUEST_WORDS; ++word) row[word] = strange(address, buffer);
        for (word = 0; word < 4; ++word) make_sense(row + word * REQUEST_WORDS);
        /* Rows that there are. */
        if (draw(3) != 0) words[0] = (uintptr_t)row, words[1] = draw(6) | (uint64_t)sizeof(struct cdma_request) << 32;
        ioctl(cdma.file, codes[draw(sizeof codes / sizeof *codes)], draw(8) == 0 ? (void *)words[3] : (void *)words);
        if (draw(16) == 0) pread(cdma.file, buffer, draw(1 << 14), (off_t)strange(address, buffer));
        if (draw(16) == 0) pwrite(cdma.file, buffer, draw(1 << 14), (off_t)strange(address, buffer));
        if (draw(16) == 0) {
            mmap(NULL, draw(1 << 14), PROT_READ, MAP_SHARED, draw(2) ? cdma.file : (int)draw(16), (off_t)strange(address, buffer));
        }
        if (draw(16) == 0) close(cdma.file + 1 + (int)draw(16));
    }
}

/* ---- allocations that fail ---- */

/* Has the n-th allocation of this process fail; 0 for none. Returns whether the one before has. */
static int fail_nth(int file, int n) {
    char text[16] = "";
    const ssize_t read = pread(file, text, sizeof text - 1, 0);
    const int failed = atoi(text) == 0;
    snprintf(text, sizeof text, "%d", n);
    need(read >= 0 && pwrite(file, text, strlen(text), 0) > 0, "fail-nth");
    return failed;
}

/* Moves a tensor, and returns 0 if that was right to the end, 1 if it was refused for want of memory, and 2 otherwise. */
static int move_or_give_up(void) {
    struct cdma_user cdma;
    struct cdma_reply reply;
    unsigned char host[4 * PART];
    uint64_t address;
    int status;
    if (cdma_attach(&cdma, DEVICE) != 0) return errno == ENOMEM ? 1 : 2;
    status = cdma_allocate(&cdma, PART, &address) != 0 || cdma_store(&cdma, address, tensor.bytes, PART) != 0 ||
             cdma_offload(&cdma, address, PART, host, sizeof host, &reply) != 0;
    if (status != 0) {
        status = errno == ENOMEM ? 1 : 2;
    } else if (reply.status != CDMA_STATUS_OK || !equal(host, stream.bytes, reply.bytes_written)) {
        status = 2;
    }
    cdma_detach(&cdma);
    return status;
}

static void without_memory(void) {
    const int file = open("/proc/self/fail-nth", O_RDWR);
    int n, status, refused = 0, failed = 1, well = 1;
    need(write_text("/sys/kernel/debug/failslab/ignore-gfp-wait", "N") == 0 &&
             write_text("/sys/kernel/debug/failslab/verbose", "0") == 0,
        "allocations that fail");
    for (n = 1; failed && n < 200; ++n) {
        fail_nth(file, n);
        status = move_or_give_up();
        failed = fail_nth(file, 0);
        refused += status == 1;
        well &= status != 2;
    }
    close(file);
    say(well && !failed && refused > 3 && move_or_give_up() == 0,
        "each allocation of a transfer may fail, and the next transfer is well");
}

/* ---- many ---- */

static void move_and_err(unsigned int rounds) {
    struct cdma_user cdma = attach();
    const uint64_t address = place(&cdma);
    unsigned char *host = cleared(4 * PART);
    struct cdma_reply reply;
    uint64_t size = 0;
    unsigned int k;
    int well = 1;
    state = (uint32_t)getpid();
    for (k = 0; k < rounds; ++k) {
        const int wrong = draw(20) == 0;
        memset(host, 0, 4 * PART);
        well &= cdma_offload(&cdma, address, PART, host, wrong ? PART / 8 : 4 * PART, &reply) == 0;
        well &= reply.status == (wrong ? CDMA_STATUS_CAPACITY : CDMA_STATUS_OK);
        well &= equal(host, stream.bytes, reply.bytes_written);
        if (!wrong) size = reply.bytes_written;
        if (size != 0) {
            memcpy(host, stream.bytes, size);
            well &= cdma_prefetch(&cdma, address, PART, host, wrong ? size / 4 * 2 : size, &reply) == 0;
            well &= reply.status == (wrong ? CDMA_STATUS_STREAM_TRUNCATED : CDMA_STATUS_OK);
        }
        if (!wrong) well &= holds_tensor(&cdma, address);
    }
    _exit(!well);
}

void many(unsigned int transfers) {
    enum { PROCESSES = 4 };
    pid_t children[PROCESSES];
    char what[128];
    int k, status, well = 1;
    for (k = 0; k < PROCESSES; ++k) {
        children[k] = fork();
        if (children[k] == 0) move_and_err(transfers / 2 / PROCESSES);
    }
    for (k = 0; k < PROCESSES; ++k) {
        well &= waitpid(children[k], &status, 0) == children[k] && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    snprintf(what, sizeof what,
        "%u transfers of four processes, one in twenty of them wrong, end once each, and no byte is wrong", transfers);
    say(well, what);
}

void stress(void) {
    say(child_succeeds(ask_at_random) && move_or_give_up() == 0, "requests at random harm nobody");
    without_memory();
    many(480);
}
