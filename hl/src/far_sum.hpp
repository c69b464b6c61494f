// SPDX-License-Identifier: BSD-3-Clause
// The checksum of memory that may be far. Far memory is read on its own threads, so that no loop waits for a disk or a
// device.
#pragma once

#include <cinnabar/base/work.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/hl/executor.hpp>
#include <cinnabar/hl/task.hpp>

#include <coroutine>
#include <cstdint>

namespace cinnabar::hl::detail {

// Reads bytes of a far region on a thread that may block, and adds them to a checksum. Awaited once: a task resumes on
// its executor, and a coroutine without an executor resumes on the thread that has read.
class FarSum {
  public:
    // `memory` must be far, and live until the operation has ended.
    FarSum(const bulk::Region& memory, std::uint64_t offset, std::uint64_t bytes, std::uint32_t sum) noexcept
        : memory_(memory), offset_(offset), bytes_(bytes), sum_(sum) {}
    FarSum(const FarSum&) = delete;
    FarSum& operator=(const FarSum&) = delete;

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> handle) noexcept {
        job_.resumes(handle);
        executor_ = executor_of(context_of(handle));
        queue();
    }
    [[nodiscard]] Result<std::uint32_t> await_resume() const;

  private:
    void queue() noexcept;
    void read() noexcept;

    const bulk::Region& memory_;
    const std::uint64_t offset_;
    const std::uint64_t bytes_;
    std::uint32_t sum_;
    bulk::FarEnd end_;
    WorkItem work_;
    Job job_;
    Executor* executor_ = nullptr;
};

// Computes the CRC-32C of a region of any kind. Errors: those of reading far memory; canceled and timed_out, if the
// task was stopped or its deadline has passed while far memory was read.
[[nodiscard]] Task<Result<std::uint32_t>> sum_of_any(bulk::Region memory);

}  // namespace cinnabar::hl::detail
