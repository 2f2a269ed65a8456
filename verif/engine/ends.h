// The bench's ends of the ports of an engine: a memory, and a master of AXI4-Lite.
#pragma once

#include <memory>

#include "pins.h"

namespace bench {

// A signal beside the addresses of a port, and what it must be for each ID.
struct Beside {
    Beside(const std::string &name, const std::string &pin, Changes &changes) : name(name), pin(pin, changes) {}

    std::string name;
    Pin pin;
    uint64_t wanted[kIds] = {};
};

// The pins of AR or AW.
class Requests {
  public:
    Requests(const std::string &prefix, Changes &changes)
        : valid(prefix + "valid", changes),
          id_(prefix + "id", changes),
          address_(prefix + "addr", changes),
          length_(prefix + "len", changes),
          size_(prefix + "size", changes) {}

    Pin valid;
    std::vector<std::unique_ptr<Beside>> beside;

    Burst burst() const {
        return {id_.number(), address_.number(), length_.number() + 1, 1ull << size_.number(), 0};
    }
    void check(const std::string &port, uint64_t id) const {
        for (const auto &each : beside) {
            const uint64_t got = each->pin.number(), want = id < kIds ? each->wanted[id] : 0;
            if (got != want) {
                throw Objection(port + ": " + each->name + " is " + hex(got) + " with ID " + std::to_string(id) +
                                ", not " + hex(want));
            }
        }
    }

  private:
    Pin id_, address_, length_, size_;
};

// A port of a memory at the pins that begin with a prefix. An end sees each rising edge: it reads what the edge sees, and
// drives what comes after it.
class MemoryEnd {
  public:
    MemoryEnd(Port &port, const std::string &name, const std::string &prefix, Changes &changes)
        : ar(prefix + "_ar", changes),
          aw(prefix + "_aw", changes),
          server_(port),
          name_(name),
          arready_(prefix + "_arready", changes),
          rvalid_(prefix + "_rvalid", changes),
          rready_(prefix + "_rready", changes),
          rid_(prefix + "_rid", changes),
          rdata_(prefix + "_rdata", changes),
          rresp_(prefix + "_rresp", changes),
          rlast_(prefix + "_rlast", changes),
          awready_(prefix + "_awready", changes),
          wvalid_(prefix + "_wvalid", changes),
          wready_(prefix + "_wready", changes),
          wdata_(prefix + "_wdata", changes),
          wstrb_(prefix + "_wstrb", changes),
          bvalid_(prefix + "_bvalid", changes),
          bready_(prefix + "_bready", changes),
          bid_(prefix + "_bid", changes),
          bresp_(prefix + "_bresp", changes),
          data_(port.bus_bytes) {
        for (Pin *pin : {&rvalid_, &rid_, &rresp_, &rlast_, &wready_, &bvalid_, &bid_, &bresp_}) pin->drive(0);
        rdata_.drive(data_.data(), data_.size());
        arready_.drive(1);
        awready_.drive(1);
    }

    Requests ar, aw;

    // Returns whether a record of a ring has been written.
    bool step(int64_t cycle, bool in_reset) {
        step_reads(cycle, in_reset);
        return step_writes(cycle, in_reset);
    }

  private:
    void step_reads(int64_t cycle, bool in_reset) {
        const bool asked = ar.valid.high();
        if (!asked && !offers_data_ && !server_.reading()) return;
        if (in_reset) {
            server_.forget_reads();
            offers_data_ = false;
            rvalid_.drive(0);
            return;
        }
        if (takes_read_ && asked) ask(ar, false, cycle);
        takes_read_ = server_.takes_read();
        arready_.drive(takes_read_);
        if (offers_data_ && !rready_.high()) return;
        Beat beat{};
        offers_data_ = server_.next_beat(cycle, beat, data_.data());
        rvalid_.drive(offers_data_);
        if (!offers_data_) return;
        rid_.drive(beat.id);
        rdata_.drive(data_.data(), server_.port.bus_bytes);
        rresp_.drive(beat.response);
        rlast_.drive(beat.last);
    }

    bool step_writes(int64_t cycle, bool in_reset) {
        const bool asked = aw.valid.high();
        if (!asked && !offers_answer_ && !server_.writing()) return false;
        if (in_reset) {
            server_.forget_writes();
            takes_data_ = offers_answer_ = false;
            wready_.drive(0);
            bvalid_.drive(0);
            return false;
        }
        bool record = false;
        if (takes_data_ && wvalid_.high()) {
            wdata_.read(written_);
            wstrb_.read(strobes_);
            record = server_.put(cycle, written_.data(), strobes_.data());
        }
        if (takes_write_ && asked) ask(aw, true, cycle);
        takes_write_ = server_.takes_write();
        takes_data_ = server_.takes_data(cycle);
        awready_.drive(takes_write_);
        wready_.drive(takes_data_);
        if (offers_answer_ && !bready_.high()) return record;
        Beat answer{};
        offers_answer_ = server_.next_answer(cycle, answer);
        bvalid_.drive(offers_answer_);
        if (offers_answer_) {
            bid_.drive(answer.id);
            bresp_.drive(answer.response);
        }
        return record;
    }

    void ask(const Requests &requests, bool write, int64_t cycle) {
        const Burst burst = requests.burst();
        requests.check(name_, burst.id);
        server_.ask(write, cycle, burst);
    }

    Server server_;
    std::string name_;
    Pin arready_, rvalid_, rready_, rid_, rdata_, rresp_, rlast_;
    Pin awready_, wvalid_, wready_, wdata_, wstrb_, bvalid_, bready_, bid_, bresp_;
    bool takes_read_ = true, takes_write_ = true, takes_data_ = false, offers_data_ = false, offers_answer_ = false;
    std::vector<uint8_t> data_, written_, strobes_;
};

// What Python shares with the master of the register port.
struct RegisterPort {
    uint64_t seed;
    double pauses[CHANNELS];
};

// The response of an access that a reset has cut off.
constexpr uint64_t kCutOff = 4;

// A master at the pins of a register port that begin with a prefix: it gives reads and writes to the port, each kind in the
// order of their numbers, several in flight.
class RegisterEnd {
  public:
    struct Response {
        uint64_t write, resp, data;
    };
    struct Request {
        uint64_t address, prot;
    };

    RegisterEnd(RegisterPort &port, const std::string &prefix, Changes &changes)
        : port_(port),
          random_(port.seed),
          awaddr_(prefix + "_awaddr", changes),
          wdata_(prefix + "_wdata", changes),
          wstrb_(prefix + "_wstrb", changes),
          araddr_(prefix + "_araddr", changes),
          rdata_(prefix + "_rdata", changes),
          aw_(prefix + "_aw", changes),
          w_(prefix + "_w", changes),
          ar_(prefix + "_ar", changes),
          b_(prefix + "_b", changes),
          r_(prefix + "_r", changes),
          awprot_(prefix + "_awprot", changes),
          arprot_(prefix + "_arprot", changes) {
        for (Pin *pin : {&awaddr_, &wdata_, &wstrb_, &araddr_, &awprot_, &arprot_}) pin->drive(0);
    }

    std::deque<Response> responses;

    void write(const Request &request, uint64_t data, uint64_t strobes) {
        addresses_.push_back(request);
        data_.push_back({data, strobes});
        ++writes_;
    }
    void read(const Request &request) {
        reads_.push_back(request);
        ++reading_;
    }

    void step(bool in_reset) {
        if (in_reset) {
            forget();
            return;
        }
        if (writes_) {
            if (aw_.may_offer()) {
                aw_.offer(next(addresses_, aw_, rests(AW), [&](const Request &request) {
                    awaddr_.drive(request.address);
                    awprot_.drive(request.prot);
                }));
            }
            if (w_.may_offer()) {
                w_.offer(next(data_, w_, rests(W), [&](const Word &word) {
                    wdata_.drive(word.data);
                    wstrb_.drive(word.strobes);
                }));
            }
            take(b_, rests(B), true, writes_);
        }
        if (reading_) {
            if (ar_.may_offer()) {
                ar_.offer(next(reads_, ar_, rests(AR), [&](const Request &request) {
                    araddr_.drive(request.address);
                    arprot_.drive(request.prot);
                }));
            }
            take(r_, rests(R), false, reading_);
        }
    }

  private:
    struct Word {
        uint64_t data, strobes;
    };

    // The handshake of a channel that the master drives: what it offers stays until it is taken.
    struct Source {
        Source(const std::string &prefix, Changes &changes) : valid(prefix + "valid", changes), ready(prefix + "ready", changes) {
            valid.drive(0);
        }
        bool may_offer() const { return !offers || ready.high(); }
        void offer(bool some) {
            offers = some;
            valid.drive(some);
        }

        Pin valid, ready;
        bool offers = false;
    };

    // The handshake of a channel that the engine drives.
    struct Sink {
        Sink(const std::string &prefix, Changes &changes)
            : valid(prefix + "valid", changes), ready(prefix + "ready", changes), response(prefix + "resp", changes) {
            ready.drive(0);
        }
        void take(bool some) {
            willing = some;
            ready.drive(some);
        }

        Pin valid, ready, response;
        bool willing = false;
    };

    bool rests(Channel channel) { return random_.happens(port_.pauses[channel]); }

    // Goes on past what has been taken, and drives what comes next; returns whether something is offered.
    template <class Item, class Drive>
    static bool next(std::deque<Item> &queue, const Source &source, bool rests, const Drive &drive) {
        if (source.offers) queue.pop_front();
        if (queue.empty() || rests) return false;
        drive(queue.front());
        return true;
    }

    void take(Sink &sink, bool rests, bool write, uint64_t &waiting) {
        if (sink.willing && sink.valid.high()) {
            if (!waiting) throw Objection("a response to no access");
            --waiting;
            responses.push_back({write, sink.response.number(), write ? 0 : rdata_.number()});
        }
        sink.take(!rests);
    }

    // Forgets what a reset has cut off, and says so.
    void forget() {
        addresses_.clear();
        data_.clear();
        reads_.clear();
        for (; writes_; --writes_) responses.push_back({true, kCutOff, 0});
        for (; reading_; --reading_) responses.push_back({false, kCutOff, 0});
        for (Source *source : {&aw_, &w_, &ar_}) source->offer(false);
        for (Sink *sink : {&b_, &r_}) sink->take(false);
    }

    RegisterPort &port_;
    Random random_;
    Pin awaddr_, wdata_, wstrb_, araddr_, rdata_;
    Source aw_, w_, ar_;
    Sink b_, r_;
    Pin awprot_, arprot_;
    std::deque<Request> addresses_, reads_;
    std::deque<Word> data_;
    uint64_t writes_ = 0, reading_ = 0;
};

}  // namespace bench
