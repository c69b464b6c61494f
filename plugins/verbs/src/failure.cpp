// SPDX-License-Identifier: BSD-3-Clause
#include "failure.hpp"

#include "port.hpp"

#include <cinnabar/base/log.hpp>

namespace cinnabar::verbs {

unsigned Failure::end_sessions(VerbsPort& port) noexcept {
    // Cleared before the sessions are checked: what other threads mark from here on is handled by the next call.
    if (!pending_.exchange(false, std::memory_order_acq_rel)) return 0;
    const Errc failed = why();
    unsigned did = 0;
    port.sessions().for_each([&](Session& session) {
        VerbsPeer* const peer = session.peer();
        if (!peer) return;
        Errc ends = session.stage() == Stage::open ? session.broken.exchange(Errc::ok) : Errc::ok;
        if (failed != Errc::ok) ends = failed;
        if (ends == Errc::ok) return;
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::debug, "verbs",
                    {peer_field(peer->addr()), transport_field("verbs"), error_field(ends)},
                    "the device broke a session");
        port.end_session(*peer, ends);
        ++did;
    });
    return did;
}

}  // namespace cinnabar::verbs
