// SPDX-License-Identifier: BSD-3-Clause
// Counters of a class. Thread-safe.
#pragma once

#include "mercury_core_types.h"

#include <array>
#include <atomic>
#include <string>

namespace cinnabar::mercury {

class Counters {
  public:
    enum Which : unsigned {
        requests_sent,
        requests_received,
        replies_sent,
        replies_received,
        requests_extra,
        replies_extra,
        requests_active,
        bulk_transfers,
        count,
    };
    void add(Which which) noexcept { values_[which].fetch_add(1, std::memory_order_relaxed); }
    void subtract(Which which) noexcept { values_[which].fetch_sub(1, std::memory_order_relaxed); }
    void read(hg_diag_counters& out) const noexcept;
    // All counters in one line.
    [[nodiscard]] std::string text() const;

  private:
    std::array<std::atomic<std::uint64_t>, count> values_{};
};

}  // namespace cinnabar::mercury
