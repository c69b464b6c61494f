// SPDX-License-Identifier: BSD-3-Clause
// A part of a peer's memory that this process reads and writes by itself, without a message to its owner. The peer's
// library must have allocated the memory, and the peer must have called Transport::keep_to_direct for the lease.
// Thread-safe: threads take turns.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>

#include <cstddef>
#include <cstdint>

namespace cinnabar::na {

enum class DirectOp : std::uint8_t { fetch_add, compare_swap, exchange };

// An operation on an aligned word of the owner's memory. Atomic with respect to the owner and to every other process
// that maps the memory.
struct DirectWord {
    DirectOp op = DirectOp::fetch_add;
    std::uint8_t bytes = 8;      // 4 or 8
    std::uint64_t value = 0;     // the addend, or the new value
    std::uint64_t expected = 0;  // compare_swap
    std::uint64_t before = 0;    // set by the operation
};

// A DirectMemory outlives the session, the context and the transport that it came from. Each operation pins the lease
// while it moves bytes, so the owner's revocation waits for the operation; operations after the revocation are refused.
// Aligned words of 4 and 8 bytes are read and written atomically; other bytes are not. The bytes that a completed
// operation has written are visible to the owner.
//
// Errors: stale (the lease is revoked; bytes that were read are not valid), peer_lost (the session with the owner has
// ended), too_large (out of bounds), permission (Port::direct was not called for this kind of access), invalid_argument
// (a word that is not aligned). A failed operation on more than direct_step_bytes may have moved a part of its bytes.
class DirectMemory {
  public:
    // An operation moves at most this many bytes at a time, and pins the lease anew for each such step.
    static constexpr std::size_t direct_step_bytes = 64 * 1024;

    virtual ~DirectMemory() = default;
    DirectMemory(const DirectMemory&) = delete;
    DirectMemory& operator=(const DirectMemory&) = delete;

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] virtual Errc read(std::uint64_t offset, Bytes to) noexcept = 0;
    [[nodiscard]] virtual Errc write(std::uint64_t offset, ConstBytes from) noexcept = 0;
    // Needs access for reading and writing.
    [[nodiscard]] virtual Errc word(std::uint64_t offset, DirectWord& word) noexcept = 0;

  protected:
    explicit DirectMemory(std::uint64_t bytes) noexcept : bytes_(bytes) {}

  private:
    std::uint64_t bytes_;
};

}  // namespace cinnabar::na
