// SPDX-License-Identifier: BSD-3-Clause
// Awaitable objects for tasks of one loop: their turn in a file, and a free buffer. They belong to the loop's thread
// and need no lock. A waiting task is resumed by a post to its executor, never inside the call that ends its wait.
#pragma once

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/hl/executor.hpp>
#include <cinnabar/hl/task.hpp>

#include <coroutine>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

namespace cinnabar::files {

// A suspended task, and the result with which it is resumed.
struct Waiting {
    hl::Job job;
    hl::Executor* executor = nullptr;
    Errc outcome = Errc::ok;

    template <typename Promise>
    void suspend(std::coroutine_handle<Promise> handle) noexcept {
        job.resumes(handle);
        executor = hl::context_of(handle)->executor;
    }
    void resume(Errc code) noexcept {
        outcome = code;
        executor->post(job);
    }
};

// Orders tasks by offset: a task that waits for offset x is resumed when everything before x is done. The task then
// holds that offset exclusively until advance(), even if the other side names the same offset again. After close(), all
// waiting and later tasks fail.
class Sequence {
  public:
    Sequence() = default;
    ~Sequence() { CINNABAR_ASSERT(waiting_.empty()); }
    Sequence(const Sequence&) = delete;
    Sequence& operator=(const Sequence&) = delete;

    [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
    // Whether a task is waiting.
    [[nodiscard]] bool waited_for() const noexcept { return !waiting_.empty(); }

    struct Reach : Waiting {
        Sequence* sequence;
        std::uint64_t offset;
        Reach(Sequence& in, std::uint64_t at) noexcept : sequence(&in), offset(at) {}
        [[nodiscard]] bool await_ready() noexcept {
            outcome = sequence->try_reach(offset);
            return outcome != Errc::again;
        }
        template <typename Promise>
        [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> handle) {
            suspend(handle);
            if (sequence->waiting_.emplace(offset, this).second) return true;
            outcome = Errc::invalid_argument;
            return false;
        }
        [[nodiscard]] Errc await_resume() const noexcept { return outcome; }
    };
    // Awaits the turn of `offset`. ok; the code given to close(); invalid_argument: the offset is already done, or
    // another task holds it or waits for it.
    [[nodiscard]] Reach reach(std::uint64_t offset) noexcept { return {*this, offset}; }

    // Marks everything before `offset` as done.
    void advance(std::uint64_t offset) noexcept {
        CINNABAR_ASSERT(offset >= position_);
        position_ = offset;
        taken_ = false;
        while (!waiting_.empty() && waiting_.begin()->first <= offset) {
            const auto [at, next] = *waiting_.begin();
            waiting_.erase(waiting_.begin());
            taken_ = taken_ || at == offset;
            next->resume(at == offset ? Errc::ok : Errc::invalid_argument);
        }
    }
    void close(Errc why) noexcept {
        if (closed_ == Errc::ok) closed_ = why;
        for (const auto& [offset, next] : waiting_) next->resume(closed_);
        waiting_.clear();
    }

  private:
    // again: it is not the turn of `offset` yet.
    [[nodiscard]] Errc try_reach(std::uint64_t offset) noexcept {
        if (closed_ != Errc::ok) return closed_;
        if (offset > position_) return Errc::again;
        if (offset < position_ || taken_) return Errc::invalid_argument;
        taken_ = true;
        return Errc::ok;
    }

    std::uint64_t position_ = 0;
    bool taken_ = false;  // a task holds the position
    Errc closed_ = Errc::ok;
    std::map<std::uint64_t, Reach*> waiting_;
};

// Counts running handlers, so that one task can wait until there are none.
class Inside {
  public:
    Inside() = default;
    ~Inside() { CINNABAR_ASSERT(count_ == 0); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

    class Entry {
      public:
        explicit Entry(Inside& inside) noexcept : inside_(inside) { ++inside_.count_; }
        ~Entry() {
            if (--inside_.count_ == 0 && inside_.waiting_) std::exchange(inside_.waiting_, nullptr)->resume(Errc::ok);
        }
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;

      private:
        Inside& inside_;
    };

    struct None : Waiting {
        Inside* inside;
        explicit None(Inside& of) noexcept : inside(&of) {}
        [[nodiscard]] bool await_ready() const noexcept { return inside->count_ == 0; }
        template <typename Promise>
        void await_suspend(std::coroutine_handle<Promise> handle) noexcept {
            suspend(handle);
            inside->waiting_ = this;
        }
        void await_resume() const noexcept {}
    };
    // Requires: no other task waits.
    [[nodiscard]] None none() noexcept { return None(*this); }

  private:
    std::uint32_t count_ = 0;
    None* waiting_ = nullptr;
};

}  // namespace cinnabar::files
