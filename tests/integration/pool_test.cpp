// SPDX-License-Identifier: BSD-3-Clause
// The threads of a pool: each is woken when it is needed, and none is forgotten.
#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

constexpr Rpc<bool()> meet{"pool.meet"};
constexpr Rpc<bool()> wait_on_loop{"pool.wait"};
constexpr Rpc<int(int)> quick{"pool.quick"};

// Lets threads go when `count` of them have come.
class Rendezvous {
  public:
    explicit Rendezvous(unsigned count) : count_(count) {}
    // False: the others did not come in time.
    bool join() {
        std::unique_lock lock(mutex_);
        const unsigned round = come_++ / count_;
        changed_.notify_all();
        return changed_.wait_for(lock, 10s, [&] { return come_ >= (round + 1) * count_; });
    }

  private:
    const unsigned count_;
    std::mutex mutex_;
    std::condition_variable changed_;
    unsigned come_ = 0;
};

class Pools : public testing::TestWithParam<const char*> {
  protected:
    Node server_ = Node::listen(GetParam()).value();
    Node client_ = Node::open(std::string(GetParam()).substr(0, 6), {.progress_thread = true}).value();
};

TEST_P(Pools, handlers_that_wait_for_each_other_get_a_thread_each) {
    constexpr unsigned threads = 3;
    constexpr unsigned rounds = 200;
    const Pool pool = server_.make_pool({.threads = threads}).value();
    Rendezvous rendezvous(threads);
    ASSERT_TRUE(server_
                    .serve(
                        meet, [&] { return rendezvous.join(); }, on(pool))
                    .ok());
    for (unsigned round = 0; round < rounds; ++round) {
        std::vector<Future<bool>> calls;
        for (unsigned i = 0; i < threads; ++i) calls.push_back(client_.call(meet, server_.self_addr()).future());
        for (Future<bool>& call : calls) ASSERT_TRUE(call.get().value()) << "in round " << round;
    }
}

TEST_P(Pools, a_handler_runs_while_another_one_holds_the_loop) {
    const Pool pool = server_.make_pool({.threads = 2}).value();
    Rendezvous rendezvous(2);
    ASSERT_TRUE(server_
                    .serve(
                        meet, [&] { return rendezvous.join(); }, on(pool))
                    .ok());
    ASSERT_TRUE(server_.serve(wait_on_loop, [&] { return rendezvous.join(); }).ok());
    for (unsigned round = 0; round < 50; ++round) {
        Future<bool> pooled = client_.call(meet, server_.self_addr()).future();
        Future<bool> held = client_.call(wait_on_loop, server_.self_addr()).future();
        ASSERT_TRUE(pooled.get().value()) << "in round " << round;
        ASSERT_TRUE(held.get().value()) << "in round " << round;
    }
}

TEST_P(Pools, a_node_closes_beside_threads_that_have_just_posted) {
    for (unsigned round = 0; round < 30; ++round) {
        // Of its own: the next node may have the address of the one before, to which another client may be connected.
        Node client = Node::open(std::string(GetParam()).substr(0, 6), {.progress_thread = true}).value();
        Node node = Node::listen(GetParam()).value();
        const Pool pool = node.make_pool({.threads = 2}).value();
        ASSERT_TRUE(node.serve(
                            quick, [](int value) { return value; }, on(pool))
                        .ok());
        std::vector<Future<int>> calls;
        for (int i = 0; i < 8; ++i) calls.push_back(client.call(quick, node.self_addr(), i).future());
        for (int i = 0; i < 8; ++i) EXPECT_EQ(calls[static_cast<std::size_t>(i)].get().value(), i);
    }
}

INSTANTIATE_TEST_SUITE_P(Over, Pools, testing::Values("tcp://127.0.0.1:0", "shm://"),
                         [](const auto& each) { return std::string(each.param).substr(0, 3); });

}  // namespace
}  // namespace cinnabar
