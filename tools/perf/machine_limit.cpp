// SPDX-License-Identifier: BSD-3-Clause
#include "perf/machine_limit.hpp"

#include "perf/clock.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <vector>

namespace cinnabar::tools::perf {

double memory_copy_rate(std::uint64_t bytes, double seconds) {
    constexpr std::uint64_t working_set = 32u << 20;
    const std::uint64_t count = std::max<std::uint64_t>(working_set / bytes, 1);
    const std::vector<std::byte> from(bytes * count, std::byte{1});
    std::vector<std::byte> to(bytes * count, std::byte{2});
    const auto span = static_cast<std::uint64_t>(seconds * 1e9);
    const std::uint64_t begin = now_ns();
    std::uint64_t copied = 0;
    do {
        for (std::uint64_t i = 0; i < count; ++i) std::memcpy(to.data() + i * bytes, from.data() + i * bytes, bytes);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        copied += bytes * count;
    } while (now_ns() - begin < span);
    return static_cast<double>(copied) / (static_cast<double>(now_ns() - begin) * 1e-9);
}

}  // namespace cinnabar::tools::perf
