// Pins of a simulation, by the interface that every simulator of Verilog has.
#pragma once

#include <string>
#include <vector>

#include "memory.h"
#include "vpi_user.h"

namespace bench {

class Pin;

// The pins that are to change after an edge, when the design has seen it.
class Changes {
  public:
    void add(Pin &pin);
    void apply();

  private:
    static PLI_INT32 settled(p_cb_data data);

    std::vector<Pin *> pins_;
};

class Pin {
  public:
    Pin(const std::string &name, Changes &changes) : changes_(changes) {
        handle_ = vpi_handle_by_name(const_cast<char *>(name.c_str()), nullptr);
        if (!handle_) throw Objection("the simulation has no " + name);
        words_.resize((vpi_get(vpiSize, handle_) + 31) / 32);
    }
    Pin(const Pin &) = delete;

    vpiHandle handle() const { return handle_; }

    // What is on the pin; what is neither 0 nor 1 counts as 0.
    void read(std::vector<uint8_t> &bytes) const {
        const s_vpi_vecval *seen = look();
        bytes.resize(4 * words_.size());
        for (size_t word = 0; word < words_.size(); ++word) {
            const uint32_t known = seen[word].aval & ~seen[word].bval;
            std::memcpy(&bytes[4 * word], &known, 4);
        }
    }
    uint64_t number() const {
        const s_vpi_vecval *seen = look();
        const uint64_t low = static_cast<uint32_t>(seen[0].aval & ~seen[0].bval);
        return words_.size() == 1 ? low : low | static_cast<uint64_t>(seen[1].aval & ~seen[1].bval) << 32;
    }
    bool high() const { return number() & 1; }

    // Drives the pin after this edge, if that changes it.
    void drive(const uint8_t *bytes, size_t count) {
        bool differs = !driven_;
        for (size_t word = 0; word < words_.size(); ++word) {
            uint32_t value = 0;
            if (4 * word < count) std::memcpy(&value, bytes + 4 * word, std::min<size_t>(4, count - 4 * word));
            differs |= words_[word].aval != value;
            words_[word] = {value, 0};
        }
        driven_ = true;
        if (differs) changes_.add(*this);
    }
    void drive(uint64_t value) { drive(reinterpret_cast<const uint8_t *>(&value), sizeof value); }

    // Puts the value on the pin, after a delay of nothing: without one, Icarus shows no edge to what waits for a part of
    // the nets that the pin drives.
    void put() {
        s_vpi_value value{vpiVectorVal, {}};
        value.value.vector = words_.data();
        s_vpi_time nothing{vpiSimTime, 0, 0, 0};
        vpi_put_value(handle_, &value, &nothing, vpiInertialDelay);
    }
    void put(uint32_t value) {
        words_[0] = {value, 0};
        put();
    }

  private:
    const s_vpi_vecval *look() const {
        s_vpi_value value{vpiVectorVal, {}};
        vpi_get_value(handle_, &value);
        return value.value.vector;
    }

    vpiHandle handle_;
    Changes &changes_;
    std::vector<s_vpi_vecval> words_;
    bool driven_ = false;
};

inline void Changes::add(Pin &pin) {
    if (pins_.empty()) {
        s_vpi_time now{vpiSimTime, 0, 0, 0};
        s_cb_data data{};
        data.reason = cbReadWriteSynch;
        data.cb_rtn = settled;
        data.time = &now;
        data.user_data = reinterpret_cast<PLI_BYTE8 *>(this);
        vpi_register_cb(&data);
    }
    pins_.push_back(&pin);
}

inline void Changes::apply() {
    for (Pin *pin : pins_) pin->put();
    pins_.clear();
}

inline PLI_INT32 Changes::settled(p_cb_data data) {
    reinterpret_cast<Changes *>(data->user_data)->apply();
    return 0;
}

}  // namespace bench
