// SPDX-License-Identifier: BSD-3-Clause
// Pools that all peers of a context share: a peer that uses one up loses its session, and others are not affected.
#include "raw_peer.hpp"

#include <algorithm>

namespace cinnabar::shm {
namespace {

class SharedPools : public ShmTest {
  protected:
    // A hand-made session that has `gets` pending gets, none of which can complete, and reads nothing.
    void owe(unsigned gets) {
        RawPeer& debtor = *debtors_.emplace_back(std::make_unique<RawPeer>());
        debtor.hello.incarnation = debtors_.size();
        ASSERT_NO_FATAL_FAILURE(connect(debtor));
        std::array<std::byte, 32> get{};
        ByteWriter body(get);
        body.bytes(ConstBytes(key_).first(na::LeaseKey::wire_bytes));
        body.u64(0);
        body.u64(memory_.size());
        for (std::uint64_t id = 0; id < gets; ++id) debtor.write({RecordKind::get, 0, 0, get.size(), id}, get);
        debtor.ring_bell();
        for (int i = 0; i < 30; ++i) (void)pump_.round();
    }
    [[nodiscard]] std::size_t lost_overloaded() const {
        return static_cast<std::size_t>(std::count_if(receiver_.events.begin(), receiver_.events.end(),
                                                      [](const auto& event) { return event.why == Errc::overloaded; }));
    }
    // Every kind of operation, carried out by the owner, succeeds.
    void expect_served() {
        auto transport = plugin_info.open(na::Uri::parse("shm://?copy=buffers").value(), {}).value();
        na::Transport* raw = transport.get();
        support::RecordingReceiver receiver;
        auto context = na::Context::open({&raw, 1}, {}, receiver).value();
        pump_.add(*context);
        na::Peer* there = nullptr;
        {
            const na::Context::Ownership own(*context);
            there = context->peer(na::Addr::parse("shm://server").value()).value();
            there->acquire();
        }
        std::vector<std::byte> here(memory_.size());
        const na::Segment segment{here.data(), here.size()};
        const auto local = transport->register_memory({&segment, 1}, na::Access::read_write).value();
        unsigned completions = 0;
        std::vector<std::unique_ptr<na::Op>> ops;
        for (const na::OpKind kind : {na::OpKind::get, na::OpKind::fetch_add, na::OpKind::put}) {
            for (int i = 0; i < 64; ++i) {
                na::Op& op = *ops.emplace_back(std::make_unique<na::Op>());
                op.kind = kind;
                op.peer = there;
                op.local = local.get();
                op.remote = {key_, memory_.size()};
                op.bytes = kind == na::OpKind::fetch_add ? 8 : 4096;
                op.user = &completions;
                op.complete = [](na::Op& self) noexcept { ++*static_cast<unsigned*>(self.user); };
                ASSERT_EQ(context->post(op), Errc::ok);
            }
        }
        ASSERT_TRUE(until([&] { return completions == ops.size(); }));
        for (const auto& op : ops) EXPECT_EQ(op->result, Errc::ok);
        EXPECT_EQ(receiver.count(na::PeerEvent::lost), 0u);
        there->release();
        pump_.remove(*context);
        context->close();
    }

    alignas(8) std::array<std::byte, 64 * 1024> memory_{};
    std::array<std::byte, 20> key_{};
    std::vector<std::unique_ptr<RawPeer>> debtors_;
};

TEST_F(SharedPools, a_peer_that_reads_no_answers_does_not_block_others) {
    const na::Segment segment{memory_.data(), memory_.size()};
    const auto memory = transport_->register_memory({&segment, 1}, na::Access::read_write).value();
    na::Lease lease;
    lease.memory = memory.get();
    lease.bytes = memory_.size();
    lease.access = na::Access::read_write;
    ASSERT_EQ(transport_->grant(lease), Errc::ok);
    ByteWriter writer(key_);
    transport_->describe(lease, writer);
    // Each session takes as much as it may.
    for (int i = 0; i < 64; ++i) ASSERT_NO_FATAL_FAILURE(owe(1024));
    EXPECT_EQ(lost(), 0u);
    ASSERT_NO_FATAL_FAILURE(expect_served());
    // Uses up the pool beyond the 64 that are each session's own share.
    for (int i = 0; i < 4; ++i) ASSERT_NO_FATAL_FAILURE(owe(1024));
    ASSERT_NO_FATAL_FAILURE(owe(64 + 64 * 1024 - 68 * (1024 - 64)));
    EXPECT_EQ(lost_overloaded(), 0u);
    ASSERT_NO_FATAL_FAILURE(expect_served());
    ASSERT_NO_FATAL_FAILURE(owe(64));
    EXPECT_EQ(lost_overloaded(), 0u) << "its share";
    ASSERT_NO_FATAL_FAILURE(owe(65));
    EXPECT_EQ(lost_overloaded(), 1u) << "more than its share";
    ASSERT_NO_FATAL_FAILURE(expect_served());
    debtors_.clear();
    EXPECT_EQ(transport_->revoke(lease), Errc::ok);
}

}  // namespace
}  // namespace cinnabar::shm
