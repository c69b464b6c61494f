// SPDX-License-Identifier: BSD-3-Clause
// The pair of this context and a remote one, with what waits for it. Owner of the context only.
#pragma once

#include "posted.hpp"

#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/session/peer.hpp>

#include <sys/types.h>

#include <optional>
#include <string>

namespace cinnabar::shm {

class Dial;
class Session;
class ShmPort;

// Where a peer listens.
struct ListeningPlace {
    std::string name;
    std::string path;            // of its socket; empty for a peer that came by itself
    std::optional<gid_t> group;  // whose members may listen there
};

class ShmPeer final : public na::SessionPeer {
  public:
    ShmPeer(ShmPort& port, const na::Addr& addr, ListeningPlace at);

    // SessionPeer::place of who listens there.
    [[nodiscard]] static std::string place_of(const ListeningPlace& at, const na::Addr& addr);
    void set_connected(const na::Hello& hello, std::uint32_t own_message_bytes_max) noexcept;

    PostedList messages;  // to be written, connected or not
    PostedList rma;       // not begun

    Session* session = nullptr;
    Dial* dial = nullptr;  // a session is being made

    bool ending_asked = false;  // the end of a session or a dial, by this side's user: no failure of a dial

    const ListeningPlace listens_at;
};

}  // namespace cinnabar::shm
