// SPDX-License-Identifier: BSD-3-Clause
// Counters of a class. What each call counts is counted in its handle, which one thread at a time uses, so that threads
// do not fight for a word; a reader adds the handles up.
#pragma once

#include "mercury_core_types.h"

#include <array>
#include <atomic>
#include <string>

namespace cinnabar::mercury {

// Of one handle. Counts: who uses the handle. Reads: any thread.
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
// Of many of them.
using Tallies = std::array<std::uint64_t, Tally::count>;

// Of a class. Any thread.
class Counters {
  public:
    enum Which : unsigned { requests_extra, replies_extra, bulk_transfers, count };
    void add(Which which) noexcept { values_[which].fetch_add(1, std::memory_order_relaxed); }
    // `of_handles`: what the handles have counted.
    void read(const Tallies& of_handles, hg_diag_counters& out) const noexcept;

  private:
    std::array<std::atomic<std::uint64_t>, count> values_{};
};

// All counters in one line.
[[nodiscard]] std::string text_of(const hg_diag_counters& counters);

}  // namespace cinnabar::mercury
