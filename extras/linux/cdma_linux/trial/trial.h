/*
 * What the tests of the guest share. BAD_BYTE is an address of the accelerator's memory that is answered with an error, and
 * BEGIN what the log has where the driver is loaded first. FUNCTION is the engine on PCI; where the machine is not QEMU, the
 * kernel is in user mode, and has no pages of it. /vectors has a tensor, and the stream that the golden model makes
 * of it.
 */
#ifndef TRIAL_H
#define TRIAL_H

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "libcdma.h"

#define DEVICE "/dev/cdma0"
#define FUNCTION_FOLDER "/sys/bus/pci/devices/" FUNCTION "/"
#define PAGE 4096u

struct blob {
    unsigned char *bytes;
    size_t size;
};

extern struct blob tensor, stream;

void say(int holds, const char *what);
/* What a test cannot go on without. */
void need(int holds, const char *what);
int write_text(const char *path, const char *text);
/* What a file has, as text; the next call forgets it. And the number behind a word in it. */
char *text_of(const char *path);
unsigned long number_in(const char *path, const char *word);
/* Whether this kernel has what a test needs; otherwise that is said. */
int kernel_has(const char *path);
int equal(const void *found, const void *wanted, size_t size);
void *cleared(size_t size);
struct cdma_user attach(void);
/* Some of the accelerator's memory, and the tensor in it. */
uint64_t piece(struct cdma_user *cdma, uint64_t bytes);
uint64_t place(struct cdma_user *cdma);
int holds_tensor(struct cdma_user *cdma, uint64_t address);
struct cdma_request request_of(enum cdma_direction direction, uint64_t device, void *host, uint64_t host_bytes);
/* One that copies, and one of a stream in a buffer of another driver. */
struct cdma_request raw_of(enum cdma_direction direction, uint64_t device, void *host, uint64_t bytes);
struct cdma_request shared_of(enum cdma_direction direction, uint64_t device, int buffer, uint64_t place);
void submit(struct cdma_user *cdma, const struct cdma_request *request, unsigned int times);
/* Whether a request is, with this error. */
int refused(struct cdma_user *cdma, const struct cdma_request *request, int error);
/* Whether the next replies are those of transfers that went well. */
int end_well(struct cdma_user *cdma, unsigned int count);
int moves(struct cdma_user *cdma, const struct cdma_request *request);
/* Whether the tensor becomes the golden model's stream, in memory that was cleared. */
int offloads(struct cdma_user *cdma, uint64_t from, void *host);
int prefetches(struct cdma_user *cdma, uint64_t to, void *host);
/* A process that does a job, and whether it ended as one that is content does. */
pid_t start(void (*job)(void));
int ended_well(pid_t child);
int child_succeeds(void (*job)(void));
/* Each test has an open file of the engine. Those of a row, which NULL ends, leave no memory taken. */
typedef void test(struct cdma_user *cdma);
void try_each(test *const *tests);
double seconds(void);
/* Loads a module, and the driver; what the tests want of it comes before the parameters. */
int load(const char *path, const char *parameters);
int load_module(const char *parameters);
int unload_module(void);
void leaks(void);

/* Offloads and prefetches in turn, each with a buffer of its own, and whether they have moved what they should. */
#define MANY 12u
void make_many(struct cdma_user *cdma, struct cdma_request *requests);
int many_moved(struct cdma_user *cdma, const struct cdma_request *requests);

/* The tests, by their files. */
void batches(struct cdma_user *cdma);
void tables(struct cdma_user *cdma);
void watch(struct cdma_user *cdma);
void attacks(void);
void completions(void);
void direct(void);
void dmatest(void);
void fences(void);
void health(void);
void pairs(void);
void platform(void);
void removal(void);
void sharing(void);
void stress(void);
/* So many calls at random, beside a process that moves tensors. */
void fuzz(unsigned int calls);
/* With so many transfers of several processes. */
void many(unsigned int transfers);
void measure(unsigned int transfers);
/* Whether all pages that were pinned have been let go. */
void pins(void);

/* completions.c: commands in flight, of a process that is about to go. */
void leave_commands(void);
/* Whether each of four commands completes once when the device is taken away. */
int commands_end(struct cdma_user *cdma, void (*take_away)(void));

/* fuzz.c: a number below another one, which follows from those before. */
extern uint64_t state;
uint64_t some(uint64_t below);

/* health.c: which memories are silent, a bit for each: the accelerator's, the host's; and for 200 ms. */
void silence(unsigned char memories);
pid_t silent_for_a_while(void);
void reload(const char *parameters);

/* host.c: runs a command of the host's shell, and returns its status. */
int run_on_host(const char *command);

/* sharing.c: a buffer of another driver. */
#define HEAP "/dev/dma_heap/system"
int heap_buffer(size_t size, int flags);

#endif
