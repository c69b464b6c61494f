// SPDX-License-Identifier: BSD-3-Clause
// The work requests of one queue pair that the device has, in the order of posting, and which requests a completion
// ends. An unsignalled request has completed when a later request completes. Reads are an exception: on iWARP a message
// may complete before a read that was posted earlier, so reads end only with a read. Pure. Owner of the context only.
#pragma once

#include "lease_key.hpp"

#include <cinnabar/na/session/posted.hpp>

#include <infiniband/verbs.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace cinnabar::verbs {

struct LentMemory;

// The plugin's state of an op, from its post to its completion.
struct Posted : na::PostedOp {
    RemoteAddress remote;    // for put, get and atomics
    std::uint32_t cell = 0;  // for atomics in the send queue: receives the old value
};

struct Sent {
    Posted* posted = nullptr;  // null: it belongs to no operation
    bool last = false;         // the last request of its operation
    bool read = false;         // a read or an atomic
    bool done = false;
    LentMemory* lent = nullptr;  // not null: it binds a window of this lease
};

// Calls `ended(const Sent&, ibv_wc_status)` once for each request that has completed.
class SentWork {
  public:
    // Requires: empty.
    void open(std::uint32_t depth) {
        ring_.assign(depth, Sent{});
        head_ = tail_ = unsignalled_ = reads_out_ = 0;
    }
    [[nodiscard]] std::uint32_t room() const noexcept { return depth() - (head_ - tail_); }
    [[nodiscard]] bool empty() const noexcept { return head_ == tail_; }
    [[nodiscard]] std::uint32_t reads_out() const noexcept { return reads_out_; }
    // Whether the device has a signalled request, so that a completion will come.
    [[nodiscard]] bool pending() const noexcept { return head_ - tail_ > unsignalled_; }

    // Adds a request; returns its place. Requires: room.
    std::uint32_t enter(const Sent& sent) noexcept {
        at(head_) = sent;
        ++unsignalled_;
        if (sent.read) ++reads_out_;
        return head_++;
    }
    // Whether the last request has to be signalled.
    [[nodiscard]] bool must_signal(bool room_is_low) const noexcept {
        return room_is_low || unsignalled_ >= depth() / 4;
    }
    // Call when the last request was signalled.
    void signalled() noexcept { unsignalled_ = 0; }

    // Handles a completion. False: there is no request at that place.
    template <typename F>
    [[nodiscard]] bool completed(std::uint32_t place, ibv_wc_status status, F&& ended) noexcept {
        if (place - tail_ >= head_ - tail_ || at(place).done) return false;
        const bool of_read = at(place).read;
        for (std::uint32_t before = tail_; before != place; ++before) {
            Sent& sent = at(before);
            if (!sent.read || of_read) leave(sent, IBV_WC_SUCCESS, ended);
        }
        leave(at(place), status, ended);
        while (tail_ != head_ && at(tail_).done) ++tail_;
        return true;
    }
    // Call when the device refused the request at `place` and those after it; they end with `why`. If the device has
    // accepted a part of an operation, the operation ends when that part completes, because the operation's memory is
    // in use until then.
    template <typename F>
    void refused(std::uint32_t place, ibv_wc_status why, F&& ended) noexcept {
        Posted* const begun = place == tail_ || at(place - 1).last ? nullptr : at(place - 1).posted;
        if (begun && begun == at(place).posted) at(place - 1).last = true;
        for (std::uint32_t each = place; each != head_; ++each) {
            Sent& sent = at(each);
            if (begun && sent.posted == begun) sent.last = false;
            leave(sent, why, ended);
        }
        head_ = place;
    }
    // Ends all requests: the queue pair was destroyed.
    template <typename F>
    void flush(F&& ended) noexcept {
        while (tail_ != head_) leave(at(tail_++), IBV_WC_WR_FLUSH_ERR, ended);
    }

  private:
    [[nodiscard]] std::uint32_t depth() const noexcept { return static_cast<std::uint32_t>(ring_.size()); }
    [[nodiscard]] Sent& at(std::uint32_t place) noexcept { return ring_[place % depth()]; }
    template <typename F>
    void leave(Sent& sent, ibv_wc_status status, F& ended) noexcept {
        if (std::exchange(sent.done, true)) return;
        if (sent.read) --reads_out_;
        ended(std::as_const(sent), status);
    }

    std::vector<Sent> ring_;
    std::uint32_t head_ = 0;  // the next place
    std::uint32_t tail_ = 0;  // the oldest request that has not completed
    std::uint32_t unsignalled_ = 0;
    std::uint32_t reads_out_ = 0;
};

}  // namespace cinnabar::verbs
