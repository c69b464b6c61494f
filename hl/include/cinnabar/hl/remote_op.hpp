// SPDX-License-Identifier: BSD-3-Clause
// RemoteOp: an operation on remote memory that has not been sent yet. Send the operation in one of the four ways of a
// call (call.hpp): wait(), co_await, then(f), future(). The local memory must live until the operation has ended.
#pragma once

#include <cinnabar/hl/call.hpp>
#include <cinnabar/hl/future.hpp>
#include <cinnabar/hl/remote_call.hpp>

#include <cstring>
#include <optional>
#include <utility>

namespace cinnabar::hl {

// Finish converts the reply into the outcome. It has `using Out` and Result<Out> operator()(const RemoteReply&).
template <typename Finish>
class RemoteOutcome {
  public:
    using Out = typename Finish::Out;
    RemoteOutcome(std::optional<Error> refused, bool not_followed, Finish finish) noexcept
        : refused_(std::move(refused)), not_followed_(not_followed), finish_(std::move(finish)) {}

    [[nodiscard]] Result<Out> operator()(Result<RemoteReply> reply) {
        if (refused_ || !reply)
            return detail::remote_error(refused_, not_followed_, reply ? Error(Errc::canceled) : reply.error());
        return finish_(*reply);
    }

  private:
    std::optional<Error> refused_;
    bool not_followed_;
    Finish finish_;
};

// Like Future; see there.
template <typename Finish>
class [[nodiscard]] RemoteFuture {
  public:
    RemoteFuture(Future<RemoteReply> future, RemoteOutcome<Finish> outcome) noexcept
        : future_(std::move(future)), outcome_(std::move(outcome)) {}

    [[nodiscard]] bool valid() const noexcept { return future_.valid(); }
    [[nodiscard]] bool ready() const noexcept { return future_.ready(); }
    [[nodiscard]] bool wait_for(Microseconds span) const noexcept { return future_.wait_for(span); }
    void cancel() noexcept { future_.cancel(); }
    // When this returns, the bytes that were read are in place.
    [[nodiscard]] Result<typename Finish::Out> get() { return outcome_(future_.get()); }

  private:
    Future<RemoteReply> future_;
    RemoteOutcome<Finish> outcome_;
};

template <typename Finish>
class [[nodiscard]] RemoteOp {
  public:
    using Out = typename Finish::Out;
    RemoteOp(detail::RemoteMade made, Finish finish) noexcept
        : call_(std::move(made.call)), outcome_(std::move(made.refused), made.not_followed, std::move(finish)) {}

    [[nodiscard]] Result<Out> wait() { return outcome_(call_.wait()); }
    // f(Result<Out>)
    template <typename F>
    void then(F f) {
        call_.then([outcome = std::move(outcome_), f = std::move(f)](Result<RemoteReply> reply) mutable {
            f(outcome(std::move(reply)));
        });
    }
    [[nodiscard]] RemoteFuture<Finish> future() { return {call_.future(), std::move(outcome_)}; }

    // --- used by co_await
    [[nodiscard]] bool await_ready() const noexcept { return call_.await_ready(); }
    template <typename Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> handle) noexcept {
        return call_.await_suspend(handle);
    }
    Result<Out> await_resume() { return outcome_(call_.await_resume()); }

  private:
    Pending<RemoteReply> call_;
    RemoteOutcome<Finish> outcome_;
};

namespace detail {

inline constexpr std::string_view wrong_size = "the owner of the memory answered with another number of bytes";

struct ReadInto {
    using Out = std::uint64_t;
    Bytes copied;  // where the bytes of the reply go; empty if the memory was lent and they are already there
    std::uint64_t bytes;

    Result<Out> operator()(const RemoteReply& reply) const noexcept {
        const ConstBytes came = reply.contents();
        if (came.size() != copied.size()) return Error(Errc::protocol, wrong_size);
        if (!came.empty()) std::memcpy(copied.data(), came.data(), came.size());
        return bytes;
    }
};

template <typename T>
struct ReadValue {
    using Out = T;
    Result<Out> operator()(const RemoteReply& reply) const noexcept {
        T value{};
        if (reply.contents().size() != sizeof(T)) return Error(Errc::protocol, wrong_size);
        std::memcpy(&value, reply.contents().data(), sizeof(T));
        return value;
    }
};

struct Wrote {
    using Out = std::uint64_t;
    std::uint64_t bytes;
    Result<Out> operator()(const RemoteReply&) const noexcept { return bytes; }
};

}  // namespace detail
}  // namespace cinnabar::hl
