// SPDX-License-Identifier: BSD-3-Clause
// The work requests that the device holds of one queue pair, in the order in which it got them, and which of them are
// done when it tells of one. Those that it was not asked to tell of are done when a later one is. Reads are an
// exception: on iWARP a message behind a read may be done before it, so that only a read tells of reads. Pure: needs no
// device. Owner of the context only.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace cinnabar::verbs {

struct Posted;

struct Sent {
    Posted* posted = nullptr;  // null: no op waits for it
    bool last = false;         // of its operation
    bool read = false;         // a read or an atomic
    bool done = false;
};

// What is done is given to `ended(const Sent&, ibv_wc_status)`, each once.
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
    // The device holds something that it was asked to tell of.
    [[nodiscard]] bool owed() const noexcept { return head_ - tail_ > unsignalled_; }

    // Returns its place. Requires: room.
    std::uint32_t enter(const Sent& sent) noexcept {
        at(head_) = sent;
        ++unsignalled_;
        if (sent.read) ++reads_out_;
        return head_++;
    }
    // Whether the device must be asked to tell of the last one.
    [[nodiscard]] bool must_signal(bool room_is_low) const noexcept {
        return room_is_low || unsignalled_ >= depth() / 4;
    }
    // It was asked.
    void signalled() noexcept { unsignalled_ = 0; }

    // The device tells of a place. False: it holds no such request.
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
    // The device did not take that one and those behind it. An operation of which it has taken a part goes on until
    // that is done: its memory is in use.
    template <typename F>
    void refused(std::uint32_t place, F&& ended) noexcept {
        Posted* const begun = place == tail_ || at(place - 1).last ? nullptr : at(place - 1).posted;
        if (begun && begun == at(place).posted) at(place - 1).last = true;
        for (std::uint32_t each = place; each != head_; ++each) {
            Sent& sent = at(each);
            if (begun && sent.posted == begun) sent.last = false;
            leave(sent, IBV_WC_GENERAL_ERR, ended);
        }
        head_ = place;
    }
    // The queue pair is gone.
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
    std::uint32_t head_ = 0;  // where the next one goes
    std::uint32_t tail_ = 0;  // the oldest that is not done
    std::uint32_t unsignalled_ = 0;
    std::uint32_t reads_out_ = 0;
};

}  // namespace cinnabar::verbs
