// SPDX-License-Identifier: BSD-3-Clause
// Result<T>: a value or an `Error`, returned by set-up code. Check it with `if (!result) return result.error()`.
// `value()` throws if there is none; nothing else in Cinnabar throws.
#pragma once

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/error.hpp>

#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

namespace cinnabar {

// Thrown by Result::value() if there is no value.
class BadResult : public std::runtime_error {
  public:
    explicit BadResult(Error error) : std::runtime_error(error.message()), error_(std::move(error)) {}
    [[nodiscard]] const Error& error() const noexcept { return error_; }

  private:
    Error error_;
};

template <typename T>
class Result;

namespace detail {

template <typename T>
inline constexpr bool is_result_of_any = false;
template <typename T>
inline constexpr bool is_result_of_any<Result<T>> = true;

// The error of `result`, or f(value) as a Result; for a Result<void>, f().
template <typename R, typename F>
auto mapped(R&& result, F&& f) {
    const auto call = [&]() -> decltype(auto) {
        if constexpr (std::is_void_v<typename std::remove_cvref_t<R>::value_type>)
            return std::forward<F>(f)();
        else
            return std::forward<F>(f)(*std::forward<R>(result));
    };
    using Mapped = Result<std::remove_cvref_t<decltype(call())>>;
    if (!result.ok()) return Mapped(std::forward<R>(result).error());
    if constexpr (std::is_void_v<decltype(call())>) {
        call();
        return Mapped();
    } else {
        return Mapped(call());
    }
}
template <typename R, typename F>
auto chained(R&& result, F&& f) {
    const auto call = [&] {
        if constexpr (std::is_void_v<typename std::remove_cvref_t<R>::value_type>)
            return std::forward<F>(f)();
        else
            return std::forward<F>(f)(*std::forward<R>(result));
    };
    using Next = decltype(call());
    static_assert(is_result_of_any<Next>, "cinnabar: and_then takes a function that returns a Result; see map");
    if (!result.ok()) return Next(std::forward<R>(result).error());
    return call();
}

}  // namespace detail

template <typename T>
class [[nodiscard]] Result {
  public:
    using value_type = T;

    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    // Requires: error.code is not Errc::ok.
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) { CINNABAR_ASSERT(code() != Errc::ok); }
    Result(Errc code) : Result(Error{code}) {}

    [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return ok(); }
    [[nodiscard]] Errc code() const noexcept { return ok() ? Errc::ok : std::get_if<1>(&state_)->code; }

    [[nodiscard]] Error& error() & noexcept { return *failure(); }
    [[nodiscard]] const Error& error() const& noexcept { return *const_cast<Result*>(this)->failure(); }
    [[nodiscard]] Error error() && noexcept { return std::move(*failure()); }

    T& operator*() & noexcept { return *present(); }
    const T& operator*() const& noexcept { return *const_cast<Result*>(this)->present(); }
    T&& operator*() && noexcept { return std::move(*present()); }
    T* operator->() noexcept { return present(); }
    const T* operator->() const noexcept { return const_cast<Result*>(this)->present(); }

    // Throws BadResult if there is no value.
    T& value() & { return check(), *present(); }
    const T& value() const& { return check(), *const_cast<Result*>(this)->present(); }
    T value() && { return check(), std::move(*present()); }

    template <typename U>
    [[nodiscard]] T value_or(U&& other) && {
        return ok() ? std::move(*present()) : static_cast<T>(std::forward<U>(other));
    }

    // Returns the error, or f(value) as a Result.
    template <typename F>
    [[nodiscard]] auto map(F&& f) const& {
        return detail::mapped(*this, std::forward<F>(f));
    }
    template <typename F>
    [[nodiscard]] auto map(F&& f) && {
        return detail::mapped(std::move(*this), std::forward<F>(f));
    }
    // Returns the error, or f(value), which must be a Result.
    template <typename F>
    [[nodiscard]] auto and_then(F&& f) const& {
        return detail::chained(*this, std::forward<F>(f));
    }
    template <typename F>
    [[nodiscard]] auto and_then(F&& f) && {
        return detail::chained(std::move(*this), std::forward<F>(f));
    }

  private:
    T* present() noexcept {
        CINNABAR_ASSERT(ok());
        return std::get_if<0>(&state_);
    }
    Error* failure() noexcept {
        CINNABAR_ASSERT(!ok());
        return std::get_if<1>(&state_);
    }
    void check() const {
        if (!ok()) throw BadResult(*std::get_if<1>(&state_));
    }
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
  public:
    using value_type = void;

    Result() = default;
    Result(Error error) : error_(std::move(error)) { CINNABAR_ASSERT(code() != Errc::ok); }
    Result(Errc code) {
        if (code != Errc::ok) error_.emplace(code);
    }

    [[nodiscard]] bool ok() const noexcept { return !error_; }
    explicit operator bool() const noexcept { return ok(); }
    [[nodiscard]] Errc code() const noexcept { return error_ ? error_->code : Errc::ok; }
    [[nodiscard]] const Error& error() const& noexcept {
        CINNABAR_ASSERT(!ok());
        return *error_;
    }
    [[nodiscard]] Error error() && noexcept {
        CINNABAR_ASSERT(!ok());
        return std::move(*error_);
    }
    void value() const {
        if (error_) throw BadResult(*error_);
    }
    // As in Result<T>, but f takes no argument.
    template <typename F>
    [[nodiscard]] auto map(F&& f) const {
        return detail::mapped(*this, std::forward<F>(f));
    }
    template <typename F>
    [[nodiscard]] auto and_then(F&& f) const {
        return detail::chained(*this, std::forward<F>(f));
    }

  private:
    std::optional<Error> error_;
};

}  // namespace cinnabar

// Returns the error of `expression` from the enclosing function, or binds its value: CINNABAR_TRY(auto x, make());
#define CINNABAR_TRY(declaration, expression) CINNABAR_TRY_NAMED(declaration, expression, __LINE__)
#define CINNABAR_TRY_NAMED(declaration, expression, line) CINNABAR_TRY_WITH(declaration, expression, line)
#define CINNABAR_TRY_WITH(declaration, expression, line)                     \
    auto cinnabar_try_##line = (expression);                                 \
    if (!cinnabar_try_##line) return std::move(cinnabar_try_##line).error(); \
    declaration = *std::move(cinnabar_try_##line)

// As CINNABAR_TRY, for a Result<void>.
#define CINNABAR_TRY_VOID(expression)                              \
    do {                                                           \
        if (auto cinnabar_tried = (expression); !cinnabar_tried) { \
            return std::move(cinnabar_tried).error();              \
        }                                                          \
    } while (false)
