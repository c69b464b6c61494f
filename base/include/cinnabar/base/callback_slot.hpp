// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cinnabar/base/test_yield.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace cinnabar {

// A function pointer and its argument, which one thread may replace while other threads read them. A reader never gets
// the function of one set() with the argument of another set(). Any thread. set() may wait for another set(); get()
// never waits.
template <typename Function>
class CallbackSlot {
  public:
    struct Callback {
        Function function;
        void* user;
    };

    constexpr explicit CallbackSlot(Function function = nullptr) noexcept : pairs_{{{function}, {nullptr}}, {}} {}

    void set(Function function, void* user) noexcept {
        const std::lock_guard lock(mutex_);
        const std::uint32_t next = version_.load(std::memory_order_relaxed) + 1;
        Pair& unused = pairs_[next & 1];
        unused.function.store(function, std::memory_order_release);
        unused.user.store(user, std::memory_order_release);
        version_.store(next, std::memory_order_release);
    }

    [[nodiscard]] Callback get() const noexcept {
        for (;;) {
            const std::uint32_t version = version_.load(std::memory_order_acquire);
            const Pair& pair = pairs_[version & 1];
            const Function function = pair.function.load(std::memory_order_acquire);
            CINNABAR_TEST_YIELD("callback: function read");
            const Callback callback{function, pair.user.load(std::memory_order_acquire)};
            // A set() writes to this pair only after the version has changed.
            if (version_.load(std::memory_order_relaxed) == version) return callback;
        }
    }

    // The number of set() calls so far.
    [[nodiscard]] std::uint32_t version() const noexcept { return version_.load(std::memory_order_relaxed); }

  private:
    struct Pair {
        std::atomic<Function> function{nullptr};
        std::atomic<void*> user{nullptr};
    };
    std::mutex mutex_;  // held by set()
    std::atomic<std::uint32_t> version_{0};
    Pair pairs_[2];  // the lowest bit of the version selects the one in use
};

}  // namespace cinnabar
