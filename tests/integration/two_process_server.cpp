// SPDX-License-Identifier: BSD-3-Clause
// The server process of the two-process tests. It prints its address and serves until its standard input ends. Optional
// arguments: the address to listen on, the number of calls from one peer that it holds at once, and the keepalive in
// milliseconds.
#include "two_process.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

using namespace std::chrono_literals;

namespace cinnabar::test {
namespace {

// Increments a counter for as long as it exists.
class Running {
  public:
    explicit Running(int& count) : count_(++count) {}
    ~Running() { --count_; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

  private:
    int& count_;
};

NodeOptions options_of(int count, char** arguments) {
    NodeOptions options;
    if (count > 2) {
        options.rpc.credits_per_peer_max = static_cast<std::uint32_t>(std::atoi(arguments[2]));
        options.transport.receive_slots =
            4 * options.rpc.credits_per_peer_max;  // only part of the slots are for requests
    }
    if (count > 3) options.transport.keepalive = Microseconds{1000 * std::atoi(arguments[3])};
    return options;
}

// Everything runs on the single loop of the node.
void serve_all(Node& node, ServerLoad& now) {
    (void)node.serve(twice, [](int value) { return 2 * value; });
    (void)node.serve(load, [&now] { return now; });
    (void)node.serve(note, [&now](int) { ++now.notes; });
    (void)node.serve(hang, [&now](Request<> request) -> Task<void> {
        const Running held(now.held);
        (void)co_await request.node().sleep_for(1h);
    });
    (void)node.serve(checksum, [&node](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
        auto buffer = node.buffers().take(request->size());
        if (!buffer) co_return buffer.error();
        if (auto moved = co_await request->pull(*buffer); !moved) co_return moved;
        std::uint64_t sum = 0;
        for (const std::byte byte : buffer->bytes()) sum = sum * 31 + static_cast<std::uint64_t>(byte);
        co_return sum;
    });
    (void)node.serve(pull_again, [&node, &now](Request<Bulk> request) -> Task<Result<void>> {
        const Running pulling(now.pulling);
        auto buffer = node.buffers().take(request->size());
        if (!buffer) co_return buffer.error();
        for (;;) {
            if (auto moved = co_await request->pull(*buffer); !moved) co_return moved.error();
            ++now.pulls;
        }
    });
}

}  // namespace
}  // namespace cinnabar::test

int main(int count, char** arguments) {
    // The process is killed with the test, even if it is suspended.
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    cinnabar::test::ServerLoad now;
    auto node = cinnabar::Node::listen(count > 1 ? arguments[1] : "tcp://127.0.0.1:0",
                                       cinnabar::test::options_of(count, arguments))
                    .value();
    cinnabar::test::serve_all(node, now);
    std::printf("%s\n", node.address().c_str());
    std::fflush(stdout);
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) > 0) {
    }
    return 0;
}
