// SPDX-License-Identifier: BSD-3-Clause
// The sender's Receiver sees messages that had to wait before they are sent (on_delayed), and may change them.
#include "contract.hpp"

#include <algorithm>
#include <vector>

namespace cinnabar::contract {
namespace {

constexpr std::byte changed{0xc1};

}  // namespace

class Delayed : public ContractTest {
  protected:
    // Changes the first byte of each delayed message.
    static void change_what_is_late(Node& node) {
        node.receiver.on_late = [](na::Tag, Bytes message) { message.front() = changed; };
    }
};
CINNABAR_CONTRACT(Delayed);

TEST_P(Delayed, MessagesThatWaitForTheConnectionAreShown) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    change_what_is_late(a);
    na::Peer& there = peer_of(a, b);
    ASSERT_NE(there.state(), na::PeerState::connected);
    for (na::Tag tag = 1; tag <= 3; ++tag) (void)send(a, there, tag, 100);
    ASSERT_TRUE(run_until([&] { return b.receiver.messages.size() == 3; }));
    for (const auto& got : b.receiver.messages) EXPECT_EQ(got.bytes.front(), changed) << got.tag;
}

// The first messages are sent unchanged. After the first changed message, all are changed.
TEST_P(Delayed, MessagesThatWaitForRoomAreShown) {
    constexpr na::Tag messages_max = 20'000;
    constexpr std::size_t bytes = 1'000;
    na::TransportOptions options = listening();
    options.receive_slots = 2 * messages_max;
    Node& a = make_node("a", options);
    Node& b = make_node("b", options);
    CINNABAR_NEEDS("room that runs out", !caps().counted_slots && !network_.is_sim() && !network_.one_process());
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    b.receiver.messages.clear();
    pump_.remove(*b.context);
    na::Tag sent = 0;
    TestOp* last = nullptr;
    // Until a posted message has waited for more others than libfabric takes at once.
    for (na::Tag waits = 0; waits < 300 && sent < messages_max; ++sent) {
        std::vector<std::byte> small(bytes);
        support::fill_pattern(small, sent);
        if (a.context->send_now(*there, na::OpKind::send_unexpected, sent, small)) continue;
        if (last && !last->done()) {
            ++waits;
        } else {
            waits = 0;
        }
        TestOp& posted = send(a, *there, sent, bytes);
        if (!last || last->done()) last = &posted;
        if (sent % 8 == 0) (void)a.context->progress(Microseconds(0));
    }
    ASSERT_TRUE(last && !last->done()) << "the network took all " << sent;
    change_what_is_late(a);
    pump_.add(*b.context);
    ASSERT_TRUE(run_until([&] { return b.receiver.messages.size() == sent; }));

    std::vector<std::byte> pattern(bytes);
    bool late = false;
    for (const auto& got : b.receiver.messages) {
        support::fill_pattern(pattern, got.tag);
        const bool is_changed = got.bytes.front() == changed && pattern.front() != changed;
        const bool as_it_was = got.bytes.front() == pattern.front();
        ASSERT_TRUE(is_changed || as_it_was) << got.tag;
        EXPECT_TRUE(std::equal(got.bytes.begin() + 1, got.bytes.end(), pattern.begin() + 1)) << got.tag;
        if (late && caps().ordered && pattern.front() != changed) {
            ASSERT_TRUE(is_changed) << got.tag << " left as it was, behind one that was shown";
        }
        late |= is_changed;
    }
    EXPECT_TRUE(late);
}

}  // namespace cinnabar::contract
