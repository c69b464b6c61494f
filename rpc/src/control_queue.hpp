// SPDX-License-Identifier: BSD-3-Clause
// Control records that wait to be sent to one peer. Records that name no call are stored once per type, so that
// repeated ones take no more memory. Records that name a call form a list: cancels and `fetched`, which the number of
// calls limits, and `released` and `refused`, which the peer causes and control.cpp limits. Owner of the context only.
#pragma once

#include "frame.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cinnabar::rpc {

class ControlQueue {
  public:
    // False: out of memory.
    [[nodiscard]] bool put(const ControlRecord& record) noexcept;
    [[nodiscard]] bool empty() const noexcept { return waiting_ == 0 && of_calls_.empty(); }
    [[nodiscard]] std::size_t answers() const noexcept { return answers_; }  // of `released` and `refused`
    // The number of queued records that name a call, whichever side caused them.
    [[nodiscard]] std::size_t of_calls() const noexcept { return of_calls_.size(); }

    // The records for one message: at most `count_max`, with `leave` after all others. The queue keeps them until
    // taken() is called.
    struct Batch {
        std::uint16_t types = 0;  // bits of the types that name no call
        std::size_t of_calls = 0;
        std::size_t count = 0;
    };
    [[nodiscard]] Batch next(std::size_t count_max) const noexcept;
    void encode(const Batch& batch, ByteWriter& writer) const noexcept;
    void taken(const Batch& batch) noexcept;
    // Empties the queue and frees its memory.
    void clear() noexcept;

  private:
    std::uint16_t waiting_ = 0;                          // a bit for each type that names no call
    std::array<std::uint32_t, control_types> values_{};  // of the types in waiting_
    std::vector<ControlRecord> of_calls_;
    std::size_t answers_ = 0;  // the number of `released` and `refused` in of_calls_
};

}  // namespace cinnabar::rpc
