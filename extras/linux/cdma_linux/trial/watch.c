/* What the driver shows: in sysfs, debugfs and tracefs. */
#include "trial.h"

#define TRACES "/sys/kernel/tracing/"
#define shown(name) number_in("/sys/class/misc/cdma0/" name, "")

static void move(struct cdma_user *cdma, uint64_t from) {
    unsigned char *host = cleared(stream.size);
    struct cdma_request request = request_of(CDMA_OFFLOAD, from, host, stream.size);
    request.cookie = 4711;
    need(moves(cdma, &request), "a transfer");
    free(host);
}

void watch(struct cdma_user *cdma) {
    const uint64_t from = place(cdma);
    const uint64_t moved = shown("offload/descriptors"), read = shown("offload/bytes_read");
    const uint64_t other = shown("prefetch/descriptors");
    const char *text, *submit, *doorbell, *complete;
    char entries[64];
    need(mount("none", TRACES, "tracefs", 0, "") == 0 && write_text(TRACES "events/cdma/enable", "1") == 0, "tracefs");
    move(cdma, from);
    need(write_text(TRACES "events/cdma/enable", "0") == 0, "tracefs");
    say(shown("offload/descriptors") == moved + 1 && shown("offload/bytes_read") == read + tensor.size &&
            shown("prefetch/descriptors") == other && shown("geometry/word_bits") == cdma->info.word_bits,
        "sysfs has what the engine is and has done");
    text = text_of(TRACES "trace");
    submit = strstr(text, "cdma_submit: cdma0 offload cookie=4711");
    doorbell = strstr(text, "cdma_doorbell: cdma0 offload tail=");
    complete = strstr(text, "cdma_complete: cdma0 offload cookie=4711 status=0");
    say(submit != NULL && doorbell > submit && complete > doorbell, "a transfer is traced from its submission to its end");
    snprintf(entries, sizeof entries, "\noffload entries %u ", cdma->info.in_flight);
    text = text_of("/sys/kernel/debug/cdma0/rings");
    say(strstr(text, entries) != NULL && strstr(text, "outstanding 0") != NULL,
        "debugfs has the rings");
}
