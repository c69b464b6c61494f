// SPDX-License-Identifier: BSD-3-Clause
#include "peer_books.hpp"

#include <cinnabar/base/assert.hpp>

#include <utility>

namespace cinnabar::bulk {
namespace {

std::size_t bucket_of(const na::Peer& peer) noexcept {
    return (reinterpret_cast<std::uintptr_t>(&peer) * 0x9e3779b97f4a7c15u) >> 56;
}

}  // namespace

PeerBook* PeerBooks::find(const na::Peer& peer) const noexcept {
    PeerBook* book = table_[bucket_of(peer)];
    while (book && book->peer != &peer) book = book->next_in_bucket;
    return book;
}

PeerBook* PeerBooks::join(TransferSlot& slot, na::Peer& peer, std::size_t port_index,
                          std::uint32_t chunks_max) noexcept {
    PeerBook* book = find(peer);
    if (!book) {
        book = books_.acquire();
        if (!book) return nullptr;
        book->peer = &peer;
        book->port_index = port_index;
        book->chunks_max = chunks_max;
        book->next_in_bucket = table_[bucket_of(peer)];
        table_[bucket_of(peer)] = book;
        peer.acquire();
    }
    book->members.push_back(slot);
    return book;
}

void PeerBooks::leave(TransferSlot& slot) noexcept {
    PeerBook& book = *std::exchange(slot.book, nullptr);
    CINNABAR_DEBUG_ASSERT(!decltype(book.ready)::linked(slot) && slot.inflight_count == 0);
    book.members.remove(slot);
    if (!book.members.empty()) return;
    CINNABAR_DEBUG_ASSERT(book.bytes == 0 && book.chunks == 0 && !book.in_a_ring());
    PeerBook** at = &table_[bucket_of(*book.peer)];
    while (*at != &book) at = &(*at)->next_in_bucket;
    *at = book.next_in_bucket;
    na::Peer* peer = book.peer;
    books_.release(book);
    peer->release();
}

void PeerBooks::enter(PeerBook& book, PeerBook::RingKind kind) noexcept {
    book.ring_kind = kind;
    ring(kind).push_back(book);
}

}  // namespace cinnabar::bulk
