// SPDX-License-Identifier: BSD-3-Clause
// What a quota of a policy has refused, and why (policy.hpp).
#pragma once

#include <cinnabar/base/error.hpp>

#include <cstdint>

namespace cinnabar::rpc {

// The number of the quota that was reached.
enum class QuotaLimit : std::uint8_t { none, requests, bytes, leases, lent_bytes };

struct QuotaRefusal {
    QuotaLimit limit = QuotaLimit::none;  // none: no quota has refused
    std::uint64_t asked = 0;              // how much more the caller needed
    std::uint64_t held = 0;               // how much the caller had at that moment
    std::uint64_t most = 0;               // how much the quota allows

    // too_large: trying again is in vain, since the quota never allows that much.
    [[nodiscard]] Errc code() const noexcept { return asked > most ? Errc::too_large : Errc::overloaded; }
};

}  // namespace cinnabar::rpc
