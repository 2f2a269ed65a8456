/* The functions of cdma.h under names that a test can call; compiled as C and as C++. */
#include <stdlib.h>

#include "cdma.h"

#ifdef __cplusplus
#define EXPORT extern "C"
#else
#define EXPORT
#endif

EXPORT struct cdma *c_open(const struct cdma_io *io, int *status);
EXPORT struct cdma *c_open(const struct cdma_io *io, int *status) {
    struct cdma *engine = (struct cdma *)malloc(sizeof *engine);
    *status = engine == NULL ? CDMA_BUSY : cdma_open(engine, io);
    return engine;
}

EXPORT struct cdma *c_open_pair(const struct cdma_io *io, int *status, uint32_t number);
EXPORT struct cdma *c_open_pair(const struct cdma_io *io, int *status, uint32_t number) {
    struct cdma *engine = (struct cdma *)malloc(sizeof *engine);
    *status = engine == NULL ? CDMA_BUSY : cdma_open_pair(engine, io, number);
    return engine;
}

EXPORT void c_close(struct cdma *engine);
EXPORT void c_close(struct cdma *engine) {
    free(engine);
}

EXPORT const struct cdma_geometry *c_geometry(const struct cdma *engine);
EXPORT const struct cdma_geometry *c_geometry(const struct cdma *engine) {
    return &engine->geometry;
}

EXPORT struct cdma_channel *c_channel(struct cdma *engine, int prefetch);
EXPORT struct cdma_channel *c_channel(struct cdma *engine, int prefetch) {
    return prefetch ? &engine->prefetch : &engine->offload;
}

EXPORT int c_soft_reset(struct cdma *engine, uint32_t patience);
EXPORT int c_soft_reset(struct cdma *engine, uint32_t patience) {
    return cdma_soft_reset(engine, patience);
}

EXPORT void c_clear_counters(struct cdma *engine);
EXPORT void c_clear_counters(struct cdma *engine) {
    cdma_clear_counters(engine);
}

EXPORT void c_set_watchdog(struct cdma *engine, uint32_t cycles);
EXPORT void c_set_watchdog(struct cdma *engine, uint32_t cycles) {
    cdma_set_watchdog(engine, cycles);
}

EXPORT int c_set_window(struct cdma *engine, int host, uint64_t base, uint64_t limit, int lock);
EXPORT int c_set_window(struct cdma *engine, int host, uint64_t base, uint64_t limit, int lock) {
    return cdma_set_window(engine, host ? CDMA_HOST_WINDOW_BASE : CDMA_DEV_WINDOW_BASE, base, limit, lock);
}

EXPORT int c_get_denied(struct cdma *engine, struct cdma_denied *denied);
EXPORT int c_get_denied(struct cdma *engine, struct cdma_denied *denied) {
    return cdma_get_denied(engine, denied);
}

EXPORT int c_get_flips(struct cdma *engine, struct cdma_flips *flips);
EXPORT int c_get_flips(struct cdma *engine, struct cdma_flips *flips) {
    return cdma_get_flips(engine, flips);
}

EXPORT int c_clear_flips(struct cdma *engine);
EXPORT int c_clear_flips(struct cdma *engine) {
    return cdma_clear_flips(engine);
}

EXPORT int c_clear_denied(struct cdma *engine);
EXPORT int c_clear_denied(struct cdma *engine) {
    return cdma_clear_denied(engine);
}

EXPORT int c_start(struct cdma_channel *channel, void *memory, uint64_t bus, uint32_t entries, uint32_t options);
EXPORT int c_start(struct cdma_channel *channel, void *memory, uint64_t bus, uint32_t entries, uint32_t options) {
    return cdma_start(channel, memory, bus, entries, options);
}

EXPORT int c_start_direct(struct cdma_channel *channel, uint32_t options);
EXPORT int c_start_direct(struct cdma_channel *channel, uint32_t options) {
    return cdma_start_direct(channel, options);
}

EXPORT int c_set_coalescing(struct cdma_channel *channel, uint32_t count, uint32_t cycles);
EXPORT int c_set_coalescing(struct cdma_channel *channel, uint32_t count, uint32_t cycles) {
    return cdma_set_coalescing(channel, count, cycles);
}

EXPORT int c_set_sideband(struct cdma_channel *channel, int target, uint32_t cache, uint32_t prot, uint32_t qos, uint32_t user);
EXPORT int c_set_sideband(struct cdma_channel *channel, int target, uint32_t cache, uint32_t prot, uint32_t qos, uint32_t user) {
    const struct cdma_sideband sideband = {cache, prot, qos, user};
    return cdma_set_sideband(channel, (enum cdma_target)target, &sideband);
}

EXPORT int c_set_owners(struct cdma_channel *channel, uint32_t allowed, uint32_t mask, uint32_t ring, int lock);
EXPORT int c_set_owners(struct cdma_channel *channel, uint32_t allowed, uint32_t mask, uint32_t ring, int lock) {
    return cdma_set_owners(channel, allowed, mask, ring, lock);
}

EXPORT uint32_t c_owner(uint32_t stream, int has_substream, uint32_t substream);
EXPORT uint32_t c_owner(uint32_t stream, int has_substream, uint32_t substream) {
    return cdma_owner(stream, has_substream, substream);
}

EXPORT int c_set_message(const struct cdma_channel *channel, uint64_t address, uint32_t data, int enable);
EXPORT int c_set_message(const struct cdma_channel *channel, uint64_t address, uint32_t data, int enable) {
    return cdma_set_message(channel, address, data, enable);
}

EXPORT int c_message_failed(const struct cdma_channel *channel);
EXPORT int c_message_failed(const struct cdma_channel *channel) {
    return cdma_message_failed(channel);
}

EXPORT int c_set_share(const struct cdma_channel *channel, uint32_t pair, uint32_t weight, uint32_t priority);
EXPORT int c_set_share(const struct cdma_channel *channel, uint32_t pair, uint32_t weight, uint32_t priority) {
    return cdma_set_share(channel, pair, weight, priority);
}

EXPORT int c_set_limit(const struct cdma_channel *channel, uint32_t pair, uint32_t units);
EXPORT int c_set_limit(const struct cdma_channel *channel, uint32_t pair, uint32_t units) {
    return cdma_set_limit(channel, pair, units);
}

EXPORT int c_set_limit_period(const struct cdma_channel *channel, uint32_t cycles);
EXPORT int c_set_limit_period(const struct cdma_channel *channel, uint32_t cycles) {
    return cdma_set_limit_period(channel, cycles);
}

EXPORT int c_set_table(struct cdma_channel *channel, const uint32_t *values, uint32_t count);
EXPORT int c_set_table(struct cdma_channel *channel, const uint32_t *values, uint32_t count) {
    return cdma_set_table(channel, values, count);
}

EXPORT uint32_t c_room(struct cdma_channel *channel);
EXPORT uint32_t c_room(struct cdma_channel *channel) {
    return cdma_room(channel);
}

EXPORT int c_list_pages(
    const struct cdma_run *runs, uint32_t count, unsigned char *page, uint64_t list, struct cdma_pages *pages);
EXPORT int c_list_pages(
    const struct cdma_run *runs, uint32_t count, unsigned char *page, uint64_t list, struct cdma_pages *pages) {
    return cdma_list_pages(runs, count, page, list, pages);
}

EXPORT int c_submit(struct cdma_channel *channel, const struct cdma_transfer *transfers, uint32_t count);
EXPORT int c_submit(struct cdma_channel *channel, const struct cdma_transfer *transfers, uint32_t count) {
    return cdma_submit(channel, transfers, count);
}

EXPORT int c_push(struct cdma_channel *channel, const struct cdma_transfer *transfer, uint32_t patience);
EXPORT int c_push(struct cdma_channel *channel, const struct cdma_transfer *transfer, uint32_t patience) {
    return cdma_push(channel, transfer, patience);
}

EXPORT int c_poll(struct cdma_channel *channel, int how, struct cdma_result *results, uint32_t count);
EXPORT int c_poll(struct cdma_channel *channel, int how, struct cdma_result *results, uint32_t count) {
    return cdma_poll(channel, (enum cdma_how)how, results, count);
}

EXPORT int c_wait(struct cdma_channel *channel, int how, struct cdma_result *results, uint32_t count,
    uint32_t patience, uint32_t *taken);
EXPORT int c_wait(struct cdma_channel *channel, int how, struct cdma_result *results, uint32_t count,
    uint32_t patience, uint32_t *taken) {
    return cdma_wait_counted(channel, (enum cdma_how)how, results, count, patience, taken);
}

EXPORT void c_resume(struct cdma_channel *channel);
EXPORT void c_resume(struct cdma_channel *channel) {
    cdma_resume(channel);
}

EXPORT int c_abort(struct cdma_channel *channel, uint32_t patience);
EXPORT int c_abort(struct cdma_channel *channel, uint32_t patience) {
    return cdma_abort(channel, patience);
}

EXPORT int c_halted(struct cdma_channel *channel);
EXPORT int c_halted(struct cdma_channel *channel) {
    return cdma_halted(channel);
}

EXPORT int c_get_error(struct cdma_channel *channel, struct cdma_error *error);
EXPORT int c_get_error(struct cdma_channel *channel, struct cdma_error *error) {
    return cdma_get_error(channel, error);
}

EXPORT void c_clear_error(struct cdma_channel *channel);
EXPORT void c_clear_error(struct cdma_channel *channel) {
    cdma_clear_error(channel);
}

EXPORT int c_hold_counters(struct cdma_channel *channel, uint32_t patience);
EXPORT int c_hold_counters(struct cdma_channel *channel, uint32_t patience) {
    return cdma_hold_counters(channel, patience);
}

EXPORT void c_release_counters(struct cdma_channel *channel);
EXPORT void c_release_counters(struct cdma_channel *channel) {
    cdma_release_counters(channel);
}

EXPORT uint64_t c_counter(struct cdma_channel *channel, uint32_t low);
EXPORT uint64_t c_counter(struct cdma_channel *channel, uint32_t low) {
    return cdma_counter(channel, low);
}
