// SPDX-License-Identifier: BSD-3-Clause
// docs/guide.md, "Memory".
#include <cinnabar/cinnabar.hpp>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <numeric>

using namespace cinnabar;

struct Samples {
    Bulk values;
};
inline constexpr Rpc<std::uint64_t(Samples)> largest{"largest"};

std::uint64_t largest_of(ConstBytes bytes) {
    std::uint64_t found = 0;
    for (std::uint64_t value; bytes.size() >= sizeof value; bytes = bytes.subspan(sizeof value)) {
        std::memcpy(&value, bytes.data(), sizeof value);  // wherever it lies, it may not be aligned
        found = std::max(found, value);
    }
    return found;
}

// Reads the caller's memory where it lies, if it can; else fetches it.
Task<Result<std::uint64_t>> find_largest(Request<Samples> request) {
    if (const auto view = request->values.view()) {
        const std::uint64_t found = largest_of((*view)->bytes());
        if ((*view)->valid()) co_return found;  // else the caller gave up while it was read
        co_return Errc::canceled;
    }
    CINNABAR_CO_TRY(const auto values, co_await request->values.fetch<std::byte>());
    co_return largest_of(values.values());
}

int main() {
    auto server = Node::listen({"shm://", "tcp://127.0.0.1:0"}).value();
    server.serve(largest, find_largest).value();
    auto [client, peer] = Node::connect(server.address()).value();

    // Memory that the node allocates: peers on this host map it.
    const Region region = client.allocate(1 << 20).value();
    const Bytes bytes = region.contiguous();
    const std::span values(reinterpret_cast<std::uint64_t*>(bytes.data()), bytes.size() / sizeof(std::uint64_t));
    std::iota(values.begin(), values.end(), 1);
    std::cout << "largest: " << client.call(largest, peer, {region}).wait().value() << '\n';

    // Buffers of the node: taken by size, returned by the destructor.
    const Buffer buffer = client.buffers().take(64).value();
    std::ranges::fill(buffer.bytes(), std::byte{0});
    std::cout << "largest: " << client.call(largest, peer, {buffer.region()}).wait().value() << '\n';
}
