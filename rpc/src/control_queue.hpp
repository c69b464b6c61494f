// SPDX-License-Identifier: BSD-3-Clause
// Control records of one peer that wait to be sent. Records that name no call wait once for each type, so nothing that
// a peer asks for again and again takes more memory. Those that name a call are a list: own cancels and `fetched`, as
// many as there are calls, and `released` and `refused`, which a peer brings about and whose number is bounded. Owner
// of the context only.
#pragma once

#include "frame.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cinnabar::rpc {

class ControlQueue {
  public:
    // False: memory is out.
    [[nodiscard]] bool put(const ControlRecord& record) noexcept;
    [[nodiscard]] bool empty() const noexcept { return waiting_ == 0 && of_calls_.empty(); }
    [[nodiscard]] std::size_t answers() const noexcept { return answers_; }  // `released`, `refused`
    // Records that name a call, whoever brought them about.
    [[nodiscard]] std::size_t of_calls() const noexcept { return of_calls_.size(); }

    // What one message takes: at most `count_max` records, `leave` behind everything else. Until taken() the queue
    // keeps them.
    struct Batch {
        std::uint16_t types = 0;  // of those that name no call
        std::size_t of_calls = 0;
        std::size_t count = 0;
    };
    [[nodiscard]] Batch next(std::size_t count_max) const noexcept;
    void encode(const Batch& batch, Writer& writer) const noexcept;
    void taken(const Batch& batch) noexcept;
    // Gives the memory back as well.
    void clear() noexcept;

  private:
    std::uint16_t waiting_ = 0;                          // a bit for each type
    std::array<std::uint32_t, control_types> values_{};  // of those that wait
    std::vector<ControlRecord> of_calls_;
    std::size_t answers_ = 0;  // of these
};

}  // namespace cinnabar::rpc
