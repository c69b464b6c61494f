// SPDX-License-Identifier: BSD-3-Clause
// Counters of a class. Events of each call are counted in the call's handle, which only one thread at a time uses, so
// that threads do not contend for a shared word. To read the counters, the counts of all handles are added up.
#pragma once

#include "mercury_core_types.h"

#include <array>
#include <atomic>
#include <string>

namespace cinnabar::mercury {

// The counts of one handle. add(): only by the user of the handle. Reading: any thread.
class Tally {
  public:
    enum Which : unsigned { requests_sent, requests_received, requests_over, replies_sent, replies_received, count };
    void add(Which which) noexcept {
        values_[which].store(values_[which].load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t operator[](unsigned which) const noexcept {
        return values_[which].load(std::memory_order_relaxed);
    }

  private:
    std::array<std::atomic<std::uint64_t>, count> values_{};
};
// The sums over many handles.
using Tallies = std::array<std::uint64_t, Tally::count>;

// The counters of a class. Any thread.
class Counters {
  public:
    enum Which : unsigned { requests_extra, replies_extra, bulk_transfers, count };
    void add(Which which) noexcept { values_[which].fetch_add(1, std::memory_order_relaxed); }
    // `of_handles`: the sums over the handles.
    void read(const Tallies& of_handles, hg_diag_counters& out) const noexcept;

  private:
    std::array<std::atomic<std::uint64_t>, count> values_{};
};

// All counters in one line.
[[nodiscard]] std::string text_of(const hg_diag_counters& counters);

}  // namespace cinnabar::mercury
