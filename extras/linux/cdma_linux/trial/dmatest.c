/* The kernel's own test of channels that copy memory, on that of the engine. */
#include <sys/klog.h>

#include "trial.h"

#define CHANNEL "dma0chan0"
#define PARAMETER(name) "/sys/module/dmatest/parameters/" name
#define READ_ALL 3

/* Prints what the test has said; returns whether that is wanted. */
static int passes(const char *wanted) {
    static char log[1 << 20];
    const int size = klogctl(READ_ALL, log, sizeof log - 1);
    char *line = log;
    need(size >= 0, "the log");
    log[size] = 0;
    while ((line = strstr(line, "dmatest: ")) != NULL) {
        const int length = (int)strcspn(line, "\n");
        printf("# %.*s\n", length, line);
        line += length;
    }
    return strstr(log, wanted) != NULL;
}

/* An engine that reaches no pages has no channel. */
void dmatest(void) {
    struct cdma_user cdma = attach();
    const int lists = cdma.info.direct != 0;
    char done[8];
    int wait;
    cdma_detach(&cdma);
    say((access("/sys/class/dma/" CHANNEL, F_OK) == 0) == lists, "the kernel has a channel if the engine takes lists");
    if (!lists || !kernel_has("/sys/module/dmatest")) return;
    need(write_text(PARAMETER("iterations"), "25") == 0 && write_text(PARAMETER("timeout"), "60000") == 0 &&
             write_text(PARAMETER("channel"), CHANNEL) == 0 && write_text(PARAMETER("run"), "1") == 0,
        "a test of the kernel's");
    /* It is not waited for before its thread has run. */
    usleep(200000);
    wait = open(PARAMETER("wait"), O_RDONLY);
    need(wait >= 0 && read(wait, done, sizeof done) > 0 && write_text(PARAMETER("run"), "0") == 0, "its end");
    close(wait);
    say(passes(CHANNEL "-copy0: summary 25 tests, 0 failures"), "dmatest copies by way of the accelerator's memory");
}
