// SPDX-License-Identifier: BSD-3-Clause
// The registered buffers through which all data passes. Their number bounds the memory of a server. Sessions share them
// fairly, and so do the files of a session; a file that exceeds its share waits. Belongs to one loop (waiting.hpp).
#pragma once

#include "session/waiting.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/buffer_pool.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace cinnabar::files {

class Buffers;
class Share;

// The buffers of all files of one session. Must outlive their shares.
class SessionPart {
  public:
    SessionPart() = default;
    ~SessionPart() { CINNABAR_ASSERT(shares_ == 0); }
    SessionPart(const SessionPart&) = delete;
    SessionPart& operator=(const SessionPart&) = delete;

  private:
    friend class Buffers;
    friend class Buffer;
    friend class Share;
    std::uint32_t shares_ = 0;
    std::uint32_t held_ = 0;
    std::deque<Share*> queue_;  // shares with a waiting task, longest wait first
};

// The buffers of one file. May be destroyed when it holds none and no task waits for one.
class Share {
  public:
    Share(Buffers& buffers, SessionPart& session) noexcept;
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    // Resumes the waiting task with `why`. Later requests fail with `why` at once.
    void close(Errc why) noexcept;
    [[nodiscard]] bool idle() const noexcept { return held_ == 0 && !waiting_; }

  private:
    friend class Buffers;
    friend class Buffer;
    struct Take;
    Buffers* buffers_;
    SessionPart* session_;
    std::uint32_t held_ = 0;
    Errc closed_ = Errc::ok;
    Take* waiting_ = nullptr;
};

// One buffer. Its destructor, which runs on the loop, gives it back.
class Buffer {
  public:
    Buffer() = default;
    Buffer(Buffer&& other) noexcept : buffer_(std::move(other.buffer_)), share_(std::exchange(other.share_, nullptr)) {}
    Buffer& operator=(Buffer&& other) noexcept {
        Buffer taken(std::move(other));
        std::swap(buffer_, taken.buffer_);
        std::swap(share_, taken.share_);
        return *this;
    }
    ~Buffer();

    [[nodiscard]] Bytes bytes() const noexcept { return buffer_.bytes(); }
    [[nodiscard]] const bulk::Region& region() const noexcept { return buffer_.region(); }

  private:
    friend class Buffers;
    bulk::PooledBuffer buffer_;
    Share* share_ = nullptr;
};

struct Share::Take : Waiting {
    Share& share;
    Buffer taken;

    explicit Take(Share& of) noexcept : share(of) {}
    [[nodiscard]] bool await_ready() noexcept;
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> handle) {
        suspend(handle);
        enqueue();
    }
    // The buffer, or the error given to close().
    [[nodiscard]] Result<Buffer> await_resume() noexcept {
        if (outcome != Errc::ok) return outcome;
        return std::move(taken);
    }
    void enqueue();
};

class Buffers {
  public:
    // out_of_memory.
    [[nodiscard]] static Result<Buffers> make(std::size_t buffer_bytes, std::uint32_t count);
    // Only before the first Share exists.
    Buffers(Buffers&&) noexcept = default;

    // Awaits a buffer for a file. The buffer is granted at once while the file and its session are below their limits;
    // otherwise sessions take turns, and so do the files of a session. Requires: no other task waits in this share.
    [[nodiscard]] Share::Take take(Share& share) noexcept { return Share::Take(share); }

    [[nodiscard]] std::size_t buffer_bytes() const noexcept { return pool_.buffer_bytes(); }
    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

  private:
    friend class Share;
    friend class Buffer;
    friend struct Share::Take;
    Buffers(bulk::BufferPool pool, std::uint32_t count) noexcept : pool_(std::move(pool)), count_(count) {}
    // The number of buffers that a session may hold before it must wait. Some buffers are held back, so that a new
    // session finds some even if all other sessions are stalled.
    [[nodiscard]] std::uint32_t session_part() const noexcept {
        return std::max(1u, (count_ - std::max(1u, count_ / 8)) / sessions_);
    }
    // The number of buffers that a file of the session may hold before it must wait.
    [[nodiscard]] std::uint32_t file_part(const SessionPart& session) const noexcept {
        return std::max(1u, count_ / (session.shares_ + 1));
    }
    [[nodiscard]] bool try_take(Share& share, Buffer& out) noexcept;
    void enqueue(Share& share);
    void hand_out() noexcept;
    [[nodiscard]] bool hand_out_one(SessionPart& session) noexcept;

    bulk::BufferPool pool_;
    std::uint32_t count_;
    std::uint32_t sessions_ = 0;      // number of sessions that have shares
    std::deque<SessionPart*> queue_;  // sessions with a waiting task, in turn
};

}  // namespace cinnabar::files
