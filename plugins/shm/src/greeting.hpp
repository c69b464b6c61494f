// SPDX-License-Identifier: BSD-3-Clause
// The first message on a session's socket in each direction: the Hello, the terms (sizes and names of the shared
// memory), and descriptors. docs/wire-format-shm.md, "Greeting". The bytes are untrusted.
#pragma once

#include "peer_fd.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/bytes.hpp>
#include <cinnabar/na/hello.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace cinnabar::shm {

inline constexpr std::size_t name_bytes_max = 63;

// At most name_bytes_max characters, stored in place: a greeting needs no allocation.
class TransportName {
  public:
    TransportName() = default;
    explicit TransportName(std::string_view text) noexcept : bytes_(static_cast<std::uint8_t>(text.size())) {
        CINNABAR_ASSERT(text.size() <= text_.size());
        std::copy(text.begin(), text.end(), text_.begin());
    }
    [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), bytes_}; }

  private:
    std::array<char, name_bytes_max> text_{};
    std::uint8_t bytes_ = 0;
};

// The properties of the sender's side.
struct Terms {
    std::uint32_t ring_bytes = 0;        // the size of the ring that the receiver of the greeting writes into
    std::uint32_t record_bytes_max = 0;  // the largest record in that ring, without its header
    std::uint32_t lease_slots = 0;       // slots of the sender's lease board; 0: the board is not shared
    std::uint32_t flag = 0;              // 1 + the flag that the receiver raises when it has written; 0: none
    std::uint64_t probe_address = 0;     // the address of 8 bytes in the sender's memory
    // The value of these bytes: a receiver that can read it may copy across address spaces. 0: there is no probe.
    std::uint64_t probe_value = 0;
    TransportName name;  // the name that the sender listens under; may be empty
};

inline constexpr std::size_t greeting_bytes_max = na::hello_bytes + 32 + 1 + name_bytes_max;

// The descriptors, in the order of sending. A reject has none.
struct GreetingFds {
    PeerFd ring;   // the ring that the receiver of the greeting writes into
    PeerFd bell;   // an eventfd
    PeerFd board;  // the lease board; only if Terms::lease_slots is not 0
    PeerFd flags;  // the sender's flags; only if Terms::flag is not 0
    static constexpr std::size_t count_max = 4;
    [[nodiscard]] static std::size_t count_of(const Terms& terms) noexcept {
        return std::size_t{2} + (terms.lease_slots != 0 ? 1 : 0) + (terms.flag != 0 ? 1 : 0);
    }
    // Takes as many as count_of(terms).
    void take(std::array<PeerFd, count_max>& from, const Terms& terms) noexcept {
        std::size_t next = 0;
        ring = std::move(from[next++]);
        bell = std::move(from[next++]);
        if (terms.lease_slots != 0) board = std::move(from[next++]);
        if (terms.flag != 0) flags = std::move(from[next]);
    }
};

struct Greeting {
    na::Hello hello;
    Terms terms;
    GreetingFds fds;
};

// Returns the number of bytes.
[[nodiscard]] std::size_t encode_greeting(const na::Hello& hello, const Terms& terms,
                                          std::span<std::byte, greeting_bytes_max> out) noexcept;
// As Hello::decode. protocol: also an invalid ring size or name; unsupported: also a reserved byte that is not zero.
[[nodiscard]] Errc decode_greeting(ConstBytes in, na::Hello& hello, Terms& terms) noexcept;

// Whether `name` has 1 to 63 letters, digits, '.', '-' and '_', and does not begin with '.'.
[[nodiscard]] bool good_name(std::string_view name) noexcept;

}  // namespace cinnabar::shm
