// SPDX-License-Identifier: BSD-3-Clause
// This process and a second one (gpu_peer.cpp), each with device memory. A program that includes this file must define
// CINNABAR_GPU_PEER, the path of the second program.
#pragma once

#include "gpu_device.hpp"
#include "gpu_peer.hpp"
#include "other_process.hpp"
#include "support/patterns.hpp"

#include <atomic>
#include <optional>
#include <stop_token>
#include <string>

namespace cinnabar::test {

class GpuProcessesFixture : public testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(gpu_.is_here()) << "no device, or no driver"; }

    // Starts the other process with `bytes` bytes of memory, and allocates as much here.
    void start(std::size_t bytes, const std::string& uri = "shm://", const std::string& program = CINNABAR_GPU_PEER) {
        other_.emplace(program, uri);
        to_ = node(uri).lookup(other_->line()).value();
        tell(peer_allocate, bytes);
        free_mine();
        mine_.emplace(gpu_, bytes);
        region_ = Region::of_far(device_memory(gpu_kind, mine_->address(), bytes).value(), Access::read_write).value();
    }
    void free_mine() {
        region_ = {};
        mine_.reset();
    }
    Node& node(const std::string& uri = "shm://") {
        if (node_) return *node_;
        node_.emplace(Node::open(uri == "shm://" ? "shm://" : "tcp://", options_).value());
        EXPECT_TRUE(node_->serve(move_back, [this](Request<Bulk> request) { return move(std::move(request)); }).ok());
        return *node_;
    }
    void write_mine(std::uint64_t seed) {
        std::vector<std::byte> content(mine_->size());
        support::fill_pattern(content, seed);
        mine_->write(content);
    }
    [[nodiscard]] bool mine_holds(std::uint64_t seed) {
        return static_cast<bool>(support::holds_pattern(mine_->read(), seed));
    }
    // Calls to the other process, which must succeed.
    template <typename... In>
    void tell(const Rpc<void(In...)>& rpc, std::type_identity_t<In>... in) {
        const auto ended = node().call(rpc, to_, std::move(in)...).wait();
        EXPECT_TRUE(ended.ok()) << ended.error().message();
    }
    template <typename Out, typename... In>
    [[nodiscard]] Out ask(const Rpc<Out(In...)>& rpc, std::type_identity_t<In>... in) {
        return node().call(rpc, to_, std::move(in)...).wait().value();
    }
    // The other process pulls from this process's memory, or pushes to it.
    [[nodiscard]] auto peer_moves(const Rpc<std::uint64_t(Bulk)>& rpc, Microseconds span = Microseconds(60'000'000)) {
        return node().call(rpc, to_, region_, span).future();
    }
    // This process pulls from the other's memory, or pushes to it, according to `direction_`.
    [[nodiscard]] auto i_move(bulk::Direction direction) {
        direction_ = direction;
        return node().call(peer_lend, to_, Microseconds(60'000'000)).future();
    }

    Gpu gpu_;
    NodeOptions options_;  // of this process's node; before start()
    std::optional<OtherProcess> other_;
    Addr to_;
    std::optional<GpuMemory> mine_;
    Region region_;  // all of `mine_`
    bulk::Direction direction_ = bulk::Direction::pull;
    std::optional<Microseconds> deadline_;
    std::stop_source stop_;
    std::atomic<bool> may_end_{true};  // while it is false, the end of a move of this process is an error
    std::atomic<Errc> ended_{Errc::again};

  private:
    Task<Result<std::uint64_t>> move(Request<Bulk> request) {
        const TransferOptions options{.deadline = deadline_};
        const Region mine = region_;
        auto transfer =
            direction_ == bulk::Direction::pull ? request->pull(mine, options) : request->push(mine, options);
        auto moved = co_await with_stop(std::move(transfer), stop_.get_token());
        EXPECT_TRUE(may_end_) << "the peer copies still";
        ended_ = moved.code();
        co_return moved;
    }
    std::optional<Node> node_;  // last, since its handlers use the other members
};

}  // namespace cinnabar::test
