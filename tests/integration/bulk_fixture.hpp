// SPDX-License-Identifier: BSD-3-Clause
// Simulated processes with movers on any network, all on one thread, and memory that they lend to each other.
#pragma once

#include "support/log_watch.hpp"
#include "support/network.hpp"
#include "support/scattered.hpp"

#include <cinnabar/bulk/lend.hpp>
#include <cinnabar/bulk/transfer.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::bulk {

struct Side {
    std::string name;
    std::shared_ptr<na::Transport> transport;
    support::RecordingReceiver receiver;
    std::unique_ptr<na::Context> context;
    std::unique_ptr<Mover> mover;
    na::Addr addr;
};

// A region that its owner lends, with the RemoteRegion that others use.
struct LentRegion : Lend {
    Side* owner = nullptr;
    std::vector<std::byte> encoded;
    RemoteRegion remote;
    bool fencing = false;
    bool is_fenced = false;  // the memory is no longer accessed, or its quarantine has begun
};

struct Outcome {
    int completions = 0;
    Errc result = Errc::again;
    Transfer* transfer = nullptr;
    Mover* mover = nullptr;
};

class BulkOn {
  public:
    BulkOn(support::NetworkKind kind, std::uint64_t seed) : network(kind, seed), pump(network.world_or_null()) {}
    ~BulkOn();

    using Wrap = std::function<std::shared_ptr<na::Transport>(std::shared_ptr<na::Transport>)>;
    // `wrap` may wrap the network's transport; the wrapper must keep the inner transport alive.
    Side& add(const std::string& name, const MoverOptions& options = {}, const Wrap& wrap = nullptr);

    LentRegion& lend(Side& owner, const Region& region, na::Access access = na::Access::read_write, bool bound = false);
    // Starts the fence; LentRegion::is_fenced tells when it is complete.
    void revoke(LentRegion& lent);
    // Revokes all lent regions and waits for the fences.
    void revoke_all();
    void close(Side& side);

    [[nodiscard]] static TransferArgs args_of(const LentRegion& lent, const Region& local,
                                              Direction direction = Direction::pull) {
        TransferArgs args;
        args.direction = direction;
        args.remote = &lent.remote;
        args.local = local;
        args.bytes = local.bytes();
        args.peer = lent.owner->addr;
        return args;
    }
    void start(Side& side, const TransferArgs& args, Outcome& outcome);
    [[nodiscard]] bool until_done(const Outcome& outcome) {
        return pump.until([&outcome] { return outcome.completions > 0; });
    }

    support::LogWatch log;
    support::Network network;
    support::Pump pump;

  private:
    std::shared_ptr<na::Transport> shared_;  // for `self`, which is one process
    std::deque<Side> sides_;
    std::deque<LentRegion> lent_;
};

}  // namespace cinnabar::bulk
