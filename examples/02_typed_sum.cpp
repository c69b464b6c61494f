// SPDX-License-Identifier: BSD-3-Clause
// Structs as arguments, a deadline, and an error of the application's own.
#include <cinnabar/cinnabar.hpp>

#include <iostream>

using namespace std::chrono_literals;

struct Pair {
    int a, b;
};
inline constexpr cinnabar::Rpc<int(Pair)> sum{"sum"};
inline constexpr cinnabar::Rpc<int(int, int)> divide{"divide"};

int main() {
    auto server = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    server.serve(sum, [](Pair p) { return p.a + p.b; }).value();
    server
        .serve(divide,
               [](int a, int b) -> cinnabar::Result<int> {
                   if (b == 0) return cinnabar::app_error(1, "nothing can be divided by zero");
                   return a / b;
               })
        .value();

    auto [client, peer] = cinnabar::Node::connect(server.address()).value();
    std::cout << "2 + 3 = " << client.call(sum, peer, {2, 3}, 5s).wait().value() << '\n';
    std::cout << "9 / 2 = " << client.call(divide, peer, 9, 2, 5s).wait().value() << '\n';
    if (auto result = client.call(divide, peer, 9, 0, 5s).wait(); !result) {
        std::cout << "9 / 0: error " << result.error().app_code << ", " << result.error().subject << '\n';
    }
}
