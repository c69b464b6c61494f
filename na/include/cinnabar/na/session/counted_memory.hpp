// SPDX-License-Identifier: BSD-3-Clause
// Registrations are counted: a transport has so many, and they may outlive it. Any thread.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/na/memory.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace cinnabar::na {

// Counts what may be had so many times.
class Allowance {
  public:
    explicit Allowance(std::size_t most) noexcept : most_(most) {}
    [[nodiscard]] bool take() noexcept {
        if (taken_.fetch_add(1, std::memory_order_relaxed) < most_) return true;
        give();
        return false;
    }
    void give() noexcept { taken_.fetch_sub(1, std::memory_order_relaxed); }

  private:
    const std::size_t most_;
    std::atomic<std::size_t> taken_{0};
};

// Takes one of `count`. too_large: none is left, or there are more than `segments_max`.
[[nodiscard]] inline Result<void> admit_registration(std::span<const Segment> segments, std::size_t segments_max,
                                                     Allowance& count) {
    if (segments.size() > segments_max) return Error(Errc::too_large, "too many segments in one registration");
    if (!count.take()) return Error(Errc::too_large, "registrations_max are in use");
    return {};
}

// Gives one of `count` back when it goes; who makes it has taken that.
class CountedMemory : public Memory {
  public:
    CountedMemory(Transport& transport, std::span<const Segment> segments, Access access,
                  std::shared_ptr<Allowance> count)
        : Memory(transport, segments, access), count_(std::move(count)) {}
    ~CountedMemory() override { count_->give(); }

  private:
    const std::shared_ptr<Allowance> count_;
};

}  // namespace cinnabar::na
