// SPDX-License-Identifier: BSD-3-Clause
// Send buffers for frames. Their memory is allocated in blocks and then kept. If the context is for many threads, any
// thread may take and give buffers; all else is for the owner of the context only.
#pragma once

#include "endpoint.hpp"
#include "frame.hpp"

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/message.hpp>
#include <cinnabar/na/session/posted.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>

namespace cinnabar::ofi {

class BufferPool;
class FrameSender;

// A message of the upper layer; or a control frame of the plugin, which belongs to no op. Posted to the fabric as a
// FabricOp.
struct Buffer final : FabricOp, na::Message {
    BufferPool* pool = nullptr;
    std::byte* storage = nullptr;
    Registration memory;             // if the provider needs it
    FrameSender* sender = nullptr;   // while the fabric has it
    na::PostedOp* posted = nullptr;  // the op of the message; null for a control frame
    ListLink<Buffer> link;  // in its sender's list of control frames to send, or of buffers that the fabric has
    std::uint32_t frame_bytes = 0;
    // Frames of its session that are known to be sent when this one completes, itself included.
    std::uint32_t confirms = 0;
    bool control = false;
    bool sealed = false;
    bool stands_in = false;              // a copy that is sent in place of a message; belongs to the sender
    std::unique_ptr<std::byte[]> block;  // in the first buffer of a block: the memory of the block
    // 2 if the op ends while the fabric still has the buffer: then the message's user and the fabric both give the
    // buffer back, and the second of them frees it. Otherwise 0.
    std::atomic<std::uint8_t> holders{0};

    [[nodiscard]] std::byte* frame(std::size_t head) const noexcept { return payload - head; }
};
using BufferList = IntrusiveList<Buffer, &Buffer::link>;

class BufferPool {
  public:
    BufferPool(ThreadUse threads, std::uint32_t slots_max, std::size_t payload_bytes_max, std::size_t header_room,
               std::size_t trailer_room, bool controls)
        : pool_(threads, slots_max),
          payload_bytes_max_(padded(payload_bytes_max)),
          header_room_(header_room),
          trailer_room_(trailer_room),
          controls_(controls) {}
    ~BufferPool() { unregister(); }

    // Null: all slots are taken, or out of memory.
    [[nodiscard]] Buffer* take(na::Port& port) noexcept {
        return pool_.acquire([&](Buffer* first) noexcept { return fill(first, port); });
    }
    // Called by the message's user or by the fabric; the buffer is free when both have given it back.
    void give(Buffer& buffer) noexcept {
        if (buffer.holders.load(std::memory_order_acquire) != 0 &&
            buffer.holders.fetch_sub(1, std::memory_order_acq_rel) == 2) {
            return;
        }
        pool_.release(buffer);
    }
    [[nodiscard]] Errc register_with(Endpoint& endpoint, Buffer& buffer) const noexcept {
        if (!endpoint.registrar().wants_local() || buffer.memory) return Errc::ok;
        return endpoint.registrar().local({buffer.storage, slot_bytes()}, buffer.memory);
    }
    // Call it before the endpoint's domain is closed.
    void unregister() noexcept {
        pool_.for_each([](Buffer& buffer) { buffer.memory.reset(); });
    }
    // Whether the fabric still has the buffer, although the op that it was posted for has ended.
    [[nodiscard]] static bool is_with_fabric(const Buffer& buffer) noexcept {
        return buffer.holders.load(std::memory_order_acquire) == 2;
    }
    [[nodiscard]] std::uint32_t taken() const noexcept { return pool_.taken(); }

  private:
    [[nodiscard]] std::size_t slot_bytes() const noexcept { return header_room_ + payload_bytes_max_ + trailer_room_; }
    bool fill(Buffer* first, na::Port& port) noexcept {
        const std::size_t bytes = slot_bytes();
        // Not initialized, so that pages that no message uses are never touched.
        first->block.reset(new (std::nothrow) std::byte[bytes * SlotPool<Buffer>::block_slots]);
        if (!first->block) return false;
        for (std::uint32_t i = 0; i < SlotPool<Buffer>::block_slots; ++i) {
            Buffer& buffer = first[i];
            buffer.pool = this;
            buffer.port = &port;
            buffer.storage = first->block.get() + i * bytes;
            buffer.payload = buffer.storage + header_room_;
            buffer.payload_bytes_max = static_cast<std::uint32_t>(payload_bytes_max_);
            buffer.header_room = static_cast<std::uint32_t>(header_room_);
            buffer.control = controls_;
        }
        return true;
    }

    SlotPool<Buffer> pool_;
    const std::size_t payload_bytes_max_;
    const std::size_t header_room_;
    const std::size_t trailer_room_;  // behind the payload
    const bool controls_;
};

}  // namespace cinnabar::ofi
