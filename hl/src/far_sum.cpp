// SPDX-License-Identifier: BSD-3-Clause
#include "far_sum.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/crc32c.hpp>
#include <cinnabar/base/work_threads.hpp>
#include <cinnabar/bulk/checksum.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace cinnabar::hl::detail {
namespace {

constexpr std::size_t sum_piece_bytes = std::size_t{64} << 10;    // lies on the stack of the thread
constexpr std::uint64_t sum_turn_bytes = std::uint64_t{1} << 20;  // then a stop and the deadline are looked at

WorkThreads* threads_of_far(const bulk::Region& memory) noexcept {
    for (const bulk::FarSegment& each : memory.far_segments())
        if (each.memory) return &each.memory->threads();
    return nullptr;
}

// Whether the task should go on.
Errc check_task(const TaskContext* task) noexcept {
    if (!task) return Errc::ok;
    if (const StopScope* const scope = task->stop_scope(); scope && scope->stopped()) return Errc::canceled;
    if (!task->executor) return Errc::ok;
    TimeSource& clock = task->executor->clock();
    return clock.now_us() >= task->deadline_on(clock) ? Errc::timed_out : Errc::ok;
}

}  // namespace

void FarSum::queue() noexcept {
    WorkThreads* const threads = threads_of_far(memory_);
    CINNABAR_ASSERT(threads);
    work_.user = this;
    work_.run = [](WorkItem& work) noexcept {
        FarSum& self = *static_cast<FarSum*>(work.user);
        self.read();
        // The coroutine may resume, and destroy this, before these functions return.
        if (self.executor_) return self.executor_->post(self.job_);
        self.job_.body(self.job_);
    };
    threads->queue(work_);
}

void FarSum::read() noexcept {
    std::array<std::byte, sum_piece_bytes> piece;
    for (std::uint64_t done = 0; done < bytes_;) {
        const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), bytes_ - done));
        const Bytes room = Bytes(piece).first(step);
        end_ = memory_.load(offset_ + done, room);
        if (end_.code != Errc::ok) return;
        sum_ = crc32c(room, sum_);
        done += step;
    }
}

Result<std::uint32_t> FarSum::await_resume() const {
    if (end_.code == Errc::ok) return sum_;
    Error error(end_.code, "the memory could not be read for its checksum: check the file or the device");
    error.os_errno = static_cast<std::int16_t>(end_.os_errno);
    return error;
}

Task<Result<std::uint32_t>> sum_of_any(bulk::Region memory) {
    if (!memory.is_far()) co_return bulk::checksum_of(memory);
    const TaskContext* const task = co_await this_task();
    std::uint32_t sum = 0;
    for (std::uint64_t at = 0; at < memory.bytes();) {
        const Errc over = check_task(task);
        if (over != Errc::ok) co_return Error(over, "the checksum was not finished");
        const std::uint64_t bytes = std::min(sum_turn_bytes, memory.bytes() - at);
        FarSum next(memory, at, bytes, sum);
        const Result<std::uint32_t> summed = co_await next;
        if (!summed) co_return summed.error();
        sum = *summed;
        at += bytes;
    }
    co_return sum;
}

}  // namespace cinnabar::hl::detail
