// The memory at the ports of an engine, and how a port of it answers from cycle to cycle. verif/engine/memory.py and
// memory_port.py say what the fields mean; the fields that they share with Python come first, in the same order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <unordered_set>

namespace bench {

// What the design did that it must not do.
struct Objection : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline std::string hex(uint64_t value) {
    char text[20];
    std::snprintf(text, sizeof text, "%#llx", static_cast<unsigned long long>(value));
    return value ? text : "0x0";
}

// Numbers that follow from a seed (SplitMix64).
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}

    uint64_t next() {
        uint64_t mixed = state_ += 0x9E3779B97F4A7C15;
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
        return mixed ^ mixed >> 31;
    }
    // Whether something happens that does in this share of all cases.
    bool happens(double share) { return share > 0 && static_cast<double>(next() >> 11) * 0x1p-53 < share; }
    uint64_t up_to(uint64_t most) { return next() % (most + 1); }

  private:
    uint64_t state_;
};

struct Bad {
    uint64_t at, response;
};

// Most bytes of a memory that are answered with errors at once.
constexpr size_t kBad = 16;

using Places = std::unordered_set<uint64_t>;

struct Memory {
    uint64_t size, data;
    uint8_t *bytes, *writable;
    uint64_t latency, delay, depth, frozen;
    int64_t first_read, last_answer;
    const Places *places;
    uint64_t bads;
    Bad bad[kBad];
    // What is beyond the memory; each returns whether it objects.
    int (*far_get)(uint64_t address, uint64_t length, uint8_t *to);
    int (*far_put)(uint64_t address, uint64_t length, const uint8_t *from);

    // Where in the memory an address is; an address that is nowhere in it stays as it is.
    uint64_t place_of(uint64_t address) const {
        const uint64_t base = address / size * size;
        return places->count(base) ? address - base : address;
    }

    void read(uint64_t address, uint64_t length, uint8_t *to) {
        const uint64_t at = place_of(address);
        if (at < size) {
            const uint64_t within = std::min(length, size - at);
            std::memcpy(to, bytes + at, within);
            std::memset(to + within, 0, length - within);
            return;
        }
        if (!far_get) throw Objection("a read of " + hex(address) + ", where nothing is");
        if (far_get(address, length, to)) throw Objection("beyond the memory");
    }

    // Writes what the engine writes, where it may.
    void write(uint64_t address, uint64_t length, const uint8_t *from, bool store) {
        const uint64_t at = place_of(address);
        if (at >= size && far_put) {
            if (store && far_put(address, length, from)) throw Objection("beyond the memory");
            return;
        }
        for (uint64_t each = 0; each < length; ++each) {
            if (at + each >= size || !writable[at + each]) {
                throw Objection("a write to " + hex(address + each) + ", which nobody allowed");
            }
        }
        if (store) std::memcpy(bytes + at, from, length);
    }

    // How a beat of these bytes is answered: the first of them that is bad says it.
    uint64_t response(uint64_t start, uint64_t count) const {
        const Bad *found = nullptr;
        for (const Bad *each = bad; each != bad + bads; ++each) {
            if (each->at - start < count && (!found || each->at < found->at)) found = each;
        }
        return found ? found->response : 0;
    }
};

struct Burst {
    uint64_t id, address, beats, beat_bytes;
    int64_t due;
    uint64_t response = 0;
    bool delayed = false;

    void go_on() {
        address += beat_bytes;
        --beats;
        delayed = false;
    }
};

struct Beat {
    uint64_t id, response, last;
};

enum Channel { AR, R, AW, W, B, CHANNELS };

constexpr size_t kIds = 33, kBeats = 257;

struct Port {
    Memory *memory;
    uint64_t bus_bytes, seed;
    double pauses[CHANNELS];
    uint64_t slow, silent;
    uint64_t unit, units, stripe_bytes;
    // The bursts that have come: reads and writes, their ID, their beats, and whether they end with a page.
    uint32_t bursts[2][kIds][kBeats][2];
};

// A port of a memory, which answers in the order of the addresses.
class Server {
  public:
    explicit Server(Port &port) : port(port), random_(port.seed) {}

    Port &port;

    void forget_reads() { reads_.clear(); }
    void forget_writes() {
        writes_.clear();
        answers_.clear();
    }
    bool reading() const { return !reads_.empty(); }
    bool writing() const { return !writes_.empty() || !answers_.empty(); }

    // ---- What has passed.

    void ask(bool write, int64_t cycle, const Burst &asked) {
        if (asked.id >= kIds) throw Objection("no transaction has the ID " + std::to_string(asked.id));
        const bool ends_page = (asked.address + asked.beats * asked.beat_bytes) % 4096 == 0;
        ++port.bursts[write][asked.id][asked.beats][ends_page];
        Burst burst = asked;
        burst.due = cycle;
        if (write) {
            writes_.push_back(burst);
            return;
        }
        Memory &memory = *port.memory;
        if (memory.first_read < 0 && asked.address >= memory.data) memory.first_read = cycle;
        burst.due += static_cast<int64_t>(memory.latency);
        reads_.push_back(burst);
    }

    // Takes a beat of data; one that is answered with an error is not stored. Returns whether it ends a burst of a ring.
    bool put(int64_t cycle, const uint8_t *data, const uint8_t *strobes) {
        if (writes_.empty()) throw Objection("data before their address");
        Burst &burst = writes_.front();
        Memory &memory = *port.memory;
        own(burst.address);
        const uint64_t start = burst.address / port.bus_bytes * port.bus_bytes;
        const uint64_t found = memory.response(burst.address, burst.beat_bytes);
        if (!burst.response) burst.response = found;
        const auto strobed = [&](uint64_t lane) { return strobes[lane / 8] >> lane % 8 & 1; };
        for (uint64_t lane = 0; lane < port.bus_bytes;) {
            uint64_t end = lane;
            while (end < port.bus_bytes && strobed(end)) ++end;
            if (end > lane) memory.write(start + lane, end - lane, data + lane, !found);
            lane = end + 1;
        }
        burst.go_on();
        if (burst.beats) return false;
        burst.due = cycle + static_cast<int64_t>(memory.latency);
        if (burst.address > memory.data) memory.last_answer = std::max(memory.last_answer, burst.due);
        answers_.push_back(burst);
        writes_.pop_front();
        return answers_.back().id != 0;
    }

    // ---- What is offered and taken next.

    bool takes_read() { return reads_.size() < port.memory->depth && !rests(AR); }
    bool takes_write() { return writes_.size() < port.memory->depth && !rests(AW); }
    // Data are taken whose address has come.
    bool takes_data(int64_t cycle) { return !writes_.empty() && is_due(writes_.front(), cycle) && !rests(W); }

    // The next beat of data, if one is due.
    bool next_beat(int64_t cycle, Beat &beat, uint8_t *data) {
        if (reads_.empty() || !is_due(reads_.front(), cycle) || rests(R)) return false;
        Burst &burst = reads_.front();
        own(burst.address);
        const uint64_t start = burst.address / port.bus_bytes * port.bus_bytes;
        beat = {burst.id, port.memory->response(burst.address, burst.beat_bytes), burst.beats == 1};
        if (beat.response) {
            std::memset(data, 0, port.bus_bytes);
        } else {
            port.memory->read(start, port.bus_bytes, data);
        }
        burst.go_on();
        if (!burst.beats) reads_.pop_front();
        return true;
    }

    // The next response to a write, if one is due.
    bool next_answer(int64_t cycle, Beat &answer) {
        if (answers_.empty() || holds() || answers_.front().due > cycle || rests(B)) return false;
        answer = {answers_.front().id, answers_.front().response, 1};
        answers_.pop_front();
        return true;
    }

  private:
    bool holds() const { return port.memory->frozen || port.silent; }
    bool rests(Channel channel) { return random_.happens(port.pauses[channel]); }

    void own(uint64_t address) const {
        if (address / port.stripe_bytes % port.units != port.unit) {
            throw Objection(hex(address) + " is another port's");
        }
    }

    // Whether the next beat of the oldest burst may pass.
    bool is_due(Burst &burst, int64_t cycle) {
        if (holds()) return false;
        if (!burst.delayed) {
            burst.delayed = true;
            if (burst.address % 256 == 0 && (port.memory->delay || port.slow)) {
                const uint64_t wait = random_.up_to(port.memory->delay) + port.slow;
                burst.due = std::max(burst.due, cycle + static_cast<int64_t>(wait));
            }
        }
        return burst.due <= cycle;
    }

    Random random_;
    std::deque<Burst> reads_, writes_, answers_;
};

}  // namespace bench
