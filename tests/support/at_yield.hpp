// SPDX-License-Identifier: BSD-3-Clause
// Runs a test's code between two steps of the library, at a CINNABAR_TEST_YIELD. Only one may exist at a time.
#pragma once

#include <cinnabar/base/test_yield.hpp>

#include <atomic>
#include <functional>
#include <string>
#include <utility>

namespace cinnabar::support {

// False in builds without asserts, which have no yield points.
#ifdef NDEBUG
inline constexpr bool test_yields = false;
#else
inline constexpr bool test_yields = true;

class AtYield {
  public:
    // `step` runs at each yield point of that name, on the library's thread. Requires: no thread is inside `step` when
    // this is destroyed.
    AtYield(std::string where, std::function<void()> step) : where_(std::move(where)), step_(std::move(step)) {
        current_ = this;
        test_yield.store(
            [](const char* there) noexcept {
                if (current_->where_ == there) current_->step_();
            },
            std::memory_order_release);
    }
    ~AtYield() { test_yield.store(nullptr); }
    AtYield(const AtYield&) = delete;
    AtYield& operator=(const AtYield&) = delete;

  private:
    inline static AtYield* current_ = nullptr;
    const std::string where_;
    const std::function<void()> step_;
};
#endif

}  // namespace cinnabar::support
