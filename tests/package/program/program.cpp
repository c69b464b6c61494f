// SPDX-License-Identifier: BSD-3-Clause
// What a user's first program needs of the installed tree: headers that are found, libraries that link, a call over
// tcp. And a fabric, whose library is loaded when its address asks for it, if it is here.
#include <cinnabar/cinnabar.hpp>

#include <cstdio>

struct Pair {
    int a, b;
};
inline constexpr cinnabar::Rpc<int(Pair)> sum{"sum"};

int main() {
    auto server = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    server.serve(sum, [](Pair pair) { return pair.a + pair.b; }).value();
    auto client = cinnabar::Node::open("tcp://").value();
    const int five = client.call(sum, client.lookup(server.address()).value(), Pair{2, 3}).wait().value();
    std::printf("2 + 3 = %d\n", five);
    const auto fabric = cinnabar::Node::listen("ofi+tcp://127.0.0.1:0");
    std::printf("ofi: %s\n", fabric ? "loaded" : fabric.error().message().c_str());
    const bool is_here = fabric || fabric.code() == cinnabar::Errc::unsupported;
    return five == 5 && is_here ? 0 : 1;
}
