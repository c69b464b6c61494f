// SPDX-License-Identifier: BSD-3-Clause
// The receive slots of a port: a shared receive queue and its buffers, including the buffers of kept arrivals. All
// slots that were promised to sessions are always posted, and a few more; so memory grows with the promises. Owner of
// the context only.
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
    // `posted_max`: the size of the queue. `kept_max`: arrivals that may be kept at once.
    ReceiveSlots(const Device& device, std::size_t slot_bytes, std::uint32_t posted_max, std::uint32_t kept_max);
    ~ReceiveSlots();
    ReceiveSlots(const ReceiveSlots&) = delete;
    ReceiveSlots& operator=(const ReceiveSlots&) = delete;

    // Creates the queue. out_of_memory, io.
    [[nodiscard]] Result<void> open();
    // Destroys the queue. Kept arrivals stay readable.
    void close() noexcept;
    [[nodiscard]] ibv_srq* queue() const noexcept { return queue_; }

    // Promises `count` more slots to a session, and posts them. overloaded: the queue is full; out_of_memory; io:
    // the device refused. On an error none is promised.
    [[nodiscard]] Errc promise(std::uint32_t count) noexcept;
    // Call when a session has ended: `count` fewer slots are needed.
    void withdraw(std::uint32_t count) noexcept { promised_ -= count; }
    [[nodiscard]] std::uint32_t promised() const noexcept { return promised_; }
    // The window for the next session: the more slots are promised, the smaller it is.
    [[nodiscard]] std::uint32_t window_for_next() const noexcept;
    [[nodiscard]] std::uint32_t posted_max() const noexcept { return posted_max_; }

    // Call when a completion has removed the slot from the queue.
    void taken(std::uint32_t slot) noexcept;
    [[nodiscard]] std::byte* bytes(std::uint32_t slot) const noexcept;
    // Frees the slot; a later refill posts it or another one.
    void free(std::uint32_t slot) noexcept { free_.push_back(slot); }
    // Posts the slots that are missing, if any, and some more, so that not every arrival has to post. False: the device
    // refused.
    [[nodiscard]] bool refill() noexcept { return posted_ >= promised_ || post_free(); }

    // Keeps the present arrival, and posts another slot in place of the arrival's slot. overloaded: too many are kept,
    // or out of memory.
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
