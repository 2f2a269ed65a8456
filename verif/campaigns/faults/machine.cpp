// An engine with registers between two memories, driven through a pipe: the far end of machine.py, which says what each
// order means. Before this text stand CLOCKS(X), a list of X(clock, reset), of which the first counts the cycles; REGISTERS,
// which of them is that of the registers; MANAGERS(X), a list of X(port, memory, clock); and RULES, the beginning of the names
// of what the rules of AXI4 inside the simulation show; OWNER(port, way), whose the address of AR or AW is; and, where bits may be flipped in memories, ARRAYS(X), a list of X(number,
// name).
//
// Memories answer in order. Each can answer one response with an error, or stop one of its channels for ever. Every byte
// that the engine writes where it may not is counted and left out, and the broken rules of AXI4 are noted.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "Vtop___024root.h"
#include "verilated.h"

#define JOINED(A, B) A##B
#define JOIN(A, B) JOINED(A, B)

static const uint64_t SIZE = 1 << 20, PAGE = 4096, NEVER = ~0ull;
static const unsigned WIDEST = 128;
// Cycles after which the register port counts as deaf.
static const unsigned PATIENCE = 2000;

enum Channel { AR, R, AW, W, B, CHANNELS };

struct Outputs {
    bool arvalid, rready, awvalid, wvalid, bready;
    unsigned arid, arlen, arsize, awid, awlen, awsize;
    uint64_t araddr, awaddr, arowner, awowner;
    uint8_t wdata[WIDEST], wstrb[WIDEST / 8];
};

struct Inputs {
    bool arready, rvalid, awready, wready, bvalid, rlast;
    unsigned rid, rresp, bid, bresp;
    uint8_t rdata[WIDEST];
};

#define BIND(P, MEMORY, CLOCK)                                                                                    \
    static void sample_##P(const Vtop &t, Outputs &o) {                                                    \
        o.arvalid = t.m_axi_##P##_arvalid, o.arid = t.m_axi_##P##_arid, o.araddr = t.m_axi_##P##_araddr;   \
        o.arlen = t.m_axi_##P##_arlen, o.arsize = t.m_axi_##P##_arsize;                                     \
        o.awvalid = t.m_axi_##P##_awvalid, o.awid = t.m_axi_##P##_awid, o.awaddr = t.m_axi_##P##_awaddr;   \
        o.awlen = t.m_axi_##P##_awlen, o.awsize = t.m_axi_##P##_awsize;                                     \
        o.arowner = OWNER(P, ar), o.awowner = OWNER(P, aw);                                                \
        o.wvalid = t.m_axi_##P##_wvalid;                                                                   \
        o.rready = t.m_axi_##P##_rready, o.bready = t.m_axi_##P##_bready;                                  \
        memcpy(o.wdata, &t.m_axi_##P##_wdata, sizeof t.m_axi_##P##_wdata);                                 \
        memcpy(o.wstrb, &t.m_axi_##P##_wstrb, sizeof t.m_axi_##P##_wstrb);                                 \
    }                                                                                                      \
    static void drive_##P(Vtop &t, const Inputs &i) {                                                      \
        t.m_axi_##P##_arready = i.arready, t.m_axi_##P##_awready = i.awready;                              \
        t.m_axi_##P##_wready = i.wready, t.m_axi_##P##_rvalid = i.rvalid, t.m_axi_##P##_rlast = i.rlast;   \
        t.m_axi_##P##_rid = i.rid, t.m_axi_##P##_rresp = i.rresp, t.m_axi_##P##_bvalid = i.bvalid;         \
        t.m_axi_##P##_bid = i.bid, t.m_axi_##P##_bresp = i.bresp;                                          \
        memcpy(&t.m_axi_##P##_rdata, i.rdata, sizeof t.m_axi_##P##_rdata);                                 \
    }                                                                                                      \
    static uint64_t rules_##P(const Vtop &t) { return t.rootp->JOIN(RULES, P##_broken); }
MANAGERS(BIND)

// Of several clocks each has a period and jitter by chance, in ps.
struct Clock {
    void (*level)(Vtop &, bool);
    void (*resetn)(Vtop &, bool);
    uint64_t period, next, edges;
    bool rises, in_reset;
};

#define CLOCK(NAME, RESETN) \
    {[](Vtop &t, bool level) { t.NAME = level; }, [](Vtop &t, bool level) { t.RESETN = level; }, 0, 0, 0, false, true},
static Clock clocks[] = {CLOCKS(CLOCK)};
static const unsigned COUNT = sizeof clocks / sizeof *clocks;
static const uint64_t PERIOD = 10000, SHORTEST = 3000, LONGEST = 24000;
// Edges of each clock after a reset before which registers do not answer as usual.
static const unsigned SETTLING = COUNT > 1 ? 8 : 0;

static uint64_t time_now = 0, clock_seed = 1, chance = 1;

// A draw below a number.
static uint64_t some(uint64_t below) {
    chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
    return (chance >> 20) % below;
}

// The same clocks after each reset, so that what has happened once happens again.
static void draw_clocks() {
    chance = clock_seed;
    for (Clock &clock : clocks) {
        clock.period = &clock == clocks ? PERIOD : SHORTEST + some(LONGEST - SHORTEST);
        clock.next = time_now + clock.period;
        clock.edges = 0;
    }
}

struct Memory {
    std::vector<uint8_t> bytes = std::vector<uint8_t>(SIZE), allowed = std::vector<uint8_t>(SIZE);
};

struct Event {
    uint64_t port, channel, id, address, beats, owner;
};

static Memory memories[2];
static std::vector<Event> happened;
static uint64_t now = 0, outside = 0, first_outside = 0;
static bool deaf = false;

// What the memories do: cycles before an answer, the share of cycles (of 256) in which a channel holds back, and its draws.
static uint64_t latency = 0, pauses = 0, seed = 1;
// The fault: a channel of a port, which of its transfers counted from 0, and the response (0: it never comes).
static uint64_t fault_port = NEVER, fault_channel = 0, fault_index = 0, fault_response = 0;

static bool holds_back() {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (seed >> 24 & 255) < pauses;
}

struct Burst {
    unsigned id, beats, size;
    uint64_t address, due;
    unsigned done = 0;

    uint64_t here() const { return address + ((uint64_t)done << size); }
};

struct Port {
    unsigned number, bytes;
    Memory &memory;
    const Clock &clock;
    void (*sample)(const Vtop &, Outputs &);
    void (*drive)(Vtop &, const Inputs &);
    uint64_t (*rules)(const Vtop &);
    uint64_t broken = 0;
    Outputs out = {};
    Inputs in = {};
    std::deque<Burst> reads, writes, answers;
    uint64_t counts[CHANNELS] = {};

    bool faulty(Channel channel) const { return fault_port == number && fault_channel == channel; }

    // Whether a channel is stopped by the fault, or waits this cycle.
    bool stopped(Channel channel) const {
        return faulty(channel) && !fault_response && counts[channel] >= fault_index;
    }

    unsigned response(Channel channel) const {
        return faulty(channel) && fault_response && counts[channel] == fault_index ? fault_response : 0;
    }

    void note(Channel channel, unsigned id, uint64_t address, unsigned beats, uint64_t owner = 0) {
        happened.push_back({number, channel, id, address, beats, owner});
        ++counts[channel];
    }

    void forget() {
        reads.clear(), writes.clear(), answers.clear();
        in = {};
    }

    void put(const Burst &burst) {
        for (unsigned lane = 0; lane < bytes; ++lane) {
            if (!(out.wstrb[lane / 8] >> lane % 8 & 1)) continue;
            uint64_t at = burst.here() / bytes * bytes + lane;
            if (at < SIZE && memory.allowed[at])
                memory.bytes[at] = out.wdata[lane];
            else if (!outside++)
                first_outside = at;
        }
    }

    // What passed at this clock edge.
    void take() {
        if (in.rvalid && out.rready) {
            Burst &burst = reads.front();
            note(R, burst.id, burst.here(), 1);
            if (++burst.done == burst.beats) reads.pop_front();
            in.rvalid = false;
        }
        if (in.bvalid && out.bready) {
            note(B, answers.front().id, answers.front().address, answers.front().beats);
            answers.pop_front();
            in.bvalid = false;
        }
        if (out.wvalid && in.wready) {
            Burst &burst = writes.front();
            put(burst);
            note(W, burst.id, burst.here(), 1);
            ++burst.done;
            if (burst.done == burst.beats) {
                burst.due = now + latency;
                answers.push_back(burst);
                writes.pop_front();
            }
        }
        if (out.awvalid && in.awready) {
            Burst burst = {out.awid, out.awlen + 1, out.awsize, out.awaddr, now};
            note(AW, burst.id, burst.address, burst.beats, out.awowner);
            writes.push_back(burst);
        }
        if (out.arvalid && in.arready) {
            Burst burst = {out.arid, out.arlen + 1, out.arsize, out.araddr, now + latency};
            note(AR, burst.id, burst.address, burst.beats, out.arowner);
            reads.push_back(burst);
        }
    }

    // What the memory offers and takes in the next cycle.
    void offer() {
        in.arready = !stopped(AR) && !holds_back();
        in.awready = !stopped(AW) && !holds_back();
        in.wready = !writes.empty() && !stopped(W) && !holds_back();
        if (!in.rvalid && !reads.empty() && reads.front().due <= now && !stopped(R) && !holds_back()) {
            const Burst &burst = reads.front();
            in.rvalid = true;
            in.rid = burst.id;
            in.rlast = burst.done + 1 == burst.beats;
            in.rresp = response(R);
            uint64_t at = burst.here() / bytes * bytes;
            for (unsigned lane = 0; lane < bytes; ++lane) {
                bool exists = at + lane < SIZE;
                // An error comes with other data than the right ones.
                in.rdata[lane] = (exists ? memory.bytes[at + lane] : 0) ^ (in.rresp ? 0xff : 0);
                if (!exists) in.rresp = 3;
            }
        }
        if (!in.bvalid && !answers.empty() && answers.front().due <= now && !stopped(B) && !holds_back()) {
            in.bvalid = true;
            in.bid = answers.front().id;
            in.bresp = response(B);
        }
    }

    // Transactions of data, or all of them.
    uint64_t open(bool data) const {
        uint64_t count = 0;
        for (const std::deque<Burst> *queue : {&reads, &writes, &answers})
            for (const Burst &burst : *queue) count += !data || !burst.id;
        return count;
    }
};

static std::vector<Port> ports;

// The next rising edges, of one clock or of several at once.
static void edge(Vtop &t) {
    time_now = NEVER;
    for (Clock &clock : clocks) time_now = std::min(time_now, clock.next);
    for (Clock &clock : clocks) {
        clock.rises = clock.next == time_now;
        if (clock.rises) clock.level(t, false);
    }
    t.eval();
    for (Port &port : ports) {
        if (!port.clock.rises) continue;
        port.sample(t, port.out);
        port.broken |= port.rules(t);
        if (!port.clock.in_reset) port.take();
    }
    t.contextp()->time(time_now);
    for (Clock &clock : clocks) {
        if (!clock.rises) continue;
        clock.level(t, true);
        clock.next += clock.period + (COUNT > 1 ? some(clock.period / 8) : 0);
        ++clock.edges;
    }
    t.eval();
    now += clocks->rises;
    for (Port &port : ports) {
        if (!port.clock.rises) continue;
        if (!port.clock.in_reset) port.offer();
        port.drive(t, port.in);
    }
}

static void cycle(Vtop &t, const Clock &clock = *clocks) {
    do edge(t);
    while (!clock.rises);
}

// Until each clock has had so many edges.
static void all_cycle(Vtop &t, uint64_t cycles) {
    for (Clock &clock : clocks) clock.edges = 0;
    for (Clock &clock : clocks)
        while (clock.edges < cycles) edge(t);
}

static void all_reset(Vtop &t, bool in_reset) {
    for (Clock &clock : clocks) clock.resetn(t, !in_reset), clock.in_reset = in_reset;
}

static void reset(Vtop &t, uint64_t cycles) {
    all_reset(t, true);
    draw_clocks();
    t.contextp()->randSeed((int)(clock_seed & 0x7fffffff));
    t.s_axil_awvalid = t.s_axil_wvalid = t.s_axil_arvalid = 0;
    // No controller asks for quiescence.
    RUNS;
    // Privileged and secure.
    t.s_axil_awprot = t.s_axil_arprot = 1;
    fault_port = NEVER;
    deaf = false;
    for (Port &port : ports) {
        port.forget();
        port.drive(t, port.in);
    }
    all_cycle(t, cycles);
    all_reset(t, false);
    all_cycle(t, SETTLING);
}

static void poke(Vtop &t, uint64_t address, uint64_t value) {
    t.s_axil_awaddr = address, t.s_axil_wdata = value, t.s_axil_wstrb = 15;
    t.s_axil_awvalid = t.s_axil_wvalid = 1;
    for (unsigned n = 0; n < PATIENCE; ++n) {
        t.eval();
        bool aw = t.s_axil_awvalid && t.s_axil_awready, w = t.s_axil_wvalid && t.s_axil_wready, b = t.s_axil_bvalid;
        cycle(t, clocks[REGISTERS]);
        if (aw) t.s_axil_awvalid = 0;
        if (w) t.s_axil_wvalid = 0;
        if (b) return;
    }
    deaf = true;
}

static uint64_t peek(Vtop &t, uint64_t address) {
    t.s_axil_araddr = address;
    t.s_axil_arvalid = 1;
    for (unsigned n = 0; n < PATIENCE; ++n) {
        t.eval();
        bool ar = t.s_axil_arvalid && t.s_axil_arready, r = t.s_axil_rvalid;
        uint64_t value = t.s_axil_rdata;
        cycle(t, clocks[REGISTERS]);
        if (ar) t.s_axil_arvalid = 0;
        if (r) return value;
    }
    deaf = true;
    return NEVER;
}

#ifdef ARRAYS
template <class Words>
static void flip_bit(Words &words, uint64_t word, uint64_t bit) {
    reinterpret_cast<uint8_t *>(&words[word])[bit / 8] ^= 1u << bit % 8;
}

static void flip(Vtop &t, uint64_t array, uint64_t word, uint64_t bit) {
    switch (array) {
#define FLIP(NUMBER, NAME)                              \
    case NUMBER:                                        \
        flip_bit(t.rootp->NAME, word, bit);             \
        break;
        ARRAYS(FLIP)
    }
}
#else
static void flip(Vtop &, uint64_t, uint64_t, uint64_t) {}
#endif

static uint64_t next() {
    uint64_t value = 0;
    if (fread(&value, sizeof value, 1, stdin) != 1) value = 0;
    return value;
}

static void say(uint64_t value) { fwrite(&value, sizeof value, 1, stdout); }

int main(int argc, char **argv) {
    VerilatedContext context;
    context.commandArgs(argc, argv);
    Vtop t(&context);
    if (const char *seed = context.commandArgsPlusMatch("clocks="); *seed) clock_seed = strtoull(seed + 8, nullptr, 10) | 1;
#define PORT(P, MEMORY, CLOCK)                                                                                          \
    ports.push_back({(unsigned)ports.size(), sizeof t.m_axi_##P##_wdata, memories[MEMORY], clocks[CLOCK], sample_##P, \
                     drive_##P, rules_##P});
    MANAGERS(PORT)
    t.s_axil_bready = t.s_axil_rready = 1;
    reset(t, 4);
    for (uint64_t order = next(); order; order = next()) {
        uint64_t a = next(), b = next(), c = next(), d = next(), limit = next(), found = 0;
        switch (order) {
            case 1:  // write: memory, address, bytes
                if (fread(&memories[a].bytes[b], 1, c, stdin) != c) return 1;
                break;
            case 2:  // read: memory, address, bytes
                fwrite(&memories[a].bytes[b], 1, c, stdout);
                break;
            case 3:  // fill: memory, address, bytes, value
                memset(&memories[a].bytes[b], (int)d, c);
                break;
            case 4:  // allow: memory, address, bytes, whether
                memset(&memories[a].allowed[b], (int)d, c);
                break;
            case 5:  // poke: address, value
                poke(t, a, b);
                break;
            case 6:  // peek: address
                say(peek(t, a));
                break;
            case 7:  // run: cycles
                while (a--) cycle(t);
                break;
            case 8:  // wait: memory, address, mask, value, most cycles
                for (uint64_t n = 0; !found && n < limit; ++n) {
                    uint32_t word;
                    memcpy(&word, &memories[a].bytes[b], sizeof word);
                    found = (word & c) == d;
                    if (!found) cycle(t);
                }
                say(found);
                break;
            case 9:  // expect: register, mask, value, -, most cycles
                for (uint64_t end = now + limit; !found && !deaf && now < end;) found = (peek(t, a) & b) == c;
                say(found);
                break;
            case 10:  // reset: cycles
                reset(t, a);
                break;
            case 11:  // fault: port, channel, index, response; no such port takes it back
                fault_port = a, fault_channel = b, fault_index = c, fault_response = d;
                break;
            case 12:  // begin: latency, pauses, seed
                latency = a, pauses = b, seed = c | 1;
                happened.clear();
                for (Port &port : ports) memset(port.counts, 0, sizeof port.counts);
                break;
            case 13:  // what has happened since
                say(happened.size());
                fwrite(happened.data(), sizeof(Event), happened.size(), stdout);
                break;
            case 14: {  // the state
                uint64_t open = 0, data = 0;
                for (Port &port : ports) open += port.open(false), data += port.open(true);
                for (uint64_t value : {now, outside, first_outside, open, data, (uint64_t)deaf, (uint64_t)ALERT}) say(value);
                for (Port &port : ports) say(port.broken), port.broken = 0;
                outside = first_outside = 0;
                break;
            }
            case 15:  // flip: array, word, bit
                flip(t, a, b, c);
                break;
        }
        // Answers are awaited; orders without one may pile up.
        if (order == 2 || order == 6 || order == 8 || order == 9 || order == 13 || order == 14) fflush(stdout);
    }
    return 0;
}
