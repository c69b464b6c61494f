// SPDX-License-Identifier: BSD-3-Clause
// A copy between a range of a far region and host memory, or memory of another process, on the threads of the far
// memory. When the copy has ended, it submits `done` to the context. A FarCopy is embedded in the operation that waits
// for it, and must not move while in progress.
#pragma once

#include "far_staging.hpp"

#include <cinnabar/base/work.hpp>
#include <cinnabar/na/context.hpp>

#include <atomic>
#include <cstdint>

namespace cinnabar::bulk {

// The copies in progress of one Mover.
class FarCopies {
  public:
    // On a simulator's clock copies run at once, since simulated time does not wait for threads.
    explicit FarCopies(na::Context& context) noexcept
        : context_(context), at_once_(&context.clock() != &steady_clock()) {}
    ~FarCopies() { await(); }
    FarCopies(const FarCopies&) = delete;
    FarCopies& operator=(const FarCopies&) = delete;

    // Blocks until each copy that has started has submitted its end to the context: at most one system call each.
    void await() const noexcept;

  private:
    friend struct FarCopy;
    na::Context& context_;
    const bool at_once_;
    std::atomic<std::uint32_t> under_way_{0};
};

struct FarCopy {
    // Fill in before begin(). Everything they point to must live until `done`.
    const Region* region = nullptr;
    std::uint64_t offset = 0;  // in the region
    std::uint64_t bytes = 0;
    FarBuffer* buffer = nullptr;     // or, if null, one of the following:
    ConstBytes from;                 // only with into_region
    const Blocks* blocks = nullptr;  // if not null: the blocks of `from` to copy, in order
    // For device memory only; null for other copies. `shown`: the handle of another process's memory to copy from or
    // to. `to_show`: receives a handle of the range, and nothing is copied.
    const IpcHandle* shown = nullptr;
    IpcHandle* to_show = nullptr;
    bool into_region = false;
    bool may_pipe = false;  // loaded bytes may be put into the buffer's pipe
    WorkItem done;          // runs as the owner of the context, never inside begin()

    FarEnd end;

    // Owner only.
    void begin(FarCopies& copies) noexcept;
    // Cancels the copy: a copy that has not started is skipped and ends with `canceled`; a copy by a device also stops
    // between two pieces. Any thread.
    void drop() noexcept { dropped_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool under_way() const noexcept { return copies_ != nullptr; }
    // Call in `done`.
    void finished() noexcept { copies_ = nullptr; }

  private:
    static void run(WorkItem& work) noexcept;
    [[nodiscard]] FarEnd copy() noexcept;
    [[nodiscard]] FarEnd store_contents() const noexcept;
    [[nodiscard]] FarEnd load_into_pipe() const noexcept;
    [[nodiscard]] FarEnd make_handle() const noexcept;
    void pin() noexcept;
    WorkItem work_;
    FarCopies* copies_ = nullptr;
    std::atomic<bool> dropped_{false};
};

}  // namespace cinnabar::bulk
