// SPDX-License-Identifier: BSD-3-Clause
// Options of distributed variables. Plain values.
#pragma once

#include <cinnabar/base/clock.hpp>

#include <compare>
#include <cstdint>
#include <optional>
#include <stop_token>

namespace cinnabar::group {

// Limits of one process. value_bytes_max and copy_max must be the same at all members.
struct VariableLimits {
    std::uint32_t keys_max = 1024;                              // keys known to this process; one peer may create half
                                                                // of them
    std::uint32_t value_bytes_max = 64 << 10;                   // encoded; at most 1 MiB
    std::uint64_t bytes_max = std::uint64_t{16} << 20;          // total size of values in this process; copies are
                                                                // dropped to make room
    Microseconds copy_max = std::chrono::milliseconds(10'000);  // how long a copy is used before it is fetched again
};

// Versions of a key are ordered; two updates never have the same one.
struct Version {
    std::uint64_t number = 0;  // 0: there is no value
    std::uint64_t by = 0;      // the process that assigned the number; distinguishes updates of two parts of a
                               // partitioned group
    friend auto operator<=>(const Version&, const Version&) = default;
};

template <typename T>
struct Versioned {
    T value{};
    Version version;
};

// What update() waits for.
enum class Sync : std::uint8_t {
    none,   // the root, which has the value; others see it when their copy is older than copy_max
    eager,  // every member has the value, or no longer has an older copy that it may use
    lazy,   // the root, which then sends the value to the others
};

struct VariableOptions {
    // Unset: the deadline of the enclosing task, or hl::default_deadline.
    std::optional<Microseconds> deadline = {};
    const std::stop_token* stop = nullptr;  // copied
};

}  // namespace cinnabar::group
