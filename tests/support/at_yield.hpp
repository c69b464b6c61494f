// SPDX-License-Identifier: BSD-3-Clause
// Comes in between two steps of the library, where it says CINNABAR_TEST_YIELD. One at a time.
#pragma once

#include <cinnabar/base/test_yield.hpp>

#include <atomic>
#include <functional>
#include <string>
#include <utility>

namespace cinnabar::support {

// False in builds without asserts: nothing yields there.
#ifdef NDEBUG
inline constexpr bool test_yields = false;
#else
inline constexpr bool test_yields = true;

class AtYield {
  public:
    // `step` runs at each yield of that name, on the library's thread. Requires: nobody is there when this goes.
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
