// SPDX-License-Identifier: BSD-3-Clause
// A part of a peer's memory that this process reads and writes by itself, without a message to its owner. The peer's
// library must have allocated the memory, and its lease must be for that (Transport::keep_to_direct). Thread-safe:
// threads take turns.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>

#include <cstddef>
#include <cstdint>

namespace cinnabar::na {

enum class DirectOp : std::uint8_t { fetch_add, compare_swap, exchange };

// An operation on an aligned word of the owner's memory. Atomic with respect to the owner's processor, and to that of
// every process that maps the memory.
struct DirectWord {
    DirectOp op = DirectOp::fetch_add;
    std::uint8_t bytes = 8;      // 4 or 8
    std::uint64_t value = 0;     // the addend, or the new value
    std::uint64_t expected = 0;  // compare_swap
    std::uint64_t before = 0;    // set by the operation
};

// It outlives the session, the context and the transport that it came from. Each operation holds the lease while it
// moves bytes, so the owner's revocation waits for it, and later ones are refused. Aligned words of 4 and 8 bytes are
// read and written atomically; other bytes are not. What a completed operation wrote is visible to the owner.
//
// Errors: stale (the lease is revoked; what was read does not count), peer_lost (the session with the owner has ended),
// too_large (out of bounds), permission (the access was not asked for), invalid_argument (a word that is not aligned).
// A failed operation on more than direct_step_bytes may have moved some of them.
class DirectMemory {
  public:
    // The lease is held for one step.
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
