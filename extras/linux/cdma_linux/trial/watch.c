/* What the driver shows: in sysfs, debugfs and tracefs. */
#include "trial.h"

#define TRACES "/sys/kernel/tracing/"
#define SHOWN "/sys/class/misc/cdma0/"

static char text[1 << 16];

static const char *text_of(const char *path) {
    const int file = open(path, O_RDONLY);
    size_t size = 0;
    ssize_t part;
    need(file >= 0, path);
    while ((part = read(file, text + size, sizeof text - 1 - size)) > 0) size += (size_t)part;
    need(part == 0, path);
    close(file);
    text[size] = 0;
    return text;
}

/* The number in a file. */
static uint64_t number_in(const char *path) {
    return strtoull(text_of(path), NULL, 10);
}

static void move(struct cdma_user *cdma, uint64_t from) {
    unsigned char *host = cleared(stream.size);
    struct cdma_request request = request_of(CDMA_OFFLOAD, from, host, stream.size);
    struct cdma_reply reply;
    request.cookie = 4711;
    need(cdma_submit_transfer(cdma, &request) == 0 && cdma_take_reply(cdma, &reply) == 0 && reply.status == 0, "a transfer");
    free(host);
}

void watch(void) {
    struct cdma_user cdma = attach();
    const uint64_t from = place(&cdma);
    const uint64_t moved = number_in(SHOWN "offload/descriptors"), read = number_in(SHOWN "offload/bytes_read");
    const uint64_t other = number_in(SHOWN "prefetch/descriptors");
    const char *submit, *doorbell, *complete;
    char entries[64];
    need(mount("none", TRACES, "tracefs", 0, "") == 0 && write_text(TRACES "events/cdma/enable", "1") == 0, "tracefs");
    move(&cdma, from);
    need(write_text(TRACES "events/cdma/enable", "0") == 0, "tracefs");
    say(number_in(SHOWN "offload/descriptors") == moved + 1 && number_in(SHOWN "offload/bytes_read") == read + tensor.size &&
            number_in(SHOWN "prefetch/descriptors") == other &&
            number_in(SHOWN "geometry/word_bits") == cdma.info.word_bits,
        "sysfs has what the engine is and has done");
    text_of(TRACES "trace");
    submit = strstr(text, "cdma_submit: cdma0 offload cookie=4711");
    doorbell = strstr(text, "cdma_doorbell: cdma0 offload tail=");
    complete = strstr(text, "cdma_complete: cdma0 offload cookie=4711 status=0");
    say(submit != NULL && doorbell > submit && complete > doorbell, "a transfer is traced from its submission to its end");
    snprintf(entries, sizeof entries, "offload entries %u ", cdma.info.in_flight);
    say(strstr(text_of("/sys/kernel/debug/cdma0/rings"), entries) == text && strstr(text, "outstanding 0") != NULL,
        "debugfs has the rings");
    cdma_detach(&cdma);
}
