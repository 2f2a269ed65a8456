/* Transfers as commands of io_uring, which is spoken here as it is. */
#include <linux/io_uring.h>

#include "trial.h"

#define ENTRIES 16u

struct ring {
    int file;
    unsigned int *tail, *mask, *array, *taken, *ready, *ready_mask;
    struct io_uring_sqe *entries;
    struct io_uring_cqe *completions;
};

static void *ring_part(const struct ring *ring, size_t size, off_t part) {
    void *const memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->file, part);
    need(memory != MAP_FAILED, "a ring");
    return memory;
}

static struct ring open_ring(void) {
    struct io_uring_params params;
    struct ring ring;
    char *memory;
    memset(&params, 0, sizeof params);
    ring.file = (int)syscall(SYS_io_uring_setup, ENTRIES, &params);
    need(ring.file >= 0, "io_uring");
    /* Both rings are in one piece of memory. */
    memory = ring_part(&ring, params.cq_off.cqes + params.cq_entries * sizeof *ring.completions, IORING_OFF_SQ_RING);
    ring.tail = (unsigned int *)(memory + params.sq_off.tail);
    ring.mask = (unsigned int *)(memory + params.sq_off.ring_mask);
    ring.array = (unsigned int *)(memory + params.sq_off.array);
    ring.taken = (unsigned int *)(memory + params.cq_off.head);
    ring.ready = (unsigned int *)(memory + params.cq_off.tail);
    ring.ready_mask = (unsigned int *)(memory + params.cq_off.ring_mask);
    ring.completions = (struct io_uring_cqe *)(memory + params.cq_off.cqes);
    ring.entries = ring_part(&ring, params.sq_entries * sizeof *ring.entries, IORING_OFF_SQES);
    return ring;
}

static void put(struct ring *ring, const struct io_uring_sqe *entry) {
    const unsigned int index = *ring->tail & *ring->mask;
    ring->entries[index] = *entry;
    ring->array[index] = index;
    __atomic_store_n(ring->tail, *ring->tail + 1, __ATOMIC_RELEASE);
}

/* Hands over what was put, and waits for completions. */
static int enter(const struct ring *ring, unsigned int put, unsigned int wanted) {
    return (int)syscall(SYS_io_uring_enter, ring->file, put, wanted, IORING_ENTER_GETEVENTS, NULL, 0);
}

static int take(struct ring *ring, struct io_uring_cqe *completion) {
    const unsigned int taken = *ring->taken;
    if (taken == __atomic_load_n(ring->ready, __ATOMIC_ACQUIRE)) return 0;
    *completion = ring->completions[taken & *ring->ready_mask];
    __atomic_store_n(ring->taken, taken + 1, __ATOMIC_RELEASE);
    return 1;
}

static void put_request(
    struct ring *ring, struct cdma_user *cdma, const struct cdma_request *request, struct cdma_reply *reply, uint64_t data) {
    struct io_uring_sqe entry;
    cdma_prepare(cdma, &entry, request, reply);
    entry.user_data = data;
    put(ring, &entry);
}

static void commands(struct cdma_user *cdma) {
    struct ring ring = open_ring();
    struct cdma_request requests[MANY];
    struct cdma_reply replies[MANY], reply;
    struct io_uring_cqe completion;
    unsigned int k, seen = 0;
    int well = 1;
    make_many(cdma, requests);
    for (k = 0; k < MANY; ++k) put_request(&ring, cdma, &requests[k], &replies[k], k);
    well &= enter(&ring, MANY, MANY) == MANY;
    while (take(&ring, &completion)) {
        well &= completion.res == 0 && completion.user_data < MANY && (seen >> completion.user_data & 1) == 0;
        seen |= 1u << (completion.user_data % MANY);
    }
    for (k = 0; k < MANY; ++k) well &= replies[k].status == CDMA_STATUS_OK && replies[k].cookie == k;
    well &= many_moved(cdma, requests);
    say(well && seen == (1u << MANY) - 1, "twelve commands of io_uring complete once each, with their bytes");
    say(cdma_take_reply(cdma, &reply) == -1 && errno == ENOENT, "the reply of a command is not another one's");
    close(ring.file);
}

/* What a command ends with. */
static int result_of(struct ring *ring, const struct io_uring_sqe *entry) {
    struct io_uring_cqe completion = {0, 0, 0};
    put(ring, entry);
    need(enter(ring, 1, 1) == 1 && take(ring, &completion), "a completion");
    return completion.res;
}

static void bad_commands(struct cdma_user *cdma) {
    struct ring ring = open_ring();
    unsigned char *host = cleared(stream.size);
    struct cdma_request request = request_of(CDMA_OFFLOAD, place(cdma), host, stream.size);
    struct cdma_command pointers = {8, 8};
    struct cdma_reply reply;
    struct io_uring_sqe entry;
    int well;
    cdma_prepare(cdma, &entry, &request, &reply);
    entry.cmd_op = CDMA_IOC_SUBMIT;
    well = result_of(&ring, &entry) == -ENOTTY;
    entry.cmd_op = CDMA_URING_TRANSFER;
    memcpy(entry.cmd, &pointers, sizeof pointers);
    well &= result_of(&ring, &entry) == -EFAULT;
    /* Its reply has nowhere to go. */
    cdma_prepare(cdma, &entry, &request, (struct cdma_reply *)8);
    well &= result_of(&ring, &entry) == -EFAULT && host[0] == 0;
    cdma_prepare(cdma, &entry, &request, &reply);
    request.host = 8;
    well &= result_of(&ring, &entry) == -EFAULT;
    request.flags = CDMA_DMABUF;
    request.dmabuf = cdma->file;
    well &= result_of(&ring, &entry) == -EINVAL;
    request.flags = 0;
    request.host_bytes = cdma->info.host_bytes + 1;
    well &= result_of(&ring, &entry) == -EMSGSIZE;
    say(well, "commands that make no sense complete with their error");
    free(host);
    close(ring.file);
}

void leave_commands(void) {
    struct ring ring = open_ring();
    struct cdma_user cdma = attach();
    unsigned char *host = cleared(stream.size);
    const struct cdma_request request = request_of(CDMA_OFFLOAD, place(&cdma), host, stream.size);
    struct cdma_reply replies[6];
    int k;
    for (k = 0; k < 6; ++k) put_request(&ring, &cdma, &request, &replies[k], 0);
    need(enter(&ring, 6, 0) == 6, "commands");
}

static void die_with_commands(void) {
    leave_commands();
    kill(getpid(), SIGKILL);
}

/* The device goes, and each command completes once. */
int commands_end(struct cdma_user *cdma, void (*take_away)(void)) {
    struct ring ring = open_ring();
    unsigned char *host = cleared(stream.size);
    const struct cdma_request request = request_of(CDMA_OFFLOAD, place(cdma), host, stream.size);
    struct cdma_reply replies[4];
    struct io_uring_cqe completion;
    int k, ended = 0, seen = 0;
    for (k = 0; k < 4; ++k) put_request(&ring, cdma, &request, &replies[k], (uint64_t)k);
    need(enter(&ring, 4, 0) == 4, "commands");
    take_away();
    enter(&ring, 0, 4);
    while (take(&ring, &completion)) {
        ended += completion.res == 0;
        seen |= 1 << completion.user_data;
    }
    for (k = 0; k < 4; ++k) ended += replies[k].status == CDMA_STATUS_ABORTED || replies[k].status == CDMA_STATUS_OK;
    close(ring.file);
    free(host);
    return ended == 8 && seen == 15;
}

static void gone_with_commands(struct cdma_user *cdma) {
    say(child_succeeds(leave_commands) && !child_succeeds(die_with_commands) && holds_tensor(cdma, place(cdma)),
        "processes that go with commands in flight harm no other");
}

void completions(void) {
    static test *const tests[] = {commands, bad_commands, gone_with_commands, NULL};
    try_each(tests);
}
