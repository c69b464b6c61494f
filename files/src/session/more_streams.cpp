// SPDX-License-Identifier: BSD-3-Clause
#include "session/more_streams.hpp"

#include "session/remote_error.hpp"

namespace cinnabar::files {

// A session has one connection if its rate is limited, and over transports whose connections share what they have.
bool ClientSession::MoreStreams::may_add(const ClientSession& client) {
    const std::string_view scheme = client.node_.transport_to(client.server_);
    return (scheme == "tcp" || scheme == "tcps") && !client.rate_.limits();
}

void ClientSession::MoreStreams::window_moved(ClientSession& client, std::uint64_t bytes) {
    StreamCount& count = client.streams_.count();
    if (!count.measures() || !may_add(client) || !count.moved(bytes, StreamCount::Clock::now())) return;
    if (!count.measures()) return client.streams_.keep_wanted();
    if (client.scope_.spawn(add_all(client), client.executor_) != Errc::ok) count.settle(client.streams_.usable());
}

hl::Task<void> ClientSession::MoreStreams::add_all(ClientSession& client) {
    StreamCount& count = client.streams_.count();
    Result<void> added;
    while (added && client.streams_.usable() < count.wanted() && count.measures()) added = co_await add(client);
    if (!added) co_return count.settle(client.streams_.usable());
    count.begin();
}

hl::Task<Result<void>> ClientSession::MoreStreams::add(ClientSession& client) {
    const na::Addr server = client.server_.in_parallel(client.streams_.next());
    HelloIn hello;
    hello.version = protocol_version;
    hello.nonce = make_nonce();
    auto greeted = co_await client.node_.call(hello_rpc, server, hello, session_deadline);
    if (!greeted) co_return from_remote(std::move(greeted).error());
    JoinIn join;
    join.nonce = hello.nonce;
    join.challenge = greeted->challenge;
    client.seals_.stamp(join);
    auto joined = co_await client.node_.call(join_rpc, server, join, session_deadline);
    if (!joined) co_return from_remote(std::move(joined).error());
    if (!client.seals_.accepts_joined(joined->proof, join))
        co_return Error{Errc::permission, "the server of a further connection is not that of the session"};
    HoldIn held;
    held.provider = client.provider_.value();
    client.seals_.stamp(held);
    Stream& stream = client.streams_.add(server);
    const Errc spawned = client.scope_.spawn(hold(client, stream, held), client.executor_);
    if (spawned != Errc::ok) {
        stream.usable = false;
        co_return spawned;
    }
    co_return Result<void>();
}

hl::Task<void> ClientSession::MoreStreams::hold(ClientSession& client, Stream& stream, HoldIn in) {
    // The result is not used: whatever ends this call also fails the windows that are being moved over the connection.
    (void)co_await client.node_.call(hold_rpc, stream.server, in, hl::no_deadline);
    client.streams_.lose(stream);
}

}  // namespace cinnabar::files
