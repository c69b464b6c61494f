// SPDX-License-Identifier: BSD-3-Clause
// docs/guide.md, "Who drives a node".
#include <cinnabar/cinnabar.hpp>

#include <future>
#include <iostream>
#include <thread>

using namespace cinnabar;
using namespace std::chrono_literals;

inline constexpr Rpc<int(int)> twice{"twice"};
inline constexpr Rpc<std::string(int)> ask_back{"ask_back"};
inline constexpr Rpc<void()> stop_serving{"stop_serving"};

// Drives the node of the server on this thread, until a call says that it is enough.
void serve_here(std::promise<std::string>& address) {
    auto server = Node::listen("tcp://127.0.0.1:0", {.progress_thread = false}).value();
    const NodeRef node = server;
    server.serve(twice, [](int value) { return 2 * value; }).value();
    server.serve(stop_serving, [node] { node.stop_running(); }).value();
    address.set_value(server.address());
    (void)server.run();
}

int main() {
    std::promise<std::string> address;
    std::thread thread(serve_here, std::ref(address));

    // The node has no thread: wait() drives the call.
    auto [client, peer] = Node::connect(address.get_future().get(), {.progress_thread = false}).value();
    std::cout << "twice 21 is " << client.call(twice, peer, 21).wait().value() << '\n';

    // Driven by the program's own loop, one poll at a time.
    bool answered = false;
    client.call(twice, peer, 4).then([&answered](Result<int> result) {
        std::cout << "twice 4 is " << result.value() << '\n';
        answered = true;
    });
    while (!answered) client.poll();

    // Waiting on the node's own loop is refused instead of hanging.
    auto server = Node::listen("tcp://127.0.0.1:0").value();
    const Addr self = server.lookup(server.address()).value();
    const NodeRef node = server;
    server.serve(twice, [](int value) { return 2 * value; }).value();
    const auto wait_here = [node, self](int value) {
        return std::string(to_string(node.call(twice, self, value).wait().code()));
    };
    server.serve(ask_back, wait_here).value();
    std::cout << "wait in a handler: " << server.call(ask_back, self, 1).wait().value() << '\n';

    client.call(stop_serving, peer).wait().value();
    thread.join();
}
