// SPDX-License-Identifier: BSD-3-Clause
// Several simulated processes on a real tcp network in the test's process, driven on one thread by a pump.
#pragma once

#include "support/log_watch.hpp"
#include "support/patterns.hpp"
#include "support/pump.hpp"
#include "support/recording_receiver.hpp"

#include <cinnabar/na/context.hpp>
#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/tcp.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::tcp {

// An op that records how it ended and gives its message back.
struct TestOp {
    na::Op op;
    unsigned completions = 0;
    Errc result = Errc::ok;
    std::function<void()> then;

    TestOp();
    [[nodiscard]] bool done() const noexcept { return completions > 0; }
};

// One process: a transport and a context on it.
struct Process {
    std::unique_ptr<na::Transport> transport;
    support::RecordingReceiver receiver;
    std::unique_ptr<na::Context> context;

    [[nodiscard]] std::string endpoint() const { return transport->endpoints().front(); }
    [[nodiscard]] na::Port& port() const { return *context->ports().front(); }
    // The peer of the first event. Requires: there is one.
    [[nodiscard]] na::Peer& only_peer() const;
};

struct Lent {
    std::unique_ptr<na::Memory> memory;
    na::Lease lease;
    std::array<std::byte, 16> key{};
    [[nodiscard]] na::RemoteMemory remote() const { return {key, lease.bytes}; }
};

class TcpTest : public testing::Test {
  protected:
    TcpTest() = default;
    ~TcpTest() override;

    // tcp, and tcps and ofis if the test is built with them.
    [[nodiscard]] static na::Registry registry();
    [[nodiscard]] static na::TransportOptions listening();
    Process& open(const std::string& uri = "tcp://127.0.0.1:0", na::TransportOptions options = listening(),
                  na::ContextOptions context = {});
    // Another context on that process's transport.
    Process& open_sibling(Process& first, na::ContextId id);
    // Closes its sockets, as if the process had ended.
    void close(Process& process);

    [[nodiscard]] na::Peer& peer(Process& from, const std::string& uri);
    [[nodiscard]] na::Peer& peer(Process& from, const Process& to) { return peer(from, to.endpoint()); }
    [[nodiscard]] na::Peer& peer_at(Process& from, const na::Addr& addr);
    TestOp& send(Process& from, na::Peer& to, na::Tag tag, std::size_t bytes = 64,
                 na::OpKind kind = na::OpKind::send_unexpected);
    TestOp& rma(Process& from, na::Peer& to, na::OpKind kind, na::Memory& local, const Lent& remote,
                std::uint64_t bytes, std::uint64_t offset = 0);
    [[nodiscard]] std::unique_ptr<na::Memory> registered(Process& process, std::vector<na::Segment> segments,
                                                         na::Access access = na::Access::read_write);
    Lent& lend(Process& process, std::vector<na::Segment> segments, na::Access access = na::Access::read_write);
    void revoke(Process& process, Lent& lent);

    [[nodiscard]] testing::AssertionResult until(const std::function<bool()>& done);
    // Connects by sending a message and waiting for its arrival.
    void connect(Process& from, na::Peer& to, Process& target);

    support::LogWatch log_;
    support::Pump pump_;
    std::deque<Process> processes_;
    std::deque<TestOp> ops_;
    std::deque<Lent> lent_;
    std::vector<std::pair<Process*, na::Peer*>> held_;
};

}  // namespace cinnabar::tcp
