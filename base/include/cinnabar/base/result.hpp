// SPDX-License-Identifier: BSD-3-Clause
// Result<T>: a value or an `Error`, returned by set-up code. Check a Result with `if (!result) return result.error()`.
// `value()` throws if the Result holds an error; nothing else in Cinnabar throws.
#pragma once

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/error.hpp>

#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

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

// Exception guarantee of assignments: if a value replaces an error, or an error replaces a value, and a constructor of
// T throws, the Result keeps what it held. If a value replaces a value, T's assignment gives the guarantee.
template <typename T>
class [[nodiscard]] Result {
  public:
    using value_type = T;

    Result(T value) : value_(std::move(value)), ok_(true) {}
    // Requires: error.code is not Errc::ok.
    Result(Error error) : error_(std::move(error)), ok_(false) { CINNABAR_ASSERT(code() != Errc::ok); }
    Result(Errc code) : Result(Error{code}) {}

    Result(const Result& other) requires(std::is_copy_constructible_v<T>) : ok_(other.ok_) {
        if (ok_)
            ::new (static_cast<void*>(std::addressof(value_))) T(other.value_);
        else
            ::new (static_cast<void*>(&error_)) Error(other.error_);
    }
    Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : ok_(other.ok_) {
        if (ok_)
            ::new (static_cast<void*>(std::addressof(value_))) T(std::move(other.value_));
        else
            ::new (static_cast<void*>(&error_)) Error(std::move(other.error_));
    }
    Result& operator=(const Result& other) requires(std::is_copy_constructible_v<T>&& std::is_copy_assignable_v<T>) {
        if (ok_ != other.ok_)
            turn_into(Result(other));
        else if (ok_)
            value_ = other.value_;
        else
            error_ = other.error_;
        return *this;
    }
    Result& operator=(Result&& other) noexcept(
        std::is_nothrow_move_constructible_v<T>&&
            std::is_nothrow_move_assignable_v<T>) requires(std::is_move_assignable_v<T>) {
        if (ok_ != other.ok_)
            turn_into(std::move(other));
        else if (ok_)
            value_ = std::move(other.value_);
        else
            error_ = std::move(other.error_);
        return *this;
    }
    ~Result() {
        if (ok_)
            value_.~T();
        else
            error_.~Error();
    }

    [[nodiscard]] bool ok() const noexcept { return ok_; }
    explicit operator bool() const noexcept { return ok_; }
    [[nodiscard]] Errc code() const noexcept { return ok_ ? Errc::ok : error_.code; }

    [[nodiscard]] Error& error() & noexcept { return need_error(), error_; }
    [[nodiscard]] const Error& error() const& noexcept { return need_error(), error_; }
    [[nodiscard]] Error error() && noexcept { return need_error(), std::move(error_); }

    T& operator*() & noexcept { return need_value(), value_; }
    const T& operator*() const& noexcept { return need_value(), value_; }
    T&& operator*() && noexcept { return need_value(), std::move(value_); }
    T* operator->() noexcept { return need_value(), std::addressof(value_); }
    const T* operator->() const noexcept { return need_value(), std::addressof(value_); }

    // Throws BadResult if there is no value.
    T& value() & { return check(), value_; }
    const T& value() const& { return check(), value_; }
    T value() && { return check(), std::move(value_); }

    template <typename U>
    [[nodiscard]] T value_or(U&& other) && {
        return ok_ ? std::move(value_) : static_cast<T>(std::forward<U>(other));
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
    void need_value() const noexcept { CINNABAR_ASSERT(ok_); }
    void need_error() const noexcept { CINNABAR_ASSERT(!ok_); }
    void check() const {
        if (!ok_) throw BadResult(error_);
    }
    // Takes what `other` holds: a value if this is an error, an error if it is a value.
    void turn_into(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
        if (ok_) {
            value_.~T();
            ::new (static_cast<void*>(&error_)) Error(std::move(other.error_));
            ok_ = false;
            return;
        }
        Error kept(std::move(error_));
        error_.~Error();
        if constexpr (std::is_nothrow_move_constructible_v<T>) {
            ::new (static_cast<void*>(std::addressof(value_))) T(std::move(other.value_));
        } else {
            try {
                ::new (static_cast<void*>(std::addressof(value_))) T(std::move(other.value_));
            } catch (...) {
                ::new (static_cast<void*>(&error_)) Error(std::move(kept));
                throw;
            }
        }
        ok_ = true;
    }

    static_assert(std::is_nothrow_move_constructible_v<Error>, "turn_into puts an error back");

    union {
        T value_;
        Error error_;
    };
    bool ok_;
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
