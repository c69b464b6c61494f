// SPDX-License-Identifier: BSD-3-Clause
// Adds connections to a client's session where one does not fill the path, and moves windows over them. Belongs to the
// session's loop.
#pragma once

#include "session/client_session.hpp"
#include "session/streams.hpp"

#include <optional>

namespace cinnabar::files {

// `client` must live until the tasks end.
struct ClientSession::MoreStreams {
    // Call for each window that was moved: adds connections if they may help, and leaves out those that do not.
    static void window_moved(ClientSession& client, std::uint64_t bytes);

    // Makes the call that moves a window over one of the connections, or with `only_first` over the first one. If a
    // further connection fails, makes the call once more over the first one, with `again` set, unless the file has
    // failed (`failure`) or `may_repeat()` returns false. The arguments must live until the task ends.
    template <typename Out, typename In, typename MayRepeat>
    [[nodiscard]] static hl::Task<Result<Out>> move_window(ClientSession& client, const hl::Rpc<Out(In)>& rpc, In& in,
                                                           bool only_first, const std::optional<Error>& failure,
                                                           MayRepeat may_repeat) {
        const auto call = [&client, &rpc, &in](const na::Addr& server) {
            client.seals_.stamp(in);
            return client.node_.call(rpc, server, in, window_deadline);
        };
        const Streams::Use stream = client.streams_.use(only_first);
        Result<Out> moved = co_await call(stream.server());
        if (moved || stream.is_first() || failure) co_return moved;
        stream.failed(moved.error());
        if (!may_repeat()) co_return moved;
        const Streams::Use first = client.streams_.use(true);
        in.again = true;
        co_return co_await call(first.server());
    }

  private:
    [[nodiscard]] static bool may_add(const ClientSession& client);
    // Adds connections until there are as many as wanted; stops at the first one that cannot be added.
    [[nodiscard]] static hl::Task<void> add_all(ClientSession& client);
    // Opens a connection that joins the session.
    [[nodiscard]] static hl::Task<Result<void>> add(ClientSession& client);
    [[nodiscard]] static hl::Task<void> hold(ClientSession& client, Stream& stream, HoldIn in);
};

}  // namespace cinnabar::files
