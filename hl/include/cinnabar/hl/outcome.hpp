// SPDX-License-Identifier: BSD-3-Clause
// What a coroutine ended with. Its own union, since <variant> is much for every program to read (decision 0137).
#pragma once

#include <cinnabar/base/assert.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <utility>

namespace cinnabar::hl {

// What stands for the value of an awaitable that has none.
struct NoValue {
    bool operator==(const NoValue&) const = default;
};

namespace detail {

// Nothing yet, a value, or an exception. Used by one thread at a time; neither copied nor moved.
template <typename T>
class Outcome {
  public:
    Outcome() noexcept {}
    Outcome(const Outcome&) = delete;
    Outcome& operator=(const Outcome&) = delete;
    ~Outcome() { clear(); }

    // If T's constructor throws, it holds nothing.
    template <typename... Arguments>
    void set(Arguments&&... arguments) {
        clear();
        std::construct_at(std::addressof(value_), std::forward<Arguments>(arguments)...);
        state_ = State::value;
    }
    // Also over a value: a local object of the coroutine may throw after its co_return.
    void fail(std::exception_ptr thrown) noexcept {
        clear();
        ::new (static_cast<void*>(&thrown_)) std::exception_ptr(std::move(thrown));
        state_ = State::thrown;
    }
    // Moves the value out, or rethrows the exception. Requires: it holds one of them.
    T take() {
        if (state_ == State::thrown) std::rethrow_exception(std::move(thrown_));
        CINNABAR_ASSERT(state_ == State::value);
        return std::move(value_);
    }

  private:
    enum class State : std::uint8_t { nothing, value, thrown };
    void clear() noexcept {
        if (state_ == State::value)
            value_.~T();
        else if (state_ == State::thrown)
            thrown_.~exception_ptr();
        state_ = State::nothing;
    }

    union {
        T value_;
        std::exception_ptr thrown_;
    };
    State state_ = State::nothing;
};

}  // namespace detail
}  // namespace cinnabar::hl
