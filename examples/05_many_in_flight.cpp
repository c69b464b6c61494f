// A thousand calls at once from one thread: credits keep the server from drowning, one deadline covers them all.
#include <cinnabar/cinnabar.hpp>

#include <iostream>
#include <vector>

inline constexpr cinnabar::Rpc<int(int)> square{"square"};

int main() {
    auto server = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    server.serve(square, [](int n) { return n * n; }).value();

    auto client = cinnabar::Node::open("tcp://").value();
    auto peer = client.lookup(server.address()).value();
    std::vector<cinnabar::Future<int>> answers;
    for (int n = 1; n <= 1'000; ++n) answers.push_back(client.call(square, peer, n).future());
    long total = 0;
    for (auto& answer : answers) total += answer.get().value();
    std::cout << "sum of the first 1000 squares: " << total << '\n';
}
