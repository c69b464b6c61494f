// SPDX-License-Identifier: BSD-3-Clause
// Memory that frames are sent from. A buffer's memory is allocated when its slot is first taken and stays with it.
// Take and give back: any thread of a `many` context; the rest: owner of the context only.
#pragma once

#include "endpoint.hpp"
#include "frame.hpp"

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/message.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>

namespace cinnabar::ofi {

struct Posted;
class Session;

// A message of the layers above, or a note: a frame of the plugin's own, which nobody waits for. While it is with the
// fabric, its FabricOp is what was posted.
struct Buffer final : FabricOp, na::Message {
    std::unique_ptr<std::byte[]> storage;
    LocalMemory memory;          // where the provider wants it
    Session* session = nullptr;  // while it is with the fabric, or waits in `link`
    Posted* posted = nullptr;    // the op that waits for it, if there is one
    ListLink<Buffer> link;       // in its session's list of notes to send, or of buffers that are with the fabric
    std::uint32_t frame_bytes = 0;
    bool note = false;
    // The op has ended before the fabric gave the buffer back: 2 until either its holder or the fabric did, then 1.
    std::atomic<std::uint8_t> holders{0};

    [[nodiscard]] std::byte* frame(std::size_t head) const noexcept { return payload - head; }
};
using BufferList = IntrusiveList<Buffer, &Buffer::link>;

class BufferPool {
  public:
    BufferPool(Threads threads, std::uint32_t slots_max, std::size_t payload_bytes_max, std::size_t header_room,
               bool notes)
        : pool_(threads, slots_max),
          payload_bytes_max_(padded(payload_bytes_max)),
          header_room_(header_room),
          notes_(notes) {}
    ~BufferPool() { unregister(); }

    // Null when all slots are out or memory is short.
    [[nodiscard]] Buffer* take(na::Port& port) noexcept {
        Buffer* buffer = pool_.acquire();
        if (!buffer || buffer->storage) return buffer;
        // Not filled: pages that no message reaches are never touched.
        buffer->storage.reset(new (std::nothrow) std::byte[header_room_ + payload_bytes_max_]);
        if (!buffer->storage) {
            pool_.release(*buffer);
            return nullptr;
        }
        buffer->port = &port;
        buffer->payload = buffer->storage.get() + header_room_;
        buffer->payload_bytes_max = static_cast<std::uint32_t>(payload_bytes_max_);
        buffer->header_room = static_cast<std::uint32_t>(header_room_);
        buffer->note = notes_;
        return buffer;
    }
    // By whoever took it, or by the fabric: the last of both gives it back.
    void give(Buffer& buffer) noexcept {
        if (buffer.holders.load(std::memory_order_acquire) != 0 &&
            buffer.holders.fetch_sub(1, std::memory_order_acq_rel) == 2) {
            return;
        }
        pool_.release(buffer);
    }
    [[nodiscard]] Errc register_with(Endpoint& endpoint, Buffer& buffer) const noexcept {
        if (!endpoint.registers() || buffer.memory) return Errc::ok;
        return endpoint.register_local(buffer.storage.get(), header_room_ + payload_bytes_max_, buffer.memory);
    }
    // Before the endpoint's domain goes.
    void unregister() noexcept {
        pool_.for_each([](Buffer& buffer) { buffer.memory.reset(); });
    }
    [[nodiscard]] std::uint32_t taken() const noexcept { return pool_.taken(); }

  private:
    SlotPool<Buffer> pool_;
    const std::size_t payload_bytes_max_;
    const std::size_t header_room_;
    const bool notes_;
};

}  // namespace cinnabar::ofi
