// SPDX-License-Identifier: BSD-3-Clause
// docs/guide.md, "From gRPC".
#include <cinnabar/cinnabar.hpp>

#include <iostream>
#include <string>
#include <vector>

using namespace cinnabar;
using namespace std::chrono_literals;

struct HelloRequest {
    std::string name;
    std::optional<std::string> language;
};
struct HelloReply {
    std::string message;
};
inline constexpr Rpc<HelloReply(HelloRequest)> say_hello{"helloworld.Greeter/SayHello"};

// In place of a stream from the server, the caller asks for one page at a time.
struct ListRequest {
    std::uint32_t after = 0;
    std::uint32_t count = 0;
};
inline constexpr Rpc<std::vector<std::uint32_t>(ListRequest)> list_primes{"Numbers/ListPrimes"};

std::vector<std::uint32_t> primes(const ListRequest& request) {
    std::vector<std::uint32_t> found;
    for (std::uint32_t n = request.after + 1; found.size() < request.count && n < 50; ++n) {
        bool prime = n > 1;
        for (std::uint32_t d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
        if (prime) found.push_back(n);
    }
    return found;
}

int main() {
    auto server = Node::listen("tcp://127.0.0.1:0").value();
    server.serve(say_hello, [](const HelloRequest& in) { return HelloReply{"Hello " + in.name}; }).value();
    server.serve(list_primes, primes).value();

    auto [channel, greeter] = Node::connect(server.address()).value();
    const auto reply = channel.call(say_hello, greeter, {"world", {}}, 1s).wait();
    if (reply) std::cout << reply->message << '\n';

    std::size_t count = 0;
    std::vector<std::uint32_t> page;
    for (ListRequest next{0, 4};; next.after = page.back()) {
        page = channel.call(list_primes, greeter, next).wait().value();
        if (page.empty()) break;
        count += page.size();
    }
    std::cout << count << " primes below 50\n";
}
