// Writes one run of bursts into a DRAM and reads it back, with nothing else at the controller's port: the cycles of each.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "Vtop.h"

namespace {

constexpr int kInFlight = 16, kBytes = 16;

struct Port {
    Vtop top;
    int64_t cycles = 0;

    template <class Check> void edge(const Check &check) {
        top.sys_clk = 0;
        top.eval();
        check();
        top.sys_clk = 1;
        top.eval();
        ++cycles;
    }
};

}  // namespace

double sc_time_stamp() { return 0; }

int main(int, char **arguments) {
    const int beats = std::atoi(arguments[1]), bursts = std::atoi(arguments[2]);
    Port port;
    Vtop &top = port.top;
    top.sys_rst = 1;
    for (int at = 0; at < 8; ++at) port.edge([] {});
    top.sys_rst = 0;
    top.aw_payload_size = top.ar_payload_size = 4;
    top.aw_payload_burst = top.ar_payload_burst = 1;
    top.aw_payload_len = top.ar_payload_len = static_cast<uint8_t>(beats - 1);
    top.w_payload_strb = 0xFFFF;
    top.b_ready = top.r_ready = 1;
    for (int at = 0; at < 1000; ++at) port.edge([] {});

    int64_t asked = 0, ended = 0, beat = 0, began = port.cycles;
    while (ended < bursts) {
        top.aw_valid = asked < bursts && asked - ended < kInFlight;
        top.aw_payload_addr = static_cast<uint32_t>(asked * beats * kBytes);
        top.w_valid = beat < asked * beats;
        top.w_last = beat % beats == beats - 1;
        for (int word = 0; word < 4; ++word) top.w_payload_data[word] = static_cast<uint32_t>(4 * beat + word);
        bool sent = false, put = false, done = false;
        port.edge([&] {
            sent = top.aw_valid && top.aw_ready;
            put = top.w_valid && top.w_ready;
            done = top.b_valid;
        });
        asked += sent;
        beat += put;
        ended += done;
    }
    top.aw_valid = top.w_valid = 0;
    const int64_t written = port.cycles - began;

    asked = ended = beat = 0;
    began = port.cycles;
    while (ended < bursts) {
        top.ar_valid = asked < bursts && asked - ended < kInFlight;
        top.ar_payload_addr = static_cast<uint32_t>(asked * beats * kBytes);
        bool sent = false, came = false, last = false;
        port.edge([&] {
            sent = top.ar_valid && top.ar_ready;
            came = top.r_valid;
            last = came && top.r_last;
            if (came && top.r_payload_data[0] != static_cast<uint32_t>(4 * beat)) {
                std::fprintf(stderr, "beat %ld is not what was written\n", static_cast<long>(beat));
                std::exit(1);
            }
        });
        asked += sent;
        beat += came;
        ended += last;
    }
    std::printf("{\"write\": %ld, \"read\": %ld}\n", static_cast<long>(written), static_cast<long>(port.cycles - began));
    return 0;
}
