// The bench of an engine, as far as it has something to do at every clock edge: the clock, the memories, the master of the
// register port, the look at the rules. verif/engine/edges.py loads it into the process of a simulation, and is woken only
// when something has happened that it waits for.
//
// It is the same for every design, and for every simulator with the interface of vpi_user.h. Where there is no simulator,
// the functions of a single port still work.

#include <memory>

#include "ends.h"

#pragma weak vpi_get
#pragma weak vpi_get_value
#pragma weak vpi_handle_by_name
#pragma weak vpi_put_value
#pragma weak vpi_register_cb

namespace bench {

// The first edges, which bring the design from anywhere into its reset.
constexpr uint64_t kSettling = 2;

// What Python shares with the edges; verif/engine/edges.py says what it means.
struct Shared {
    uint64_t cycles, alarm;
    uint64_t broken, records, objected;
    char objection[400];
};

class Edges;

// A clock, its reset, and what has something to do at its edges. Half a period is ``half`` and up to ``jitter``.
struct Clock {
    Clock(Edges &owner, const std::string &pin, const std::string &resetn, uint64_t half, uint64_t jitter, Changes &changes)
        : owner(owner), pin(pin, changes), resetn(resetn, changes), half(half), jitter(jitter) {}

    Edges &owner;
    Pin pin, resetn;
    uint64_t half, jitter, edges = 0;
    std::unique_ptr<Pin> low;
    std::string low_name;
    bool high = false, first_in_reset = true, low_falls = false;
    std::vector<std::unique_ptr<MemoryEnd>> memories;
    std::unique_ptr<RegisterEnd> registers;
};

class Edges {
  public:
    Shared shared{};

    Edges(const std::string &wake, const std::string &broken) {
        if (!wake.empty()) wake_ = std::make_unique<Pin>(wake, changes_);
        if (!broken.empty()) broken_ = std::make_unique<Pin>(broken, changes_);
        if (wake_) wake_->put(0);
    }

    // One more clock; cycles are those of the first one.
    Clock &add(const std::string &pin, const std::string &resetn, uint64_t half, uint64_t jitter) {
        clocks_.push_back(std::make_unique<Clock>(*this, pin, resetn, half, jitter, changes_));
        Clock &clock = *clocks_.back();
        clock.pin.put(0);
        ++running_;
        wait(clock);
        return clock;
    }
    MemoryEnd &connect(Clock &clock, Port &port, const std::string &name, const std::string &prefix) {
        clock.memories.push_back(std::make_unique<MemoryEnd>(port, name, prefix, changes_));
        return *clock.memories.back();
    }
    RegisterEnd &connect(Clock &clock, RegisterPort &port, const std::string &prefix) {
        clock.registers = std::make_unique<RegisterEnd>(port, prefix, changes_);
        return *clock.registers;
    }
    // An output that is low in reset; ``falls`` says that it may fall at the first edge in reset.
    void keep_low(Clock &clock, const std::string &pin, bool falls) {
        clock.low = std::make_unique<Pin>(pin, changes_);
        clock.low_name = pin;
        clock.low_falls = falls;
    }
    Changes &changes() { return changes_; }
    void object(const std::string &why) {
        shared.objected = 1;
        std::snprintf(shared.objection, sizeof shared.objection, "%s", why.c_str());
    }
    // Lets the clocks stand still for good.
    void stop() { stopped_ = true; }

  private:
    static PLI_INT32 tick(p_cb_data data) {
        Clock &clock = *reinterpret_cast<Clock *>(data->user_data);
        Edges *edges = &clock.owner;
        if (!edges->stopped_) {
            edges->turn(clock);
        } else if (--edges->running_ == 0) {
            delete edges;
        }
        return 0;
    }

    void wait(Clock &clock) {
        chance_ = chance_ * 6364136223846793005u + 1442695040888963407u;
        const uint64_t delay = clock.half + (clock.jitter ? (chance_ >> 33) % clock.jitter : 0);
        s_vpi_time time{vpiSimTime, static_cast<PLI_UINT32>(delay >> 32), static_cast<PLI_UINT32>(delay), 0};
        s_cb_data data{};
        data.reason = cbAfterDelay;
        data.cb_rtn = tick;
        data.time = &time;
        data.user_data = reinterpret_cast<PLI_BYTE8 *>(&clock);
        vpi_register_cb(&data);
    }

    void turn(Clock &clock) {
        clock.high = !clock.high;
        // Python may be called from within the last lines.
        wait(clock);
        const bool wakes = clock.high && step(clock);
        clock.pin.put(clock.high);
        if (wakes && wake_) wake_->put(awake_ = !awake_);
    }

    // A rising edge, which the design has not seen yet; returns whether Python is to know of it.
    bool step(Clock &clock) {
        const bool counts = &clock == clocks_.front().get();
        shared.cycles += counts;
        bool wakes = counts && shared.cycles >= shared.alarm;
        if (++clock.edges == kSettling + 1) ++settled_;
        if (clock.edges <= kSettling) return wakes;
        if (shared.objected) return true;
        const bool in_reset = !clock.resetn.high();
        shared.broken = settled_ == clocks_.size() && broken_ && broken_->high();
        if (shared.broken) return true;
        try {
            if (in_reset && clock.low && !(clock.first_in_reset && clock.low_falls) && clock.low->high()) {
                throw Objection(clock.low_name.substr(clock.low_name.rfind('.') + 1) + " is high in reset");
            }
            clock.first_in_reset = !in_reset;
            for (const auto &memory : clock.memories) {
                const bool record = memory->step(static_cast<int64_t>(shared.cycles), in_reset);
                shared.records |= record;
                wakes |= record;
            }
            if (clock.registers) {
                clock.registers->step(in_reset);
                wakes |= !clock.registers->responses.empty();
            }
        } catch (const Objection &why) {
            object(why.what());
            wakes = true;
        }
        return wakes;
    }

    Changes changes_;
    std::unique_ptr<Pin> wake_, broken_;
    std::vector<std::unique_ptr<Clock>> clocks_;
    uint64_t running_ = 0, settled_ = 0, chance_ = 1;
    bool awake_ = false, stopped_ = false;
};

// Does something, and keeps what is objected to it.
template <class Job> auto objecting(char *objection, const Job &job) -> decltype(job()) {
    try {
        return job();
    } catch (const std::exception &why) {
        std::snprintf(objection, sizeof Shared::objection, "%s", why.what());
        return {};
    }
}

}  // namespace bench

using namespace bench;

extern "C" {

// ---- The edges of a simulation. What is wrong with the names is written to ``objection``.

Edges *edges_new(const char *wake, const char *broken, char *objection) {
    return objecting(objection, [&] { return new Edges(wake, broken); });
}
Clock *edges_clock(Edges *edges, const char *pin, const char *resetn, uint64_t half, uint64_t jitter, char *objection) {
    return objecting(objection, [&] { return &edges->add(pin, resetn, half, jitter); });
}
void edges_stop(Edges *edges) { edges->stop(); }
Shared *edges_shared(Edges *edges) { return &edges->shared; }
MemoryEnd *edges_memory(Edges *edges, Clock *clock, Port *port, const char *name, const char *prefix, char *objection) {
    return objecting(objection, [&] { return &edges->connect(*clock, *port, name, prefix); });
}
RegisterEnd *edges_registers(Edges *edges, Clock *clock, RegisterPort *port, const char *prefix, char *objection) {
    return objecting(objection, [&] { return &edges->connect(*clock, *port, prefix); });
}
int edges_keep_low(Edges *edges, Clock *clock, const char *pin, int falls, char *objection) {
    return objecting(objection, [&] { return edges->keep_low(*clock, pin, falls), 0; });
}

// ---- What addresses have beside: a signal of AR or AW is added, and set for an ID.

Beside *memory_beside(Edges *edges, MemoryEnd *end, int write, const char *name, const char *pin, char *objection) {
    return objecting(objection, [&] {
        auto &all = (write ? end->aw : end->ar).beside;
        all.push_back(std::make_unique<Beside>(name, pin, edges->changes()));
        return all.back().get();
    });
}
void beside_want(Beside *beside, uint64_t id, uint64_t value) { beside->wanted[id] = value; }

// ---- The master of the register port.

void registers_write(RegisterEnd *end, uint64_t address, uint64_t prot, uint64_t data, uint64_t strobes) {
    end->write({address, prot}, data, strobes);
}
void registers_read(RegisterEnd *end, uint64_t address, uint64_t prot) { end->read({address, prot}); }
int registers_next(RegisterEnd *end, RegisterEnd::Response *response) {
    if (end->responses.empty()) return 0;
    *response = end->responses.front();
    end->responses.pop_front();
    return 1;
}

// ---- Where a memory is.

Places *places_new() { return new Places; }
void places_delete(Places *places) { delete places; }
void places_add(Places *places, uint64_t base) { places->insert(base); }

// ---- A port by itself.

Server *server_new(Port *port) { return new Server(*port); }
void server_delete(Server *server) { delete server; }
void server_ask(Server *server, int write, int64_t cycle, uint64_t id, uint64_t address, uint64_t beats,
                uint64_t beat_bytes, char *objection) {
    objecting(objection, [&] { return server->ask(write, cycle, {id, address, beats, beat_bytes, 0}), 0; });
}
int server_next_beat(Server *server, int64_t cycle, Beat *beat, uint8_t *data, char *objection) {
    return objecting(objection, [&] { return server->next_beat(cycle, *beat, data); });
}
}
