// SPDX-License-Identifier: BSD-3-Clause
// Somebody connects while memory is out: that costs them their connection, and nobody else anything. A program of its
// own, because its malloc is replaced.
#include "contract.hpp"
#include "support/allocation_count.hpp"

#include <cinnabar/base/clock.hpp>

#include <filesystem>
#include <iterator>

namespace cinnabar::contract {
namespace {

class NoMemoryContract : public ContractTest {
  protected:
    void SetUp() override {
        if (!support::NoMemory::works()) GTEST_SKIP() << "a sanitizer owns malloc";
        log_.allow("memory is out");
        log_.allow("carries nothing to");  // its bytes wait until there is memory for them
        ContractTest::SetUp();
    }
    // Some things cannot be told without memory, and are waited for.
    static na::TransportOptions impatient() {
        na::TransportOptions options = listening();
        options.connect_timeout = Microseconds{1'000'000};
        return options;
    }
    static std::ptrdiff_t descriptors() {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    }
    // The target's process makes progress while it has so many allocations left, all others as usual.
    void round_short(std::uint64_t& spared) {
        for (Node* node : process_) pump_.remove(*node->context);
        {
            const support::NoMemory out(spared);
            for (Node* node : process_) (void)node->context->progress(Microseconds{0});
        }
        (void)pump_.round();
        for (Node* node : process_) pump_.add(*node->context);
    }
    // `handed_over`: another context of its process accepts what comes in.
    [[nodiscard]] Node& make_target(bool handed_over) {
        process_ = {&make_node("target", impatient())};
        if (handed_over) process_.push_back(&make_sibling(*process_.front(), 1));
        Node& target = *process_.back();
        target.receiver.record = false;  // it would need memory
        target.receiver.events.reserve(1000);
        target.receiver.on_arrival = [this](na::Arrival& arrival) { came_ += arrival.tag == 1; };
        came_ = 0;
        return target;
    }
    // Somebody dials while the target has so many allocations left, and leaves. Whether they were let in.
    [[nodiscard]] bool comes_in(Node& target, std::uint64_t& spared) {
        Node& stranger = make_node("stranger", impatient());
        const TestOp& op = send(stranger, peer_of(stranger, target), 1, 8);
        const auto is_in = [&] { return target.receiver.count(na::PeerEvent::connected) > 0; };
        const auto is_out = [&] { return op.done() && stranger.receiver.count(na::PeerEvent::lost) > 0; };
        const TimeUs until = steady_clock().now_us() + 20'000'000;
        while (!is_in() && !is_out() && steady_clock().now_us() < until) round_short(spared);
        EXPECT_TRUE(is_in() || is_out()) << "the dial has no end";
        const bool in = is_in();
        close(stranger);
        for (unsigned i = 0; i < 100; ++i) round_short(spared);
        // What has to be read to see that they are gone may wait for memory.
        EXPECT_TRUE(run_until([&] {
            return target.receiver.count(na::PeerEvent::lost) >= target.receiver.count(na::PeerEvent::connected);
        }));
        return in;
    }
    // One after the other of the allocations of an incoming connection fails, and all behind it.
    void fail_each(bool handed_over) {
        for (std::uint64_t kept = 0;; ++kept) {
            SCOPED_TRACE(kept);
            ASSERT_LT(kept, 1000u);
            Node& target = make_target(handed_over);
            std::uint64_t spared = kept;
            const bool in = comes_in(target, spared);
            came_ = 0;
            Node& other = make_node("other");
            const TestOp& op = send(other, peer_of(other, target), 1, 8);
            ASSERT_TRUE(run_until([&] { return op.done() && came_ == 1; })) << "nobody comes in any more";
            close(other);
            for (Node* node : process_) close(*node);
            nodes_.clear();
            ops_.clear();
            if (in && spared > 0) return;
        }
    }

    // Nothing is left of those that were turned away.
    void fail_each_and_look_for_leaks(bool handed_over) {
        fail_each(handed_over);
        const auto open = descriptors();
        const auto blocks = support::blocks_in_use();
        fail_each(handed_over);
        EXPECT_EQ(descriptors(), open);
        EXPECT_EQ(support::blocks_in_use(), blocks);
    }

    std::vector<Node*> process_;  // the target's; that one comes last
    int came_ = 0;
};

TEST_P(NoMemoryContract, WhoConnectsMeanwhileIsTurnedAway) { fail_each_and_look_for_leaks(false); }

TEST_P(NoMemoryContract, WhoIsHandedOverMeanwhileIsTurnedAway) { fail_each_and_look_for_leaks(true); }

// Not libfabric's `net`, which leaks some of each connection itself.
bool is_tried(NetworkKind kind) { return kind >= NetworkKind::tcp && kind <= NetworkKind::ofi_tcp_rxm; }

INSTANTIATE_TEST_SUITE_P(On, NoMemoryContract, testing::ValuesIn([] {
                             auto all = support::networks();
                             std::erase_if(all, [](NetworkKind kind) { return !is_tried(kind); });
                             return all;
                         }()),
                         [](const auto& i) { return std::string(support::to_string(i.param)); });

}  // namespace
}  // namespace cinnabar::contract
