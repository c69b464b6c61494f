// SPDX-License-Identifier: BSD-3-Clause
// A histogram in remote memory: each worker counts its values, then adds all its buckets at once; a reader reads the
// sums. The next round reuses the memory; tokens of the previous round are then refused as stale.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/remote_memory.hpp>

#include <algorithm>
#include <array>
#include <iostream>
#include <numeric>
#include <vector>

using namespace cinnabar;

using Buckets = RemoteSpan<std::uint64_t>;
inline constexpr Rpc<Buckets()> histogram{"histogram"};

struct Worker {
    Node node;
    Buckets buckets;

    // Adds one to the bucket of each value.
    Result<void> add(std::span<const unsigned> values) {
        std::array<std::uint64_t, 10> counts{};
        for (const unsigned value : values) ++counts[value / 10];
        std::vector<decltype(buckets[0].fetch_add(node, 0).future())> added;
        for (std::size_t i = 0; i < counts.size(); ++i)
            if (counts[i] != 0) added.push_back(buckets[i].fetch_add(node, counts[i]).future());
        for (auto& each : added)
            if (auto before = each.get(); !before) return std::move(before).error();
        return {};
    }
};

int main() {
    auto owner = Node::listen("tcp://127.0.0.1:0").value();
    std::array<std::uint64_t, 10> memory{};
    auto shared = share(owner, std::span(memory)).value();
    owner.serve(histogram, [&shared] { return shared.span(); }).value();

    std::vector<Worker> workers;
    for (int i = 0; i < 3; ++i) {
        auto [node, peer] = Node::connect(owner.address()).value();
        Buckets buckets = node.call(histogram, peer).wait().value();
        workers.push_back({std::move(node), std::move(buckets)});
    }
    std::vector<unsigned> values(3000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<unsigned>(i * i % 97);
    for (std::size_t i = 0; i < workers.size(); ++i) workers[i].add(std::span(values).subspan(1000 * i, 1000)).value();

    auto [reader, peer] = Node::connect(owner.address()).value();
    std::array<std::uint64_t, 10> read{};
    reader.call(histogram, peer).wait().value().read(reader, read).wait().value();
    for (const std::uint64_t count : read) std::cout << count << ' ';
    std::cout << "make " << std::accumulate(read.begin(), read.end(), std::uint64_t{0}) << '\n';

    // The next round.
    shared.renew();
    memory.fill(0);
    const auto late = workers[0].add(values);
    std::cout << "a worker that is late: " << to_string(late.code()) << '\n';
    std::cout << "counted of it: " << std::accumulate(memory.begin(), memory.end(), std::uint64_t{0}) << '\n';
}
