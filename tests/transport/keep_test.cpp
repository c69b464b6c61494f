// SPDX-License-Identifier: BSD-3-Clause
// Arrivals that are used after their delivery: kept for a short time, or detached for a long one.
#include "contract.hpp"

#include <cinnabar/base/random.hpp>

namespace cinnabar::contract {

class Keep : public ContractTest {
  protected:
    void keep_all(Node& node) {
        node.receiver.record = false;
        node.receiver.on_arrival = [this](na::Arrival& arrival) {
            na::Kept kept;
            if (arrival.port->keep(arrival, kept) != Errc::ok) {
                ++refused_;
                return;
            }
            EXPECT_TRUE(kept);
            EXPECT_EQ(kept.bytes.size(), arrival.bytes.size());
            kept_.emplace_back(arrival.tag, kept);
        };
    }
    void release_all() {
        for (auto& [tag, kept] : kept_) {
            kept.port->release(kept);
            EXPECT_FALSE(kept);
        }
        kept_.clear();
    }
    std::vector<std::pair<na::Tag, na::Kept>> kept_;
    unsigned refused_ = 0;
};
CINNABAR_CONTRACT(Keep);

TEST_P(Keep, TheBytesStayUntilTheRelease) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    keep_all(b);
    for (na::Tag tag = 1; tag <= 30; ++tag) (void)send(a, peer, tag, 100 + tag);
    ASSERT_TRUE(run_until([&] { return kept_.size() == 30; }));
    for (auto& [tag, kept] : kept_) {
        EXPECT_EQ(kept.bytes.size(), 100 + tag);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(kept.bytes.data()) % 8, 0u);
        EXPECT_TRUE(support::holds_pattern(kept.bytes, tag));
    }
    release_all();
    b.receiver.record = true;
    b.receiver.on_arrival = nullptr;
    (void)send(a, peer, 99, 10);
    ASSERT_TRUE(run_until([&] { return b.receiver.count_tag(99) == 1; }));
}

TEST_P(Keep, DetachedBytesStayWhileManyOthersCome) {
    na::TransportOptions options = listening();
    options.receive_slots = 16;
    Node& a = make_node("a", options);
    Node& b = make_node("b", options);
    na::Peer& peer = peer_of(a, b);
    keep_all(b);
    for (na::Tag tag = 1; tag <= 12; ++tag) (void)send(a, peer, tag, 1000);
    ASSERT_TRUE(run_until([&] { return kept_.size() == 12; }));
    for (auto& [tag, kept] : kept_) {
        EXPECT_EQ(kept.port->detach(kept), Errc::ok);
        EXPECT_TRUE(kept.detached);
    }
    // All receive slots are free again: more messages arrive than there are slots.
    b.receiver.record = true;
    b.receiver.on_arrival = nullptr;
    for (na::Tag tag = 100; tag < 200; ++tag) {
        (void)send(a, peer, tag, 500);
        ASSERT_TRUE(run_until([&] { return b.receiver.count_tag(tag) == 1; })) << tag;
    }
    for (auto& [tag, kept] : kept_) EXPECT_TRUE(support::holds_pattern(kept.bytes, tag)) << tag;
    release_all();
}

TEST_P(Keep, DetachTwiceIsDetachOnce) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    keep_all(b);
    (void)send(a, peer_of(a, b), 3, 64);
    ASSERT_TRUE(run_until([&] { return kept_.size() == 1; }));
    na::Kept& kept = kept_.front().second;
    EXPECT_EQ(kept.port->detach(kept), Errc::ok);
    EXPECT_EQ(kept.port->detach(kept), Errc::ok);
    EXPECT_TRUE(support::holds_pattern(kept.bytes, 3));
    release_all();
}

TEST_P(Keep, KeptBytesOutliveTheConnection) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    keep_all(b);
    for (na::Tag tag = 1; tag <= 4; ++tag) (void)send(a, peer, tag, 200);
    ASSERT_TRUE(run_until([&] { return kept_.size() == 4; }));
    EXPECT_EQ(kept_[0].second.port->detach(kept_[0].second), Errc::ok);
    kill(a);
    ASSERT_TRUE(run_until([&] { return b.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(kept_[1].second.port->detach(kept_[1].second), Errc::ok);
    for (auto& [tag, kept] : kept_) EXPECT_TRUE(support::holds_pattern(kept.bytes, tag)) << tag;
    release_all();
}

TEST_P(Keep, ReleasedInAnyOrder) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    keep_all(b);
    for (na::Tag tag = 1; tag <= 40; ++tag) (void)send(a, peer, tag, 64 + tag * 7);
    ASSERT_TRUE(run_until([&] { return kept_.size() == 40; }));
    Random random(4);
    while (!kept_.empty()) {
        const auto at = static_cast<std::ptrdiff_t>(random.below(kept_.size()));
        auto [tag, kept] = kept_[static_cast<std::size_t>(at)];
        if (random.chance(2)) {
            EXPECT_EQ(kept.port->detach(kept), Errc::ok);
        }
        EXPECT_TRUE(support::holds_pattern(kept.bytes, tag)) << tag;
        kept.port->release(kept);
        kept_.erase(kept_.begin() + at);
    }
}

TEST_P(Keep, KeptArrivalsMayBeReleasedAfterTheClose) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    keep_all(b);
    (void)send(a, peer_of(a, b), 3, 64);
    ASSERT_TRUE(run_until([&] { return kept_.size() == 1; }));
    b.context->close();
    na::Kept& kept = kept_.front().second;
    EXPECT_TRUE(support::holds_pattern(kept.bytes, 3));
    EXPECT_EQ(kept.port->detach(kept), Errc::ok);
    release_all();
}

}  // namespace cinnabar::contract
