// SPDX-License-Identifier: BSD-3-Clause
// The receive slots of a port: one shared receive queue, the buffers behind it, and those that are held by whoever
// keeps an arrival. As many are posted as have been promised to connections, and a few more; memory grows with that.
// Owner of the context only.
#pragma once

#include "pinned.hpp"

#include <cinnabar/na/arrival.hpp>

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace cinnabar::verbs {

class ReceiveSlots {
  public:
    // `posted_max`: the size of the queue. `kept_max`: arrivals that may be held at once.
    ReceiveSlots(const Device& device, std::size_t slot_bytes, std::uint32_t posted_max, std::uint32_t kept_max);
    ~ReceiveSlots();
    ReceiveSlots(const ReceiveSlots&) = delete;
    ReceiveSlots& operator=(const ReceiveSlots&) = delete;

    // Makes the queue. out_of_memory, io.
    [[nodiscard]] Result<void> open();
    // Destroys the queue; what is kept stays readable.
    void close() noexcept;
    [[nodiscard]] ibv_srq* queue() const noexcept { return queue_; }

    // Promises `count` more slots to a connection; they are posted. None of them is promised after overloaded: the
    // queue is full; out_of_memory; io: the device refused.
    [[nodiscard]] Errc promise(std::uint32_t count) noexcept;
    // That connection is gone. Slots that come free are not posted in its place.
    void withdraw(std::uint32_t count) noexcept { promised_ -= count; }
    [[nodiscard]] std::uint32_t promised() const noexcept { return promised_; }
    // Slots for the messages of the next connection: a part of those that are left.
    [[nodiscard]] std::uint32_t window_for_next() const noexcept;
    [[nodiscard]] std::uint32_t posted_max() const noexcept { return posted_max_; }

    // A completion took it out of the queue.
    void taken(std::uint32_t slot) noexcept;
    [[nodiscard]] std::byte* bytes(std::uint32_t slot) const noexcept;
    // It is not in use any more: it, or a spare, is posted with the next refill.
    void free(std::uint32_t slot) noexcept { free_.push_back(slot); }
    // Posts what is missing, all at once, and some more, so that it is not called for every arrival. False: the device
    // refused.
    [[nodiscard]] bool refill() noexcept { return posted_ >= promised_ || post_free(); }

    // An arrival in `slot` is held; another slot is posted in its place. overloaded: too many are, or memory is out.
    [[nodiscard]] Errc keep() noexcept;
    void release(std::uint32_t slot) noexcept;

  private:
    static constexpr std::uint32_t block_slots = 32;
    static constexpr std::uint32_t beyond_promised = 16;

    [[nodiscard]] bool grow() noexcept;
    [[nodiscard]] bool post_free() noexcept;

    const Device& device_;
    const std::size_t slot_bytes_;
    const std::uint32_t posted_max_;
    const std::uint32_t kept_max_;
    ibv_srq* queue_ = nullptr;
    std::vector<Pinned> blocks_;
    std::vector<std::uint32_t> free_;
    std::uint32_t promised_ = 0;
    std::uint32_t posted_ = 0;
    std::uint32_t kept_ = 0;
};

}  // namespace cinnabar::verbs
