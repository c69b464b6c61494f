// SPDX-License-Identifier: BSD-3-Clause
// Requests for which there is no slot. The origin is told by a control record, which needs none, and its credit comes
// back. If slots stay scarce, the peer with the most replies that it does not read is disconnected: it pays, and not
// those whose requests are refused.
#include "context_core.hpp"

namespace cinnabar::rpc {
namespace {

// Replies leave in the round in which they are posted. Those that have waited for so long do not leave by themselves.
constexpr Microseconds debt_patience{100'000};

}  // namespace

// `flags`: of its header; 0 where that makes no sense.
void ContextCore::refuse_request(PeerBook& book, std::uint64_t id, std::uint16_t flags) noexcept {
    book.account.request_over();
    retire_credit(book);
    if ((flags & flag_one_way) == 0) {
        send_control(book, {ControlType::refused, 0, id});
    } else if ((flags & flag_overflow) != 0) {
        send_control(book, {ControlType::released, 0, id});
    }
    watch_debtors();
}

// As a reply that says `overloaded`.
void ContextCore::request_refused(PeerBook& book, std::uint64_t id) noexcept {
    if (book.strict) settle_reply(book);
    Call* call = calls.at(static_cast<std::uint32_t>(id & ((1u << call_slot_bits) - 1)));
    if (!call || call->id() != id || call->book_ != &book) return;
    if (call->state_ == Call::State::sent) {
        finish(*call, Errc::overloaded);
    } else if (call->awaiting_release_) {
        release_came(*call);
    }
}

void ContextCore::watch_debtors() noexcept {
    if (debts.armed() || closed_) return;
    books.for_each([](PeerBook& book) { book.account.mark_debt(); });
    debts.user = this;
    debts.fire = [](Timer& timer) noexcept { static_cast<ContextCore*>(timer.user)->close_debtor(); };
    na->arm(debts, after(na->now_us(), debt_patience));
}

// One at a time: it frees its slots, and the next refusal looks again.
void ContextCore::close_debtor() noexcept {
    if (requests.taken() < requests.slots_max() - requests.slots_max() / 8) return;
    PeerBook* worst = nullptr;
    books.for_each([&](PeerBook& book) {
        if (!book.peer || !book.open) return;
        if (book.account.old_debt() > (worst ? worst->account.old_debt() : 0)) worst = &book;
    });
    if (worst) end_session(*worst, "does not read its replies, which hold all request slots,");
}

}  // namespace cinnabar::rpc
