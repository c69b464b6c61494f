// SPDX-License-Identifier: BSD-3-Clause
// `gpu_peer URI`: a second process with device memory, which prints its address and does what its calls say
// (gpu_peer.hpp) until it is killed.
#include "gpu_peer.hpp"

#include "fake_cuda.hpp"
#include "gpu_device.hpp"
#include "support/patterns.hpp"

#include <cstdio>
#include <memory>
#include <optional>
#include <stop_token>

using namespace cinnabar;
using namespace cinnabar::test;

namespace {

// Everything runs on the thread of main(), to which the context belongs.
struct Peer {
    Gpu gpu;
    std::optional<GpuMemory> memory;
    std::uint64_t stops = 0;

    [[nodiscard]] Region region() {
        auto far = device_memory(gpu_kind, memory->address(), memory->size()).value();
        return Region::of_far(std::move(far), Access::read_write).value();
    }
};

// A function of the simulated driver; null if the driver is the real one.
template <typename F>
F* of_fake(const char* name) {
    return reinterpret_cast<F*>(::dlsym(::dlopen(gpu_library, RTLD_NOW | RTLD_LOCAL), name));
}

void serve_memory(const Node& node, Peer& peer) {
    const auto allocate = [&peer](std::uint64_t bytes) {
        peer.memory.reset();
        peer.memory.emplace(peer.gpu, bytes);
    };
    const auto fill = [&peer](std::uint64_t seed) {
        std::vector<std::byte> content(peer.memory->size());
        support::fill_pattern(content, seed);
        peer.memory->write(content);
    };
    const auto holds = [&peer](std::uint64_t seed) {
        return static_cast<bool>(support::holds_pattern(peer.memory->read(), seed));
    };
    node.serve(peer_allocate, allocate).value();
    node.serve(peer_fill, fill).value();
    node.serve(peer_holds, holds).value();
    node.serve(peer_stops, [&peer] { return peer.stops; }).value();
}

void serve_moves(const Node& node, Peer& peer) {
    const auto pull = [&peer](cinnabar::Request<Bulk> request) -> Task<Result<std::uint64_t>> {
        const std::stop_callback told(request.stop_token(), [&peer] { ++peer.stops; });
        const Region mine = peer.region();
        co_return co_await request->pull(mine);
    };
    const auto push = [&peer](cinnabar::Request<Bulk> request) -> Task<Result<std::uint64_t>> {
        const Region mine = peer.region();
        co_return co_await request->push(mine);
    };
    const auto lend = [&peer](cinnabar::Request<> request) -> Task<Result<std::uint64_t>> {
        const Region mine = peer.region();
        co_return co_await request.node().call(move_back, request.source(), mine);
    };
    node.serve(peer_pull, pull).value();
    node.serve(peer_push, push).value();
    node.serve(peer_lend, lend).value();
}

void serve_fake(const Node& node) {
    auto* const counts = of_fake<FakeCudaCounts()>("fake_cuda_counts");
    if (!counts) return;
    node.serve(peer_hold, [](bool hold) { of_fake<void(bool)>("fake_cuda_hold_device_copies")(hold); }).value();
    node.serve(peer_held, [] { return std::uint64_t{of_fake<std::size_t()>("fake_cuda_held")()}; }).value();
    const auto fail = [](const std::string& name, int after, int code) {
        of_fake<void(const char*, int, int)>("fake_cuda_fail")(name.c_str(), after, code);
    };
    node.serve(peer_fail, fail).value();
    const auto told = [counts] {
        const FakeCudaCounts now = counts();
        return std::vector<std::int64_t>{static_cast<std::int64_t>(now.breaches), now.opened,
                                         static_cast<std::int64_t>(now.opens)};
    };
    node.serve(peer_counts, told).value();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    Peer peer;
    if (!peer.gpu.is_here()) return 3;
    NodeOptions options;
    options.progress_thread = false;
    const Node node = Node::listen(argv[1], options).value();
    serve_memory(node, peer);
    serve_moves(node, peer);
    serve_fake(node);
    std::printf("%s\n", node.address().c_str());
    std::fflush(stdout);
    return node.run() == Errc::ok ? 0 : 1;
}
