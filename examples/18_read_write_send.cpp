// SPDX-License-Identifier: BSD-3-Clause
// The example read-write-send of the library Infinity, rewritten: a server offers memory, and a client reads it, writes
// to it, and sends a message. Two things differ: the client gets the memory's token as the result of a call, where
// Infinity uses the user data of a connection; and it awaits an operation, where Infinity uses a request token. The
// example works on any transport.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/remote_memory.hpp>

#include <array>
#include <future>
#include <iostream>
#include <string>

using namespace cinnabar;

using Content = std::array<char, 128>;
inline constexpr Rpc<Remote<Content>()> region_token{"region_token"};
inline constexpr OneWay<std::string> message{"message"};

// The client, in the order of the original.
Task<Result<void>> read_write_send(NodeRef node, Addr server) {
    CINNABAR_CO_TRY(const Remote<Content> remote, co_await node.call(region_token, server));

    CINNABAR_CO_TRY(Content local, co_await remote.read(node));
    std::cout << "client: read \"" << local.data() << "\"\n";

    local = Content{"written by the client"};
    CINNABAR_CO_TRY([[maybe_unused]] const auto bytes, co_await remote.write(node, local));
    std::cout << "client: wrote\n";

    const std::string text = "sent by the client";
    co_return co_await node.call(message, server, text);
}

int main() {
    auto server = Node::listen("tcp://127.0.0.1:0").value();
    std::array<Content, 1> memory{Content{"offered by the server"}};
    const auto shared = share(server, std::span(memory)).value();
    server.serve(region_token, [&shared] { return shared.span()[0]; }).value();
    std::promise<std::string> received;
    server.serve(message, [&received](const std::string& text) { received.set_value(text); }).value();

    const auto [client, peer] = Node::connect(server.address()).value();
    const auto ended = sync_wait(read_write_send(client.ref(), peer));
    if (!ended) std::cout << ended.error().message() << '\n';

    std::cout << "server: received \"" << received.get_future().get() << "\"\n";
    std::cout << "server: the memory says \"" << memory[0].data() << "\"\n";
}
