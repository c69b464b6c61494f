// SPDX-License-Identifier: BSD-3-Clause
// Plain frames, which most are: a request whose arguments come along, and a reply with a small result and no flags, neither
// with a checksum. Whether one is plain shows in its first word, and its fields are read where they lie. They are frames
// like any other: the functions of frame.hpp read and write the same bytes.
#pragma once

#include "frame.hpp"

#include <cstring>

namespace cinnabar::rpc {

namespace detail {

// Fields of a header whose size is known: no check for each of them, as Reader and Writer make.
template <typename T>
[[nodiscard]] inline T load(const std::byte* at) noexcept {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}
template <typename T>
inline void store(std::byte* at, T value) noexcept {
    std::memcpy(at, &value, sizeof value);
}

inline constexpr std::uint8_t frame_version = 1;
inline constexpr std::uint16_t request_begins = static_cast<std::uint16_t>(FrameKind::request) | frame_version << 8;
inline constexpr std::uint32_t reply_begins = static_cast<std::uint32_t>(FrameKind::reply);
static_assert(static_cast<int>(Errc::ok) == 0);

}  // namespace detail

class PlainRequest {
  public:
    // Requires: is_plain().
    explicit PlainRequest(const std::byte* frame) noexcept : at_(frame) {}
    [[nodiscard]] static bool is_plain(ConstBytes frame) noexcept {
        constexpr std::uint32_t any = std::uint32_t{flag_hungry | flag_trace | flag_times} << 16;
        if (frame.size() < request_header_bytes) return false;
        const PlainRequest request(frame.data());
        const std::size_t behind = (request.flags() & flag_trace) != 0 ? trace_bytes : 0;
        return (detail::load<std::uint32_t>(frame.data()) & ~any) == detail::request_begins &&
               request.payload_bytes() + behind == frame.size() - request_header_bytes &&
               detail::load<std::uint32_t>(frame.data() + 28) == 0;
    }
    [[nodiscard]] std::uint16_t flags() const noexcept { return detail::load<std::uint16_t>(at_ + 2); }
    [[nodiscard]] std::size_t payload_bytes() const noexcept { return detail::load<std::uint32_t>(at_ + 4); }
    [[nodiscard]] RpcId rpc() const noexcept { return detail::load<RpcId>(at_ + 8); }
    [[nodiscard]] std::uint64_t time_left_us() const noexcept { return detail::load<std::uint64_t>(at_ + 16); }
    [[nodiscard]] std::uint16_t shape() const noexcept { return detail::load<std::uint16_t>(at_ + 24); }
    [[nodiscard]] ProviderId provider() const noexcept { return detail::load<ProviderId>(at_ + 26); }
    [[nodiscard]] const std::byte* payload() const noexcept { return at_ + request_header_bytes; }

    // One without flags, in front of the payload, which is in its place already.
    static void encode(std::byte* at, std::uint32_t payload_bytes, RpcId rpc, std::uint64_t time_left_us,
                       std::uint16_t shape, ProviderId provider) noexcept {
        detail::store(at, std::uint64_t{payload_bytes} << 32 | detail::request_begins);
        detail::store(at + 8, rpc);
        detail::store(at + 16, time_left_us);
        detail::store(at + 24, std::uint64_t{provider} << 16 | shape);
    }

  private:
    const std::byte* at_;
};

class PlainReply {
  public:
    // Requires: is_plain().
    explicit PlainReply(const std::byte* frame) noexcept : at_(frame) {}
    [[nodiscard]] static bool is_plain(ConstBytes frame) noexcept {
        if (frame.size() < reply_header_bytes) return false;
        const std::byte* const at = frame.data();
        return detail::load<std::uint32_t>(at) == detail::reply_begins &&
               detail::load<std::uint32_t>(at + 4) == frame.size() - reply_header_bytes &&
               detail::load<std::uint32_t>(at + 12) == 0;
    }
    [[nodiscard]] std::uint16_t shape() const noexcept { return detail::load<std::uint16_t>(at_ + 8); }
    [[nodiscard]] std::uint16_t credits() const noexcept { return detail::load<std::uint16_t>(at_ + 10); }
    [[nodiscard]] const std::byte* payload() const noexcept { return at_ + reply_header_bytes; }

    static void encode(std::byte* at, std::uint32_t payload_bytes, std::uint16_t shape,
                       std::uint16_t credits) noexcept {
        detail::store(at, std::uint64_t{payload_bytes} << 32 | detail::reply_begins);
        detail::store(at + 8, std::uint64_t{credits} << 16 | shape);
    }

  private:
    const std::byte* at_;
};

}  // namespace cinnabar::rpc
