// SPDX-License-Identifier: BSD-3-Clause
// Buffers to send messages from. A buffer's memory is allocated when its slot is first taken and stays with it; the
// slots grow with the messages in flight. Take and give: any thread of a `many` context.
#pragma once

#include <cinnabar/na/message.hpp>

#include <memory>
#include <new>

namespace cinnabar::shm {

struct ShmMessage final : na::Message {
    std::unique_ptr<std::byte[]> storage;
};

class MessagePool {
  public:
    MessagePool(Threads threads, std::uint32_t slots_max, std::size_t payload_bytes_max)
        : pool_(threads, slots_max), payload_bytes_max_(payload_bytes_max) {}

    [[nodiscard]] na::Message* take(na::Port& port) noexcept {
        ShmMessage* message = pool_.acquire();
        if (!message || message->storage) return message;
        // Not filled: pages that no message reaches are never touched.
        message->storage.reset(new (std::nothrow) std::byte[payload_bytes_max_]);
        if (!message->storage) {
            pool_.release(*message);
            return nullptr;
        }
        message->port = &port;
        message->payload = message->storage.get();
        message->payload_bytes_max = static_cast<std::uint32_t>(payload_bytes_max_);
        return message;
    }
    void give(na::Message& message) noexcept { pool_.release(static_cast<ShmMessage&>(message)); }

  private:
    SlotPool<ShmMessage> pool_;
    const std::size_t payload_bytes_max_;
};

}  // namespace cinnabar::shm
