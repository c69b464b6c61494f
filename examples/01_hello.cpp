// SPDX-License-Identifier: BSD-3-Clause
// A server and a client in one program: a call with a string.
#include <cinnabar/cinnabar.hpp>

#include <iostream>
#include <string>

// The contract, shared by both sides: a name, and the types.
inline constexpr cinnabar::Rpc<std::string(std::string)> greet{"greet"};

int main() {
    auto server = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    server.serve(greet, [](const std::string& name) { return "hello, " + name; }).value();

    auto [client, peer] = cinnabar::Node::connect(server.address()).value();
    std::cout << client.call(greet, peer, "world").wait().value() << '\n';
}
