// Without coroutines: a callback when the answer is here, and a loop of one's own that drives the node.
#include <cinnabar/cinnabar.hpp>

#include <iostream>

using namespace std::chrono_literals;

inline constexpr cinnabar::Rpc<int(int)> twice{"twice"};

int main() {
    auto server = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    server.serve(twice, [](int n) { return 2 * n; }).value();

    auto client = cinnabar::Node::open("tcp://").value();
    auto peer = client.lookup(server.address()).value();
    bool done = false;
    client.call(twice, peer, 21, 5s).then([&done](cinnabar::Result<int> answer) {
        std::cout << answer.value() << '\n';
        done = true;
    });
    while (!done) client.poll();
}
