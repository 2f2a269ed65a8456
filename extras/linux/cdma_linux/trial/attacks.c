/* What a process may do to others, and to itself: each of these once hurt somebody. */
#include <sched.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "trial.h"

#define GUARD 0x5a
/* Of a transfer that is tiny, and of a buffer that is more than a user may lock in memory. */
#define TINY 16u
#define LOCKED (64u << 10)
#define SOMEBODY 1000

static void *shared(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(memory != MAP_FAILED, "memory");
    return memory;
}

/* ---- a process that goes ---- */

static void goes_with_commands(struct cdma_user *cdma) {
    const pid_t later = silent_for_a_while(), child = start(leave_commands);
    say((ended_well(child) & ended_well(later)) && holds_tensor(cdma, place(cdma)),
        "commands end after their process, and harm nobody");
}

static void transfers_into_its_own_export(struct cdma_user *cdma) {
    const uint64_t own = piece(cdma, stream.size);
    const struct cdma_request request = shared_of(CDMA_OFFLOAD, place(cdma), cdma_export(cdma, own, stream.size), 0);
    submit(cdma, &request, 1);
    close(request.dmabuf);
}

static void reaped_by_a_child(struct cdma_user *cdma) {
    unsigned char *host = cleared(tensor.size);
    const struct cdma_request request = raw_of(CDMA_OFFLOAD, place(cdma), host, tensor.size);
    struct cdma_reply reply;
    pid_t child;
    silence(1);
    memset(host, GUARD, tensor.size);
    submit(cdma, &request, 1);
    child = fork();
    if (child == 0) {
        silence(0);
        _exit(cdma_take_reply(cdma, &reply) != 0 || host[0] != GUARD || host[tensor.size - 1] != GUARD);
    }
    say(ended_well(child) && equal(host, tensor.bytes, tensor.size), "data are for the process that has submitted, whoever takes the reply");
    free(host);
}

static void closes(struct cdma_user *unused) {
    unsigned char *host = aligned_alloc(PAGE, tensor.size);
    const pid_t later = silent_for_a_while();
    struct cdma_user cdma = attach();
    const struct cdma_request request = raw_of(CDMA_OFFLOAD, place(&cdma), host, tensor.size);
    size_t k;
    int well;
    (void)unused;
    submit(&cdma, &request, 4);
    cdma_detach(&cdma);
    memset(host, GUARD, tensor.size);
    well = ended_well(later);
    usleep(200000);
    for (k = 0; k < tensor.size; ++k) well &= host[k] == GUARD;
    say(well, "nothing is written into a process after it has closed the file");
    free(host);
}

/* Who does not wait is told that a reply is to come, or gets it. */
static void asks_again(struct cdma_user *cdma) {
    enum { ROUNDS = 100 };
    unsigned char host[TINY];
    const struct cdma_request request = raw_of(CDMA_OFFLOAD, piece(cdma, TINY), host, TINY);
    struct cdma_reply reply;
    int round, well = 1;
    need(fcntl(cdma->file, F_SETFL, O_NONBLOCK) == 0, "a file that does not wait");
    for (round = 0; round < ROUNDS; ++round) {
        submit(cdma, &request, 1);
        while (cdma_take_reply(cdma, &reply) != 0 && (well &= errno == EAGAIN)) sched_yield();
        if (!well) break;
    }
    say(well, "a reply that is to come is never denied");
}

/* ---- a process that is greedy ---- */

static void offloads_once(void) {
    struct cdma_user cdma = attach();
    if (!offloads(&cdma, place(&cdma), cleared(stream.size))) _exit(1);
}

static void unreaped(struct cdma_user *cdma) {
    static unsigned char host[TINY];
    struct cdma_request row[CDMA_MOST];
    int many = 0, k, well;
    row[0] = raw_of(CDMA_OFFLOAD, place(cdma), host, TINY);
    for (k = 1; k < (int)CDMA_MOST; ++k) row[k] = row[0];
    while ((k = cdma_submit_transfers(cdma, row, CDMA_MOST)) > 0) many += k;
    well = errno == EAGAIN && many >= 1000;
    say(well && child_succeeds(offloads_once), "a thousand tiny transfers whose replies nobody takes lock nobody out");
}

static volatile int *submitted;

static void offloads_as_somebody(void) {
    struct cdma_user cdma;
    struct cdma_request request;
    need(setuid(SOMEBODY) == 0, "another user");
    cdma = attach();
    request = request_of(CDMA_OFFLOAD, place(&cdma), cleared(stream.size), stream.size);
    fcntl(cdma.file, F_SETFL, O_NONBLOCK);
    if (cdma_submit_transfer(&cdma, &request) != 0) _exit(1);
    *submitted = 1;
    fcntl(cdma.file, F_SETFL, 0);
    if (!end_well(&cdma, 1)) _exit(1);
}

/* As much as one user gets, by several files, while no transfer ends. */
static void several_files(struct cdma_user *unused) {
    enum { FILES = 6 };
    const uint64_t most = 4 * PAGE;
    struct cdma_user users[FILES];
    unsigned char *host = cleared(most);
    int k, many = 0;
    pid_t child;
    (void)unused;
    silence(1);
    for (k = 0; k < FILES; ++k) {
        struct cdma_request request;
        users[k] = attach();
        request = raw_of(CDMA_OFFLOAD, place(&users[k]), host, tensor.size);
        request.host_bytes = most;
        fcntl(users[k].file, F_SETFL, O_NONBLOCK);
        while (cdma_submit_transfer(&users[k], &request) == 0) ++many;
        need(errno == EAGAIN, "submitting");
    }
    need(chmod(DEVICE, 0666) == 0, DEVICE);
    submitted = shared(sizeof *submitted);
    child = start(offloads_as_somebody);
    for (k = 0; k < 1000 && !*submitted; ++k) usleep(2000);
    silence(0);
    say(ended_well(child) && *submitted && many > 0, "a user with several files locks no other user out");
    for (k = 0; k < FILES; ++k) cdma_detach(&users[k]);
    munmap((void *)submitted, sizeof *submitted);
    free(host);
}

/* More than there is room for at once. */
static void waits_for_room(struct cdma_user *cdma) {
    const uint64_t most = 128u << 10;
    unsigned char *host = cleared(most);
    struct cdma_request request = raw_of(CDMA_OFFLOAD, place(cdma), host, tensor.size);
    const pid_t later = silent_for_a_while();
    request.host_bytes = most;
    submit(cdma, &request, MANY);
    say(end_well(cdma, MANY) & ended_well(later), "a submission waits for room");
    free(host);
}

static void locks_memory(void) {
    const struct rlimit limit = {LOCKED, LOCKED};
    struct cdma_user cdma = attach();
    unsigned char *host = cleared(2 * LOCKED);
    struct cdma_request request = request_of(CDMA_OFFLOAD, place(&cdma), host, 2 * LOCKED);
    need(setrlimit(RLIMIT_MEMLOCK, &limit) == 0 && setuid(SOMEBODY) == 0, "another user");
    if (!refused(&cdma, &request, ENOMEM)) _exit(1);
    request.host_bytes = stream.size;
    if (!moves(&cdma, &request)) _exit(1);
}

static struct cdma_request fvc(uint64_t device, void *host, uint64_t room, const uint32_t *value) {
    struct cdma_request request = request_of(CDMA_OFFLOAD, device, host, room);
    request.mode = CDMA_MODE_FVC;
    request.table = (uintptr_t)value;
    request.entries = 1;
    return request;
}

/* Always has some in flight. */
static void keeps_its_table(void) {
    struct cdma_user cdma = attach();
    const uint64_t room = cdma_bound(&cdma, tensor.size);
    const uint32_t value = 1;
    const struct cdma_request request = fvc(place(&cdma), cleared(room), room, &value);
    submit(&cdma, &request, 6);
    for (;;) need(end_well(&cdma, 1) && cdma_submit_transfer(&cdma, &request) == 0, "submitting");
}

static void another_table(struct cdma_user *cdma) {
    const uint64_t room = cdma_bound(cdma, tensor.size);
    unsigned char *host = cleared(room);
    const uint32_t value = 2;
    const struct cdma_request request = fvc(place(cdma), host, room, &value);
    const pid_t child = start(keeps_its_table);
    double begin;
    int k, well = 1, status;
    usleep(300000);
    begin = seconds();
    for (k = 0; k < 3; ++k) well &= moves(cdma, &request);
    well &= seconds() - begin < 60;
    need(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child, "a child");
    say(well && WIFSIGNALED(status), "a process whose table is another one has its turn");
    free(host);
}

/* None goes before another one, though its table is there. */
static void tables_in_order(struct cdma_user *cdma) {
    const uint64_t room = cdma_bound(cdma, tensor.size), from = place(cdma);
    const uint32_t values[] = {1, 2, 1};
    unsigned char *host = cleared(room);
    struct cdma_reply reply;
    unsigned int k;
    int well = 1;
    silence(1);
    for (k = 0; k < 3; ++k) {
        struct cdma_request request = fvc(from, host, room, &values[k]);
        request.cookie = k;
        well &= cdma_submit_transfer(cdma, &request) == 0;
    }
    silence(0);
    for (k = 0; k < 3; ++k) well &= cdma_take_reply(cdma, &reply) == 0 && reply.status == 0 && reply.cookie == k;
    say(well, "transfers with several tables start in the order of their submission");
    free(host);
}

static volatile double *taken;

static void allocates_all(void) {
    struct cdma_user cdma = attach();
    const double begin = seconds();
    piece(&cdma, cdma.info.device_bytes / 2);
    *taken = seconds() - begin;
}

static void waits_for_no_allocation(struct cdma_user *cdma) {
    pid_t child;
    double longest = 0;
    int status;
    taken = shared(sizeof *taken);
    child = start(allocates_all);
    while (waitpid(child, &status, WNOHANG) == 0) {
        const double begin = seconds();
        need(ioctl(cdma->file, CDMA_IOC_INFO, &cdma->info) == 0, "information");
        longest = seconds() - begin > longest ? seconds() - begin : longest;
        sched_yield();
    }
    say(*taken > 0 && (longest < *taken / 2 || longest < 0.1), "nobody waits for the accelerator's memory to be cleared");
    munmap((void *)taken, sizeof *taken);
}

/* ---- calls that are interrupted, or have nowhere to write ---- */

static void interrupted(int number) { (void)number; }

static void signals(struct cdma_user *cdma) {
    const struct itimerval often = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = interrupted};
    unsigned char *host = cleared(stream.size);
    const uint64_t from = place(cdma);
    const pid_t later = silent_for_a_while();
    struct cdma_reply reply;
    int well;
    need(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0, "signals");
    well = cdma_offload(cdma, from, tensor.size, host, stream.size, &reply) == 0 && reply.bytes_read == tensor.size &&
           equal(host, stream.bytes, stream.size);
    setitimer(ITIMER_REAL, &never, NULL);
    well &= cdma_offload(cdma, from, tensor.size / 2, host, stream.size, &reply) == 0 && reply.bytes_read == tensor.size / 2;
    say(ended_well(later) && well, "a signal ends no transfer, and each has its own reply");
    free(host);
}

static void nowhere_to_write(struct cdma_user *cdma) {
    struct cdma_export *export = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const uint64_t from = place(cdma);
    const int before = dup(0);
    int after, well;
    close(before);
    need(export != MAP_FAILED, "memory");
    *export = (struct cdma_export){tensor.size, from, 0, 0};
    mprotect(export, PAGE, PROT_READ);
    well = ioctl(cdma->file, CDMA_IOC_EXPORT, export) == -1 && errno == EFAULT;
    after = dup(0);
    close(after);
    well &= after == before && cdma_release(cdma, from, tensor.size) == 0;
    say(well, "an export that the process cannot be told of is none");
    munmap(export, PAGE);
}

static void reserved(struct cdma_user *cdma) {
    struct cdma_export export = {tensor.size, place(cdma), 0, 1};
    struct {
        struct cdma_info info;
        uint64_t more;
    } info = {.more = 1};
    struct {
        struct cdma_range range;
        uint64_t more;
    } range = {{PAGE, 0}, 1};
    const unsigned long longer_info = _IOC(_IOC_READ, CDMA_IOC, 0x40, sizeof info);
    const unsigned long longer_range = _IOC(_IOC_READ | _IOC_WRITE, CDMA_IOC, 0x41, sizeof range);
    int well = ioctl(cdma->file, CDMA_IOC_EXPORT, &export) == -1 && errno == EINVAL;
    well &= ioctl(cdma->file, longer_info, &info) == 0 && info.more == 0 && info.info.version == CDMA_INTERFACE_VERSION;
    well &= ioctl(cdma->file, longer_range, &range) == -1 && errno == E2BIG;
    range.more = 0;
    well &= ioctl(cdma->file, longer_range, &range) == 0 && cdma_release(cdma, range.range.address, PAGE) == 0;
    say(well, "what is reserved is 0, and calls may know more than the driver");
}

static void one_way(struct cdma_user *unused) {
    struct cdma_user reads = {.file = open(DEVICE, O_RDONLY)}, writes = {.file = open(DEVICE, O_WRONLY)};
    struct cdma_request request = request_of(CDMA_PREFETCH, 0, stream.bytes, stream.size);
    int buffer, well;
    (void)unused;
    need(reads.file >= 0 && writes.file >= 0, "a file");
    request.device = piece(&reads, tensor.size);
    well = refused(&reads, &request, EACCES);
    buffer = cdma_export(&reads, request.device, tensor.size);
    well &= buffer >= 0 && (fcntl(buffer, F_GETFL) & O_ACCMODE) == O_RDONLY;
    request = raw_of(CDMA_OFFLOAD, piece(&writes, tensor.size), stream.bytes, stream.size);
    say(well && refused(&writes, &request, EACCES), "a file that is not to be written writes nothing, nor reads one that is not to be read");
    close(buffer);
    close(reads.file);
    close(writes.file);
}

static void frees_what_is_idle(struct cdma_user *cdma) {
    unsigned char *host = cleared(stream.size);
    const uint64_t idle = place(cdma), busy = place(cdma);
    const struct cdma_request request = request_of(CDMA_OFFLOAD, busy, host, stream.size);
    int well;
    silence(1);
    well = cdma_submit_transfer(cdma, &request) == 0 && cdma_release(cdma, idle, tensor.size) == 0 &&
           cdma_release(cdma, busy, tensor.size) == -1 && errno == EBUSY;
    silence(0);
    well &= end_well(cdma, 1) && cdma_release(cdma, busy, tensor.size) == 0;
    say(well, "memory is given back while other memory is used");
    free(host);
}

static void locks_too_much(struct cdma_user *cdma) {
    (void)cdma;
    say(child_succeeds(locks_memory), "a user locks no more memory than the limit");
}

void attacks(void) {
    static test *const tests[] = {goes_with_commands, reaped_by_a_child, another_table, tables_in_order,
        waits_for_no_allocation, asks_again, signals, nowhere_to_write, reserved, frees_what_is_idle, waits_for_room, unreaped, one_way,
        transfers_into_its_own_export, closes, several_files, locks_too_much, NULL};
    reload("watchdog=0");
    try_each(tests);
}
