// SPDX-License-Identifier: BSD-3-Clause
// How much callers with a quota have in progress in an engine, over all connections and contexts. Only callers with a
// quota have totals, so the contexts of a node share nothing for the calls of others. Any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace cinnabar::rpc {

// A count that the threads of all contexts raise and lower. take() never raises the count above `most`, not even for a
// moment: an amount that is refused is never added, so it cannot cause another refusal.
class SharedCount {
  public:
    static constexpr std::uint64_t no_limit = ~std::uint64_t{0};

    // False: more than `most` would be held; nothing was taken.
    [[nodiscard]] bool take(std::uint64_t amount, std::uint64_t most) noexcept {
        std::uint64_t held = held_.load(std::memory_order_relaxed);
        do {
            if (held > most || amount > most - held) return false;
        } while (!held_.compare_exchange_weak(held, held + amount, std::memory_order_relaxed));
        return true;
    }
    void give_back(std::uint64_t amount) noexcept { held_.fetch_sub(amount, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t held() const noexcept { return held_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> held_{0};
};

// The totals of one caller.
struct CallerTotals {
    SharedCount requests;
    SharedCount bytes;
    SharedCount leases;
    SharedCount lent_bytes;
};

// Whether nobody else refers to an account.
inline constexpr auto is_unused_account = [](const auto& entry) { return entry.second.use_count() <= 1; };

// Removes accounts that nobody else refers to, when there are twice as many accounts as after the last removal.
// `accounts`: a map to shared pointers. Requires: meanwhile no other thread copies a pointer out of `accounts`.
template <typename Accounts>
void forget_unused(Accounts& accounts, std::size_t& look_at) noexcept {
    constexpr std::size_t unused_max = 64;
    if (accounts.size() < std::max(look_at, unused_max)) return;
    std::erase_if(accounts, is_unused_account);
    look_at = 2 * accounts.size();
}

// The totals of an engine's callers. The lock is taken only when a context makes its account for a caller, not for each
// call.
class CallerTable {
  public:
    // Returns the totals of the caller with that name (as caller_name() returns it), and creates the totals if there
    // are none. Null: out of memory.
    [[nodiscard]] std::shared_ptr<CallerTotals> of(const std::string& name) noexcept;

  private:
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<CallerTotals>, std::less<>> totals_;
    std::size_t look_at_ = 0;
};

}  // namespace cinnabar::rpc
