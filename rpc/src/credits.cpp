// SPDX-License-Identifier: BSD-3-Clause
// Where credits for requests are made, granted, returned, recalled and destroyed. Budgets grow only while the receive
// slots that are not for replies hold them and the control messages of all connections, and leave room for the first
// credits of some more.
#include "credits.hpp"

#include "context_core.hpp"

namespace cinnabar::rpc {
namespace {

constexpr std::uint32_t control_slots = 2;  // of each connection

// Longer than an ordinary reply takes, shorter than anybody would notice.
constexpr Microseconds starving_max{100};
// Between two looks at a starving peer that reads neither its replies nor its control messages.
constexpr Microseconds starving_again{10'000};
// A peer with so many control records waiting that answer its requests gets no grant on top.
constexpr std::size_t answers_waiting_max = 64;

constexpr std::uint32_t books_per_look = 64;

}  // namespace

void Credits::open(std::uint32_t first, std::uint32_t unsent_max) noexcept {
    budget_ = granted_ = std::min(first, budget_max);
    returnable_ = 0;
    unsent_share_ = unsent_max;
    withhold(withheld_);
    came_at_look_ = came_;
    asked_ = 0;
    hungry_ = recalled_ = false;
}

void Credits::withhold(bool withheld) noexcept {
    withheld_ = withheld;
    unsent_max_ = withheld ? 0 : unsent_share_;
}

std::uint32_t Credits::close() noexcept {
    granted_ = returnable_ = 0;
    hungry_ = recalled_ = false;
    return std::exchange(budget_, 0);
}

bool Credits::retire() noexcept {
    CINNABAR_DEBUG_ASSERT(held() != 0);
    if (budget_ <= 1) return false;
    --budget_;
    CINNABAR_DEBUG_ASSERT(adds_up());
    return true;
}

void Credits::grow(std::uint32_t more) noexcept {
    budget_ += more;
    returnable_ += more;
    CINNABAR_DEBUG_ASSERT(budget_ <= budget_max && adds_up());
}

void Credits::take_back(std::uint32_t count) noexcept {
    const std::uint32_t back = std::min(count, granted_);
    granted_ -= back;
    returnable_ += back;
    CINNABAR_DEBUG_ASSERT(adds_up());
}

Credits::Recall Credits::look(std::uint32_t keep, TimeUs now, Microseconds answer_max) noexcept {
    const bool sent = std::exchange(came_at_look_, came_) != came_;
    if (recalled_ || (!sent && granted_ > keep)) {
        if (asked_ != 0 && after(asked_, answer_max) <= now) {
            asked_ = now;  // it is said once
            return Recall::overdue;
        }
    }
    if (recalled_) return Recall::no;
    if (sent || granted_ <= keep) {
        asked_ = 0;
        return Recall::no;
    }
    if (asked_ == 0) asked_ = now;
    recalled_ = true;
    return Recall::ask;
}

std::uint32_t Credits::returned(std::uint32_t count) noexcept {
    if (!std::exchange(recalled_, false)) return 0;
    const std::uint32_t back = std::min(count, granted_);
    granted_ -= back;
    budget_ -= back;
    CINNABAR_DEBUG_ASSERT(adds_up());
    return back;
}

// The receive slot of a request is free again, and so is the credit that it stood for.
void ContextCore::return_credit(Request& request) noexcept {
    request.credit_returned_ = true;
    if (request.orphaned_) return;
    PeerBook& book = *request.book_;
    book.account.come_back();
    if (book.account.granted() == 0) watch_starving(book);
}

// A request that is turned away for want of room takes its credit along: the peer comes back with less at a time.
void ContextCore::retire_credit(PeerBook& book) noexcept {
    if (book.account.retire()) {
        --budgets;
    } else {
        book.account.come_back();
    }
    watch_starving(book);
}

// For a peer that asks, while slots are left.
void ContextCore::grow_budget(PeerBook& book) noexcept {
    Credits& account = book.account;
    account.set_hungry(false);
    if (!book.open || account.budget() >= peer_budget_max) return;
    const std::uint32_t used = budgets + control_slots * connections;
    const std::uint32_t slots = used < request_slots_max ? request_slots_max - used : 0;
    // Some requests are on their way while others are held; many more would only be turned away.
    const std::uint64_t held_max = std::uint64_t{2} * options.requests_held_max;
    const auto left =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(slots, budgets < held_max ? held_max - budgets : 0));
    // Doubles the budget; one credit at a time while it has results to fetch.
    const std::uint32_t wanted = book.unfetched_bytes == 0 ? std::max(account.budget(), 1u) : 1;
    const std::uint32_t more = std::min({wanted, peer_budget_max - account.budget(), left});
    account.grow(more);
    budgets += more;
    if (more != 0) return;
    account.set_hungry(true);
    recall_idle_credits();
}

// Called whenever a credit was used or came back and the peer has none. It is told by a message of its own if no reply
// does it in a moment: handlers may be holding all that it has sent.
void ContextCore::watch_starving(PeerBook& book) noexcept {
    Timer& starved = book.account.starved;
    if (!book.open || !book.account.starving() || starved.armed()) return;
    starved.user = &book;
    starved.fire = [](Timer& timer) noexcept {
        PeerBook& starving = *static_cast<PeerBook*>(timer.user);
        starving.core->grant_if_starved(starving);
    };
    na->arm(starved, after(na->now_us(), starving_max));
}

void ContextCore::grant_if_starved(PeerBook& book) noexcept {
    if (!book.open || !book.account.starving()) return;
    if (!book.account.may_give() || book.control.answers() >= answers_waiting_max) {
        return na->arm(book.account.starved, after(na->now_us(), starving_again));
    }
    send_control(book, {ControlType::grant, credits_for(book), 0});
}

// The pool is spent and somebody asks for more: the books are looked at in turn, and a peer that has sent nothing since
// the last turn is asked for what it does not use, down to its first credits. One that does not answer is cut off.
void ContextCore::recall_idle_credits() noexcept {
    const std::uint32_t first = first_credits();
    for (std::uint32_t looks = 0; looks < books_per_look; ++looks) {
        PeerBook* book = books.at(recall_next);
        if (!book) {
            recall_next = 0;
            if (!(book = books.at(0))) return;
        }
        ++recall_next;
        if (!book->peer || !book->open) continue;
        switch (book->account.look(first, na->now_us(), options.recall_answer_max)) {
            case Credits::Recall::no:
                break;
            case Credits::Recall::ask:
                send_control(*book, {ControlType::recall, first, 0});
                break;
            case Credits::Recall::overdue:
                end_session(*book, "keeps credits that it does not use");
                break;
        }
    }
}

void ContextCore::credits_returned(PeerBook& book, std::uint32_t credits) noexcept {
    budgets -= book.account.returned(credits);
    // What it kept may have been used since: the requests are here before its answer.
    watch_starving(book);
}

// As origin, asked by a recall: gives back what no call can use now.
void ContextCore::return_credits(PeerBook& book, std::uint32_t keep) noexcept {
    const bool wanted = !book.queued.empty() && !book.reply_waiter.linked;
    const std::uint32_t spare = !wanted && book.credits > keep ? book.credits - keep : 0;
    book.credits -= spare;
    send_control(book, {ControlType::returned, spare, 0});
}

}  // namespace cinnabar::rpc
