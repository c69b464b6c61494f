// SPDX-License-Identifier: BSD-3-Clause
// When a Caller (caller.hpp) retries a failed call. Plain values.
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

// Whether and when a failed call is retried; Attempts (attempts.hpp) applies this policy. `codes`: the errors after
// which another attempt can help. Whether another attempt is allowed depends on what happened:
// - A call that never left this side (there was no connection, or the connection broke while the call waited in a
//   queue), or that the handler refused with come_again() (admission.hpp), was not executed. Such a call is retried
//   whatever the RPC is.
// - A call that was sent may have been executed. Such a call is retried only if the RPC is declared idempotent
//   (rpc.hpp).
struct RetryPolicy {
    // The maximum number of attempts, including the first, up to 64. 1: no retry. Two kinds of retry are not counted:
    // one immediate retry of a call that was not sent because its connection broke, and retries that the target
    // requested with come_again().
    std::uint32_t attempts = 4;
    // How long to wait before the second attempt; the pause doubles before each further attempt, up to pause_max. Half
    // of each pause is random.
    Microseconds pause{20'000};
    Microseconds pause_max{2'000'000};
    // How long one attempt may take; an attempt that takes longer is canceled and may be retried (`timed_out`). 0: only
    // the deadline of the call ends an attempt.
    Microseconds attempt_max{0};
    Codes codes = {Errc::refused,   Errc::unreachable,   Errc::peer_lost,    Errc::overloaded,
                   Errc::timed_out, Errc::shutting_down, Errc::bad_checksum, Errc::out_of_memory};
    // The size of each peer's retry budget, and of the budget of all peers together; 0: no budget. Each failed attempt
    // that `attempts` counts takes a token from both budgets. Each call that succeeds, or fails with a code that is not
    // in `codes` and is neither canceled nor closed, gives `tokens_back` back to both. Nothing is retried while half of
    // the tokens of a budget or fewer are left. So when a service fails all its callers, retries raise its load only by
    // a fraction of about `tokens_back`.
    std::uint32_t peer_tokens = 10;
    std::uint32_t node_tokens = 100;
    double tokens_back = 0.1;
};

// How many calls of a Caller may be in progress, and how many may wait. 0: no limit.
struct QuotaOptions {
    std::uint32_t peer_calls = 0;
    std::uint32_t node_calls = 0;
    // Encoded arguments plus memory that is lent. A single larger call starts when nothing else is in progress.
    std::uint64_t peer_bytes = 0;
    std::uint64_t node_bytes = 0;
    // The maximum number of calls that wait for the quota; a further call ends with `overloaded`. Calls of high
    // priority go first and, within a priority, calls with the nearest deadline. A waiting call holds its encoded
    // arguments and a slot of rpc::Options::calls_max.
    std::uint32_t waiting_max = 1024;
};

}  // namespace cinnabar::hl
