// SPDX-License-Identifier: BSD-3-Clause
// A copy between a range of a far region and host memory, on the threads of the far memory. It tells the owner of a
// context when it has ended. A part of what waits for it, and never moved while it is under way.
#pragma once

#include "far_staging.hpp"

#include <cinnabar/base/work.hpp>
#include <cinnabar/na/context.hpp>

#include <atomic>
#include <cstdint>

namespace cinnabar::bulk {

// The copies under way of one Mover.
class FarCopies {
  public:
    // Where the clock is the simulator's, copies are made at once: its time does not wait for threads.
    explicit FarCopies(na::Context& context) noexcept
        : context_(context), at_once_(&context.clock() != &steady_clock()) {}
    ~FarCopies() { await(); }
    FarCopies(const FarCopies&) = delete;
    FarCopies& operator=(const FarCopies&) = delete;

    // Blocks until each copy that has begun has handed its end to the context: at most as long as one system call each.
    void await() const noexcept;

  private:
    friend struct FarCopy;
    na::Context& context_;
    const bool at_once_;
    std::atomic<std::uint32_t> under_way_{0};
};

struct FarCopy {
    // Fill in before begin(). What they point to lives until `done`.
    const Region* region = nullptr;
    std::uint64_t offset = 0;  // in the region
    std::uint64_t bytes = 0;
    FarBuffer* buffer = nullptr;     // or else:
    ConstBytes from;                 // only with into_region
    const Blocks* blocks = nullptr;  // unless null: those of `from`, in their order
    bool into_region = false;
    Work done;  // runs as the owner of the context, never inside begin()

    FarEnd end;

    // Owner.
    void begin(FarCopies& copies) noexcept;
    // One that has not begun to copy does not, and ends with `canceled`. Any thread.
    void drop() noexcept { dropped_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool under_way() const noexcept { return copies_ != nullptr; }
    // In `done`.
    void finished() noexcept { copies_ = nullptr; }

  private:
    static void run(Work& work) noexcept;
    [[nodiscard]] FarEnd copy() noexcept;
    [[nodiscard]] FarEnd store_contents() const noexcept;
    void pin() noexcept;
    Work work_;
    FarCopies* copies_ = nullptr;
    std::atomic<bool> dropped_{false};
};

}  // namespace cinnabar::bulk
