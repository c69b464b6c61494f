// SPDX-License-Identifier: BSD-3-Clause
// Posting and cancelling: an op goes to its peer's list, and the connection that can move it is told.
#include "port.hpp"

namespace cinnabar::verbs {

Errc VerbsPort::post(na::Op& op) noexcept {
    auto& peer = static_cast<VerbsPeer&>(*op.peer);
    RemotePlace remote;
    Errc wrong = Errc::ok;
    if (!is_message(op.kind)) {
        const std::uint64_t bytes = is_atomic(op.kind) ? sizeof(std::uint64_t) : op.bytes;
        wrong = find_place(op.remote.key, op.remote_offset, bytes, remote);
        if (wrong == Errc::invalid_argument) return wrong;
    }
    Posted& posted = Posted::make(op);
    posted.remote = remote;
    if (wrong != Errc::ok) {
        end(posted, wrong);
        return Errc::ok;
    }
    // A peer that cannot be dialled, and dials that are turned down here, end the op as any other loss would.
    if (!peer.connection && !peer.dial && !peer.ending) {
        const bool dialled = connect(peer);
        // The device may know at once that there is no way: then the op is no matter of the next dial.
        if (!dialled || peer.ending) {
            end(posted, dialled ? peer.ending_why : peer.backoff.last_failure);
            return Errc::ok;
        }
    }
    const bool message = is_message(op.kind);
    posted.place = message ? Place::messages : Place::rma;
    (message ? peer.messages : peer.rma).push_back(posted);
    if (peer.connection) dirty(*peer.connection);
    return Errc::ok;
}

void VerbsPort::cancel(na::Op& op) noexcept {
    auto& peer = static_cast<VerbsPeer&>(*op.peer);
    Posted& posted = Posted::of(op);
    switch (posted.place) {
        case Place::messages:
            peer.messages.remove(posted);
            return end(posted, Errc::canceled);
        case Place::rma:
            peer.rma.remove(posted);
            return end(posted, Errc::canceled);
        case Place::sending:  // the device has it: it ends as it would have
        case Place::ended:
            return;
    }
}

}  // namespace cinnabar::verbs
