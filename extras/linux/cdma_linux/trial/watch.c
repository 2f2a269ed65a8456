/* What the driver shows: in sysfs, debugfs and tracefs. */
#include "trial.h"

#define TRACES "/sys/kernel/tracing/"

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

/* The number in the line of a file that begins with a name. */
static uint64_t value_of(const char *path, const char *name) {
    const char *line = text_of(path);
    while (line != NULL && (strncmp(line, name, strlen(name)) != 0 || line[strlen(name)] != ' ')) {
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    need(line != NULL, name);
    return strtoull(line + strlen(name), NULL, 10);
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
    static const char folder[] = "/sys/class/misc/cdma0/offload";
    struct cdma_user cdma = attach();
    const uint64_t from = place(&cdma);
    const uint64_t moved = value_of(folder, "descriptors"), read = value_of(folder, "bytes_read");
    const char *submit, *doorbell, *complete;
    need(mount("none", TRACES, "tracefs", 0, "") == 0 && write_text(TRACES "events/cdma/enable", "1") == 0, "tracefs");
    move(&cdma, from);
    need(write_text(TRACES "events/cdma/enable", "0") == 0, "tracefs");
    say(value_of(folder, "descriptors") == moved + 1 && value_of(folder, "bytes_read") == read + tensor.size &&
            value_of("/sys/class/misc/cdma0/geometry", "word_bits") == cdma.info.word_bits,
        "sysfs has what the engine is and has done");
    text_of(TRACES "trace");
    submit = strstr(text, "cdma_submit: cdma0 offload cookie=4711");
    doorbell = strstr(text, "cdma_doorbell: cdma0 offload tail=");
    complete = strstr(text, "cdma_complete: cdma0 offload cookie=4711 status=0");
    say(submit != NULL && doorbell > submit && complete > doorbell, "a transfer is traced from its submission to its end");
    say(value_of("/sys/kernel/debug/cdma0/rings", "offload entries") == cdma.info.in_flight &&
            strstr(text, "outstanding 0") != NULL,
        "debugfs has the rings");
    cdma_detach(&cdma);
}
