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

#include "link.h"

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
    bool happens(double share) { return share > 0 && part() < share; }
    double part() { return static_cast<double>(next() >> 11) * 0x1p-53; }
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
    Host link;

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

// The cycle of what no cycle is known for.
constexpr int64_t kSomeday = INT64_MAX;

// A burst, or over a link a part of one that has a tag of its own.
struct Burst {
    uint64_t id, address, beats, beat_bytes;
    int64_t due;
    uint64_t response = 0;
    bool delayed = false, ends = true, begun = false;
    // Of a part with a tag: when the host's memory answers, and whether it has been asked.
    double answered = 0;
    bool asked = false;

    void go_on() {
        address += beat_bytes;
        --beats;
        delayed = false;
        begun = true;
    }
};

struct Beat {
    uint64_t id, response, last;
};

enum Channel { AR, R, AW, W, B, CHANNELS };

constexpr size_t kIds = 259, kBeats = 257;

struct Port {
    Memory *memory;
    uint64_t bus_bytes, seed;
    double pauses[CHANNELS];
    uint64_t slow, silent;
    uint64_t unit, units, stripe_bytes;
    // The bursts that have come: reads and writes, their ID, their beats, and whether they end with a page.
    uint32_t bursts[2][kIds][kBeats][2];
};

// A port of a memory, which answers in the order of the addresses; over a link, in that of each ID.
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
        if (over_link()) {
            cut(burst);
            return;
        }
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
        const bool heads = over_link() && (!burst.begun || burst.address % kPayload < burst.beat_bytes);
        burst.go_on();
        const int64_t answered = over_link() ? to_host_.carry(host(), static_cast<double>(cycle),
                                                              burst.beat_bytes + (heads ? kOfRequest : 0))
                                             : cycle + static_cast<int64_t>(memory.latency);
        if (burst.beats) return false;
        burst.due = answered;
        if (burst.address > memory.data) memory.last_answer = std::max(memory.last_answer, burst.due);
        answers_.push_back(burst);
        writes_.pop_front();
        return answers_.back().id != 0;
    }

    // ---- What is offered and taken next.

    bool takes_read() { return reads_.size() < port.memory->depth && !rests(AR); }
    bool takes_write() { return writes_.size() < port.memory->depth && !rests(AW); }
    // Data are taken whose address has come.
    bool takes_data(int64_t cycle) {
        if (writes_.empty() || (over_link() && !to_host_.has_room(host(), static_cast<double>(cycle), kQueue))) return false;
        return is_due(writes_.front(), cycle) && !rests(W);
    }

    // The next beat of data, if one is due.
    bool next_beat(int64_t cycle, Beat &beat, uint8_t *data) {
        const auto found = over_link() ? arrived(cycle) : reads_.begin();
        if (found == reads_.end() || !is_due(*found, cycle) || rests(R)) return false;
        Burst &burst = *found;
        own(burst.address);
        const uint64_t start = burst.address / port.bus_bytes * port.bus_bytes;
        beat = {burst.id, port.memory->response(burst.address, burst.beat_bytes), burst.beats == 1 && burst.ends};
        if (beat.response) {
            std::memset(data, 0, port.bus_bytes);
        } else {
            port.memory->read(start, port.bus_bytes, data);
        }
        burst.go_on();
        if (!burst.beats) reads_.erase(found);
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

    const Host &host() const { return port.memory->link; }
    bool over_link() const { return host().tags; }

    // Cuts a read into those that each have a tag.
    void cut(Burst burst) {
        burst.due = kSomeday;
        while (burst.beats) {
            Burst part = burst;
            const uint64_t room = kRequest - burst.address % kRequest;
            part.beats = std::min(burst.beats, (room + burst.beat_bytes - 1) / burst.beat_bytes);
            part.ends = part.beats == burst.beats;
            reads_.push_back(part);
            burst.beats -= part.beats;
            burst.address += part.beats * burst.beat_bytes;
        }
    }

    // Asks the host as far as there are tags, and carries what it has answered; the first read of an ID that has arrived.
    std::deque<Burst>::iterator arrived(int64_t cycle) {
        const double now = static_cast<double>(cycle);
        uint64_t tags = host().tags;
        for (Burst &read : reads_) {
            if (!read.asked && tags && to_host_.has_room(host(), now, kQueue)) {
                to_host_.carry(host(), now, kOfRequest);
                read.answered = now + host().wait(random_.part());
                read.asked = true;
            }
            if (read.asked && read.due > cycle) --tags;
            if (!read.asked || !tags) break;
        }
        while (from_host_.has_room(host(), now, 0)) {
            Burst *first = nullptr;
            for (Burst &read : reads_) {
                const bool waits = read.asked && read.due == kSomeday && read.answered <= now;
                if (waits && (!first || read.answered < first->answered)) first = &read;
            }
            if (!first) break;
            const uint64_t bytes = first->beats * first->beat_bytes;
            const uint64_t heads = (bytes + kPayload - 1) / kPayload;
            first->due = from_host_.carry(host(), first->answered, bytes + heads * kOfCompletion);
        }
        uint64_t seen = 0;
        const auto next = [&](const Burst &read) {
            const uint64_t id = 1ull << read.id;
            const bool may = !(seen & id) && read.due <= cycle;
            seen |= id;
            return may;
        };
        return std::find_if(reads_.begin(), reads_.end(), next);
    }

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
    Way to_host_, from_host_;
};

}  // namespace bench
