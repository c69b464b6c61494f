// SPDX-License-Identifier: BSD-3-Clause
// RemoteWrites: writes to remote memory that are in progress at the same time, and a way to wait until the writes have
// reached a level:
//
//     RemoteWrites writes(node);
//     for (std::size_t i = 0; i < rows.size(); ++i) writes.write(table[i], rows[i]).value();
//     writes.fence();                                                  // what follows is written after all of these
//     writes.write(ready, 1).value();
//     const Result<void> done = co_await writes.flush(WriteLevel::visible);
//
// Writes have no order, unless there is a fence between them. flush() returns the errors of writes that were sent.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/hl/executor.hpp>
#include <cinnabar/hl/frame_pool.hpp>
#include <cinnabar/hl/node_ref.hpp>
#include <cinnabar/hl/remote.hpp>
#include <cinnabar/hl/task.hpp>

#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace cinnabar::hl {

// How far a write has come. The owner's context puts the bytes in place on every transport, so `placed` and `visible`
// are reached together, by the owner's answer: the higher level costs no further round trip.
enum class WriteLevel : std::uint8_t {
    // The local memory may be used again. A write of at most remote_inline_bytes_max bytes counts as sent at once,
    // because write() copies the bytes. A larger write, and every write to far memory, counts as sent when the owner
    // has taken its bytes.
    sent,
    placed,   // the bytes are in the owner's memory
    visible,  // the owner's threads see them, and so do operations of any node that start afterwards
};

// Must stay trivially destructible; see CallOptions.
struct RemoteWritesOptions {
    std::optional<Microseconds> deadline = {};  // of each write, from when it is sent; as CallOptions::deadline
    bool follow_owner = false;                  // as RemoteOptions::follow_owner
    std::uint32_t writes_max = 1024;            // in progress, including those that a fence holds back
};
static_assert(std::is_trivially_destructible_v<RemoteWritesOptions>);

namespace detail {

class WritesState;

// A flush that waits for its level.
struct FlushWait {
    void (*reached)(FlushWait& self) noexcept = nullptr;  // runs once, and may destroy it
    std::uint64_t before = 0;                             // it waits for the writes with lower numbers
    bool only_sent = false;
    std::optional<Error> error;
    ListLink<FlushWait> link;

    // Call once.
    [[nodiscard]] Result<void> outcome() {
        if (error) return *std::move(error);
        return {};
    }
};

}  // namespace detail

// The result of RemoteWrites::flush, which can be waited for. Wait once, in one of three ways: wait(), co_await,
// then(f). The wait ends when the writes have reached the level, at the latest at their deadlines. Must not be
// destroyed while it is awaited.
class CINNABAR_API RemoteFlush : private detail::FlushWait {
  public:
    RemoteFlush(std::shared_ptr<detail::WritesState> writes, WriteLevel level) noexcept;
    RemoteFlush(RemoteFlush&&) noexcept = default;
    RemoteFlush& operator=(RemoteFlush&&) = delete;
    ~RemoteFlush();

    // Blocks; drives the node if it has no thread of its own. would_deadlock on a loop or pool thread and inside tasks.
    [[nodiscard]] Result<void> wait();
    // Calls f(Result<void>) once, when the level is reached: on a loop, or on this thread if the level is reached
    // already. Exceptions of f are logged.
    template <typename F>
    void then(F f);

    // --- used by co_await
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> handle) noexcept {
        job_.resumes(handle);
        return start(context_of(handle));
    }
    Result<void> await_resume() { return outcome(); }

  private:
    // False: the level is reached already, and `wait` has the outcome.
    [[nodiscard]] bool begin(detail::FlushWait& wait) noexcept;
    [[nodiscard]] bool start(const TaskContext* task) noexcept;

    std::shared_ptr<detail::WritesState> writes_;
    WriteLevel level_;
    Job job_;
    Executor* executor_ = nullptr;
};

// Thread-safe, except for moves. Must not outlive the node.
class CINNABAR_API RemoteWrites {
  public:
    explicit RemoteWrites(const NodeRef& node, const RemoteWritesOptions& options = {});
    RemoteWrites(RemoteWrites&&) noexcept = default;
    RemoteWrites& operator=(RemoteWrites&& other) noexcept;
    // Cancels the writes in progress without waiting for them, like ~Future: the memory that these writes lent may be
    // accessed until they have ended. Writes that a fence holds back are not sent.
    ~RemoteWrites();

    // Each write() sends a write, or holds it back until all writes before the last fence have ended. Until flush(sent)
    // has returned, do not change or free the local memory if it is a region, has more than remote_inline_bytes_max
    // bytes, or is written to far memory. `notify`: as RemoteOptions::notify. Errors, after which nothing is sent: the
    // code of an earlier write's error, if no flush has returned that error yet; overloaded: writes_max writes are in
    // progress, call flush(); the errors of RemoteSpan::write, if the token does not allow the write.
    [[nodiscard]] Result<void> write(const RemoteBytes& to, ConstBytes from, std::optional<std::uint32_t> notify = {});
    [[nodiscard]] Result<void> write(const RemoteBytes& to, const bulk::Region& from,
                                     std::optional<std::uint32_t> notify = {});
    // The value may be a temporary.
    template <RemoteObject T>
    [[nodiscard]] Result<void> write(const Remote<T>& to, const std::type_identity_t<T>& value,
                                     std::optional<std::uint32_t> notify = {}) {
        static_assert(sizeof(T) <= remote_inline_bytes_max, "cinnabar: write an object so large from a span of one");
        if (to.token().is_far()) return detail::not_of_far_memory();
        return write(to.token(), std::as_bytes(std::span(&value, 1)), notify);
    }
    template <RemoteObject T>
    [[nodiscard]] Result<void> write(const RemoteSpan<T>& to, std::type_identity_t<std::span<const T>> from,
                                     std::optional<std::uint32_t> notify = {}) {
        return write(to.token(), std::as_bytes(from), notify);
    }

    // Orders the writes of this object: writes made after the fence are sent when all writes made before the fence have
    // ended, so anyone who sees a later write sees the earlier writes, too. If an earlier write fails, the later writes
    // that are held back are not sent.
    void fence() noexcept;

    // Waits until the writes made so far have reached this level. Returns the first error of a write, if no earlier
    // flush has returned that error; even then, other writes may be in place.
    [[nodiscard]] RemoteFlush flush(WriteLevel level = WriteLevel::visible);

    // The number of writes in progress, including those that a fence holds back; a snapshot.
    [[nodiscard]] std::uint32_t in_progress() const noexcept;

  private:
    std::shared_ptr<detail::WritesState> state_;
};

template <typename F>
void RemoteFlush::then(F f) {
    struct Then : Framed, detail::FlushWait {
        explicit Then(F function) : f(std::move(function)) {}
        F f;
    };
    auto* const waiting = new Then(std::move(f));
    waiting->reached = [](detail::FlushWait& self) noexcept {
        const std::unique_ptr<Then> then(static_cast<Then*>(&self));
        try {
            then->f(then->outcome());
        } catch (...) {
            detail::log_exception("a callback");
        }
    };
    if (!begin(*waiting)) waiting->reached(*waiting);
}

}  // namespace cinnabar::hl
