// SPDX-License-Identifier: BSD-3-Clause
// Memory runs out during an incoming connection or a dial: only that connection or dial fails. This is a program of its
// own, because its malloc is replaced.
#include "contract.hpp"
#include "support/allocation_count.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/na/session/resolver.hpp>

#include <filesystem>
#include <iterator>
#include <optional>

namespace cinnabar::contract {
namespace {

constexpr std::uint64_t plenty = 1'000'000;

// How many allocations are left.
struct Left {
    std::uint64_t here = plenty;
    std::uint64_t resolver = plenty;  // from one name lookup to the next
};
Left left;

// Replaces the name server: every name is this host.
Result<std::vector<na::SocketAddress>> look_up(const std::string&) {
    static thread_local std::optional<support::NoMemory> out;
    out.reset();
    const auto this_host = na::Uri::parse("tcp://127.0.0.1").value();
    out.emplace(left.resolver);
    return *na::resolve_at_once(this_host, na::Purpose::listen);
}

class NoMemoryContract : public ContractTest {
  protected:
    void SetUp() override {
        if (!support::NoMemory::works()) GTEST_SKIP() << "a sanitizer owns malloc";
        log_.allow("out of memory");
        log_.allow("transfers nothing to");  // its bytes wait for memory
        ContractTest::SetUp();
    }
    // Some ends can be reported only with memory available, and then wait for this timeout.
    static na::TransportOptions impatient() {
        na::TransportOptions options = listening();
        options.connect_timeout = Microseconds{1'000'000};
        return options;
    }
    static std::ptrdiff_t descriptors() {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    }
    // The target's process makes progress with `spared` allocations left, all other processes without a limit.
    void round_short(std::uint64_t& spared) {
        for (Node* node : process_) pump_.remove(*node->context);
        {
            const support::NoMemory out(spared);
            for (Node* node : process_) (void)node->context->progress(Microseconds{0});
        }
        (void)pump_.round();
        for (Node* node : process_) pump_.add(*node->context);
    }
    // `handed_over`: another context of the process accepts connections and hands them over.
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
    // A process dials while the target has `spared` allocations left, then closes. Returns whether it was accepted.
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
        // The target may need memory to read the end of a connection.
        EXPECT_TRUE(run_until([&] {
            return target.receiver.count(na::PeerEvent::lost) >= target.receiver.count(na::PeerEvent::connected);
        }));
        return in;
    }
    // For each allocation of an incoming connection: it and all later ones fail.
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

    // Rejected connections leak nothing.
    void fail_each_and_look_for_leaks(bool handed_over) {
        fail_each(handed_over);
        const auto open = descriptors();
        const auto blocks = support::blocks_in_use();
        fail_each(handed_over);
        EXPECT_EQ(descriptors(), open);
        EXPECT_EQ(support::blocks_in_use(), blocks);
    }

    // The dialling process. Each dial is the first of its node and looks the name up again.
    [[nodiscard]] Node& make_dialler() {
        Node& dialler = make_node("dialler", impatient());
        dialler.receiver.events.reserve(1000);
        process_ = {&dialler};
        na::set_host_lookup(&look_up);
        return dialler;
    }
    // Makes the peer of an address and sends a message to it while memory is short; returns the first error.
    [[nodiscard]] Errc sends(Node& from, const na::Addr& to) {
        na::Peer* peer = nullptr;
        {
            const support::NoMemory out(left.here);
            const auto found = from.context->peer(to);
            if (!found) return found.code();
            peer = *found;
            peer->acquire();
        }
        held_peers_.emplace_back(&from, peer);
        TestOp& op = make_message(*peer, 1, 8);
        Errc taken = Errc::again;
        {
            const support::NoMemory out(left.here);
            taken = post_now(from, op);
        }
        EXPECT_EQ(taken, Errc::ok) << to_string(taken);
        const TimeUs until = steady_clock().now_us() + 20'000'000;
        while (!op.done() && steady_clock().now_us() < until) round_short(left.here);
        EXPECT_TRUE(op.done()) << "the dial has no end";
        return op.result;
    }
    // For each allocation of a dial, on this thread or on the resolver's: it and all later ones fail. Afterwards the
    // same address can be reached.
    void fail_each_dial(bool by_name, std::uint64_t Left::*where) {
        Node& target = make_node("target", listening());
        target.receiver.record = false;
        const na::Addr addr = by_name ? named(target) : target.addr();
        for (std::uint64_t kept = 0;; ++kept) {
            SCOPED_TRACE(kept);
            ASSERT_LT(kept, 1000u);
            Node& dialler = make_dialler();
            left = {};
            left.*where = kept;
            const Errc why = sends(dialler, addr);
            const bool expected = why == Errc::ok || why == Errc::out_of_memory || why == Errc::overloaded;
            // Without memory the transport cannot tell whether an endpoint of shared memory is on this host.
            EXPECT_TRUE(expected || (is_shm() && why == Errc::unreachable)) << to_string(why);
            const bool enough = why == Errc::ok && left.*where > 0;
            left = {};
            ASSERT_TRUE(run_until([&] { return sends(dialler, addr) == Errc::ok; })) << "it dials no more";
            close(dialler);
            ops_.clear();
            if (enough) return;
        }
    }
    [[nodiscard]] bool is_shm() const {
        return network_.kind() == NetworkKind::shm || network_.kind() == NetworkKind::shm_buffers;
    }
    [[nodiscard]] static na::Addr named(Node& target) {
        std::string endpoint = target.transport->endpoints().front();
        const auto host = endpoint.find("//") + 2;
        endpoint.replace(host, endpoint.rfind(':') - host, "host.test");
        return na::Addr::make({endpoint}, target.context->options().id, 0);
    }

    std::vector<Node*> process_;  // the process that is short of memory; its last context is the one that is tested
    int came_ = 0;
};

TEST_P(NoMemoryContract, AnIncomingConnectionIsRejected) { fail_each_and_look_for_leaks(false); }

TEST_P(NoMemoryContract, AConnectionForAnotherContextIsRejected) { fail_each_and_look_for_leaks(true); }

TEST_P(NoMemoryContract, ADialFailsAlone) { fail_each_dial(false, &Left::here); }

TEST_P(NoMemoryContract, ADialByNameFailsAlone) {
    CINNABAR_NEEDS("names of hosts", !is_shm());
    fail_each_dial(true, &Left::here);
}

TEST_P(NoMemoryContract, ADialFailsAloneWhenItsNameCannotBeLookedUp) {
    CINNABAR_NEEDS("names of hosts", !is_shm());
    fail_each_dial(true, &Left::resolver);
}

// Leaves out libfabric's `net`, which leaks memory with each connection, and tcps and ofis (the next kind), since
// OpenSSL allocates very often in a handshake.
bool is_tried(NetworkKind kind) {
    return kind >= NetworkKind::tcp && kind <= NetworkKind::ofi_tcp_rxm && kind != NetworkKind::tcps;
}

INSTANTIATE_TEST_SUITE_P(On, NoMemoryContract, testing::ValuesIn([] {
                             auto all = support::networks();
                             std::erase_if(all, [](NetworkKind kind) { return !is_tried(kind); });
                             return all;
                         }()),
                         [](const auto& i) { return std::string(support::to_string(i.param)); });

}  // namespace
}  // namespace cinnabar::contract
