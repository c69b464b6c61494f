// SPDX-License-Identifier: BSD-3-Clause
#include "send_buffers.hpp"

#include <cinnabar/base/log.hpp>

#include <new>

namespace cinnabar::verbs {
namespace {

constexpr std::size_t cache_line = 64;

std::size_t rounded(std::size_t bytes) noexcept { return (bytes + cache_line - 1) / cache_line * cache_line; }

}  // namespace

SendBuffers::SendBuffers(const Device& device, ThreadUse threads, std::uint32_t slots_max,
                         std::size_t payload_bytes_max)
    : device_(device),
      payload_bytes_max_(payload_bytes_max),
      buffer_bytes_(rounded(message_header_bytes + payload_bytes_max)),
      pool_(threads, slots_max) {}

na::Message* SendBuffers::take(na::Port& port) noexcept {
    Stored* message = pool_.acquire();
    if (!message || message->payload) return message;
    if (!furnish(*message)) {
        pool_.release(*message);
        return nullptr;
    }
    message->port = &port;
    message->payload_bytes_max = static_cast<std::uint32_t>(payload_bytes_max_);
    message->header_room = message_header_bytes;
    return message;
}

bool SendBuffers::furnish(Stored& message) noexcept {
    const std::lock_guard lock(blocks_mutex_);
    if (used_ == block_buffers) {
        static constinit LogLimit lines;
        try {
            auto block = Pinned::make(device_, block_buffers * buffer_bytes_);
            if (!block) {
                log_limited(lines, LogLevel::warning, "verbs", "no more send buffers: %s",
                            block.error().message().c_str());
                return false;
            }
            blocks_.push_back(*std::move(block));
        } catch (const std::bad_alloc&) {
            log_limited(lines, LogLevel::warning, "verbs", "no more send buffers: out of memory");
            return false;
        }
        used_ = 0;
    }
    message.lkey = blocks_.back().lkey();
    message.payload = blocks_.back().bytes().data() + used_++ * buffer_bytes_ + message_header_bytes;
    return true;
}

ibv_sge SendBuffers::piece(const na::Message& message, std::size_t bytes) noexcept {
    return {reinterpret_cast<std::uintptr_t>(message.payload - message_header_bytes), static_cast<std::uint32_t>(bytes),
            static_cast<const Stored&>(message).lkey};
}

}  // namespace cinnabar::verbs
