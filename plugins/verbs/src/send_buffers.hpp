// SPDX-License-Identifier: BSD-3-Clause
// Registered send buffers. Their memory is registered in blocks when it is first needed, and then kept. Take and give:
// any thread of a `many` context.
#pragma once

#include "message_header.hpp"
#include "pinned.hpp"

#include <cinnabar/na/message.hpp>

#include <mutex>
#include <vector>

namespace cinnabar::verbs {

class SendBuffers {
  public:
    SendBuffers(const Device& device, ThreadUse threads, std::uint32_t slots_max, std::size_t payload_bytes_max);

    // Null: all are in use, or no more memory can be pinned.
    [[nodiscard]] na::Message* take(na::Port& port) noexcept;
    void give(na::Message& message) noexcept { pool_.release(static_cast<Stored&>(message)); }

    // The scatter-gather entry for sending `bytes` of the message, beginning with the header.
    [[nodiscard]] static ibv_sge piece(const na::Message& message, std::size_t bytes) noexcept;

  private:
    static constexpr std::size_t block_buffers = 16;

    struct Stored final : na::Message {
        std::uint32_t lkey = 0;
    };
    // Gives the message memory from the last block.
    [[nodiscard]] bool furnish(Stored& message) noexcept;

    const Device& device_;
    const std::size_t payload_bytes_max_;
    const std::size_t buffer_bytes_;
    SlotPool<Stored> pool_;
    std::mutex blocks_mutex_;
    std::vector<Pinned> blocks_;
    std::size_t used_ = block_buffers;  // buffers used in the last block
};

}  // namespace cinnabar::verbs
