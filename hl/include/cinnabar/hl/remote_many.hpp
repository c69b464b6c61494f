// SPDX-License-Identifier: BSD-3-Clause
// read_many and write_many: one operation over many tokens, of one owner or of several:
//
//     std::vector<RemoteRead> parts;
//     for (...) parts.push_back({table[i].token(), bytes_of(rows[i])});
//     Result<std::uint64_t> moved = co_await read_many(node, parts);
//
// Each owner gets one call (several calls for more than remote_parts_max parts), and all calls run at once. The result
// is the number of bytes moved. If several calls fail, the result is the error of the failed call whose parts come
// first; even then, the bytes of other calls may have been moved.
#pragma once

#include <cinnabar/hl/remote_op.hpp>
#include <cinnabar/hl/waiter.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace cinnabar::hl {

namespace detail {

// The state that an operation keeps after its calls were sent, to combine their replies into one outcome.
struct ManyEnds {
    struct End {
        std::optional<Error> refused;
        bool not_followed;
    };
    std::vector<End> ends;
    std::uint64_t bytes = 0;

    Result<std::uint64_t> outcome(std::vector<Result<RemoteReply>> replies) {
        for (std::size_t i = 0; i < replies.size(); ++i) {
            if (ends[i].refused || !replies[i])
                return remote_error(ends[i].refused, ends[i].not_followed,
                                    replies[i] ? Error(Errc::canceled) : std::move(replies[i]).error());
        }
        return bytes;
    }
};

}  // namespace detail

// Like Future; see there.
class [[nodiscard]] RemoteManyFuture {
  public:
    RemoteManyFuture(std::vector<Future<RemoteReply>> futures, detail::ManyEnds ends) noexcept
        : futures_(std::move(futures)), ends_(std::move(ends)) {}

    [[nodiscard]] bool ready() const noexcept {
        return std::all_of(futures_.begin(), futures_.end(), [](const auto& each) { return each.ready(); });
    }
    void cancel() noexcept {
        for (auto& each : futures_) each.cancel();
    }
    // Blocks until all calls have ended. Call once.
    [[nodiscard]] Result<std::uint64_t> get() {
        if (!ready() && !Waiter::may_block()) return Error{Errc::would_deadlock, advice(Errc::would_deadlock)};
        std::vector<Result<RemoteReply>> replies;
        replies.reserve(futures_.size());
        for (auto& each : futures_) replies.push_back(each.get());
        return ends_.outcome(std::move(replies));
    }

  private:
    std::vector<Future<RemoteReply>> futures_;
    detail::ManyEnds ends_;
};

// An operation that has not been sent yet; send it in one of the four ways of a call (call.hpp).
class [[nodiscard]] RemoteMany {
  public:
    RemoteMany(std::vector<detail::RemoteMade> made, std::uint64_t bytes) {
        ends_.bytes = bytes;
        for (detail::RemoteMade& each : made) {
            calls_.push_back(std::move(each.call));
            ends_.ends.push_back({std::move(each.refused), each.not_followed});
        }
    }

    [[nodiscard]] Result<std::uint64_t> wait() {
        if (!Waiter::may_block()) return Error{Errc::would_deadlock, advice(Errc::would_deadlock)};
        return future().get();
    }
    [[nodiscard]] RemoteManyFuture future() {
        std::vector<Future<RemoteReply>> futures;
        futures.reserve(calls_.size());
        for (auto& each : calls_) futures.push_back(each.future());
        return {std::move(futures), std::move(ends_)};
    }
    // Calls f(Result<std::uint64_t>) on a loop; at once if there are no parts.
    template <typename F>
    void then(F f) {
        struct State {
            State(std::size_t count, detail::ManyEnds many, F function)
                : replies(count, Errc::canceled), left(count), ends(std::move(many)), f(std::move(function)) {}
            std::vector<Result<RemoteReply>> replies;
            std::atomic<std::size_t> left;
            detail::ManyEnds ends;
            F f;
        };
        const std::size_t count = calls_.size();
        auto state = std::make_shared<State>(count, std::move(ends_), std::move(f));
        if (count == 0) return state->f(state->ends.outcome({}));
        for (std::size_t i = 0; i < count; ++i) {
            calls_[i].then([state, i](Result<RemoteReply> reply) {
                state->replies[i] = std::move(reply);
                if (state->left.fetch_sub(1, std::memory_order_acq_rel) == 1)
                    state->f(state->ends.outcome(std::move(state->replies)));
            });
        }
    }

    struct Awaiter {
        Task<Result<std::uint64_t>> task;
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <typename Promise>
        [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) noexcept {
            return task.start(parent, context_of(parent));
        }
        Result<std::uint64_t> await_resume() { return task.take(); }
    };
    [[nodiscard]] Awaiter operator co_await() { return {run(std::move(calls_), std::move(ends_))}; }

  private:
    static Task<Result<std::uint64_t>> run(std::vector<Pending<RemoteReply>> calls, detail::ManyEnds ends) {
        auto replies = co_await when_all(std::move(calls));
        co_return ends.outcome(std::move(replies));
    }

    std::vector<Pending<RemoteReply>> calls_;
    detail::ManyEnds ends_;
};

namespace detail {

template <typename Parts, typename Local>
std::uint64_t bytes_of(const Parts& parts, Local local) {
    std::uint64_t bytes = 0;
    for (const auto& part : parts) bytes += (part.*local).size();
    return bytes;
}
inline std::uint64_t bytes_of(std::span<const RemotePart> parts) {
    std::uint64_t bytes = 0;
    for (const RemotePart& part : parts) bytes += part.local.bytes();
    return bytes;
}

}  // namespace detail

// Each part must have as much local memory as its token has bytes.
[[nodiscard]] inline RemoteMany read_many(const NodeRef& node, std::span<const RemoteRead> parts,
                                          const RemoteOptions& options = {}) {
    return {detail::make_reads(node, parts, options), detail::bytes_of(parts, &RemoteRead::into)};
}
[[nodiscard]] inline RemoteMany write_many(const NodeRef& node, std::span<const RemoteWrite> parts,
                                           const RemoteOptions& options = {}) {
    return {detail::make_writes(node, parts, options), detail::bytes_of(parts, &RemoteWrite::from)};
}
// Like read_many and write_many, but the local memory is a file or the memory of a device. Each region must be far, and
// have as many bytes as its token.
[[nodiscard]] inline RemoteMany read_parts(const NodeRef& node, std::span<const RemotePart> parts,
                                           const RemoteOptions& options = {}) {
    return {detail::make_far_reads(node, parts, options), detail::bytes_of(parts)};
}
[[nodiscard]] inline RemoteMany write_parts(const NodeRef& node, std::span<const RemotePart> parts,
                                            const RemoteOptions& options = {}) {
    return {detail::make_far_writes(node, parts, options), detail::bytes_of(parts)};
}

}  // namespace cinnabar::hl
