// SPDX-License-Identifier: BSD-3-Clause
// The 16 bytes before every message. Pure. The bytes are untrusted.
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
    notify = 3,  // the notification of the preceding put, if the device has no immediate data
    credit = 4,  // returns credits and uses none
};

struct MessageHeader {
    MessageKind kind = MessageKind::unexpected;
    std::uint16_t credits = 0;  // credits that this header returns
    std::uint32_t value = 0;    // only for notify
    na::Tag tag = 0;            // only for unexpected and expected

    void encode(std::span<std::byte, message_header_bytes> out) const noexcept;
    // False: too short, an unknown kind, bytes after a header that allows none, or a nonzero field that the kind does
    // not use.
    [[nodiscard]] static bool decode(ConstBytes in, MessageHeader& out) noexcept;
};

}  // namespace cinnabar::verbs
