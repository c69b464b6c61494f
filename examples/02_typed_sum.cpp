// Any aggregate is an argument, a coroutine awaits the answer, and errors are values: of the call, or of the handler.
#include <cinnabar/cinnabar.hpp>

#include <iostream>

using namespace std::chrono_literals;

struct Pair {
    int a = 0;
    int b = 0;
};
inline constexpr cinnabar::Rpc<int(Pair)> sum{"sum"};
inline constexpr cinnabar::Rpc<int(Pair)> quotient{"quotient"};

cinnabar::Task<int> compute(cinnabar::NodeRef node, cinnabar::Addr peer) {
    auto five = co_await node.call(sum, peer, {2, 3}, 500ms);
    std::cout << "2 + 3 = " << five.value() << '\n';
    auto failed = co_await node.call(quotient, peer, {1, 0}, 500ms);
    std::cout << "1 / 0: " << failed.error().subject << " (code " << failed.error().app_code << ")\n";
    co_return five.value();
}

int main() {
    auto server = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    server.serve(sum, [](Pair p) { return p.a + p.b; }).value();
    server
        .serve(quotient,
               [](Pair p) -> cinnabar::Result<int> {
                   if (p.b == 0) return cinnabar::app_error(17, "division by zero");
                   return p.a / p.b;
               })
        .value();

    auto client = cinnabar::Node::open("tcp://").value();
    auto peer = client.lookup(server.address()).value();
    cinnabar::sync_wait(compute(client.ref(), peer)).value();
}
