// SPDX-License-Identifier: BSD-3-Clause
// docs/guide.md, "In production".
#include <cinnabar/base/log.hpp>
#include <cinnabar/cinnabar.hpp>

#include <iostream>
#include <mutex>
#include <string>
#include <vector>

using namespace cinnabar;
using namespace std::chrono_literals;

inline constexpr Rpc<int(int)> square{"square"};
inline constexpr Rpc<void()> count_peers{"count_peers"};

// Lines are kept here until a thread of the program writes them: the sink itself must not block.
struct Lines {
    std::mutex mutex;
    std::vector<std::string> waiting;

    static void take(const LogLine& line, void* user) {
        auto& self = *static_cast<Lines*>(user);
        const std::lock_guard lock(self.mutex);
        self.waiting.emplace_back(line.text);
    }
};

NodeOptions careful() {
    NodeOptions options;
    options.transport.connections_max = 2'000;  // one file descriptor each, at least
    options.transport.keepalive = 30s;          // a dead host is noticed within this
    options.rpc.credits_per_peer_max = 32;      // requests that one peer may have under way
    options.rpc.requests_held_max = 4'000;      // those of all peers whose handlers have not ended
    options.rpc.argument_bytes_max = 1 << 20;   // one argument, when it does not fit a message
    options.rpc.handler_time_max = 20ms;        // what holds the loop for longer is named in the log
    options.buffer_bytes_max = 64 << 20;        // of fetch() and buffers()
    return options;
}

int main() {
    Lines lines;
    set_log_sink(&Lines::take, &lines);
    set_log_level(LogLevel::info);

    auto server = Node::listen("tcp://127.0.0.1:0", careful()).value();
    server.serve(square, [](int value) { return value * value; }).value();
    auto [client, peer] = Node::connect(server.address()).value();
    for (int i = 0; i < 100; ++i) (void)client.call(square, peer, i).wait().value();

    for (const RpcCounts& counts : server.stats()) {
        std::cout << counts.name << ": " << counts.requests << " requests, " << counts.requests_failed << " failed\n";
        if (counts.serve_time.quantile_us(0.99) > 1'000'000) std::cout << "slow\n";
    }
    std::cout << "connections: " << server.rpc_context().counts().connections << '\n';

    const Errc drained = server.drain(5s);
    std::cout << "drained: " << to_string(drained) << '\n';
    std::cout << "a late call: " << to_string(client.call(square, peer, 3).wait().code()) << '\n';
    set_log_sink(nullptr, nullptr);
}
