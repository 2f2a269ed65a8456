// Clocks the SoC and prints what its UART sends, until the firmware ends it: status 0 after character 4, 1 after 24, 2 if
// the number of cycles, the first argument, is at its end.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "Vtop.h"
#include "verilated.h"

double sc_time_stamp() { return 0; }

int main(int count, char **arguments) {
    const uint64_t limit = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 0;
    Vtop top;
    top.serial_source_ready = 1;
    for (uint64_t cycle = 0; cycle < limit; ++cycle) {
        top.sys_rst = cycle < 4;
        top.sys_clk = 0;
        top.eval();
        const bool sent = top.serial_source_valid != 0;
        const int character = top.serial_source_data;
        top.sys_clk = 1;
        top.eval();
        if (sent && (character == 4 || character == 24)) {
            std::printf("%llu cycles of the SoC\n", static_cast<unsigned long long>(cycle));
            return character == 4 ? 0 : 1;
        }
        if (sent) {
            std::putchar(character);
            std::fflush(stdout);
        }
    }
    std::printf("FAILED: nothing after %llu cycles\n", static_cast<unsigned long long>(limit));
    return 2;
}
