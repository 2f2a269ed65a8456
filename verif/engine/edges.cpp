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

class Edges {
  public:
    Shared shared{};

    Edges(const std::string &clock, const std::string &resetn, const std::string &wake, const std::string &broken,
          uint64_t half_period)
        : clock_(clock, changes_), resetn_(resetn, changes_), half_period_(half_period) {
        if (!wake.empty()) wake_ = std::make_unique<Pin>(wake, changes_);
        if (!broken.empty()) broken_ = std::make_unique<Pin>(broken, changes_);
        clock_.put(0);
        if (wake_) wake_->put(0);
        wait();
    }

    MemoryEnd &connect(Port &port, const std::string &name, const std::string &prefix) {
        memories_.push_back(std::make_unique<MemoryEnd>(port, name, prefix, changes_));
        return *memories_.back();
    }
    RegisterEnd &connect(RegisterPort &port, const std::string &prefix) {
        registers_ = std::make_unique<RegisterEnd>(port, prefix, changes_);
        return *registers_;
    }
    // An output that is low in reset; ``falls`` says that it may fall at the first edge in reset.
    void keep_low(const std::string &pin, bool falls) {
        low_ = std::make_unique<Pin>(pin, changes_);
        low_name_ = pin;
        low_falls_ = falls;
    }
    Changes &changes() { return changes_; }
    void object(const std::string &why) {
        shared.objected = 1;
        std::snprintf(shared.objection, sizeof shared.objection, "%s", why.c_str());
    }
    // Lets the clock stand still for good.
    void stop() { stopped_ = true; }

  private:
    static PLI_INT32 tick(p_cb_data data) {
        Edges *edges = reinterpret_cast<Edges *>(data->user_data);
        if (edges->stopped_) {
            delete edges;
        } else {
            edges->turn();
        }
        return 0;
    }

    void wait() {
        s_vpi_time time{vpiSimTime, static_cast<PLI_UINT32>(half_period_ >> 32), static_cast<PLI_UINT32>(half_period_), 0};
        s_cb_data data{};
        data.reason = cbAfterDelay;
        data.cb_rtn = tick;
        data.time = &time;
        data.user_data = reinterpret_cast<PLI_BYTE8 *>(this);
        vpi_register_cb(&data);
    }

    void turn() {
        high_ = !high_;
        // Python may be called from within the last lines.
        wait();
        const bool wakes = high_ && step();
        clock_.put(high_);
        if (wakes && wake_) wake_->put(awake_ = !awake_);
    }

    // A rising edge, which the design has not seen yet; returns whether Python is to know of it.
    bool step() {
        ++shared.cycles;
        bool wakes = shared.cycles >= shared.alarm;
        if (shared.cycles <= kSettling) return wakes;
        if (shared.objected) return true;
        const bool in_reset = !resetn_.high();
        shared.broken = broken_ && broken_->high();
        if (shared.broken) return true;
        try {
            if (in_reset && low_ && !(first_in_reset_ && low_falls_) && low_->high()) {
                throw Objection(low_name_.substr(low_name_.rfind('.') + 1) + " is high in reset");
            }
            first_in_reset_ = !in_reset;
            for (const auto &memory : memories_) {
                const bool record = memory->step(static_cast<int64_t>(shared.cycles), in_reset);
                shared.records |= record;
                wakes |= record;
            }
            if (registers_) {
                registers_->step(in_reset);
                wakes |= !registers_->responses.empty();
            }
        } catch (const Objection &why) {
            object(why.what());
            wakes = true;
        }
        return wakes;
    }

    Changes changes_;
    Pin clock_, resetn_;
    std::unique_ptr<Pin> wake_, broken_, low_;
    std::string low_name_;
    std::vector<std::unique_ptr<MemoryEnd>> memories_;
    std::unique_ptr<RegisterEnd> registers_;
    uint64_t half_period_;
    bool high_ = false, awake_ = false, first_in_reset_ = true, low_falls_ = false, stopped_ = false;
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

Edges *edges_new(const char *clock, const char *resetn, const char *wake, const char *broken, uint64_t half_period,
                 char *objection) {
    return objecting(objection, [&] { return new Edges(clock, resetn, wake, broken, half_period); });
}
void edges_stop(Edges *edges) { edges->stop(); }
Shared *edges_shared(Edges *edges) { return &edges->shared; }
MemoryEnd *edges_memory(Edges *edges, Port *port, const char *name, const char *prefix, char *objection) {
    return objecting(objection, [&] { return &edges->connect(*port, name, prefix); });
}
RegisterEnd *edges_registers(Edges *edges, RegisterPort *port, const char *prefix, char *objection) {
    return objecting(objection, [&] { return &edges->connect(*port, prefix); });
}
int edges_keep_low(Edges *edges, const char *pin, int falls, char *objection) {
    return objecting(objection, [&] { return edges->keep_low(pin, falls), 0; });
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
void server_put(Server *server, int64_t cycle, const uint8_t *data, const uint8_t *strobes, char *objection) {
    objecting(objection, [&] { return server->put(cycle, data, strobes); });
}
int server_takes_read(Server *server) { return server->takes_read(); }
int server_takes_write(Server *server) { return server->takes_write(); }
int server_takes_data(Server *server, int64_t cycle) { return server->takes_data(cycle); }
int server_next_beat(Server *server, int64_t cycle, Beat *beat, uint8_t *data, char *objection) {
    return objecting(objection, [&] { return server->next_beat(cycle, *beat, data); });
}
int server_next_answer(Server *server, int64_t cycle, Beat *answer) { return server->next_answer(cycle, *answer); }
}
