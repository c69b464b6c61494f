// SPDX-License-Identifier: BSD-3-Clause
// The memory that messages are received into, one set per port: a shared block that all connections read into, and
// smaller blocks for messages that are kept. This memory does not grow with the number of connections: a connection
// holds a block only while it has received a part of a message. Owner of the context only.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/na/arrival.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace cinnabar::na {

// The bytes follow the struct, 16-byte aligned.
struct alignas(16) ReceiveBlock {
    ReceiveBlock* next = nullptr;
    std::uint32_t references = 0;
    std::uint8_t size_class = 0;
    bool reading = false;  // reads go into this block now

    [[nodiscard]] std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

class CINNABAR_API ReceiveBlocks {
  public:
    // `frame_bytes_max`: the largest frame including its header. `kept_max`: the number of arrivals that may be kept at
    // once.
    ReceiveBlocks(std::size_t frame_bytes_max, std::uint32_t kept_max);
    ~ReceiveBlocks();
    ReceiveBlocks(const ReceiveBlocks&) = delete;
    ReceiveBlocks& operator=(const ReceiveBlocks&) = delete;

    // Room for the next read: at least one whole frame, 8-byte aligned. Empty: out of memory.
    [[nodiscard]] Bytes room() noexcept {
        if (!reading_ || reading_->references != 0) return next_room();
        offset_ = 0;  // no arrival uses the bytes that were read before
        return {reading_->bytes(), sizes_[shared_class]};
    }
    [[nodiscard]] ReceiveBlock* reading() noexcept { return reading_; }
    // Call when a read has filled `bytes` of the room, and all arrivals in them have been delivered.
    void consumed(std::size_t bytes) noexcept { offset_ += (bytes + 7) & ~std::size_t{7}; }

    // A block of at least `bytes` for one message, with one reference; null: out of memory.
    [[nodiscard]] ReceiveBlock* take(std::size_t bytes) noexcept;
    void unreference(ReceiveBlock& block) noexcept;

    // These functions implement Port::keep, detach and release for arrivals whose token is their ReceiveBlock.
    // `closed`: nothing more will be received.
    [[nodiscard]] Errc keep(Arrival& arrival, Port& port, Kept& out) noexcept;
    [[nodiscard]] Errc detach(Kept& kept, bool closed) noexcept;
    void release(Kept& kept) noexcept;

    // full(): the number of kept arrivals has reached its limit. allow(): raises that limit.
    [[nodiscard]] bool full() const noexcept { return kept_ == kept_max_; }
    void allow(std::uint32_t kept_max) noexcept { kept_max_ = kept_max > kept_max_ ? kept_max : kept_max_; }
    // Counts a kept arrival. False: full().
    [[nodiscard]] bool count_kept() noexcept;
    void count_released() noexcept { --kept_; }
    // Whether kept arrivals hold too many shared blocks: a further arrival must be copied out of its block.
    [[nodiscard]] bool crowded() const noexcept { return shared_out_ >= shared_max; }
    [[nodiscard]] bool shared(const ReceiveBlock& block) const noexcept { return block.size_class == shared_class; }
    [[nodiscard]] std::uint32_t kept() const noexcept { return kept_; }

  private:
    // Three sizes for small messages, one for the largest, and the shared block.
    static constexpr std::size_t classes = 5;
    static constexpr std::uint8_t shared_class = classes - 1;
    static constexpr std::uint32_t shared_max = 16;

    [[nodiscard]] Bytes next_room() noexcept;
    [[nodiscard]] ReceiveBlock* take_class(std::uint8_t size_class) noexcept;
    void give(ReceiveBlock& block) noexcept;

    std::array<std::size_t, classes> sizes_;
    std::array<ReceiveBlock*, classes> free_{};
    std::array<std::uint32_t, classes> free_count_{};
    const std::size_t frame_bytes_max_;
    std::uint32_t kept_max_;
    std::uint32_t kept_ = 0;
    std::uint32_t shared_out_ = 0;  // shared blocks that only kept arrivals use
    ReceiveBlock* reading_ = nullptr;
    std::size_t offset_ = 0;  // where the next read begins
};

}  // namespace cinnabar::na
