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

static struct blob read_file(const char *path) {
    struct stat status;
    struct blob blob;
    const int file = open(path, O_RDONLY);
    need(file >= 0 && fstat(file, &status) == 0, path);
    blob.size = (size_t)status.st_size;
    blob.bytes = malloc(blob.size);
    need(read(file, blob.bytes, blob.size) == (ssize_t)blob.size, path);
    close(file);
    return blob;
}

/* The number in a file. */
static unsigned int number_in(const char *path) { return (unsigned int)atoi((const char *)read_file(path).bytes); }

int write_text(const char *path, const char *text) {
    const int file = open(path, O_WRONLY);
    const int wrote = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0) close(file);
    return wrote ? 0 : -1;
}

int equal(const void *found, const void *wanted, size_t size) { return memcmp(found, wanted, size) == 0; }

struct cdma_user attach(void) {
    struct cdma_user cdma;
    need(cdma_attach(&cdma, DEVICE) == 0, DEVICE);
    return cdma;
}

uint64_t place(struct cdma_user *cdma) {
    uint64_t address = 0;
    need(cdma_allocate(cdma, tensor.size, &address) == 0, "accelerator memory");
    need(cdma_store(cdma, address, tensor.bytes, tensor.size) == 0, "storing the tensor");
    return address;
}

void *cleared(size_t size) {
    void *memory = calloc(1, size);
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

int child_succeeds(void (*job)(void)) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        job();
        _exit(0);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

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
    const uint64_t from = place(cdma);
    unsigned char *host = cleared(room);
    struct cdma_reply reply;
    uint64_t to = 0;
    need(cdma_allocate(cdma, tensor.size, &to) == 0, "accelerator memory");

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
    struct cdma_request request = request_of(CDMA_OFFLOAD, place(cdma), host, tensor.size);
    struct cdma_reply reply;
    request.mode = CDMA_MODE_RAW;
    say(cdma_submit_transfer(cdma, &request) == 0 && cdma_take_reply(cdma, &reply) == 0 &&
            reply.status == CDMA_STATUS_OK && equal(host, tensor.bytes, tensor.size),
        "a raw transfer copies");
    free(host);
}

static void many_in_flight(struct cdma_user *cdma) {
    enum { MANY = 12 };
    const uint64_t from = place(cdma);
    unsigned char *hosts[MANY];
    uint64_t to[MANY];
    unsigned int seen = 0, k;
    int well = 1;
    for (k = 0; k < MANY; ++k) {
        const int out = k % 2 == 0;
        struct cdma_request request;
        hosts[k] = cleared(stream.size);
        to[k] = 0;
        if (!out) {
            memcpy(hosts[k], stream.bytes, stream.size);
            need(cdma_allocate(cdma, tensor.size, &to[k]) == 0, "accelerator memory");
        }
        request = request_of(out ? CDMA_OFFLOAD : CDMA_PREFETCH, out ? from : to[k], hosts[k], stream.size);
        request.cookie = k;
        need(cdma_submit_transfer(cdma, &request) == 0, "submitting");
    }
    for (k = 0; k < MANY; ++k) {
        struct pollfd file = {cdma->file, POLLIN, 0};
        struct cdma_reply reply;
        well &= poll(&file, 1, 60000) == 1 && (file.revents & POLLIN) != 0;
        well &= cdma_take_reply(cdma, &reply) == 0 && reply.status == CDMA_STATUS_OK && reply.cookie < MANY;
        seen |= 1u << reply.cookie;
    }
    for (k = 0; k < MANY; ++k) {
        well &= k % 2 == 0 ? equal(hosts[k], stream.bytes, stream.size) : holds_tensor(cdma, to[k]);
        free(hosts[k]);
    }
    say(well && seen == (1u << MANY) - 1, "twelve in flight in both directions end once each, and wake a poll");
}

static void waits(struct cdma_user *cdma) {
    struct pollfd file = {cdma->file, POLLIN, 0};
    struct cdma_reply reply;
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

static void bus_errors(void) {
    struct cdma_user cdma = attach();
    unsigned char *host = cleared(tensor.size);
    struct cdma_request request;
    struct cdma_reply reply;
    uint64_t all = 0, last = BAD_BYTE / PAGE * PAGE;
    need(cdma_allocate(&cdma, cdma.info.device_bytes, &all) == 0, "all of the accelerator's memory");
    request = request_of(CDMA_OFFLOAD, last, host, tensor.size);
    request.bytes = PAGE;
    request.mode = CDMA_MODE_RAW;
    say(cdma_submit_transfer(&cdma, &request) == 0 && cdma_take_reply(&cdma, &reply) == 0 &&
            reply.status == CDMA_STATUS_READ_SLVERR && reply.fault / 64 == BAD_BYTE % PAGE / 64,
        "an error of the bus in a read is reported with its place");
    request.direction = CDMA_PREFETCH;
    request.host_bytes = PAGE;
    say(cdma_submit_transfer(&cdma, &request) == 0 && cdma_take_reply(&cdma, &reply) == 0 &&
            reply.status == CDMA_STATUS_WRITE_SLVERR,
        "an error of the bus in a write is reported");
    need(cdma_store(&cdma, 0, tensor.bytes, tensor.size) == 0, "storing the tensor");
    say(cdma_offload(&cdma, 0, tensor.size, host, tensor.size, &reply) == 0 && reply.status == CDMA_STATUS_OK &&
            equal(host, stream.bytes, stream.size),
        "the transfer after an error is well");
    free(host);
    cdma_detach(&cdma);
}

int refused(struct cdma_user *cdma, const struct cdma_request *request, int error) {
    return cdma_submit_transfer(cdma, request) == -1 && errno == error;
}

int moves(struct cdma_user *cdma, const struct cdma_request *request) {
    struct cdma_reply reply;
    return cdma_submit_transfer(cdma, request) == 0 && cdma_take_reply(cdma, &reply) == 0 &&
           reply.status == CDMA_STATUS_OK;
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
    const uint64_t from = place(&cdma);
    unsigned char *host = cleared(stream.size);
    int k;
    for (k = 0; k < 6; ++k) {
        const struct cdma_request request = request_of(CDMA_OFFLOAD, from, host, stream.size);
        need(cdma_submit_transfer(&cdma, &request) == 0, "submitting");
    }
}

static void die_in_flight(void) {
    leave_in_flight();
    kill(getpid(), SIGKILL);
}

static void move_often(void) {
    struct cdma_user cdma = attach();
    const uint64_t from = place(&cdma);
    unsigned char *host = cleared(stream.size);
    struct cdma_reply reply;
    uint64_t to = 0;
    int k;
    need(cdma_allocate(&cdma, tensor.size, &to) == 0, "accelerator memory");
    for (k = 0; k < 8; ++k) {
        memset(host, 0, stream.size);
        if (cdma_offload(&cdma, from, tensor.size, host, stream.size, &reply) != 0 || reply.status != 0 ||
            !equal(host, stream.bytes, stream.size) ||
            cdma_prefetch(&cdma, to, tensor.size, host, stream.size, &reply) != 0 || reply.status != 0 ||
            !holds_tensor(&cdma, to)) {
            _exit(1);
        }
    }
}

static void processes(struct cdma_user *cdma) {
    pid_t children[2];
    int status, k, well = 1;
    others = place(cdma);
    say(child_succeeds(touch_the_memory_of_another), "a process reaches no memory of another one");
    for (k = 0; k < 2; ++k) {
        children[k] = fork();
        if (children[k] == 0) {
            move_often();
            _exit(0);
        }
    }
    for (k = 0; k < 2; ++k) {
        well &= waitpid(children[k], &status, 0) == children[k] && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    say(well, "two processes at once get their own bytes");
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
    static char report[1 << 16];
    const char *entry = report;
    int file, found = 0;
    ssize_t size, part;
    sleep(6);
    /* What is reported has not changed between two looks. */
    need(write_text("/sys/kernel/debug/kmemleak", "scan") == 0, "looking for leaks");
    need(write_text("/sys/kernel/debug/kmemleak", "scan") == 0, "looking for leaks");
    file = open("/sys/kernel/debug/kmemleak", O_RDONLY);
    need(file >= 0, "leaks");
    for (size = 0; (part = read(file, report + size, sizeof report - 1 - (size_t)size)) > 0;) size += part;
    close(file);
    while ((entry = strstr(entry, "comm \"")) != NULL) found += strncmp(entry++, "comm \"swapper", 13) != 0;
    say(part == 0 && found == 0, "no memory leaks");
}

static void try_driver(void) {
    struct cdma_user cdma;
    /* Small buffers, too, are reached by an engine that can. */
    wanted = "direct=1";
    reload("");
    cdma = attach();
    say(unload_module() == -1 && errno == EWOULDBLOCK, "a driver in use is not unloaded");
    waits(&cdma);
    there_and_back(&cdma);
    copies(&cdma);
    many_in_flight(&cdma);
    too_little_room(&cdma);
    broken_stream(&cdma);
    bad_requests(&cdma);
    batches();
    tables();
    processes(&cdma);
    cdma_detach(&cdma);
    all_is_free();
    direct();
    all_is_free();
    sharing();
    fences();
    dmatest();
    all_is_free();
    completions();
    all_is_free();
    watch();
    all_is_free();
    bus_errors();
    stress();
    all_is_free();
    attacks();
    all_is_free();
    fuzz(number_in(CALLS));
    all_is_free();
    health();
    removal();
    cdma = attach();
    there_and_back(&cdma);
    cdma_detach(&cdma);
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
    setvbuf(stdout, NULL, _IOLBF, 0);
    mount("none", "/dev", "devtmpfs", 0, "");
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
        measure(number_in(MEASURE));
    } else if (access(COMMAND, R_OK) == 0) {
        say(run_on_host((const char *)read_file(COMMAND).bytes) == 0, "the program ends well");
    } else {
        try_driver();
    }
    end();
}
