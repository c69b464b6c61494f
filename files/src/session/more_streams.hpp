// SPDX-License-Identifier: BSD-3-Clause
// Adds connections to a client's session where one does not fill the path. Belongs to the session's loop.
#pragma once

#include "session/client_session.hpp"
#include "session/streams.hpp"

namespace cinnabar::files {

// `client` must live until the tasks end.
struct ClientSession::MoreStreams {
    // Call for each window that was moved: adds connections if they may help, and leaves out those that do not.
    static void window_moved(ClientSession& client, std::uint64_t bytes);

  private:
    [[nodiscard]] static bool may_add(const ClientSession& client);
    // Adds connections until there are as many as wanted; stops at the first one that cannot be added.
    [[nodiscard]] static hl::Task<void> add_all(ClientSession& client);
    // Opens a connection that joins the session.
    [[nodiscard]] static hl::Task<Result<void>> add(ClientSession& client);
    [[nodiscard]] static hl::Task<void> hold(ClientSession& client, Stream& stream, HoldIn in);
};

}  // namespace cinnabar::files
