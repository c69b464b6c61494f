// SPDX-License-Identifier: BSD-3-Clause
// What happens when the connection to a peer is lost, or could not be made: the calls to the peer end, its requests are
// orphaned, and memory that only this peer could access is safe.
#include "call_fences.hpp"
#include "credit_pool.hpp"
#include "fences.hpp"
#include "large_values.hpp"
#include "origin.hpp"
#include "peers.hpp"
#include "replies.hpp"
#include "send_queue.hpp"
#include "serving.hpp"
#include "target.hpp"

#include <utility>

namespace cinnabar::rpc {

// Visits the calls that refer to the book. If there are none, skips the search of all slots, which are many in a
// context that once had many calls.
template <typename Visit>
void Peers::each_call(PeerBook& book, Visit visit) noexcept {
    if (book.users == 0) return;
    parts_.origin.calls.for_each([&](Call& call) {
        if (call.book_ == &book) visit(call);
    });
}

// Called while the book still knows what its calls wait for. If the peer was asked to leave, queued calls are left out,
// because they do not end.
void Peers::note_waits(PeerBook& book) noexcept {
    each_call(book, [&](Call& call) {
        if (call.is_sent() || book.leaving == Leaving::no) parts_.origin.note_waits(call);
    });
}

// Requests of the lost connection are kept until their handlers end, including one-way requests. They cannot be
// answered any more, and their credits are gone.
void Peers::orphan_requests(PeerBook& book) noexcept {
    for (Request* request = book.held.front(); request; request = PeerBook::Requests::next(*request)) {
        request->use_.orphaned = true;
        request->go_whole_way();
        parts_.target.table.remove(*request);
    }
}

// Tells handlers that the answer is no longer wanted. One-way requests continue, because they have no answer anyway.
void Peers::end_orphans(PeerBook& book) noexcept {
    for (Request* request = book.held.front(); request;) {
        Request* const next = PeerBook::Requests::next(*request);
        // cancel() may free the request. The code below may still look at the slot, which is not reused meanwhile: a
        // freed request lends nothing, and free() resets the fields that free_if_over() checks.
        if (!request->one_way_) parts_.serving.cancel(*request);
        if (request->lend_) {
            parts_.large_values.result_released(*request);
        } else {
            parts_.serving.free_if_over(*request);
        }
        request = next;
    }
}

void Peers::close(PeerBook& book, Errc why) noexcept {
    if (why == Errc::peer_lost) note_waits(book);
    const bool dial_failed = !book.open;
    if (book.open) {
        parts_.credits.close(book);
        --connections_;
    }
    book.open = false;
    book.verdicts.reset();  // the next connection may be from another caller
    book.counted.reset();
    book.timed.reset();
    book.posted = 0;
    ++book.connection;
    orphan_requests(book);
    base_.na->disarm(book.account.starved);
    base_.na->disarm(book.beat);
    book.credits = 0;
    parts_.replies.settle_all(book);
    book.control.clear();
    book.control_unacked = false;
    book.owes_ack = false;
    book.one_way_sent = book.ending = book.complained = false;
    each_call(book, [&](Call& call) {
        if (!call.is_sent()) return;
        call.whole_.never_left = dial_failed;
        if (dial_failed) Origin::tell_why_lost(call, *book.peer);
        parts_.origin.finish(call, why);
    });
    // Queued calls are not affected if the peer left because it was asked to: they are sent on the next connection.
    const bool left = std::exchange(book.leaving, Leaving::no) != Leaving::no;
    if (left) --leaving_;
    // The end of a call may end other calls, so the list is read again each time.
    while (Call* call = left ? nullptr : book.queued.front()) {
        if (dial_failed) Origin::tell_why_lost(*call, *book.peer);
        parts_.origin.finish(*call, why);
    }
    each_call(book, [&](Call& call) {
        if (call.whole_.awaiting_release) parts_.call_fences.released(call);
    });
    end_orphans(book);
    parts_.target.forget_canceled(*book.peer);
    parts_.fences.end_quarantine(book);
    if (left && !book.queued.empty()) parts_.queue.look_soon(book);
    drop_if_idle(book);
}

}  // namespace cinnabar::rpc
