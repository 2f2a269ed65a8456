/* The only program of the guest: loads the driver, tries it, and says in TAP how that went. */
#include "trial.h"

/* What is run in place of the tests, where there is such a file; it ends with a zero. */
#define COMMAND "/command"
/* Or how many transfers are measured. */
#define MEASURE "/measure"
/* How many calls at random the tests have. */
#define CALLS "/calls"

static int tests;

struct blob tensor, stream;

void say(int holds, const char *what) {
    printf("%s %d - %s\n", holds ? "ok" : "not ok", ++tests, what);
    fflush(stdout);
}

static void end(void) {
    sync();
    reboot(RB_POWER_OFF);
    for (;;) pause();
}

void need(int holds, const char *what) {
    if (!holds) {
        printf("Bail out! %s: %s\n", what, strerror(errno));
        fflush(stdout);
        if (getpid() == 1) end();
        _exit(1);
    }
}

static char text[1 << 20];
static size_t size;

char *text_of(const char *path) {
    const int file = open(path, O_RDONLY);
    ssize_t part;
    need(file >= 0, path);
    for (size = 0; (part = read(file, text + size, sizeof text - 1 - size)) > 0;) size += (size_t)part;
    need(part == 0, path);
    close(file);
    text[size] = 0;
    return text;
}

static struct blob read_file(const char *path) {
    const char *read = text_of(path);
    struct blob blob = {cleared(size), size};
    memcpy(blob.bytes, read, size);
    return blob;
}

unsigned long number_in(const char *path, const char *word) {
    const char *found = strstr(text_of(path), word);
    need(found != NULL, word);
    return strtoul(found + strlen(word), NULL, 10);
}

int write_text(const char *path, const char *what) {
    const int file = open(path, O_WRONLY);
    const int wrote = file >= 0 && write(file, what, strlen(what)) == (ssize_t)strlen(what);
    if (file >= 0) close(file);
    return wrote ? 0 : -1;
}

double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int kernel_has(const char *path) {
    const int there = access(path, F_OK) == 0;
    if (!there) printf("# this kernel has no %s\n", path);
    return there;
}

int equal(const void *found, const void *wanted, size_t bytes) { return memcmp(found, wanted, bytes) == 0; }

struct cdma_user attach(void) {
    struct cdma_user cdma;
    need(cdma_attach(&cdma, DEVICE) == 0, DEVICE);
    return cdma;
}

uint64_t piece(struct cdma_user *cdma, uint64_t bytes) {
    uint64_t address = 0;
    need(cdma_allocate(cdma, bytes, &address) == 0, "accelerator memory");
    return address;
}

uint64_t place(struct cdma_user *cdma) {
    const uint64_t address = piece(cdma, tensor.size);
    need(cdma_store(cdma, address, tensor.bytes, tensor.size) == 0, "storing the tensor");
    return address;
}

void *cleared(size_t bytes) {
    void *memory = calloc(1, bytes);
    need(memory != NULL, "memory");
    return memory;
}

int holds_tensor(struct cdma_user *cdma, uint64_t address) {
    unsigned char *found = cleared(tensor.size);
    const int same = cdma_load(cdma, address, found, tensor.size) == 0 && equal(found, tensor.bytes, tensor.size);
    free(found);
    return same;
}

struct cdma_request request_of(enum cdma_direction direction, uint64_t device, void *host, uint64_t host_bytes) {
    struct cdma_request request;
    memset(&request, 0, sizeof request);
    request.direction = direction;
    request.mode = CDMA_MODE_ZVC;
    request.device = device;
    request.bytes = tensor.size;
    request.host = (uintptr_t)host;
    request.host_bytes = host_bytes;
    return request;
}

struct cdma_request raw_of(enum cdma_direction direction, uint64_t device, void *host, uint64_t bytes) {
    struct cdma_request request = request_of(direction, device, host, bytes);
    request.mode = CDMA_MODE_RAW;
    request.bytes = bytes;
    return request;
}

struct cdma_request shared_of(enum cdma_direction direction, uint64_t device, int buffer, uint64_t place) {
    struct cdma_request request = request_of(direction, device, (void *)(uintptr_t)place, stream.size);
    request.flags = CDMA_DMABUF;
    request.dmabuf = buffer;
    return request;
}

void submit(struct cdma_user *cdma, const struct cdma_request *request, unsigned int times) {
    while (times--) need(cdma_submit_transfer(cdma, request) == 0, "submitting");
}

int refused(struct cdma_user *cdma, const struct cdma_request *request, int error) {
    return cdma_submit_transfer(cdma, request) == -1 && errno == error;
}

int end_well(struct cdma_user *cdma, unsigned int count) {
    struct cdma_reply reply;
    int well = 1;
    while (count--) well &= cdma_take_reply(cdma, &reply) == 0 && reply.status == CDMA_STATUS_OK;
    return well;
}

int moves(struct cdma_user *cdma, const struct cdma_request *request) {
    return cdma_submit_transfer(cdma, request) == 0 && end_well(cdma, 1);
}

int offloads(struct cdma_user *cdma, uint64_t from, void *host) {
    const struct cdma_request request = request_of(CDMA_OFFLOAD, from, host, stream.size);
    memset(host, 0, stream.size);
    return moves(cdma, &request) && equal(host, stream.bytes, stream.size);
}

int prefetches(struct cdma_user *cdma, uint64_t to, void *host) {
    const struct cdma_request request = request_of(CDMA_PREFETCH, to, host, stream.size);
    return moves(cdma, &request) && holds_tensor(cdma, to);
}

void make_many(struct cdma_user *cdma, struct cdma_request *requests) {
    const uint64_t from = place(cdma);
    unsigned int k;
    for (k = 0; k < MANY; ++k) {
        void *host = cleared(stream.size);
        if (k % 2) memcpy(host, stream.bytes, stream.size);
        requests[k] = k % 2 ? request_of(CDMA_PREFETCH, piece(cdma, tensor.size), host, stream.size)
                            : request_of(CDMA_OFFLOAD, from, host, stream.size);
        requests[k].cookie = k;
    }
}

int many_moved(struct cdma_user *cdma, const struct cdma_request *requests) {
    unsigned int k;
    int well = 1;
    for (k = 0; k < MANY; ++k) {
        void *host = (void *)(uintptr_t)requests[k].host;
        well &= k % 2 ? holds_tensor(cdma, requests[k].device) : equal(host, stream.bytes, stream.size);
        free(host);
    }
    return well;
}

pid_t start(void (*job)(void)) {
    const pid_t child = fork();
    if (child == 0) {
        job();
        _exit(0);
    }
    return child;
}

int ended_well(pid_t child) {
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int child_succeeds(void (*job)(void)) { return ended_well(start(job)); }

int load(const char *path, const char *parameters) {
    const int file = open(path, O_RDONLY);
    const int status = (int)syscall(SYS_finit_module, file, parameters, 0);
    close(file);
    return status;
}

static const char *wanted = "";

int load_module(const char *parameters) {
    char all[128];
    snprintf(all, sizeof all, "%s %s", wanted, parameters);
    return load("/cdma.ko", all);
}

int unload_module(void) { return (int)syscall(SYS_delete_module, "cdma", O_NONBLOCK); }

/* ---- one process ---- */

static void there_and_back(struct cdma_user *cdma) {
    const uint64_t room = cdma_bound(cdma, tensor.size);
    const uint64_t from = place(cdma), to = piece(cdma, tensor.size);
    unsigned char *host = cleared(room);
    struct cdma_reply reply;
    say(cdma_offload(cdma, from, tensor.size, host, room, &reply) == 0 && reply.status == CDMA_STATUS_OK,
        "an offload ends well");
    say(reply.bytes_written == stream.size && equal(host, stream.bytes, stream.size),
        "an offload writes the golden model's bytes");
    say(cdma_prefetch(cdma, to, tensor.size, host, stream.size, &reply) == 0 && reply.status == CDMA_STATUS_OK,
        "a prefetch ends well");
    say(reply.bytes_written == tensor.size && holds_tensor(cdma, to), "a prefetch brings the tensor back");
    free(host);
}

static void copies(struct cdma_user *cdma) {
    unsigned char *host = cleared(tensor.size);
    const struct cdma_request request = raw_of(CDMA_OFFLOAD, place(cdma), host, tensor.size);
    say(moves(cdma, &request) && equal(host, tensor.bytes, tensor.size), "a raw transfer copies");
    free(host);
}

static void many_in_flight(struct cdma_user *cdma) {
    struct pollfd file = {cdma->file, POLLIN, 0};
    struct cdma_request requests[MANY];
    struct cdma_reply reply;
    unsigned int seen = 0, k;
    int well = 1;
    make_many(cdma, requests);
    for (k = 0; k < MANY; ++k) submit(cdma, &requests[k], 1);
    for (k = 0; k < MANY; ++k) {
        well &= poll(&file, 1, 60000) == 1 && (file.revents & POLLIN) != 0;
        well &= cdma_take_reply(cdma, &reply) == 0 && reply.status == CDMA_STATUS_OK && reply.cookie < MANY;
        seen |= 1u << reply.cookie;
    }
    well &= many_moved(cdma, requests);
    say(well && seen == (1u << MANY) - 1, "twelve in flight in both directions end once each, and wake a poll");
}

static void waits(struct cdma_user *cdma) {
    struct pollfd file = {cdma->file, POLLIN, 0};
    struct cdma_reply reply;
    say(unload_module() == -1 && errno == EWOULDBLOCK, "a driver in use is not unloaded");
    say(poll(&file, 1, 0) == 0 && cdma_take_reply(cdma, &reply) == -1 && errno == ENOENT,
        "where nothing was submitted nothing is waited for");
}

/* ---- errors ---- */

static void too_little_room(struct cdma_user *cdma) {
    unsigned char *host = cleared(stream.size);
    struct cdma_reply reply;
    const uint64_t room = stream.size / 2;
    say(cdma_offload(cdma, place(cdma), tensor.size, host, room, &reply) == 0 &&
            reply.status == CDMA_STATUS_CAPACITY && reply.fault == reply.bytes_written && reply.fault <= room &&
            equal(host, stream.bytes, reply.fault) && host[reply.fault] == 0 && host[room] == 0,
        "an offload without room says so, and where");
    free(host);
}

static void broken_stream(struct cdma_user *cdma) {
    struct cdma_reply reply;
    const uint64_t to = place(cdma);
    say(cdma_prefetch(cdma, to, tensor.size, stream.bytes, stream.size / 4 * 2, &reply) == 0 &&
            reply.status == CDMA_STATUS_STREAM_TRUNCATED,
        "a stream that is cut off is found");
}

static void bus_errors(struct cdma_user *cdma) {
    unsigned char *host = cleared(tensor.size);
    struct cdma_request request = raw_of(CDMA_OFFLOAD, BAD_BYTE / PAGE * PAGE, host, PAGE);
    struct cdma_reply reply;
    piece(cdma, cdma->info.device_bytes);
    say(cdma_submit_transfer(cdma, &request) == 0 && cdma_take_reply(cdma, &reply) == 0 &&
            reply.status == CDMA_STATUS_READ_SLVERR && reply.fault / 64 == BAD_BYTE % PAGE / 64,
        "an error of the bus in a read is reported with its place");
    request.direction = CDMA_PREFETCH;
    say(cdma_submit_transfer(cdma, &request) == 0 && cdma_take_reply(cdma, &reply) == 0 &&
            reply.status == CDMA_STATUS_WRITE_SLVERR,
        "an error of the bus in a write is reported");
    need(cdma_store(cdma, 0, tensor.bytes, tensor.size) == 0, "storing the tensor");
    say(offloads(cdma, 0, host), "the transfer after an error is well");
    free(host);
}

static void bad_requests(struct cdma_user *cdma) {
    const uint64_t from = place(cdma);
    const struct cdma_request good = request_of(CDMA_OFFLOAD, from, stream.bytes, stream.size);
    struct cdma_request bad;
    int well = 1;
#define REFUSED(field, value, error) (bad = good, bad.field = (value), well &= refused(cdma, &bad, error))
    REFUSED(direction, 2, EINVAL);
    REFUSED(mode, 3, EINVAL);
    REFUSED(flags, ~0u, EINVAL);
    REFUSED(bytes, 0, EINVAL);
    REFUSED(host_bytes, 0, EINVAL);
    REFUSED(bytes, ~UINT64_C(0), EACCES);
    REFUSED(device, ~UINT64_C(0) - 4095, EACCES);
    REFUSED(device, cdma->info.device_bytes, EACCES);
    REFUSED(host_bytes, cdma->info.host_bytes + 1, EMSGSIZE);
#undef REFUSED
    bad = good;
    bad.direction = CDMA_PREFETCH;
    bad.host = 8;
    well &= refused(cdma, &bad, EFAULT);
    well &= ioctl(cdma->file, CDMA_IOC_SUBMIT, NULL) == -1 && errno == EFAULT;
    well &= ioctl(cdma->file, _IOW(CDMA_IOC, 0x43, char[8]), stream.bytes) == -1 && errno == ENOTTY;
    say(well, "requests that make no sense are refused with their error");
}

/* ---- several processes ---- */

static uint64_t others;

static void touch_the_memory_of_another(void) {
    struct cdma_user cdma = attach();
    const struct cdma_request request = request_of(CDMA_OFFLOAD, others, stream.bytes, stream.size);
    unsigned char byte;
    if (!refused(&cdma, &request, EACCES) || cdma_load(&cdma, others, &byte, 1) == 0 ||
        cdma_release(&cdma, others, tensor.size) == 0) {
        _exit(1);
    }
}

static void leave_in_flight(void) {
    struct cdma_user cdma = attach();
    const struct cdma_request request = request_of(CDMA_OFFLOAD, place(&cdma), cleared(stream.size), stream.size);
    submit(&cdma, &request, 6);
}

static void die_in_flight(void) {
    leave_in_flight();
    kill(getpid(), SIGKILL);
}

static void processes(struct cdma_user *cdma) {
    others = place(cdma);
    say(child_succeeds(touch_the_memory_of_another), "a process reaches no memory of another one");
    say(!child_succeeds(die_in_flight) && holds_tensor(cdma, others),
        "a process that is killed with transfers in flight harms no other");
}

/* What a killed process had is there again, once its transfers have ended. */
static void all_is_free(void) {
    struct cdma_user cdma = attach();
    uint64_t all = 0;
    int tries = 100;
    while (cdma_allocate(&cdma, cdma.info.device_bytes, &all) != 0 && tries-- > 0) usleep(20000);
    say(tries > 0, "the memory of processes that are gone is free again");
    cdma_detach(&cdma);
}

static void nothing(void) {}

/* What was allocated and is not to be found any more, but for the kernel's own from its start; an object must be 5 s old. */
void leaks(void) {
    const char *entry;
    int found = 0;
    if (!kernel_has("/sys/kernel/debug/kmemleak")) return;
    sleep(6);
    /* What is reported has not changed between two looks. */
    need(write_text("/sys/kernel/debug/kmemleak", "scan") == 0, "looking for leaks");
    need(write_text("/sys/kernel/debug/kmemleak", "scan") == 0, "looking for leaks");
    entry = text_of("/sys/kernel/debug/kmemleak");
    while ((entry = strstr(entry, "comm \"")) != NULL) found += strncmp(entry++, "comm \"swapper", 13) != 0;
    say(found == 0, "no memory leaks");
}

void try_each(test *const *tests) {
    for (; *tests != NULL; ++tests) {
        struct cdma_user cdma = attach();
        (*tests)(&cdma);
        cdma_detach(&cdma);
    }
    all_is_free();
}

static void try_driver(void) {
    static test *const first[] = {waits, there_and_back, copies, many_in_flight, too_little_room, broken_stream,
        bad_requests, batches, tables, processes, NULL};
    static test *const wrong[] = {watch, bus_errors, NULL}, *const last[] = {there_and_back, NULL};
    /* Small buffers, too, are reached by an engine that can. */
    wanted = "direct=1";
    reload("");
    try_each(first);
    direct();
    all_is_free();
    sharing();
    fences();
    dmatest();
    completions();
    try_each(wrong);
    stress();
    attacks();
    fuzz((unsigned int)number_in(CALLS, ""));
    all_is_free();
    health();
    pairs();
    removal();
    try_each(last);
    leaks();
    say(unload_module() == 0, "the driver is unloaded");
    say(load_module("") == 0 && unload_module() == 0, "the driver is loaded and unloaded again");
    platform();
    pins();
    /* And halt while something is in flight. */
    need(load_module("") == 0, "loading the driver");
    leave_in_flight();
}

int main(void) {
    mount("none", "/dev", "devtmpfs", 0, "");
    /* Where the kernel has the console to itself. */
    if (QEMU) need(freopen("/dev/ttyS0", "w", stdout) != NULL, "a line");
    setvbuf(stdout, NULL, _IOLBF, 0);
    mount("none", "/proc", "proc", 0, "");
    mount("none", "/sys", "sysfs", 0, "");
    mount("none", "/sys/kernel/debug", "debugfs", 0, "");
    /* Of its first fork this kernel complains itself. */
    child_succeeds(nothing);
    need(write_text("/dev/kmsg", BEGIN) == 0, "the log");
    say(load_module("") == 0 && access(DEVICE, R_OK | W_OK) == 0, "the driver finds the engine");
    tensor = read_file("/vectors/tensor");
    stream = read_file("/vectors/stream");
    if (access(MEASURE, R_OK) == 0) {
        measure((unsigned int)number_in(MEASURE, ""));
    } else if (access(COMMAND, R_OK) == 0) {
        say(run_on_host(text_of(COMMAND)) == 0, "the program ends well");
    } else {
        try_driver();
    }
    end();
}
