// SPDX-License-Identifier: BSD-3-Clause
// When a Caller (caller.hpp) makes a call again that has failed. Plain values.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/error.hpp>

#include <cstdint>
#include <initializer_list>

namespace cinnabar::hl {

// A set of error codes.
class Codes {
  public:
    constexpr Codes() = default;
    constexpr Codes(std::initializer_list<Errc> codes) noexcept {
        for (const Errc code : codes) bits_ |= bit_of(code);
    }
    [[nodiscard]] constexpr bool has(Errc code) const noexcept { return (bits_ & bit_of(code)) != 0; }

  private:
    [[nodiscard]] static constexpr std::uint64_t bit_of(Errc code) noexcept {
        return std::uint64_t{1} << static_cast<std::uint8_t>(code);
    }
    std::uint64_t bits_ = 0;
};
static_assert(errc_count <= 64);

// Whether trying again can help, by the code; `codes` below says what may be tried again at all:
// - What has not left this side (no connection, or it broke while the call waited in a queue), and what the handler
//   refused with come_again() (admission.hpp), has been done by nobody: it is tried again whatever the RPC is.
// - What was sent may have been done, so it is tried again only if the RPC is declared idempotent (rpc.hpp).
struct RetryPolicy {
    // In all, the first one included; at most 64. 1: none is made again. Not counted are one attempt that did not leave
    // because its connection broke, which is made again at once, and those that the target told when to come again.
    std::uint32_t attempts = 4;
    // Before the second attempt, then twice as long before each, up to pause_max. Half of it is left to chance.
    Microseconds pause{20'000};
    Microseconds pause_max{2'000'000};
    // An attempt that takes longer is canceled and may be made again (`timed_out`); 0: only the deadline of the call
    // ends it.
    Microseconds attempt_max{0};
    Codes codes = {Errc::refused,   Errc::unreachable,   Errc::peer_lost,    Errc::overloaded,
                   Errc::timed_out, Errc::shutting_down, Errc::bad_checksum, Errc::out_of_memory};
    // The budget of a peer, and of all together: each failed attempt takes a token, each call that succeeds brings
    // `tokens_back`, and nothing is tried again while half of the tokens or less are there. So a service that fails
    // for many is not called more often for that, but about tokens_back times more. 0: no budget. A failure that the
    // target told with come_again() takes none.
    std::uint32_t peer_tokens = 10;
    std::uint32_t node_tokens = 100;
    double tokens_back = 0.1;
};

// How many calls of a Caller wait and are under way. 0: no limit.
struct QuotaOptions {
    std::uint32_t peer_calls = 0;
    std::uint32_t node_calls = 0;
    // Of encoded arguments and of memory that is lent. One call that is larger goes when nothing else is under way.
    std::uint64_t peer_bytes = 0;
    std::uint64_t node_bytes = 0;
    // Calls that wait for others to end, those of high priority first, and of one priority those whose deadline is
    // nearest; then `overloaded`. One that waits holds its encoded arguments, and a slot of rpc::Options::calls_max.
    std::uint32_t waiting_max = 1024;
};

}  // namespace cinnabar::hl
