// SPDX-License-Identifier: BSD-3-Clause
// docs/guide.md, "Several transports".
#include <cinnabar/cinnabar.hpp>

#include <iostream>

using namespace cinnabar;

inline constexpr Rpc<std::string()> whereabouts{"whereabouts"};

int main() {
    auto server = Node::listen({"tcp://127.0.0.1:0", "shm://"}).value();
    server.serve(whereabouts, [] { return "here"; }).value();
    for (const std::string& endpoint : server.endpoints()) std::cout << endpoint.substr(0, endpoint.find(':')) << ' ';
    std::cout << "are open\n";

    auto [near, peer] = Node::connect(server.address()).value();
    std::cout << near.call(whereabouts, peer).wait().value() << " over " << near.transport_to(peer) << '\n';

    auto [far, same] = Node::connect(server.address(), {}, "tcp").value();
    std::cout << far.call(whereabouts, same).wait().value() << " over " << far.transport_to(same) << '\n';
}
