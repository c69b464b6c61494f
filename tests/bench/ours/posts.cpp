// SPDX-License-Identifier: BSD-3-Clause
#include "posts.hpp"

#include "../harness/statistics.hpp"
#include "../harness/usage.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/remote_memory.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace cinnabar::bench {
namespace {

constexpr std::uint32_t block_count = 15'000;
constexpr std::uint32_t random_blocks = 1 << 20;

NodeOptions undriven() {
    NodeOptions options;
    options.progress_thread = false;
    return options;
}

class Posts {
  public:
    explicit Posts(List list) : list_(list) {
        user_.lookup(owner_.address()).value();
        for (std::uint32_t i = 0; i < block_count; ++i) here_.push_back(i);
    }
    // Posts one transfer, waits for it, and returns the cost of the post.
    [[nodiscard]] PostCost post() {
        for (std::uint32_t& number : there_) number = static_cast<std::uint32_t>(random_.below(random_blocks));
        PostCost cost;
        const double begin = seconds_now();
        auto future = (list_ == List::strided ? plan_.read(strided_, dense_) : plan_.read(there_, here_)).future();
        cost.us = (seconds_now() - begin) * 1e6;
        rpc::LookCursor place;
        std::vector<rpc::CallSnapshot> calls(16);
        calls.resize(user_.rpc_context().look_at_calls(place, calls));
        for (const auto& call : calls) cost.wire_bytes += static_cast<double>(call.bytes);
        // A list that does not fit in the message is fetched, and the call contains only its descriptor.
        if (list_ == List::random)
            cost.wire_bytes += static_cast<double>(Blocks::indexed(block_bytes_, there_).value().encoded_bytes());
        while (!future.ready()) user_.poll();
        if (const auto moved = future.get(); !moved) throw std::runtime_error{moved.error().message()};
        return cost;
    }

  private:
    const List list_;
    const std::uint64_t block_bytes_ = list_ == List::strided ? 4096 : 512;
    Random random_{1};
    Node owner_ = Node::listen("tcp://127.0.0.1:0").value();
    Node user_ = Node::open("tcp://", undriven()).value();
    bulk::Region memory_ = owner_.allocate(block_bytes_ * random_blocks).value();
    Shared<std::uint64_t> shared_ = share<std::uint64_t>(owner_, memory_).value();
    bulk::Region cache_ = user_.allocate(block_bytes_ * block_count).value();
    TransferPlan plan_ = TransferPlan::make(user_, shared_.token(), cache_, block_bytes_).value();
    Blocks strided_ = Blocks::strided(0, block_bytes_, 2 * block_bytes_, block_count).value();
    Blocks dense_ = Blocks::strided(0, block_bytes_, block_bytes_, block_count).value();
    std::vector<std::uint32_t> there_ = std::vector<std::uint32_t>(block_count);
    std::vector<std::uint32_t> here_;
};

}  // namespace

PostCost measure_posts(List list, unsigned posts) {
    Posts all(list);
    (void)all.post();
    std::vector<double> times;
    PostCost cost;
    for (unsigned i = 0; i < posts; ++i) {
        cost = all.post();
        times.push_back(cost.us);
    }
    cost.us = median(times);
    return cost;
}

}  // namespace cinnabar::bench
