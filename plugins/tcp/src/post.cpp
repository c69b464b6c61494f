// SPDX-License-Identifier: BSD-3-Clause
// Posting and cancelling: an op goes to its peer's list, and whoever can move it is told.
#include "port.hpp"

namespace cinnabar::tcp {

Errc TcpPort::post(na::Op& op) noexcept {
    auto& peer = static_cast<TcpPeer&>(*op.peer);
    Posted& posted = Posted::make(op);
    // A peer that cannot be dialled, and dials that are turned down here, end the op as any other loss would.
    if (!peer.lane && !peer.dial && !peer.ending) {
        const bool dialled = connect(peer);
        // The kernel may know at once that there is no way: then the op is no matter of the next dial.
        if (!dialled || peer.ending) {
            end(posted, dialled ? peer.ending_why : peer.backoff.last_failure);
            return Errc::ok;
        }
    }
    return is_message(op.kind) ? post_message(peer, posted) : post_rma(peer, posted);
}

Errc TcpPort::post_message(TcpPeer& peer, Posted& posted) noexcept {
    const na::Op& op = *posted.op;
    std::byte* const begin = op.message->payload - frame_header_bytes;
    const FrameKind kind = op.kind == na::OpKind::send_unexpected ? FrameKind::unexpected : FrameKind::expected;
    Frame{kind, 0, Errc::ok, op.message_bytes, op.tag}.encode(
        std::span<std::byte, frame_header_bytes>(begin, frame_header_bytes));
    std::byte* pad = op.message->payload + op.message_bytes;
    for (std::size_t i = op.message_bytes; i < padded(op.message_bytes); ++i) *pad++ = std::byte{0};
    posted.place = Place::messages;
    peer.messages.push_back(posted);
    if (peer.lane) dirty(*peer.lane);
    return Errc::ok;
}

Errc TcpPort::post_rma(TcpPeer& peer, Posted& posted) noexcept {
    if (posted.op->remote.key.size() != na::LeaseKey::wire_bytes) {
        end(posted, Errc::invalid_argument);
        return Errc::ok;
    }
    posted.place = Place::rma;
    peer.rma.push_back(posted);
    if (peer.bulk) {
        dirty(*peer.bulk);
    } else if (peer.lane) {
        want_bulk(peer);
    }
    return Errc::ok;
}

void TcpPort::cancel(na::Op& op) noexcept {
    auto& peer = static_cast<TcpPeer&>(*op.peer);
    Posted& posted = Posted::of(op);
    switch (posted.place) {
        case Place::messages:
            // Half a message cannot be taken back: it ends as it would have.
            if (peer.lane && peer.lane->begun(posted)) return;
            peer.messages.remove(posted);
            return end(posted, Errc::canceled);
        case Place::rma:
            peer.rma.remove(posted);
            return end(posted, Errc::canceled);
        case Place::ended:
            return;
        default:
            return peer.bulk->cancel(posted);
    }
}

}  // namespace cinnabar::tcp
