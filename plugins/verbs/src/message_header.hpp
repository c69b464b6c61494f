// SPDX-License-Identifier: BSD-3-Clause
// The 16 bytes in front of every message. Pure. The bytes are untrusted.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/na/types.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace cinnabar::verbs {

inline constexpr std::size_t message_header_bytes = 16;

enum class MessageKind : std::uint8_t {
    unexpected = 1,
    expected = 2,
    notify = 3,  // the notification of the put before it, if the device has no immediate data
    credit = 4,  // returns credits and takes none
};

struct MessageHeader {
    MessageKind kind = MessageKind::unexpected;
    std::uint16_t credits = 0;  // returned to the receiver of this message
    std::uint32_t value = 0;    // notify only
    na::Tag tag = 0;            // unexpected and expected only

    void encode(std::span<std::byte, message_header_bytes> out) const noexcept;
    // False: too short, an unknown kind, bytes after a header that has none, or a field that the kind does not use is
    // not zero.
    [[nodiscard]] static bool decode(ConstBytes in, MessageHeader& out) noexcept;
};

}  // namespace cinnabar::verbs
