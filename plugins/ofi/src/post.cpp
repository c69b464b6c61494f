// SPDX-License-Identifier: BSD-3-Clause
// Posting and cancelling: an op goes to its peer's list, and whoever can move it is told.
#include "port.hpp"

namespace cinnabar::ofi {

Errc OfiPort::post(na::Op& op) noexcept {
    auto& peer = static_cast<OfiPeer&>(*op.peer);
    Posted& posted = Posted::make(op);
    // A peer that cannot be dialled, and dials that are turned down here, end the op as any other loss would.
    if (!peer.session && !peer.dial && !peer.ending) {
        const bool dialled = connect(peer);
        // The kernel may know at once that there is no way: then the op is no matter of the next dial.
        if (!dialled || peer.ending) {
            end(posted, dialled ? peer.ending_why : peer.backoff.last_failure);
            return Errc::ok;
        }
    }
    const bool message = is_message(op.kind);
    if (!message && op.remote.key.size() != na::LeaseKey::wire_bytes) {
        end(posted, Errc::invalid_argument);
        return Errc::ok;
    }
    posted.place = message ? Place::messages : Place::rma;
    (message ? peer.messages : peer.rma).push_back(posted);
    if (peer.session && peer.session->open() && !peer.ending) dirty(*peer.session);
    return Errc::ok;
}

void OfiPort::cancel(na::Op& op) noexcept {
    auto& peer = static_cast<OfiPeer&>(*op.peer);
    Posted& posted = Posted::of(op);
    switch (posted.place) {
        case Place::messages:
            peer.messages.remove(posted);
            return end(posted, Errc::canceled);
        case Place::rma:
            peer.rma.remove(posted);
            return end(posted, Errc::canceled);
        case Place::sending:  // the fabric takes nothing back: it ends as it would have
        case Place::ended:
            return;
        case Place::admitted:
            return posted.transfer->session->cancel(posted);
    }
}

}  // namespace cinnabar::ofi
