// SPDX-License-Identifier: BSD-3-Clause
// Enforces a transport's limits on the number and the total size of its registrations. The registrations may outlive
// the transport. Any thread.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/na/memory.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace cinnabar::na {

// A counter with an upper limit.
class Allowance {
  public:
    explicit Allowance(std::uint64_t most) noexcept : most_(most) {}
    [[nodiscard]] bool take(std::uint64_t amount = 1) noexcept {
        std::uint64_t taken = taken_.load(std::memory_order_relaxed);
        do {
            if (amount > most_ - taken) return false;
        } while (!taken_.compare_exchange_weak(taken, taken + amount, std::memory_order_relaxed));
        return true;
    }
    void give(std::uint64_t amount = 1) noexcept { taken_.fetch_sub(amount, std::memory_order_relaxed); }

  private:
    const std::uint64_t most_;
    std::atomic<std::uint64_t> taken_{0};
};

class Registrations {
  public:
    explicit Registrations(const TransportOptions& options) noexcept
        : count_(options.registrations_max), bytes_(options.registered_bytes_max) {}

    // Counts a registration of these segments, until the CountedMemory made of them is destroyed. too_large: over
    // `segments_max` segments, registrations_max or registered_bytes_max.
    [[nodiscard]] Result<void> admit(std::span<const Segment> segments, std::size_t segments_max) {
        if (segments.size() > segments_max) return Error(Errc::too_large, "too many segments in one registration");
        std::uint64_t bytes = 0;
        bool countable = true;
        for (const Segment& segment : segments) {
            countable = countable && !__builtin_add_overflow(bytes, segment.bytes, &bytes);
        }
        if (!count_.take()) return Error(Errc::too_large, "registrations_max registrations are in use");
        if (countable && bytes_.take(bytes)) return {};
        count_.give();
        return Error(Errc::too_large, "more memory than registered_bytes_max would be registered");
    }
    void give(std::uint64_t bytes) noexcept {
        bytes_.give(bytes);
        count_.give();
    }

  private:
    Allowance count_;
    Allowance bytes_;
};

// A registration that was admitted; its destructor gives the count back.
class CountedMemory : public Memory {
  public:
    CountedMemory(Transport& transport, std::span<const Segment> segments, Access access,
                  std::shared_ptr<Registrations> count)
        : Memory(transport, segments, access), count_(std::move(count)) {}
    ~CountedMemory() override { count_->give(bytes()); }

  private:
    const std::shared_ptr<Registrations> count_;
};

}  // namespace cinnabar::na
