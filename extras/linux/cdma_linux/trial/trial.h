/*
 * What the tests of the guest share. BAD_BYTE is an address of the accelerator's memory that is answered with an error, and
 * BEGIN what the log has where the driver is loaded first. /vectors has a tensor, and the stream that the golden model makes
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

#include "libcdma.h"

#define DEVICE "/dev/cdma0"
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
int equal(const void *found, const void *wanted, size_t size);
void *cleared(size_t size);
struct cdma_user attach(void);
/* The tensor in the accelerator's memory. */
uint64_t place(struct cdma_user *cdma);
int holds_tensor(struct cdma_user *cdma, uint64_t address);
struct cdma_request request_of(enum cdma_direction direction, uint64_t device, void *host, uint64_t host_bytes);
/* Whether a request is, with this error. */
int refused(struct cdma_user *cdma, const struct cdma_request *request, int error);
int moves(struct cdma_user *cdma, const struct cdma_request *request);
int child_succeeds(void (*job)(void));
/* Loads a module, and the driver; what the tests want of it comes before the parameters. */
int load(const char *path, const char *parameters);
int load_module(const char *parameters);
int unload_module(void);
void leaks(void);

/* attacks.c */
void attacks(void);

/* batches.c */
void batches(void);

/* completions.c */
void completions(void);
/* Commands in flight, of a process that is about to go. */
void leave_commands(void);
/* Whether each of four commands completes once when the device is taken away. */
int commands_end(struct cdma_user *cdma, void (*take_away)(void));

/* direct.c: buffers, and whether all pages that were pinned have been let go. */
void direct(void);
void pins(void);

/* dmatest.c */
void dmatest(void);

/* fences.c */
void fences(void);

/* fuzz.c: so many calls at random, beside a process that moves tensors. */
void fuzz(unsigned int calls);

/* health.c: an engine that is not well; which memories are silent, a bit for each: the accelerator's, the host's. */
void health(void);
void silence(unsigned char memories);
void reload(const char *parameters);

/* host.c: runs a command of the host's shell, and returns its status. */
int run_on_host(const char *command);

/* platform.c */
void platform(void);

/* removal.c */
void removal(void);

/* sharing.c: a buffer of another driver. */
void sharing(void);
int heap_buffer(size_t size, int flags);

/* measure.c: with so many transfers of several processes. */
void measure(unsigned int transfers);

/* stress.c */
void stress(void);
void many(unsigned int transfers);

/* tables.c */
void tables(void);

/* watch.c */
void watch(void);

#endif
