// SPDX-License-Identifier: BSD-3-Clause
// Latency over time: a coarse histogram for each slice of a run. One thread.
#pragma once

#include "perf/histogram.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cinnabar::tools::perf {

class Timeline {
  public:
    static constexpr std::size_t slices = 100;

    Timeline() = default;
    Timeline(std::uint64_t begin_ns, std::uint64_t span_ns)
        : begin_ns_(begin_ns),
          slice_ns_(span_ns / slices + 1),
          last_from_ns_(begin_ns),
          latencies_(slices, Histogram(Histogram::coarse_bits)) {}

    // Requires: begin <= at < begin + span.
    void record(std::uint64_t at_ns, std::uint64_t latency_ns) noexcept {
        if (at_ns - last_from_ns_ >= slice_ns_) {
            last_ = static_cast<std::size_t>((at_ns - begin_ns_) / slice_ns_);
            last_from_ns_ = begin_ns_ + last_ * slice_ns_;
        }
        latencies_[last_].record(latency_ns);
    }
    // Adds a timeline of the same time span.
    void add(const Timeline& other) {
        if (latencies_.empty())
            *this = other;
        else
            for (std::size_t i = 0; i < latencies_.size(); ++i) latencies_[i].add(other.latencies_[i]);
    }

    [[nodiscard]] double slice_seconds() const noexcept { return static_cast<double>(slice_ns_) * 1e-9; }
    [[nodiscard]] const std::vector<Histogram>& latencies() const noexcept { return latencies_; }

  private:
    std::uint64_t begin_ns_ = 0;
    std::uint64_t slice_ns_ = 1;
    std::size_t last_ = 0;  // the slice used last
    std::uint64_t last_from_ns_ = 0;
    std::vector<Histogram> latencies_;
};

}  // namespace cinnabar::tools::perf
