// SPDX-License-Identifier: BSD-3-Clause
// Fills snapshots of a context. Reads only calls that no other thread than the owner of the context changes: calls that
// are queued for a peer, and calls that were sent. Other calls may be in use by another thread.
#include "context_core.hpp"

#include <algorithm>
#include <array>

namespace cinnabar::rpc {
namespace {

constexpr std::uint32_t steps_per_page = 4'096;  // books, or slots of calls
constexpr std::size_t items_max = 4'096;         // per peer, not counting calls that were sent

// The value of LookCursor::peer after the last book: the sent calls to all peers follow, by slot (LookCursor::item).
// This is more than the number of books can be.
constexpr std::uint32_t sent_calls = 1u << 23;

template <typename List>
std::uint32_t count_of(const List& list, std::uint32_t most) noexcept {
    std::uint32_t count = 0;
    for (const auto* item = list.front(); item && count < most; item = List::next(*item)) ++count;
    return count;
}

// Copies a list into a page, without the first `skipped` items, which were in earlier pages.
class PageOf {
  public:
    PageOf(std::span<CallSnapshot> out, std::uint32_t skipped) noexcept : out_(out), skipped_(skipped) {}

    template <typename List, typename F>
    void add_all(const List& list, F&& describe) noexcept {
        std::uint32_t ahead = 0;
        for (const auto* item = list.front(); item && add(*item, ahead, describe); item = List::next(*item)) ++ahead;
    }
    // False: the page is full.
    template <typename T, typename F>
    bool add(const T& item, std::uint32_t ahead, F&& describe) noexcept {
        if (passed_ + filled_ == items_max) return false;
        if (passed_ < skipped_) {
            ++passed_;
            return true;
        }
        full_ = filled_ == out_.size();
        if (full_) return false;
        CallSnapshot& shown = out_[filled_++] = CallSnapshot();
        shown.ahead = ahead;
        describe(item, shown);
        return true;
    }
    [[nodiscard]] unsigned filled() const noexcept { return static_cast<unsigned>(filled_); }
    [[nodiscard]] bool full() const noexcept { return full_; }

  private:
    std::span<CallSnapshot> out_;
    std::uint32_t skipped_;
    std::uint32_t passed_ = 0;
    std::size_t filled_ = 0;
    bool full_ = false;  // there is more
};

}  // namespace

std::string_view to_string(CallPhase phase) noexcept {
    constexpr std::array<std::string_view, call_phases> words{"on its way",
                                                              "connecting",
                                                              "waiting for a credit",
                                                              "waiting for a slot for its reply",
                                                              "waiting for room in the transport",
                                                              "sending",
                                                              "waiting for the answer",
                                                              "fetching what is large",
                                                              "waiting for its handler",
                                                              "in its handler",
                                                              "answered, the reply has not left"};
    const auto index = static_cast<std::size_t>(phase);
    return index < words.size() ? words[index] : words.front();
}

// Owner of the context only.
class ContextCore::Snapshots {
  public:
    explicit Snapshots(const ContextCore& core) noexcept : core_(core) {}

    [[nodiscard]] static CallPhase phase_of(const PeerBook& book, const Call& call) noexcept;
    void describe(const PeerBook& book, PeerSnapshot& out) const noexcept;
    // Fills `out` with the next calls that are queued for that peer, then with the peer's requests that are held here.
    [[nodiscard]] unsigned describe_calls(const PeerBook& book, LookCursor& cursor,
                                          std::span<CallSnapshot> out) const noexcept;
    // Fills `out` with calls that were sent, in the order of their slots. These calls are in no list, so one pass over
    // the slots finds those of all peers. `steps`: how many more slots may be visited.
    [[nodiscard]] unsigned describe_sent_calls(LookCursor& cursor, std::uint32_t& steps,
                                               std::span<CallSnapshot> out) const noexcept;

  private:
    [[nodiscard]] static CallPhase phase_of(const Request& request) noexcept;
    [[nodiscard]] TimeUs began_us(const Request& request) const noexcept;
    [[nodiscard]] std::string_view scheme_of(const PeerBook& book) const noexcept {
        return core_.na->transport_of(book.peer->port()).scheme();
    }
    void describe(const PeerBook& book, const Call& call, CallSnapshot& shown) const noexcept;
    void describe(const PeerBook& book, const Request& request, CallSnapshot& shown) const noexcept;

    const ContextCore& core_;
};

CallPhase ContextCore::Snapshots::phase_of(const PeerBook& book, const Call& call) noexcept {
    const bool connected = book.open && book.leaving == Leaving::no;
    switch (call.use_.state) {
        case Call::State::queued:
            if (!connected) return CallPhase::connecting;
            if (book.credits == 0) return CallPhase::waits_for_credit;
            return book.reply_waiter.linked ? CallPhase::waits_for_reply_slot : CallPhase::waits_for_room;
        case Call::State::sent:
            if (!connected) return CallPhase::connecting;
            return call.whole_way_ && call.op_.state != na::OpState::idle ? CallPhase::sending : CallPhase::sent;
        case Call::State::pulling:
            return CallPhase::fetching;
        case Call::State::idle:
        case Call::State::made:
        case Call::State::ended:
            break;
    }
    return CallPhase::unknown;
}

CallPhase ContextCore::Snapshots::phase_of(const Request& request) noexcept {
    if (request.answered()) return CallPhase::answered;
    if (request.whole_way() && request.pull_) return CallPhase::fetching;
    const bool began = (request.since_.load(std::memory_order_relaxed) & 1) != 0;
    return began ? CallPhase::in_handler : CallPhase::waits_for_handler;
}

TimeUs ContextCore::Snapshots::began_us(const Request& request) const noexcept {
    const std::uint32_t since = request.since_.load(std::memory_order_relaxed) | 1;
    const TimeUs now = core_.na->now_us();
    const TimeUs age = TimeUs{(static_cast<std::uint32_t>(now >> 10) | 1) - since} << 10;  // modulo 50 days
    return now - std::min(std::max(age, TimeUs{1}), now);
}

// Does not write to a call that is not in progress, because another thread may be using it.
void Origin::note_waits(Call& call) noexcept {
    const CallPhase phase = call.book_ ? ContextCore::Snapshots::phase_of(*call.book_, call) : CallPhase::unknown;
    if (phase == CallPhase::unknown || call.noted_use_ == call.uses()) return;
    call.noted_use_ = call.uses();
    call.noted_phase_ = phase;
    if (!call.has_times()) call.noted_opened_us_ = phase == CallPhase::connecting ? time_never : call.book_->opened;
    const std::uint32_t ahead = call.book_->sent - (call.is_sent() ? 1 : 0);
    call.noted_ahead_ = static_cast<std::uint16_t>(std::min<std::uint32_t>(ahead, 0xffff));
    if (call.use_.state == Call::State::queued) {
        call.queued_for_ = phase;
        call.sent_us_ = time_never;
    }
}

CallWaits Call::waits() const noexcept {
    CallWaits waits;
    if (noted_use_ != uses()) return waits;
    waits.phase = noted_phase_;
    waits.ahead = noted_ahead_;
    const TimeUs began = began_us != 0 || !was_queued() ? began_us : queued_us_;
    if (began == 0) return waits;
    const TimeUs ended = std::max(ended_us_, began);
    const TimeUs opened_us = has_times() ? began_us + detail::lower_time(queued_us_) : noted_opened_us_;
    const TimeUs opened = std::clamp(opened_us, began, ended);
    const TimeUs sent_us = has_times() ? left_us() : sent_us_;
    const TimeUs sent = was_queued() ? std::clamp(sent_us, opened, ended) : opened;
    waits.connecting_us = opened - began;
    waits.queued_us = sent - opened;
    waits.sent_us = ended - sent;
    if (was_queued()) waits.queued_for = queued_for_;
    return waits;
}

std::string_view Call::scheme() const noexcept { return core_->na->transport_of(*port_).scheme(); }

void ContextCore::Snapshots::describe(const PeerBook& book, PeerSnapshot& out) const noexcept {
    out.addr = book.peer->addr();
    out.scheme = scheme_of(book);
    out.state = book.peer->state();
    out.leaving = book.leaving != Leaving::no;
    out.connections = book.peer->epoch();
    out.credits = book.credits;
    out.credits_given = book.account.granted();
    out.calls_queued = count_of(book.queued, PeerSnapshot::steps_max);
    out.calls_sent = book.sent;
    out.requests = book.account.requests();
    out.replies_unsent = book.account.unsent();
    out.large_bytes = book.large_bytes.load(std::memory_order_relaxed) + book.claimed_bytes;
    out.decoded_bytes = book.decoded_bytes.load(std::memory_order_relaxed);
    out.bytes_sent = book.bytes_sent;
    out.bytes_received = book.bytes_received;
    out.heard_us = book.heard;
    if (!book.timed) return;
    const TimedCalls& timed = *book.timed;
    out.timed = timed.calls();
    for (std::size_t part = 0; part < call_parts; ++part) out.parts_us[part] = timed.sum_us(part);
    out.p50_us = timed.quantile_us(0.5);
    out.p99_us = timed.quantile_us(0.99);
}

unsigned ContextCore::Snapshots::describe_calls(const PeerBook& book, LookCursor& cursor,
                                                std::span<CallSnapshot> out) const noexcept {
    PageOf page(out, cursor.item);
    page.add_all(book.queued, [&](const Call& call, CallSnapshot& shown) { describe(book, call, shown); });
    page.add_all(book.held, [&](const Request& request, CallSnapshot& shown) { describe(book, request, shown); });
    cursor.item = page.full() ? cursor.item + page.filled() : 0;
    if (!page.full()) ++cursor.peer;
    return page.filled();
}

void ContextCore::Snapshots::describe(const PeerBook& book, const Call& call, CallSnapshot& shown) const noexcept {
    shown.phase = phase_of(book, call);
    shown.rpc = call.args.rpc;
    shown.provider = call.args.provider;
    shown.id = call.id();
    shown.began_us = call.began_us;
    shown.deadline_us = call.args.deadline;
    shown.bytes = call.input_bytes_;
    shown.credits = book.credits;
    shown.scheme = scheme_of(book);
    shown.peer = call.to_;
}

void ContextCore::Snapshots::describe(const PeerBook& book, const Request& request,
                                      CallSnapshot& shown) const noexcept {
    shown.as_target = true;
    shown.phase = phase_of(request);
    shown.rpc = request.rpc_;
    shown.provider = request.provider_;
    shown.id = request.tag_;
    shown.began_us = began_us(request);
    shown.deadline_us = request.deadline_;
    shown.bytes = request.input_.size();
    shown.credits = book.credits;
    shown.scheme = scheme_of(book);
    shown.peer = request.source_;
}

unsigned ContextCore::Snapshots::describe_sent_calls(LookCursor& cursor, std::uint32_t& steps,
                                                     std::span<CallSnapshot> out) const noexcept {
    unsigned filled = 0;
    for (; filled < out.size() && steps != 0; --steps, ++cursor.item) {
        const Call* const call = core_.origin.calls.at(cursor.item);
        if (!call) {
            cursor.over = true;
            break;
        }
        if (call->is_sent() && call->book_ && call->book_->peer)
            describe(*call->book_, *call, out[filled++] = CallSnapshot());
    }
    return filled;
}

unsigned Context::look_at_peers(LookCursor& cursor, std::span<PeerSnapshot> out) noexcept {
    const ContextCore::Snapshots snapshots(*core_);
    unsigned filled = 0;
    core_->owned([&] {
        for (std::uint32_t steps = 0; filled < out.size() && steps < steps_per_page; ++steps) {
            const PeerBook* const book = core_->peers.books.at(cursor.peer);
            if (!book) {
                cursor.over = true;
                return;
            }
            const std::uint32_t index = cursor.peer++;
            if (!book->peer) continue;
            PeerSnapshot& shown = out[filled++] = PeerSnapshot();
            snapshots.describe(*book, shown);
            shown.book = index;
        }
    });
    return filled;
}

bool Context::peer_times(const na::Addr& to, PeerTimes& out) noexcept {
    bool found = false;
    core_->owned([&] {
        if (core_->closed_ || to.empty()) return;
        for (std::uint32_t i = 0; const PeerBook* const book = core_->peers.books.at(i); ++i) {
            if (!book->peer || !book->timed || book->peer->addr() != to) continue;
            out = book->timed->read();
            found = true;
        }
    });
    return found;
}

bool Context::peer_times(const PeerSnapshot& of, PeerTimes& out) noexcept {
    bool found = false;
    core_->owned([&] {
        const PeerBook* const book = core_->peers.books.at(of.book);
        found = book && book->peer && book->timed && book->peer->addr() == of.addr;
        if (found) out = book->timed->read();
    });
    return found;
}

unsigned Context::look_at_calls(LookCursor& cursor, std::span<CallSnapshot> out) noexcept {
    const ContextCore::Snapshots snapshots(*core_);
    unsigned filled = 0;
    std::uint32_t steps = steps_per_page;
    core_->owned([&] {
        for (; cursor.peer < sent_calls && filled < out.size() && steps != 0; --steps) {
            const PeerBook* const book = core_->peers.books.at(cursor.peer);
            if (!book) {
                cursor = {sent_calls, 0, false};
            } else if (!book->peer) {
                ++cursor.peer;
            } else {
                filled += snapshots.describe_calls(*book, cursor, out.subspan(filled));
            }
        }
        if (cursor.peer >= sent_calls) filled += snapshots.describe_sent_calls(cursor, steps, out.subspan(filled));
    });
    return filled;
}

}  // namespace cinnabar::rpc
