// SPDX-License-Identifier: BSD-3-Clause
// The content of a work completion: what it belongs to, and why it failed. Pure.
#pragma once

#include <cinnabar/base/error.hpp>

#include <infiniband/verbs.h>

#include <cstdint>

namespace cinnabar::verbs {

// The value of ibv_wc::wr_id. For a send: the slot of its session, how many queue pairs that slot had before
// (modulo 256), and the place in the send queue. For a receive: its receive slot.
class WorkId {
  public:
    explicit WorkId(std::uint64_t raw) noexcept : raw_(raw) {}
    [[nodiscard]] static WorkId of_send(std::uint32_t session, std::uint16_t life, std::uint32_t place) noexcept {
        return WorkId(std::uint64_t{session & 0x7f'ffffu} << 40 | std::uint64_t{life & 0xffu} << 32 | place);
    }
    [[nodiscard]] static WorkId of_receive(std::uint32_t slot) noexcept { return WorkId(receive_bit | slot); }

    [[nodiscard]] std::uint64_t raw() const noexcept { return raw_; }
    [[nodiscard]] bool is_receive() const noexcept { return (raw_ & receive_bit) != 0; }
    [[nodiscard]] std::uint32_t slot() const noexcept { return static_cast<std::uint32_t>(raw_); }
    [[nodiscard]] std::uint32_t session() const noexcept { return static_cast<std::uint32_t>(raw_ >> 40); }
    [[nodiscard]] std::uint8_t life() const noexcept { return static_cast<std::uint8_t>(raw_ >> 32); }
    [[nodiscard]] std::uint32_t place() const noexcept { return static_cast<std::uint32_t>(raw_); }

  private:
    static constexpr std::uint64_t receive_bit = std::uint64_t{1} << 63;
    std::uint64_t raw_;
};

// The result of an operation whose work request failed. peer_lost: the other side did not answer, or the request was
// flushed because an earlier one failed.
[[nodiscard]] Errc operation_error(ibv_wc_status status) noexcept;
// The error with which the session ends.
[[nodiscard]] Errc session_error(ibv_wc_status status) noexcept;

}  // namespace cinnabar::verbs
