// One descriptor on each channel of an engine without registers and with the codecs of padding_codec.py, between
// memories that take and give a beat in every cycle. Every address and every beat is checked as it passes; nothing
// is stored, so the descriptors may be of any size. Arguments: raw bytes, compressed bytes, source and destination of
// the offload, then the same of the prefetch. Prints "cycles N", a line for what is wrong, and for each channel the
// beats on its two ports and its completion as 16 numbers.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "verilated.h"

static const unsigned BEAT = 128, WINDOW = 32, PAGE = 4096;
static int wrong = 0;

static void object(const char *channel, const char *what, uint64_t got, uint64_t want) {
    if (wrong++ < 5)
        printf("%s: %s is %#llx, not %#llx\n", channel, what, (unsigned long long)got, (unsigned long long)want);
}

// The first word of a beat of the compressed stream or of the raw packet.
static uint32_t compressed_word(uint64_t beat) {
    return beat % (WINDOW + 1) == WINDOW ? ~0u : (uint32_t)(beat - beat / (WINDOW + 1));
}

struct Side {
    const char *channel, *name;
    uint64_t start, bytes;
    bool compressed;
    uint64_t beats = 0, asked = 0;

    uint64_t total() const { return (bytes + BEAT - 1) / BEAT; }

    void address(uint64_t address, unsigned length) {
        if (address != start + asked * BEAT) object(channel, name, address, start + asked * BEAT);
        if (address % PAGE + (length + 1) * BEAT > PAGE) object(channel, "the burst's end", address % PAGE, 0);
        asked += length + 1;
        if (asked > total()) object(channel, "beats asked for", asked, total());
    }

    // 32 of the strobes of the beat before the next one.
    uint32_t strobes(int part) const {
        uint64_t here = bytes - (beats - 1) * BEAT;
        if (here >= 32u * (part + 1)) return ~0u;
        return here <= 32u * part ? 0 : ~(~0u << (here - 32 * part));
    }

    uint32_t word() const { return compressed ? compressed_word(beats) : (uint32_t)beats; }
};

struct Channel {
    Side in, out;
    std::deque<unsigned> reads, writes;
    unsigned left = 0, sent = 0, answers = 0;
    bool done = false;
    uint32_t completion[16];
};

template <class Wide> static void describe(Wide &data, const Channel &c, uint64_t raw, uint64_t compressed) {
    // The capacity is just what is needed.
    const uint64_t fields[] = {c.in.start, c.out.start, raw, c.out.bytes, compressed};
    for (int n = 0; n < 10; ++n) data[n] = (uint32_t)(fields[n / 2] >> 32 * (n % 2));
    for (int n = 10; n < 16; ++n) data[n] = 0;
    data[11] = 1;  // zvc
}

// What one clock edge does to a channel; ARGUMENTS: the channel, and the names of its ports.
#define BEFORE(c, NAME, R, W)                                                                        \
    const bool NAME##_taken = t.s_##NAME##_descriptor_tvalid && t.s_##NAME##_descriptor_tready;      \
    if (t.R##_arvalid) {                                                                             \
        c.in.address(t.R##_araddr, t.R##_arlen);                                                     \
        c.reads.push_back(t.R##_arlen + 1);                                                          \
    }                                                                                                \
    if (t.R##_rvalid && t.R##_rready) {                                                              \
        --c.left;                                                                                    \
        ++c.in.beats;                                                                                \
    }                                                                                                \
    if (t.W##_wvalid) {                                                                              \
        if (t.W##_wdata[0] != c.out.word()) object(#NAME, "the data", t.W##_wdata[0], c.out.word()); \
        ++c.out.beats;                                                                               \
        for (int n = 0; n < 4; ++n)                                                                  \
            if (t.W##_wstrb[n] != c.out.strobes(n))                                                  \
                object(#NAME, "a part of the strobes", t.W##_wstrb[n], c.out.strobes(n));            \
        ++c.sent;                                                                                    \
        bool last = !c.writes.empty() && c.sent == c.writes.front();                                 \
        if (t.W##_wlast != last) object(#NAME, "wlast", t.W##_wlast, last);                          \
        if (last) {                                                                                  \
            c.writes.pop_front();                                                                    \
            c.sent = 0;                                                                              \
            ++c.answers;                                                                             \
        }                                                                                            \
    }                                                                                                \
    if (t.W##_awvalid) {                                                                             \
        c.out.address(t.W##_awaddr, t.W##_awlen);                                                    \
        c.writes.push_back(t.W##_awlen + 1);                                                         \
    }                                                                                                \
    if (t.W##_bvalid && t.W##_bready) --c.answers;                                                   \
    if (t.m_##NAME##_completion_tvalid) {                                                            \
        for (int n = 0; n < 16; ++n) c.completion[n] = t.m_##NAME##_completion_tdata[n];             \
        c.done = true;                                                                               \
    }

#define AFTER(c, NAME, R, W)                               \
    if (NAME##_taken) t.s_##NAME##_descriptor_tvalid = 0;  \
    if (!c.left && !c.reads.empty()) {                     \
        c.left = c.reads.front();                          \
        c.reads.pop_front();                               \
    }                                                      \
    t.R##_rvalid = c.left != 0;                            \
    t.R##_rlast = c.left == 1;                             \
    t.R##_rdata[0] = c.in.word();                          \
    t.W##_bvalid = c.answers != 0;

int main(int argc, char **argv) {
    if (argc != 9) return 2;
    uint64_t arguments[8];
    for (int n = 0; n < 8; ++n) arguments[n] = strtoull(argv[n + 1], nullptr, 0);
    const uint64_t *o = arguments, *p = arguments + 4;
    Channel offload, prefetch;
    offload.in = {"offload", "a read address", o[2], o[0], false};
    offload.out = {"offload", "a write address", o[3], o[1], true};
    prefetch.in = {"prefetch", "a read address", p[2], p[1], true};
    prefetch.out = {"prefetch", "a write address", p[3], p[0], false};

    VerilatedContext context;
    Vtop t(&context);
    t.dev_window_limit = t.host_window_limit = ~(uint64_t)0;
    t.offload_enable = t.prefetch_enable = 1;
    for (int n = 0; n < 8; ++n) {
        t.aclk = n & 1;
        t.eval();
    }
    t.aresetn = 1;
    describe(t.s_offload_descriptor_tdata, offload, o[0], 0);
    describe(t.s_prefetch_descriptor_tdata, prefetch, p[0], p[1]);
    t.s_offload_descriptor_tvalid = t.s_prefetch_descriptor_tvalid = 1;
    t.m_offload_completion_tready = t.m_prefetch_completion_tready = 1;
    t.m_axi_dev_arready = t.m_axi_dev_awready = t.m_axi_dev_wready = 1;
    t.m_axi_host_arready = t.m_axi_host_awready = t.m_axi_host_wready = 1;

    uint64_t cycles = 0, most = 1000 + 2 * (offload.out.total() + prefetch.in.total());
    while (!(offload.done && prefetch.done) && !wrong && cycles < most) {
        t.aclk = 0;
        t.eval();
        BEFORE(offload, offload, m_axi_dev, m_axi_host)
        BEFORE(prefetch, prefetch, m_axi_host, m_axi_dev)
        t.aclk = 1;
        t.eval();
        AFTER(offload, offload, m_axi_dev, m_axi_host)
        AFTER(prefetch, prefetch, m_axi_host, m_axi_dev)
        ++cycles;
    }
    printf("cycles %llu\n", (unsigned long long)cycles);
    for (const Channel *c : {&offload, &prefetch}) {
        printf("%s %llu %llu", c->in.channel, (unsigned long long)c->in.beats, (unsigned long long)c->out.beats);
        for (uint32_t word : c->completion) printf(" %u", c->done ? word : ~0u);
        printf("\n");
    }
    return 0;
}
