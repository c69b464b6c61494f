// The caller lends memory for the time of the call; the handler pulls it, in a window of chunks, with the call's
// deadline.
#include <cinnabar/cinnabar.hpp>

#include <iostream>
#include <numeric>
#include <span>
#include <vector>

struct Numbers {
    std::uint32_t count = 0;
    cinnabar::Bulk data;
};
inline constexpr cinnabar::Rpc<std::uint64_t(Numbers)> add_up{"add_up"};

int main() {
    auto server = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    server
        .serve(add_up,
               [](cinnabar::Request<Numbers> request) -> cinnabar::Task<cinnabar::Result<std::uint64_t>> {
                   std::vector<std::uint32_t> numbers(request->count);
                   auto moved = co_await request->data.pull(std::as_writable_bytes(std::span(numbers)));
                   if (!moved) co_return moved.error();
                   co_return std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
               })
        .value();

    std::vector<std::uint32_t> numbers(1'000'000);
    std::iota(numbers.begin(), numbers.end(), 1u);
    auto client = cinnabar::Node::open("tcp://").value();
    auto peer = client.lookup(server.address()).value();
    auto lent = client.expose(std::span(std::as_const(numbers))).value();
    std::cout << client.call_sync(add_up, peer, {1'000'000, cinnabar::Bulk(lent)}).value() << '\n';
}
