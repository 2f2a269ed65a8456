/* What a process may do to others, and to itself: each of these once hurt somebody. */
#include <sched.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

#include "trial.h"

#define GUARD 0x5a
/* Of a transfer that is tiny, and of a buffer that is more than a user may lock in memory. */
#define TINY 16u
#define LOCKED (64u << 10)
#define SOMEBODY 1000

static struct cdma_request raw(uint64_t device, void *host, uint64_t bytes) {
    struct cdma_request request = request_of(CDMA_OFFLOAD, device, host, bytes);
    request.mode = CDMA_MODE_RAW;
    request.bytes = bytes;
    return request;
}

static void *shared(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(memory != MAP_FAILED, "memory");
    return memory;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static pid_t in_a_child(void (*job)(void)) {
    const pid_t child = fork();
    if (child == 0) {
        job();
        _exit(0);
    }
    return child;
}

static int ends_well(pid_t child) {
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void answer_later(void) {
    usleep(200000);
    silence(0);
}

/* ---- a process that goes ---- */

static void goes_with_commands(struct cdma_user *cdma) {
    pid_t child, later;
    int well;
    silence(1);
    child = in_a_child(leave_commands);
    later = in_a_child(answer_later);
    well = ends_well(child) & ends_well(later);
    say(well && holds_tensor(cdma, place(cdma)), "commands end after their process, and harm nobody");
}

static void transfers_into_its_own_export(void) {
    struct cdma_user cdma = attach();
    struct cdma_request request;
    uint64_t piece = 0;
    need(cdma_allocate(&cdma, stream.size, &piece) == 0, "accelerator memory");
    request = request_of(CDMA_OFFLOAD, place(&cdma), NULL, stream.size);
    request.flags = CDMA_DMABUF;
    request.dmabuf = cdma_export(&cdma, piece, stream.size);
    need(request.dmabuf >= 0 && cdma_submit_transfer(&cdma, &request) == 0, "a transfer");
    close(request.dmabuf);
    cdma_detach(&cdma);
}

static void reaped_by_a_child(struct cdma_user *cdma) {
    unsigned char *host = cleared(tensor.size);
    const struct cdma_request request = raw(place(cdma), host, tensor.size);
    struct cdma_reply reply;
    pid_t child;
    int well;
    silence(1);
    memset(host, GUARD, tensor.size);
    need(cdma_submit_transfer(cdma, &request) == 0, "submitting");
    child = fork();
    if (child == 0) {
        answer_later();
        _exit(cdma_take_reply(cdma, &reply) != 0 || host[0] != GUARD || host[tensor.size - 1] != GUARD);
    }
    well = ends_well(child);
    say(well && equal(host, tensor.bytes, tensor.size), "data are for the process that has submitted, whoever takes the reply");
    free(host);
}

static void closes(void) {
    unsigned char *host = aligned_alloc(PAGE, tensor.size);
    struct cdma_request request;
    struct cdma_user cdma;
    pid_t later;
    size_t k;
    int well;
    silence(1);
    later = in_a_child(answer_later);
    cdma = attach();
    request = raw(place(&cdma), host, tensor.size);
    for (k = 0; k < 4; ++k) need(cdma_submit_transfer(&cdma, &request) == 0, "submitting");
    cdma_detach(&cdma);
    memset(host, GUARD, tensor.size);
    well = ends_well(later);
    usleep(200000);
    for (k = 0; k < tensor.size; ++k) well &= host[k] == GUARD;
    say(well, "nothing is written into a process after it has closed the file");
    free(host);
}

/* ---- a process that is greedy ---- */

static void offloads_once(void) {
    struct cdma_user cdma = attach();
    unsigned char *host = cleared(stream.size);
    const struct cdma_request request = request_of(CDMA_OFFLOAD, place(&cdma), host, stream.size);
    struct cdma_reply reply;
    if (cdma_submit_transfer(&cdma, &request) != 0) _exit(1);
    if (cdma_take_reply(&cdma, &reply) != 0 || reply.status != 0 || !equal(host, stream.bytes, stream.size)) _exit(1);
}

static void unreaped(struct cdma_user *cdma) {
    static unsigned char host[TINY];
    struct cdma_request row[CDMA_MOST];
    int many = 0, k, well;
    for (k = 0; k < (int)CDMA_MOST; ++k) row[k] = raw(0, host, TINY);
    for (k = 0; k < (int)CDMA_MOST; ++k) row[k].device = k == 0 ? place(cdma) : row[0].device;
    while ((k = cdma_submit_transfers(cdma, row, CDMA_MOST)) > 0) many += k;
    well = errno == EAGAIN && many >= 1000;
    say(well && child_succeeds(offloads_once), "a thousand tiny transfers whose replies nobody takes lock nobody out");
}

static volatile int *submitted;

static void offloads_as_somebody(void) {
    struct cdma_user cdma;
    struct cdma_request request;
    struct cdma_reply reply;
    need(setuid(SOMEBODY) == 0, "another user");
    cdma = attach();
    request = request_of(CDMA_OFFLOAD, place(&cdma), cleared(stream.size), stream.size);
    fcntl(cdma.file, F_SETFL, O_NONBLOCK);
    if (cdma_submit_transfer(&cdma, &request) != 0) _exit(1);
    *submitted = 1;
    fcntl(cdma.file, F_SETFL, 0);
    if (cdma_take_reply(&cdma, &reply) != 0 || reply.status != 0) _exit(1);
}

/* As much as one user gets, by several files, while no transfer ends. */
static void several_files(void) {
    enum { FILES = 6 };
    const uint64_t most = 4 * PAGE;
    struct cdma_user users[FILES];
    unsigned char *host = cleared(most);
    int k, many = 0;
    pid_t child;
    silence(1);
    for (k = 0; k < FILES; ++k) {
        struct cdma_request request;
        users[k] = attach();
        request = raw(place(&users[k]), host, tensor.size);
        request.host_bytes = most;
        fcntl(users[k].file, F_SETFL, O_NONBLOCK);
        while (cdma_submit_transfer(&users[k], &request) == 0) ++many;
        need(errno == EAGAIN, "submitting");
    }
    need(chmod(DEVICE, 0666) == 0, DEVICE);
    submitted = shared(sizeof *submitted);
    child = in_a_child(offloads_as_somebody);
    for (k = 0; k < 1000 && !*submitted; ++k) usleep(2000);
    silence(0);
    say(ends_well(child) && *submitted && many > 0, "a user with several files locks no other user out");
    for (k = 0; k < FILES; ++k) cdma_detach(&users[k]);
    munmap((void *)submitted, sizeof *submitted);
    free(host);
}

/* More than there is room for at once. */
static void waits_for_room(struct cdma_user *cdma) {
    enum { MANY = 12 };
    const uint64_t most = 128u << 10;
    unsigned char *host = cleared(most);
    struct cdma_request request = raw(place(cdma), host, tensor.size);
    struct cdma_reply reply;
    pid_t later;
    int k, well = 1;
    request.host_bytes = most;
    silence(1);
    later = in_a_child(answer_later);
    for (k = 0; k < MANY; ++k) well &= cdma_submit_transfer(cdma, &request) == 0;
    for (k = 0; k < MANY; ++k) well &= cdma_take_reply(cdma, &reply) == 0 && reply.status == CDMA_STATUS_OK;
    say(well && ends_well(later), "a submission waits for room");
    free(host);
}

static void locks_memory(void) {
    const struct rlimit limit = {LOCKED, LOCKED};
    struct cdma_user cdma = attach();
    unsigned char *host = cleared(2 * LOCKED);
    struct cdma_request request = request_of(CDMA_OFFLOAD, place(&cdma), host, 2 * LOCKED);
    struct cdma_reply reply;
    need(setrlimit(RLIMIT_MEMLOCK, &limit) == 0 && setuid(SOMEBODY) == 0, "another user");
    if (!refused(&cdma, &request, ENOMEM)) _exit(1);
    request.host_bytes = stream.size;
    if (cdma_submit_transfer(&cdma, &request) != 0 || cdma_take_reply(&cdma, &reply) != 0 || reply.status != 0) _exit(1);
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
    struct cdma_reply reply;
    int k;
    for (k = 0; k < 6; ++k) need(cdma_submit_transfer(&cdma, &request) == 0, "submitting");
    for (;;) need(cdma_take_reply(&cdma, &reply) == 0 && cdma_submit_transfer(&cdma, &request) == 0, "submitting");
}

static void another_table(struct cdma_user *cdma) {
    const uint64_t room = cdma_bound(cdma, tensor.size);
    unsigned char *host = cleared(room);
    const uint32_t value = 2;
    const struct cdma_request request = fvc(place(cdma), host, room, &value);
    const pid_t child = in_a_child(keeps_its_table);
    struct cdma_reply reply;
    double begin;
    int k, well = 1, status;
    usleep(300000);
    begin = seconds();
    for (k = 0; k < 3; ++k) {
        well &= cdma_submit_transfer(cdma, &request) == 0 && cdma_take_reply(cdma, &reply) == 0 && reply.status == 0;
    }
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
    uint64_t all;
    need(cdma_allocate(&cdma, cdma.info.device_bytes / 2, &all) == 0, "accelerator memory");
    *taken = seconds() - begin;
}

static void waits_for_no_allocation(struct cdma_user *cdma) {
    pid_t child;
    double longest = 0;
    int status;
    taken = shared(sizeof *taken);
    child = in_a_child(allocates_all);
    while (waitpid(child, &status, WNOHANG) == 0) {
        const double begin = seconds();
        need(ioctl(cdma->file, CDMA_IOC_INFO, &cdma->info) == 0, "information");
        longest = seconds() - begin > longest ? seconds() - begin : longest;
        sched_yield();
    }
    say(*taken > 0 && longest < *taken / 2, "nobody waits for the accelerator's memory to be cleared");
    munmap((void *)taken, sizeof *taken);
}

/* ---- calls that are interrupted, or have nowhere to write ---- */

static void interrupted(int number) { (void)number; }

static void signals(struct cdma_user *cdma) {
    const struct itimerval often = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = interrupted};
    unsigned char *host = cleared(stream.size);
    const uint64_t from = place(cdma);
    struct cdma_reply reply;
    pid_t later;
    int well;
    silence(1);
    later = in_a_child(answer_later);
    need(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0, "signals");
    well = cdma_offload(cdma, from, tensor.size, host, stream.size, &reply) == 0 && reply.bytes_read == tensor.size &&
           equal(host, stream.bytes, stream.size);
    setitimer(ITIMER_REAL, &never, NULL);
    well &= cdma_offload(cdma, from, tensor.size / 2, host, stream.size, &reply) == 0 && reply.bytes_read == tensor.size / 2;
    say(well && ends_well(later), "a signal ends no transfer, and each has its own reply");
    free(host);
}

static void nowhere_to_write(struct cdma_user *cdma) {
    struct cdma_export *piece = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const uint64_t from = place(cdma);
    const int before = dup(0);
    int after, well;
    close(before);
    need(piece != MAP_FAILED, "memory");
    *piece = (struct cdma_export){tensor.size, from, 0, 0};
    mprotect(piece, PAGE, PROT_READ);
    well = ioctl(cdma->file, CDMA_IOC_EXPORT, piece) == -1 && errno == EFAULT;
    after = dup(0);
    close(after);
    well &= after == before && cdma_release(cdma, from, tensor.size) == 0;
    say(well, "an export that the process cannot be told of is none");
    munmap(piece, PAGE);
}

static void reserved(struct cdma_user *cdma) {
    struct cdma_export piece = {tensor.size, place(cdma), 0, 1};
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
    int well = ioctl(cdma->file, CDMA_IOC_EXPORT, &piece) == -1 && errno == EINVAL;
    well &= ioctl(cdma->file, longer_info, &info) == 0 && info.more == 0 && info.info.version == CDMA_INTERFACE_VERSION;
    well &= ioctl(cdma->file, longer_range, &range) == -1 && errno == E2BIG;
    range.more = 0;
    well &= ioctl(cdma->file, longer_range, &range) == 0 && cdma_release(cdma, range.range.address, PAGE) == 0;
    say(well, "what is reserved is 0, and calls may know more than the driver");
}

static void one_way(void) {
    struct cdma_user reads = {.file = open(DEVICE, O_RDONLY)}, writes = {.file = open(DEVICE, O_WRONLY)};
    struct cdma_request request = request_of(CDMA_PREFETCH, 0, stream.bytes, stream.size);
    uint64_t piece = 0;
    int buffer, well;
    need(reads.file >= 0 && writes.file >= 0 && cdma_allocate(&reads, tensor.size, &piece) == 0, "a file");
    request.device = piece;
    well = refused(&reads, &request, EACCES);
    buffer = cdma_export(&reads, request.device, tensor.size);
    well &= buffer >= 0 && (fcntl(buffer, F_GETFL) & O_ACCMODE) == O_RDONLY;
    need(cdma_allocate(&writes, tensor.size, &piece) == 0, "accelerator memory");
    request = raw(piece, stream.bytes, stream.size);
    say(well && refused(&writes, &request, EACCES), "a file that is not to be written writes nothing, nor reads one that is not to be read");
    close(buffer);
    close(reads.file);
    close(writes.file);
}

static void frees_what_is_idle(struct cdma_user *cdma) {
    unsigned char *host = cleared(stream.size);
    const uint64_t idle = place(cdma), busy = place(cdma);
    const struct cdma_request request = request_of(CDMA_OFFLOAD, busy, host, stream.size);
    struct cdma_reply reply;
    int well;
    silence(1);
    well = cdma_submit_transfer(cdma, &request) == 0 && cdma_release(cdma, idle, tensor.size) == 0 &&
           cdma_release(cdma, busy, tensor.size) == -1 && errno == EBUSY;
    silence(0);
    well &= cdma_take_reply(cdma, &reply) == 0 && cdma_release(cdma, busy, tensor.size) == 0;
    say(well, "memory is given back while other memory is used");
    free(host);
}

void attacks(void) {
    struct cdma_user cdma;
    reload("watchdog=0");
    cdma = attach();
    goes_with_commands(&cdma);
    reaped_by_a_child(&cdma);
    another_table(&cdma);
    tables_in_order(&cdma);
    waits_for_no_allocation(&cdma);
    signals(&cdma);
    nowhere_to_write(&cdma);
    reserved(&cdma);
    frees_what_is_idle(&cdma);
    waits_for_room(&cdma);
    unreaped(&cdma);
    cdma_detach(&cdma);
    one_way();
    transfers_into_its_own_export();
    closes();
    several_files();
    say(child_succeeds(locks_memory), "a user locks no more memory than the limit");
}
