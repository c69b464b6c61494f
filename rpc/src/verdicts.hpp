// SPDX-License-Identifier: BSD-3-Clause
// A cache of the policy's verdicts for one connection, by handler. If two handlers hash to the same entry, the later
// one replaces the earlier. Owner of the context only.
#pragma once

#include <cinnabar/rpc/handler.hpp>
#include <cinnabar/rpc/policy.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace cinnabar::rpc {

class Verdicts {
  public:
    struct Entry {
        const Handler* handler = nullptr;  // null: free
        const Policy::Verdict* verdict = nullptr;
    };

    [[nodiscard]] Entry& entry_of(const Handler& handler) noexcept {
        return entries_[(reinterpret_cast<std::uintptr_t>(&handler) * 0x9e3779b97f4a7c15u >> 32) % entries_.size()];
    }
    [[nodiscard]] bool allow(const Handler& handler) noexcept {
        const Entry& entry = entry_of(handler);
        return entry.handler == &handler && entry.verdict->allow;
    }

  private:
    std::array<Entry, 32> entries_{};
};

}  // namespace cinnabar::rpc
