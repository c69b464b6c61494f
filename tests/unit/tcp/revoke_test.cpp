// SPDX-License-Identifier: BSD-3-Clause
// Leases are revoked and operations are canceled during a transfer: afterwards the memory is not accessed, and the
// session goes on.
#include "fixture.hpp"

#include <algorithm>

namespace cinnabar::tcp {
namespace {

constexpr std::size_t size = 16 << 20;         // more than a few rounds can transfer
constexpr std::ptrdiff_t patterned = 1 << 20;  // the first bytes have a pattern; the rest is zeros

class Revoke : public TcpTest {
  protected:
    Revoke() : owner_(open()), initiator_(open("tcp://")), lent_bytes_(size), local_bytes_(size) {
        there_ = &peer(initiator_, owner_);
        connect(initiator_, *there_, owner_);
        lent_to_ = &lend(owner_, {{lent_bytes_.data(), size}});
        local_ = registered(initiator_, {{local_bytes_.data(), size}});
        support::fill_pattern(Bytes(lent_bytes_).first(1 << 20), 1);
        support::fill_pattern(Bytes(local_bytes_).first(1 << 20), 2);
    }
    // Runs until some of the bytes have arrived, but not all.
    void run_into_the_middle(const std::vector<std::byte>& target, std::byte first) {
        ASSERT_TRUE(until([&] { return target.front() == first; }));
        ASSERT_FALSE(ops_.back().done());
    }
    // The lanes still carry whole transfers.
    void expect_session_works() {
        Lent& other = lend(owner_, {{lent_bytes_.data(), 1 << 20}});
        support::fill_pattern(Bytes(lent_bytes_).first(1 << 20), 5);
        const TestOp& get = rma(initiator_, *there_, na::OpKind::get, *local_, other, 1 << 20);
        ASSERT_TRUE(until([&] { return get.done(); }));
        EXPECT_EQ(get.result, Errc::ok);
        EXPECT_TRUE(support::holds_pattern(ConstBytes(local_bytes_).first(1 << 20), 5));
        connect(initiator_, *there_, owner_);
        EXPECT_EQ(initiator_.receiver.count(na::PeerEvent::lost), 0u);
    }

    Process& owner_;
    Process& initiator_;
    na::Peer* there_ = nullptr;
    std::vector<std::byte> lent_bytes_;
    std::vector<std::byte> local_bytes_;
    Lent* lent_to_ = nullptr;
    std::unique_ptr<na::Memory> local_;
};

TEST_F(Revoke, ARunningPutWritesNoMore) {
    const TestOp& put = rma(initiator_, *there_, na::OpKind::put, *local_, *lent_to_, size);
    run_into_the_middle(lent_bytes_, local_bytes_.front());
    revoke(owner_, *lent_to_);
    std::fill(lent_bytes_.begin(), lent_bytes_.end(), std::byte{0x5a});
    ASSERT_TRUE(until([&] { return put.done(); }));
    EXPECT_EQ(put.result, Errc::permission);
    pump_.run_for(Microseconds(5000));
    EXPECT_TRUE(std::all_of(lent_bytes_.begin(), lent_bytes_.end(), [](std::byte b) { return b == std::byte{0x5a}; }));
    expect_session_works();
}

TEST_F(Revoke, ARunningGetReadsNoMore) {
    const TestOp& get = rma(initiator_, *there_, na::OpKind::get, *local_, *lent_to_, size);
    run_into_the_middle(local_bytes_, lent_bytes_.front());
    revoke(owner_, *lent_to_);
    std::fill(lent_bytes_.begin(), lent_bytes_.end(), std::byte{0x5a});
    ASSERT_TRUE(until([&] { return get.done(); }));
    EXPECT_EQ(get.result, Errc::permission);
    EXPECT_TRUE(std::none_of(local_bytes_.begin() + patterned, local_bytes_.end(), [](std::byte b) {
        return b == std::byte{0x5a};
    })) << "what was promised goes out as zeros";
    expect_session_works();
}

TEST_F(Revoke, ACanceledGetWritesNoMore) {
    TestOp& get = rma(initiator_, *there_, na::OpKind::get, *local_, *lent_to_, size);
    run_into_the_middle(local_bytes_, lent_bytes_.front());
    {
        const na::Context::Ownership own(*initiator_.context);
        initiator_.context->cancel_owned(get.op);
    }
    pump_.remove(*owner_.context);
    ASSERT_TRUE(until([&] { return get.done(); })) << "at once, whatever the owner does";
    pump_.add(*owner_.context);
    EXPECT_EQ(get.result, Errc::canceled);
    std::fill(local_bytes_.begin(), local_bytes_.end(), std::byte{0x5a});
    pump_.run_for(Microseconds(5000));
    EXPECT_TRUE(
        std::all_of(local_bytes_.begin(), local_bytes_.end(), [](std::byte b) { return b == std::byte{0x5a}; }));
    expect_session_works();
}

TEST_F(Revoke, ACanceledPutReadsNoMore) {
    TestOp& put = rma(initiator_, *there_, na::OpKind::put, *local_, *lent_to_, size);
    run_into_the_middle(lent_bytes_, local_bytes_.front());
    {
        const na::Context::Ownership own(*initiator_.context);
        initiator_.context->cancel_owned(put.op);
    }
    ASSERT_TRUE(until([&] { return put.done(); }));
    EXPECT_EQ(put.result, Errc::canceled);
    std::fill(local_bytes_.begin(), local_bytes_.end(), std::byte{0x5a});
    pump_.run_for(Microseconds(5000));
    EXPECT_TRUE(std::none_of(lent_bytes_.begin() + patterned, lent_bytes_.end(),
                             [](std::byte b) { return b == std::byte{0x5a}; }));
    revoke(owner_, *lent_to_);  // the rest of the frame may still come, as zeros
    expect_session_works();
}

TEST_F(Revoke, WaitingOperationsAreCanceledBeforeTheyAreSent) {
    Process& idle = open();
    na::Peer& not_connected = peer(initiator_, idle);
    TestOp& get = rma(initiator_, not_connected, na::OpKind::get, *local_, *lent_to_, 8);
    {
        const na::Context::Ownership own(*initiator_.context);
        initiator_.context->cancel_owned(get.op);
    }
    ASSERT_TRUE(until([&] { return get.done(); }));
    EXPECT_EQ(get.result, Errc::canceled);
}

TEST_F(Revoke, ALeaseMayBeRevokedInsideItsNotification) {
    bool revoked = false;
    owner_.receiver.on_notified = [&](na::Peer&, std::uint32_t) {
        revoke(owner_, *lent_to_);
        revoked = true;
    };
    const TestOp& put = rma(initiator_, *there_, na::OpKind::put_notify, *local_, *lent_to_, 4096);
    ASSERT_TRUE(until([&] { return put.done(); }));
    EXPECT_EQ(put.result, Errc::ok);
    EXPECT_TRUE(revoked);
}

TEST_F(Revoke, EverySizeAndSegmentationInBothDirections) {
    // Segments of odd sizes on either side, and offsets that cross them.
    std::vector<na::Segment> here;
    std::vector<na::Segment> far;
    std::size_t at = 0;
    for (std::size_t i = 0; at + 20'000 < (4u << 20); ++i) {
        here.push_back({local_bytes_.data() + at, 1 + i * 37 % 9000});
        far.push_back({lent_bytes_.data() + at, 1 + i * 61 % 9000});
        at += 20'000;
    }
    const auto local = registered(initiator_, here);
    Lent& remote = lend(owner_, far);
    const std::uint64_t whole = std::min(local->bytes(), remote.memory->bytes());
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4095}, std::uint64_t{4096},
                                      std::uint64_t{4097}, std::uint64_t{100'000}, whole}) {
        std::uint64_t position = 0;
        for (const na::Segment& segment : local->segments()) {
            support::fill_pattern({segment.base, segment.bytes}, bytes, position);
            position += segment.bytes;
        }
        const TestOp& put = rma(initiator_, *there_, na::OpKind::put, *local, remote, bytes);
        ASSERT_TRUE(until([&] { return put.done(); }));
        EXPECT_EQ(put.result, Errc::ok);
        for (const na::Segment& segment : local->segments()) std::fill_n(segment.base, segment.bytes, std::byte{0});
        const TestOp& get = rma(initiator_, *there_, na::OpKind::get, *local, remote, bytes);
        ASSERT_TRUE(until([&] { return get.done(); }));
        EXPECT_EQ(get.result, Errc::ok);
        position = 0;
        for (const na::Segment& segment : local->segments()) {
            const std::uint64_t end = std::min<std::uint64_t>(position + segment.bytes, bytes);
            if (position < end) {
                EXPECT_TRUE(support::holds_pattern({segment.base, end - position}, bytes, position));
            }
            position += segment.bytes;
        }
    }
}

TEST_F(Revoke, TheServerMayTransferToo) {
    na::Peer& back = *owner_.receiver.messages.front().source;
    std::vector<std::byte> of_client(1 << 20);
    support::fill_pattern(of_client, 8);
    Lent& lent = lend(initiator_, {{of_client.data(), of_client.size()}});
    std::vector<std::byte> of_server(1 << 20);
    const auto local = registered(owner_, {{of_server.data(), of_server.size()}});
    const TestOp& get = rma(owner_, back, na::OpKind::get, *local, lent, of_server.size());
    ASSERT_TRUE(until([&] { return get.done(); })) << "the client has to dial the lane that the server wants";
    EXPECT_EQ(get.result, Errc::ok);
    EXPECT_TRUE(support::holds_pattern(of_server, 8));
}

}  // namespace
}  // namespace cinnabar::tcp
