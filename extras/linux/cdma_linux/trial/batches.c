/* Requests and replies that are handed over many at a time. */
#include "trial.h"

/* A row that ends where memory does. */
static struct cdma_request *row(struct cdma_user *cdma) {
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct cdma_request *requests = (struct cdma_request *)(pages + PAGE) - MANY;
    need(pages != MAP_FAILED && munmap(pages + PAGE, PAGE) == 0, "memory");
    make_many(cdma, requests);
    return requests;
}

/* Takes all replies; returns whether those of a mask come, once each. */
static int end_once(struct cdma_user *cdma, unsigned int mask) {
    struct cdma_reply replies[MANY];
    unsigned int seen = 0;
    int found, k, well = 1;
    while ((found = cdma_take_replies(cdma, replies, MANY)) > 0) {
        for (k = 0; k < found; ++k) {
            well &= replies[k].status == CDMA_STATUS_OK && replies[k].cookie < MANY && (seen >> replies[k].cookie & 1) == 0;
            seen |= 1u << replies[k].cookie % MANY;
        }
    }
    return well && errno == ENOENT && seen == mask;
}

/* The sixth is refused, and so those after it are not begun. */
static int ends_there(struct cdma_user *cdma, const struct cdma_request *requests, int error) {
    return cdma_submit_transfers(cdma, requests, MANY) == 5 && end_once(cdma, 31) &&
           cdma_submit_transfers(cdma, requests + 5, MANY - 5) == -1 && errno == error && end_once(cdma, 0);
}

static void refused_in_a_row(struct cdma_user *cdma, struct cdma_request *requests) {
    const struct cdma_request good = requests[5];
    int well = 1;
#define REFUSED(field, value, error) \
    (requests[5].field = (value), well &= ends_there(cdma, requests, error), requests[5] = good)
    REFUSED(mode, 3, EINVAL);
    REFUSED(device, ~UINT64_C(0) - 4095, EACCES);
    REFUSED(host_bytes, cdma->info.host_bytes + 1, EMSGSIZE);
    REFUSED(host, 8, EFAULT);
#undef REFUSED
    well &= cdma_submit_transfers(cdma, NULL, 1) == -1 && errno == EFAULT && cdma_submit_transfers(cdma, NULL, 0) == 0;
    say(well, "a row of requests ends at what is refused, whose error the next one has");
}

/* Requests and replies of another version, which are longer by a word. */
static void of_another_size(struct cdma_user *cdma, const struct cdma_request *requests) {
    struct {
        struct cdma_request request;
        uint64_t more;
    } longer[2] = {{requests[0], 0}, {requests[2], 1}};
    struct {
        struct cdma_reply reply;
        uint64_t more;
    } replies[2] = {{.more = 1}, {.more = 1}};
    struct cdma_batch batch = {(uintptr_t)longer, 2, sizeof longer[0]};
    int well = ioctl(cdma->file, CDMA_IOC_SUBMIT, &batch) == 1;
    batch.first = (uintptr_t)&longer[1], batch.count = 1;
    well &= ioctl(cdma->file, CDMA_IOC_SUBMIT, &batch) == -1 && errno == E2BIG;
    batch.size = 40;
    well &= ioctl(cdma->file, CDMA_IOC_SUBMIT, &batch) == -1 && errno == EINVAL;
    batch = (struct cdma_batch){(uintptr_t)replies, 2, sizeof replies[0]};
    well &= ioctl(cdma->file, CDMA_IOC_REAP, &batch) == 1 && replies[0].more == 0 && replies[1].more == 1;
    say(well && replies[0].reply.status == CDMA_STATUS_OK, "structures may be longer than the driver knows, with zeros");
}

static void replies_without_a_place(struct cdma_user *cdma, const struct cdma_request *requests) {
    struct cdma_reply reply;
    int well = cdma_submit_transfers(cdma, requests, MANY) == MANY;
    well &= cdma_take_replies(cdma, NULL, MANY) == -1 && errno == EFAULT && cdma_take_replies(cdma, &reply, 0) == 0;
    say(well && end_once(cdma, (1u << MANY) - 1), "replies that cannot be written are not taken");
}

void batches(struct cdma_user *cdma) {
    struct cdma_request *requests = row(cdma);
    int well = cdma_submit_transfers(cdma, requests, UINT32_MAX) == MANY && end_once(cdma, (1u << MANY) - 1);
    refused_in_a_row(cdma, requests);
    of_another_size(cdma, requests);
    replies_without_a_place(cdma, requests);
    well &= many_moved(cdma, requests);
    say(well, "twelve that one call submits end once each, with their bytes");
    munmap((void *)((uintptr_t)requests / PAGE * PAGE), PAGE);
}
