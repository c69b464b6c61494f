// SPDX-License-Identifier: BSD-3-Clause
// Evicts unused connections, so that the transport need not reject new ones, or because the layer above has too many.
// Nothing is lost: the peer is asked to leave, and neither side sends anything else until the peer has left or has
// answered that it stays. Calls that were queued meanwhile are sent on the next connection.
#include "control.hpp"
#include "peers.hpp"
#include "send_queue.hpp"

#include <cinnabar/bulk/transfer.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::rpc {
namespace {

constexpr std::uint32_t candidates_max = 64;

// A transfer need not belong to a call with this peer: a third party may have forwarded the peer's memory.
bool unused(const PeerBook& book) noexcept {
    return book.open && book.idle() && book.control.empty() && !book.base->mover->moves_with(*book.peer);
}

}  // namespace

// Keeps one eighth of the connections free, and at least one, unless the limit is one connection. Of the next few
// peers, the one that was silent for longest is asked to leave.
void Peers::make_room() noexcept {
    const std::uint32_t spare = connections_max_ == 1 ? 0 : std::max(connections_max_ / 8, 1u);
    while (connections_ - leaving_ > connections_max_ - spare) {
        PeerBook* quietest = nullptr;
        for (std::uint32_t looks = 0; looks < candidates_max; ++looks) {
            PeerBook* book = books.at(next_);
            next_ = book ? next_ + 1 : 0;
            if (!book || !book->peer || book->leaving != Leaving::no || !unused(*book)) continue;
            if (!quietest || book->heard < quietest->heard) quietest = book;
        }
        if (!quietest) return;
        ask(*quietest);
    }
}

void Peers::ask(PeerBook& book) noexcept {
    parts_.control.send(book, {ControlType::leave, 0, 0});
    book.leaving = Leaving::asked;
    ++leaving_;
    book.asked = base_.na->now_us();
    watch(book);
}

void Peers::ask_to_leave(na::Peer& peer, Microseconds quiet) noexcept {
    auto* const book = static_cast<PeerBook*>(peer.upper);
    if (!book || book->leaving != Leaving::no || !unused(*book)) return;
    if (after(book->heard, quiet) <= base_.na->now_us()) ask(*book);
}

void Peers::asked_to_leave(PeerBook& book) noexcept {
    if (!unused(book)) return parts_.control.send(book, {ControlType::stay, 0, 0});
    if (std::exchange(book.leaving, Leaving::gone) == Leaving::no) ++leaving_;
    book.peer->port().disconnect(*book.peer);
}

void Peers::stays(PeerBook& book) noexcept {
    if (book.leaving != Leaving::asked) return;
    book.leaving = Leaving::no;
    --leaving_;
    // Does not ask another peer now: peers are asked only when the next connection is made. Otherwise peers that must
    // stay would be asked over and over.
    parts_.queue.pump(book);
}

}  // namespace cinnabar::rpc
