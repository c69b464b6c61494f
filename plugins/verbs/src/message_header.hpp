// SPDX-License-Identifier: BSD-3-Clause
// The 16 bytes in front of every message. Pure; the bytes are hostile input.
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
    notify = 3,  // `value` of a put whose bytes went before it, where the device has no immediate data
    credit = 4,  // nothing but `credits`; costs none
};

struct MessageHeader {
    MessageKind kind = MessageKind::unexpected;
    std::uint16_t credits = 0;  // given back to the receiver of this message
    std::uint32_t value = 0;    // notify only
    na::Tag tag = 0;            // unexpected and expected only

    void encode(std::span<std::byte, message_header_bytes> out) const noexcept;
    // False: too short, an unknown kind, bytes behind a header that has none, or something in a field that the
    // kind does not have.
    [[nodiscard]] static bool decode(ConstBytes in, MessageHeader& out) noexcept;
};

}  // namespace cinnabar::verbs
