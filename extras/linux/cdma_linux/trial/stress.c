/* The driver without memory, and with much to do. */
#include "trial.h"

/* Bytes of the tensor that are moved where much is. */
#define PART 1024u

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
    state = (uint64_t)getpid();
    for (k = 0; k < rounds; ++k) {
        const int wrong = some(20) == 0;
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
    int k, well = 1;
    for (k = 0; k < PROCESSES; ++k) {
        children[k] = fork();
        if (children[k] == 0) move_and_err(transfers / 2 / PROCESSES);
    }
    for (k = 0; k < PROCESSES; ++k) well &= ended_well(children[k]);
    snprintf(what, sizeof what,
        "%u transfers of four processes, one in twenty of them wrong, end once each, and no byte is wrong", transfers);
    say(well, what);
}

void stress(void) {
    if (kernel_has("/proc/self/fail-nth")) without_memory();
    many(480);
}
