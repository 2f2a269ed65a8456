/* Mode fvc, in which each submission has a table of its own. */
#include "trial.h"

enum { TABLES = 6 };

struct table {
    uint32_t values[2];
    struct cdma_request request;
    struct cdma_reply reply;
};

/* Takes the reply of any of them. */
static int take(struct cdma_user *cdma, struct table *tables) {
    struct cdma_reply reply;
    if (cdma_take_reply(cdma, &reply) != 0 || reply.cookie >= TABLES || reply.status != CDMA_STATUS_OK) return 0;
    tables[reply.cookie].reply = reply;
    return 1;
}

/* Submits all, and takes replies of those whose table is in the way. */
static int submit_all(struct cdma_user *cdma, struct table *tables) {
    unsigned int k, left = TABLES;
    for (k = 0; k < TABLES; ++k) {
        while (cdma_submit_transfer(cdma, &tables[k].request) != 0) {
            if (errno != EAGAIN || !take(cdma, tables)) return 0;
            --left;
        }
    }
    while (left--) {
        if (!take(cdma, tables)) return 0;
    }
    return 1;
}

/* The first word of the tensor that is not zero. */
static uint32_t some_word(const struct cdma_user *cdma) {
    const size_t size = cdma->info.word_bits / 8;
    uint32_t word = 0;
    size_t at;
    for (at = 0; word == 0 && at + size <= tensor.size; at += size) memcpy(&word, tensor.bytes + at, size);
    return word;
}

void tables(struct cdma_user *cdma) {
    const uint64_t room = cdma_bound(cdma, tensor.size), from = place(cdma);
    const uint32_t word = some_word(cdma);
    struct table each[TABLES];
    struct cdma_request bad;
    uint64_t to[TABLES];
    unsigned int k;
    int well = 1;
    memset(each, 0, sizeof each);
    for (k = 0; k < TABLES; ++k) {
        each[k].values[0] = k % 2 == 0 ? 0 : word;
        each[k].request = request_of(CDMA_OFFLOAD, from, cleared(room), room);
        each[k].request.mode = CDMA_MODE_FVC;
        each[k].request.table = (uintptr_t)each[k].values;
        each[k].request.entries = 1;
        each[k].request.cookie = k;
    }
    well &= submit_all(cdma, each);
    say(well && each[0].reply.bytes_written == stream.size &&
            equal((void *)(uintptr_t)each[0].request.host, stream.bytes, stream.size) &&
            each[1].reply.bytes_written > stream.size,
        "each transfer has the table that it was submitted with");
    for (k = 0; k < TABLES; ++k) {
        to[k] = piece(cdma, tensor.size);
        each[k].request.direction = CDMA_PREFETCH;
        each[k].request.device = to[k];
        each[k].request.host_bytes = each[k].reply.bytes_written;
    }
    well = submit_all(cdma, each);
    for (k = 0; k < TABLES; ++k) well &= holds_tensor(cdma, to[k]);
    say(well, "and comes back with it");
    bad = each[0].request;
#define REFUSED(field, value, error) (bad.field = (value), well &= refused(cdma, &bad, error), bad = each[0].request)
    well = 1;
    REFUSED(entries, 0, EINVAL);
    REFUSED(entries, 16, EINVAL);
    REFUSED(table, 8, EFAULT);
    REFUSED(mode, CDMA_MODE_ZVC, EINVAL);
    REFUSED(step, 256, EINVAL);
    REFUSED(reserved, 1, EINVAL);
    if (cdma->info.lossy == 0) REFUSED(step, 100, EINVAL);
#undef REFUSED
    say(well, "tables and steps that make no sense are refused");
    for (k = 0; k < TABLES; ++k) free((void *)(uintptr_t)each[k].request.host);
}
