// SPDX-License-Identifier: BSD-3-Clause
// Cache of the policy's verdicts for one connection, by handler. If two handlers hash to the same entry, the later one
// replaces the earlier. Owner of the context only.
#pragma once

#include <cinnabar/rpc/handler.hpp>
#include <cinnabar/rpc/policy.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace cinnabar::rpc {

class Verdicts {
  public:
    struct Place {
        const Handler* handler = nullptr;  // null: free
        const Policy::Verdict* verdict = nullptr;
    };

    [[nodiscard]] Place& place_of(const Handler& handler) noexcept {
        return places_[(reinterpret_cast<std::uintptr_t>(&handler) * 0x9e3779b97f4a7c15u >> 32) % places_.size()];
    }
    [[nodiscard]] bool allow(const Handler& handler) noexcept {
        const Place& place = place_of(handler);
        return place.handler == &handler && place.verdict->allow;
    }

  private:
    std::array<Place, 32> places_{};
};

}  // namespace cinnabar::rpc
