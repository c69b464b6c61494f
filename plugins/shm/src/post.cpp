// SPDX-License-Identifier: BSD-3-Clause
// Posting and cancelling: an op goes to its peer's list, and whoever can move it is told.
#include "port.hpp"

namespace cinnabar::shm {

Errc ShmPort::post(na::Op& op) noexcept {
    auto& peer = static_cast<ShmPeer&>(*op.peer);
    Posted& posted = Posted::make(op);
    // A peer that cannot be dialled, and dials that are turned down here, end the op as any other loss would.
    if (!peer.session && !peer.dial && !peer.ending) {
        const bool dialled = connect(peer);
        if (!dialled || peer.ending) {
            end(posted, dialled ? peer.ending_why : peer.backoff.last_failure);
            return Errc::ok;
        }
    }
    if (is_message(op.kind)) {
        posted.place = Place::messages;
        peer.messages.push_back(posted);
    } else if (op.remote.key.size() != key_bytes) {
        end(posted, Errc::invalid_argument);
        return Errc::ok;
    } else {
        posted.place = Place::rma;
        peer.rma.push_back(posted);
    }
    if (peer.session) dirty(*peer.session);
    return Errc::ok;
}

void ShmPort::cancel(na::Op& op) noexcept {
    auto& peer = static_cast<ShmPeer&>(*op.peer);
    Posted& posted = Posted::of(op);
    switch (posted.place) {
        case Place::messages:
            peer.messages.remove(posted);
            return end(posted, Errc::canceled);
        case Place::rma:
            peer.rma.remove(posted);
            return end(posted, Errc::canceled);
        case Place::ended:
            return;
        default:
            return peer.session->cancel(posted);
    }
}

}  // namespace cinnabar::shm
