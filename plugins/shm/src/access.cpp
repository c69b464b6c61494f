// SPDX-License-Identifier: BSD-3-Clause
// Session: how puts and gets begin. If this side can copy across address spaces, it carries them out itself
// (copier.cpp); otherwise the owner of the memory carries them out (na::RemoteAccess), and their data are sent in
// records.
#include "port.hpp"

namespace cinnabar::shm {

void Session::admit_waiting() noexcept {
    na::PostedOps& waiting = peer().rma;
    while (na::PostedOp* posted = waiting.front()) {
        if (copier_.takes(*posted->op)) {
            waiting.remove(*posted);
            copier_.add(*posted);
        } else if (!admit_next()) {
            return;
        }
    }
}

void Session::access_to_send() noexcept { port_->output().retry(*this); }

void Session::access_over(na::PostedOp& posted, Errc result) noexcept { port_->end(posted, result); }

void Session::cancel(na::PostedOp& posted) noexcept {
    if (Copier::has(posted)) return copier_.cancel(posted);
    RemoteAccess::cancel(posted);
}

}  // namespace cinnabar::shm
