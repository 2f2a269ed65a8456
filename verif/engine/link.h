// The PCI Express link between a port and the host's memory: its rate each way, and reads that take as long as a
// distribution says and that end in any order across tags. verif/engine/hosts.py says what the numbers come from.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace bench {

constexpr int kWaits = 5;
// Bytes of a packet's data, of a read that has a tag, and of what packets have besides: completions, and requests.
constexpr uint64_t kPayload = 256, kRequest = 512, kOfCompletion = 20, kOfRequest = 24;
// Bytes that wait for the link to the host.
constexpr double kQueue = 512;

// What Python says of a host; no tags: no link.
struct Host {
    uint64_t tags;
    // Bytes that the link carries in a cycle, each way.
    double rate;
    // The cycles of a read, and the share of reads that take less.
    double waits[kWaits], shares[kWaits];

    // The cycles of the read at this place of the distribution.
    double wait(double place) const {
        int at = 1;
        while (at < kWaits - 1 && place > shares[at]) ++at;
        const double part = (place - shares[at - 1]) / (shares[at] - shares[at - 1]);
        return waits[at - 1] + part * (waits[at] - waits[at - 1]);
    }
};

// One way of the link.
class Way {
  public:
    // Whether no more than these bytes wait for it.
    bool has_room(const Host &host, double cycle, double queue) const { return (free_ - cycle) * host.rate <= queue; }

    // Carries bytes that are there from a cycle on; when the last one has passed.
    int64_t carry(const Host &host, double from, uint64_t bytes) {
        free_ = std::max(free_, from) + static_cast<double>(bytes) / host.rate;
        return static_cast<int64_t>(std::ceil(free_));
    }

  private:
    double free_ = 0;
};

}  // namespace bench
