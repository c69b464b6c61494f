// SPDX-License-Identifier: BSD-3-Clause
#include "bulk_fixture.hpp"

#include <algorithm>

namespace cinnabar::bulk {

Side& BulkOn::add(const std::string& name, const MoverOptions& options, const Wrap& wrap) {
    Side& side = sides_.emplace_back();
    side.name = name;
    na::TransportOptions transport_options;
    transport_options.listen = true;
    na::ContextOptions context_options;
    context_options.threads = ThreadUse::one;
    if (network.one_process() && shared_) {
        side.transport = shared_;
        context_options.id = static_cast<na::ContextId>(sides_.size() - 1);
    } else {
        side.transport = network.open(name, transport_options).value();
        shared_ = side.transport;
    }
    if (wrap) side.transport = wrap(side.transport);
    na::Transport* pointer = side.transport.get();
    side.context = na::Context::open({&pointer, 1}, context_options, side.receiver).value();
    side.mover = std::make_unique<Mover>(*side.context, std::vector{side.transport}, options);
    side.addr = na::Addr::make(side.transport->endpoints(), context_options.id, 0);
    pump.add(*side.context);
    return side;
}

LentRegion& BulkOn::lend(Side& owner, const Region& region, na::Access access, bool bound) {
    LentRegion& lent = lent_.emplace_back();
    lent.owner = &owner;
    lent.fenced.run = [](WorkItem& work) noexcept { static_cast<LentRegion&>(Lend::of(work)).is_fenced = true; };
    EXPECT_EQ(lent.grant(region, access, owner.transport), Errc::ok);
    na::Lease* lease = &lent.lease();
    const Description description{{&lease, 1}, bound ? owner.addr : na::Addr(), {}};
    lent.encoded.resize(described_bytes(description));
    ByteWriter writer(lent.encoded);
    describe(description, writer);
    ByteReader reader(lent.encoded);
    EXPECT_EQ(RemoteRegion::decode(reader, lent.remote), Errc::ok);
    return lent;
}

void BulkOn::revoke(LentRegion& lent) {
    if (!lent.granted() || lent.fencing) return;
    lent.fencing = true;
    if (lent.revoke() == Errc::ok) lent.is_fenced = true;
}

void BulkOn::revoke_all() {
    for (LentRegion& lent : lent_) revoke(lent);
    EXPECT_TRUE(pump.until([this] {
        return std::all_of(lent_.begin(), lent_.end(), [](const LentRegion& lent) { return lent.is_fenced; });
    }));
}

void BulkOn::start(Side& side, const TransferArgs& args, Outcome& outcome) {
    Errc why = Errc::ok;
    outcome.mover = side.mover.get();
    outcome.transfer = side.mover->start(
        args,
        [](Transfer& transfer, void* user) noexcept {
            auto& ended = *static_cast<Outcome*>(user);
            ++ended.completions;
            ended.result = transfer.result();
            ended.mover->release(transfer);
        },
        &outcome, Deliver::queued, nullptr, why);
    ASSERT_EQ(why, Errc::ok);
}

void BulkOn::close(Side& side) {
    if (!side.context) return;
    side.mover->close();
    for (int rounds = 0; rounds < 4; ++rounds) (void)pump.round();
    pump.remove(*side.context);
    side.context->close();
    while (side.context->trigger(16) != 0) {
    }
    EXPECT_EQ(side.mover->transfers(), 0u);
    EXPECT_EQ(side.mover->bytes_inflight(), 0u);
    EXPECT_EQ(side.context->ops_posted(), 0u);
    side.mover.reset();
    side.context.reset();
}

BulkOn::~BulkOn() {
    revoke_all();
    for (Side& side : sides_) close(side);
}

}  // namespace cinnabar::bulk
