// SPDX-License-Identifier: BSD-3-Clause
// A pool of send buffers, for transports that need not register their send buffers. The memory of a buffer is allocated
// when its slot is first taken, and stays with the slot; the number of slots grows with the messages in flight. Take
// and give: any thread of a `many` context.
#pragma once

#include <cinnabar/na/message.hpp>

#include <memory>
#include <new>

namespace cinnabar::na {

class MessagePool {
  public:
    // `header_room`: bytes before each payload, a multiple of 8. `tail_room`: bytes behind it.
    MessagePool(ThreadUse threads, std::uint32_t slots_max, std::size_t payload_bytes_max, std::size_t header_room = 0,
                std::size_t tail_room = 0)
        : pool_(threads, slots_max),
          payload_bytes_max_(payload_bytes_max),
          header_room_(header_room),
          tail_room_(tail_room) {}

    // Null: all slots are taken, or out of memory.
    [[nodiscard]] Message* take(Port& port) noexcept {
        Stored* message = pool_.acquire();
        if (!message || message->storage) return message;
        // Not initialized, so that pages that no message uses are never touched.
        message->storage.reset(new (std::nothrow) std::byte[header_room_ + payload_bytes_max_ + tail_room_]);
        if (!message->storage) {
            pool_.release(*message);
            return nullptr;
        }
        message->port = &port;
        message->payload = message->storage.get() + header_room_;
        message->payload_bytes_max = static_cast<std::uint32_t>(payload_bytes_max_);
        message->header_room = static_cast<std::uint32_t>(header_room_);
        return message;
    }
    void give(Message& message) noexcept { pool_.release(static_cast<Stored&>(message)); }
    [[nodiscard]] std::uint32_t taken() const noexcept { return pool_.taken(); }

  private:
    struct Stored final : Message {
        std::unique_ptr<std::byte[]> storage;
    };
    SlotPool<Stored> pool_;
    const std::size_t payload_bytes_max_;
    const std::size_t header_room_;
    const std::size_t tail_room_;
};

}  // namespace cinnabar::na
