// SPDX-License-Identifier: BSD-3-Clause
// A context over `self`, through a transport that can fail, with one peer: itself.
#pragma once

#include "support/fault_transport.hpp"
#include "support/network.hpp"

#include <cinnabar/na/context.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace cinnabar::na {

class ContextTest : public testing::Test {
  protected:
    void open(ThreadUse threads) {
        ContextOptions options;
        options.threads = threads;
        Transport* raw = &faulty_;
        context_ = Context::open({&raw, 1}, options, receiver_).value();
        const Context::Ownership own(*context_);
        peer_ = context_->peer(Addr::make(inner_->endpoints(), 0, 0)).value();
        peer_->acquire();
    }
    [[nodiscard]] std::unique_ptr<Context> open_another(std::size_t id, std::uint64_t routes) {
        ContextOptions options;
        options.threads = ThreadUse::one;
        options.id = static_cast<ContextId>(id);
        options.routes = routes;
        Transport* raw = &faulty_;
        return Context::open({&raw, 1}, options, receiver_).value();
    }
    void TearDown() override {
        if (!context_) return;
        {
            const Context::Ownership own(*context_);
            peer_->release();
        }
        context_.reset();
    }
    void run(const std::function<bool()>& done) {
        const TimeUs end = steady_clock().now_us() + 20'000'000;
        while (!done() && steady_clock().now_us() < end) {
            (void)context_->progress(Microseconds(0));
            (void)context_->trigger(16);
        }
        EXPECT_TRUE(done());
    }

    support::Network network_{support::NetworkKind::self};
    std::unique_ptr<Transport> inner_ = network_.open("a", {}).value();
    support::FaultTransport faulty_{*inner_};
    support::RecordingReceiver receiver_;
    std::unique_ptr<Context> context_;
    Peer* peer_ = nullptr;
};

}  // namespace cinnabar::na
