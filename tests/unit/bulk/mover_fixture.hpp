// SPDX-License-Identifier: BSD-3-Clause
// One context on fake transports, its mover, and lent memory as the remote end of transfers.
#pragma once

#include "fake_transport.hpp"
#include "support/patterns.hpp"
#include "support/recording_receiver.hpp"
#include "support/scattered.hpp"

#include <cinnabar/bulk/lend.hpp>
#include <cinnabar/bulk/transfer.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::bulk {

using support::Scattered;

// Memory lent on transports, and its descriptor as the other side sees it.
class Lent {
  public:
    Lent(const Region& region, const std::vector<std::shared_ptr<FakeTransport>>& transports,
         na::Access access = na::Access::read_write, const na::Addr& owner = {}, ConstBytes eager = {}) {
        std::vector<na::Lease*> leases;
        for (const auto& transport : transports) {
            lends_.push_back(std::make_unique<Lend>());
            EXPECT_EQ(lends_.back()->grant(region, access, transport), Errc::ok);
            leases.push_back(&lends_.back()->lease());
        }
        const Description description{leases, owner, eager};
        encoded_.resize(described_bytes(description));
        ByteWriter writer(encoded_);
        describe(description, writer);
        EXPECT_TRUE(writer.ok());
        EXPECT_EQ(writer.left(), 0u);
        ByteReader reader(encoded_);
        EXPECT_EQ(RemoteRegion::decode(reader, remote), Errc::ok);
        EXPECT_EQ(reader.left(), 0u);
    }
    ~Lent() { revoke(); }
    void revoke() {
        for (auto& lend : lends_) {
            if (!lend->granted()) continue;
            EXPECT_EQ(lend->revoke(), Errc::ok);
        }
    }
    RemoteRegion remote;

  private:
    std::vector<std::unique_ptr<Lend>> lends_;
    std::vector<std::byte> encoded_;
};

// The outcome of one transfer.
struct Outcome {
    int completions = 0;
    Errc result = Errc::again;
    std::vector<std::uint64_t> progress;
    Transfer* transfer = nullptr;
    Mover* mover = nullptr;
    bool release = true;  // release the transfer in the completion

    static void done(Transfer& transfer, void* user) noexcept {
        auto& outcome = *static_cast<Outcome*>(user);
        ++outcome.completions;
        outcome.result = transfer.result();
        if (outcome.release) outcome.mover->release(transfer);
    }
    static void grown(Transfer&, std::uint64_t bytes_done, void* user) noexcept {
        static_cast<Outcome*>(user)->progress.push_back(bytes_done);
    }
};

struct MoverFixture : ::testing::Test {
    explicit MoverFixture(ThreadUse threads = ThreadUse::one) : threads_(threads) {
        transport = std::make_shared<FakeTransport>();
        transport->clock_ = &clock;
    }
    // At the end of every test nothing is held any more.
    void TearDown() override {
        if (!context) return;
        if (mover) {
            EXPECT_EQ(mover->transfers(), 0u);
            EXPECT_EQ(mover->bytes_inflight(), 0u);
            mover.reset();
        }
        EXPECT_EQ(context->ops_posted(), 0u);
        EXPECT_EQ(context->next_timer_us(), time_never) << "a timer was left armed";
        EXPECT_EQ(port().peers_referenced(), 0u);
        context.reset();
    }

    void open(MoverOptions options = {}, const std::vector<std::shared_ptr<FakeTransport>>& more = {}) {
        std::vector<std::shared_ptr<na::Transport>> all{transport};
        std::vector<na::Transport*> pointers{transport.get()};
        for (const auto& other : more) {
            other->clock_ = &clock;
            all.push_back(other);
            pointers.push_back(other.get());
        }
        na::ContextOptions context_options;
        context_options.threads = threads_;
        context = na::Context::open(pointers, context_options, receiver).value();
        mover = std::make_unique<Mover>(*context, all, options);
    }
    FakePort& port() { return *transport->port; }

    [[nodiscard]] TransferArgs args_of(const Lent& lent, const Region& local, Direction direction = Direction::pull) {
        TransferArgs args;
        args.direction = direction;
        args.remote = &lent.remote;
        args.local = local;
        args.bytes = local.bytes();
        args.peer = transport->addr("peer");
        return args;
    }
    Transfer* start(const TransferArgs& args, Outcome& outcome, Deliver deliver = Deliver::queued) {
        Errc why = Errc::ok;
        outcome.mover = mover.get();
        outcome.transfer = mover->start(args, &Outcome::done, &outcome, deliver, &Outcome::grown, why);
        EXPECT_EQ(outcome.transfer == nullptr, why != Errc::ok);
        if (!outcome.transfer) outcome.result = why;
        return outcome.transfer;
    }
    // Runs until nothing happens any more; time does not advance.
    void run() {
        while (context->progress(Microseconds{0}) + context->trigger(64) > 0 || context->has_completions()) {
        }
    }
    void pass(Microseconds span) {
        clock.now += static_cast<TimeUs>(span.count());
        run();
    }

    ManualClock clock;
    support::RecordingReceiver receiver;
    std::shared_ptr<FakeTransport> transport;
    std::unique_ptr<na::Context> context;
    std::unique_ptr<Mover> mover;

  private:
    const ThreadUse threads_;
};

class MoverTest : public MoverFixture {};

class MoverOfBothKinds : public MoverFixture, public ::testing::WithParamInterface<ThreadUse> {
  protected:
    MoverOfBothKinds() : MoverFixture(GetParam()) {}
};

}  // namespace cinnabar::bulk
