// SPDX-License-Identifier: BSD-3-Clause
// Plain frames, the most common ones: requests and replies whose arguments or result are in the message, without a
// checksum. The first word of a frame tells whether it is plain, and its fields are read in place. The format is the
// same as in frame.hpp, whose functions read and write the same bytes.
#pragma once

#include "frame.hpp"

#include <cstring>

namespace cinnabar::rpc {

namespace detail {

// Accesses fields of a header whose size was checked before, unlike ByteReader and ByteWriter, which check each access.
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
        constexpr std::uint16_t allowed = flag_wants_credits | flag_trace | flag_times | flag_unsampled;
        constexpr std::uint32_t any = std::uint32_t{allowed} << 16;
        if (frame.size() < request_header_bytes) return false;
        const PlainRequest request(frame.data());
        const std::size_t behind = request.traced() ? trace_bytes : 0;
        return (detail::load<std::uint32_t>(frame.data()) & ~any) == detail::request_begins &&
               request.payload_bytes() + behind == frame.size() - request_header_bytes &&
               detail::load<std::uint32_t>(frame.data() + 28) == 0;
    }
    [[nodiscard]] std::uint16_t flags() const noexcept { return detail::load<std::uint16_t>(at_ + 2); }
    [[nodiscard]] bool traced() const noexcept { return (flags() & flag_trace) != 0; }
    [[nodiscard]] std::size_t payload_bytes() const noexcept { return detail::load<std::uint32_t>(at_ + 4); }
    [[nodiscard]] RpcId rpc() const noexcept { return detail::load<RpcId>(at_ + 8); }
    [[nodiscard]] std::uint64_t time_left_us() const noexcept { return detail::load<std::uint64_t>(at_ + 16); }
    [[nodiscard]] std::uint16_t shape() const noexcept { return detail::load<std::uint16_t>(at_ + 24); }
    [[nodiscard]] ProviderId provider() const noexcept { return detail::load<ProviderId>(at_ + 26); }
    [[nodiscard]] const std::byte* payload() const noexcept { return at_ + request_header_bytes; }

    // Requires: traced().
    [[nodiscard]] TraceContext trace() const noexcept {
        const std::byte* const trace = payload() + payload_bytes();
        return {{detail::load<std::uint64_t>(trace), detail::load<std::uint64_t>(trace + 8)},
                detail::load<std::uint64_t>(trace + 16)};
    }

    // Encodes the header of a request without flags, in front of the payload, which is in place already.
    static void encode(std::byte* at, std::uint32_t payload_bytes, RpcId rpc, std::uint64_t time_left_us,
                       std::uint16_t shape, ProviderId provider) noexcept {
        detail::store(at, std::uint64_t{payload_bytes} << 32 | detail::request_begins);
        detail::store(at + 8, rpc);
        detail::store(at + 16, time_left_us);
        detail::store(at + 24, std::uint64_t{provider} << 16 | shape);
    }
    static void ask_for_times(std::byte* at) noexcept { detail::store(at + 2, flag_times); }

  private:
    const std::byte* at_;
};

class PlainReply {
  public:
    // Requires: is_plain().
    explicit PlainReply(const std::byte* frame) noexcept : at_(frame) {}
    // `timed`: requires flag_times; otherwise there must be no flags.
    [[nodiscard]] static bool is_plain(ConstBytes frame, bool timed) noexcept {
        const std::uint32_t flags = timed ? std::uint32_t{flag_times} << 16 : 0;
        const std::size_t behind = timed ? times_bytes : 0;
        return frame.size() >= reply_header_bytes &&
               detail::load<std::uint32_t>(frame.data()) == (detail::reply_begins | flags) &&
               PlainReply(frame.data()).payload_bytes() + behind == frame.size() - reply_header_bytes &&
               detail::load<std::uint32_t>(frame.data() + 12) == 0;
    }
    [[nodiscard]] std::size_t payload_bytes() const noexcept { return detail::load<std::uint32_t>(at_ + 4); }
    // Header and payload, without times.
    [[nodiscard]] std::size_t bytes() const noexcept { return reply_header_bytes + payload_bytes(); }
    [[nodiscard]] std::uint16_t shape() const noexcept { return detail::load<std::uint16_t>(at_ + 8); }
    [[nodiscard]] std::uint16_t credits() const noexcept { return detail::load<std::uint16_t>(at_ + 10); }
    [[nodiscard]] const std::byte* payload() const noexcept { return at_ + reply_header_bytes; }

    static void encode(std::byte* at, std::uint32_t payload_bytes, std::uint16_t shape,
                       std::uint16_t credits) noexcept {
        detail::store(at, std::uint64_t{payload_bytes} << 32 | detail::reply_begins);
        detail::store(at + 8, std::uint64_t{credits} << 16 | shape);
    }
    // Requires: there is room for the times after the reply, which has this many bytes.
    static void add_times(std::byte* at, std::size_t bytes, const TargetTimes& times) noexcept {
        detail::store(at + 2, flag_times);
        detail::store(at + bytes, times.waited_us);
        detail::store(at + bytes + 4, times.handled_us);
        detail::store(at + bytes + 8, times.transfers_us);
        detail::store(at + bytes + 12, times.came_us);
    }

  private:
    const std::byte* at_;
};

}  // namespace cinnabar::rpc
