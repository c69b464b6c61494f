// SPDX-License-Identifier: BSD-3-Clause
// Budgets grow only as long as the receive slots for requests are enough for all budgets, for the control messages of
// all connections, and for the first credits of some more connections.
#include "credit_pool.hpp"

#include "control.hpp"
#include "part_of.hpp"
#include "peers.hpp"

#include <algorithm>

namespace cinnabar::rpc {
namespace {

constexpr std::uint32_t control_slots = 2;  // per connection

// Longer than an ordinary reply takes, but too short to be noticed.
constexpr Microseconds starving_max{100};
// The interval between checks of a starving peer that reads neither its replies nor its control messages.
constexpr Microseconds starving_again{10'000};
// A peer with this many queued control records that answer its requests gets no grants.
constexpr std::size_t answers_waiting_max = 64;

constexpr std::uint32_t books_per_look = 64;
constexpr std::uint32_t replies_per_look = 4;
// A peer is idle if it has sent nothing for at least this long. Where there are few peers, four replies take far less.
constexpr Microseconds idle_min{200};
// The minimum time between two checks of all peers, per peer: with many peers, checks would cost more than calls.
constexpr Microseconds look_interval_each{2};

}  // namespace

CreditPool::CreditPool(ContextBase& base, Peers& peers, Control& control, std::uint32_t requests_max) noexcept
    : base_(base),
      peers_(peers),
      control_(control),
      peer_budget_max_(std::min({base.options.credits_per_peer_max, requests_max / 8, CreditAccount::budget_max})) {}

std::uint32_t CreditPool::first() const noexcept {
    return std::clamp(base_.na->options().initial_credits, 1u, CreditAccount::budget_max);
}

// Whether the slots grow with this connection. The slots of some transports, such as the one from a node to itself, do
// not grow.
bool CreditPool::adds_slots(const PeerBook& book) const noexcept {
    const na::Limits& limits = base_.transport_of(book.peer->port())->limits();
    return limits.receive_slots_max > limits.receive_slots;
}

// Returns the number of receive slots for requests when there are that many connections over transports whose slots
// grow. The slots that such a connection adds are for its own first credits and control messages; other peers get none
// of these slots.
std::uint32_t CreditPool::slots_for(std::uint32_t connections) const noexcept {
    if (!growing_) return slots_max_;
    return slots_max_ + (na::receive_slots_for(*growing_, connections) - growing_->receive_slots);
}

void CreditPool::open(PeerBook& book) noexcept {
    book.account.open(first(), peer_unsent_max_);
    made_ += book.account.budget();
    if (adds_slots(book)) ++growing_connections_;
}

void CreditPool::close(PeerBook& book) noexcept {
    made_ -= book.account.close();
    if (adds_slots(book)) --growing_connections_;
}

void CreditPool::return_one(Request& request) noexcept {
    request.use_.credit_returned = true;
    if (request.use_.orphaned) return;
    PeerBook& book = *request.book_;
    book.account.return_one();
    if (book.account.granted() == 0) watch_starving(book);
}

void CreditPool::retire(PeerBook& book) noexcept {
    if (book.account.retire()) {
        --made_;
    } else {
        book.account.return_one();
    }
    watch_starving(book);
}

// Gives the peer more credits while there are slots left.
void CreditPool::grow(PeerBook& book) noexcept {
    CreditAccount& account = book.account;
    account.set_wants_credits(false);
    if (!book.open || account.budget() >= peer_budget_max_) return;
    const std::uint32_t used = made_ + control_slots * peers_.connections();
    const std::uint32_t slots_now = slots_for(growing_connections_);
    const std::uint32_t slots = used < slots_now ? slots_now - used : 0;
    // Twice as many as can be held, since other requests may be on their way; but many more would only be refused.
    const std::uint64_t held_max = std::uint64_t{2} * base_.options.requests_held_max;
    const auto left =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(slots, made_ < held_max ? held_max - made_ : 0));
    // Doubles the budget, but adds only one credit while the peer has large results to fetch.
    const std::uint32_t wanted = book.unfetched_bytes == 0 ? std::max(account.budget(), 1u) : 1;
    const std::uint32_t more = std::min({wanted, peer_budget_max_ - account.budget(), left});
    account.grow(more);
    made_ += more;
    if (more != 0) return;
    account.set_wants_credits(true);
    recall_idle();
}

void CreditPool::watch_starving(PeerBook& book) noexcept {
    WheelTimer& starved = book.account.starved;
    if (!book.open || !book.account.starving() || starved.armed()) return;
    starved.user = &book;
    starved.fire = bind<&CreditPool::grant_if_starved>;
    base_.na->arm(starved, after(base_.na->now_us(), starving_max));
}

void CreditPool::grant_if_starved(PeerBook& book) noexcept {
    if (!book.open || !book.account.starving()) return;
    if (!book.account.may_give() || book.control.answers() >= answers_waiting_max) {
        return base_.na->arm(book.account.starved, after(base_.na->now_us(), starving_again));
    }
    control_.send(book, {ControlType::grant, for_reply(book), 0});
}

// Called when a reply is sent to a peer that needs more credits, and all credits are in use. Checks the next few books,
// but only every fourth time, since the check costs more than a call. A peer that has sent nothing since its last
// check, at least idle_min ago, is asked for its unused credits, except for the number that it had at first. A peer
// that does not answer is disconnected.
void CreditPool::recall_idle() noexcept {
    if (++refused_ % replies_per_look != 0) return;
    const TimeUs now = base_.na->now_us();
    const std::uint32_t kept = first();
    for (std::uint32_t looks = 0; looks < books_per_look; ++looks) {
        if (!peers_.books.at(next_)) next_ = 0;
        if (next_ == 0) {
            if (now < turn_at_) return;
            turn_at_ = after(now, std::max(idle_min, look_interval_each * peers_.connections()));
        }
        PeerBook* const book = peers_.books.at(next_);
        if (!book) return;
        ++next_;
        if (!book->peer || !book->open) continue;
        const std::uint32_t before = book->account.budget();
        const CreditAccount::Recall recall = book->account.look(kept, now, base_.options.recall_answer_max);
        made_ -= before - book->account.budget();
        switch (recall) {
            case CreditAccount::Recall::no:
                break;
            case CreditAccount::Recall::ask:
                control_.send(*book, {ControlType::recall, kept, 0});
                break;
            case CreditAccount::Recall::overdue:
                control_.end_session(*book, "keeps credits that it does not use");
                break;
        }
    }
}

void CreditPool::returned(PeerBook& book, std::uint32_t credits) noexcept {
    made_ -= book.account.returned(credits);
    // The peer may have no credits left now, because its requests have used those that it kept; such requests arrive
    // before its answer to the recall.
    watch_starving(book);
}

void CreditPool::give_back(PeerBook& book, std::uint32_t keep) noexcept {
    const bool wanted = !book.queued.empty() && !book.reply_waiter.linked;
    const std::uint32_t spare = !wanted && book.credits > keep ? book.credits - keep : 0;
    book.credits -= spare;
    control_.send(book, {ControlType::returned, spare, 0});
}

bool CreditPool::adds_up(std::uint32_t made, std::uint32_t connections, std::uint32_t unsent) const noexcept {
    const std::uint32_t grown = made - std::min(made, connections * first());
    constexpr std::uint32_t any_number = ~std::uint32_t{0};  // some connections may have ended since
    return made == made_ && unsent == replies_unsent_ && grown <= slots_for(any_number);
}

}  // namespace cinnabar::rpc
