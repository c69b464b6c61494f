// SPDX-License-Identifier: BSD-3-Clause
// Peers that send requests but do not read the answers: when a shared pool is exhausted, the sessions that hold most of
// it end.
#include "pools.hpp"
#include "session.hpp"
#include "stranger.hpp"
#include "support/network.hpp"
#include "support/pump.hpp"
#include "support/recording_receiver.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/na/context.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::ofi {
namespace {

using support::NetworkKind;

// One side: a transport and a context of the library.
struct Side {
    void open(support::Network& network, support::Pump& pump, const char* name, bool listen) {
        na::TransportOptions options;
        options.listen = listen;
        transport = network.open(name, options).value();
        na::ContextOptions one;
        one.threads = ThreadUse::one;
        na::Transport* const only = transport.get();
        context = na::Context::open({&only, 1}, one, receiver).value();
        pump.add(*context);
    }
    support::RecordingReceiver receiver;
    std::unique_ptr<na::Transport> transport;
    std::unique_ptr<na::Context> context;
};

std::uint16_t port_of(const sockaddr_storage& name) {
    return name.ss_family == AF_INET ? ntohs(reinterpret_cast<const sockaddr_in&>(name).sin_port) : 0;
}
std::uint16_t fabric_port(ConstBytes address) {
    sockaddr_storage name{};
    std::memcpy(&name, address.data(), std::min(address.size(), sizeof name));
    return port_of(name);
}

// Bounds the socket buffers between the ports `from` and `to`, so that less data fills them. A receive buffer must not
// become smaller than the announced window, or the kernel drops packets and the acknowledgements in them.
void bound_sockets(std::uint16_t from, std::uint16_t to) {
    constexpr int sent_bytes = 4096;
    constexpr int received_bytes = 64 * 1024;
    for (int fd = 3; fd < 4096; ++fd) {
        sockaddr_storage here{};
        sockaddr_storage there{};
        socklen_t bytes = sizeof here;
        if (::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &bytes) != 0) continue;
        bytes = sizeof there;
        if (::getpeername(fd, reinterpret_cast<sockaddr*>(&there), &bytes) != 0) continue;
        if (port_of(here) == from || port_of(there) == to) {
            EXPECT_EQ(::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sent_bytes, sizeof sent_bytes), 0);
        } else if (port_of(there) == from || port_of(here) == to) {
            EXPECT_EQ(::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &received_bytes, sizeof received_bytes), 0);
        }
    }
}

// Lines of any level that contain `part`.
class LinesWith {
  public:
    explicit LinesWith(std::string_view part) : part_(part) {
        set_log_level(LogLevel::info);
        set_log_sink(&LinesWith::take, this);
    }
    ~LinesWith() {
        set_log_sink(nullptr, nullptr);
        set_log_level(LogLevel::warning);
    }
    LinesWith(const LinesWith&) = delete;
    LinesWith& operator=(const LinesWith&) = delete;
    [[nodiscard]] unsigned count() const noexcept { return count_.load(); }

  private:
    static void take(const LogLine& line, void* user) {
        auto& self = *static_cast<LinesWith*>(user);
        if (line.text.find(self.part_) != std::string_view::npos) ++self.count_;
    }
    const std::string_view part_;
    std::atomic<unsigned> count_{0};
};

constexpr std::size_t lent_bytes = 64;

struct Get {
    na::Op op;
    std::array<std::byte, lent_bytes> here{};
    std::array<std::byte, na::LeaseKey::wire_bytes> key{};
    std::unique_ptr<na::Memory> memory;
    bool done = false;
};

class SilentPeers : public testing::TestWithParam<NetworkKind> {
  protected:
    void SetUp() override {
        if (const std::string missing = network_.missing(); !missing.empty()) GTEST_SKIP() << missing;
        server_.open(network_, pump_, "server", true);
        const na::Segment lent{lent_.data(), lent_.size()};
        memory_ = server_.transport->register_memory({&lent, 1}, na::Access::read).value();
        lease_.memory = memory_.get();
        lease_.bytes = lent_bytes;
        lease_.access = na::Access::read;
        lease_.fenced.run = [](WorkItem&) noexcept {};
        ASSERT_EQ(server_.transport->grant(lease_), Errc::ok);
    }
    void TearDown() override {
        if (lease_.granted()) (void)server_.transport->revoke(lease_);
    }
    [[nodiscard]] std::string target() const { return server_.transport->endpoints().front(); }
    // The result of a get from the server.
    Errc get(Side& side) {
        Get& get = gets_.emplace_back();
        get.op.kind = na::OpKind::get;
        get.op.peer = side.context->peer(na::Addr::parse(target()).value()).value();
        const na::Segment segment{get.here.data(), get.here.size()};
        get.memory = side.transport->register_memory({&segment, 1}, na::Access::read_write).value();
        ByteWriter writer(get.key);
        server_.transport->describe(lease_, writer);
        get.op.local = get.memory.get();
        get.op.remote = {get.key, lent_bytes};
        get.op.bytes = lent_bytes;
        get.op.user = &get;
        get.op.complete = [](na::Op& self) noexcept { static_cast<Get*>(self.user)->done = true; };
        EXPECT_EQ(side.context->post_owned(get.op), Errc::ok);
        EXPECT_TRUE(pump_.until([&] { return get.done; }));
        EXPECT_TRUE(get.op.result != Errc::ok || std::equal(get.here.begin(), get.here.end(), lent_.begin()));
        return get.op.result;
    }
    // Lends memory of `bytes` bytes; returns the body of a transfer of all of it.
    [[nodiscard]] TransferBody lend_large(std::size_t bytes, na::Access access) {
        large_.resize(bytes);
        const na::Segment segment{large_.data(), bytes};
        large_memory_ = server_.transport->register_memory({&segment, 1}, access).value();
        large_lease_.memory = large_memory_.get();
        large_lease_.bytes = bytes;
        large_lease_.access = access;
        large_lease_.fenced.run = [](WorkItem&) noexcept {};
        EXPECT_EQ(server_.transport->grant(large_lease_), Errc::ok);
        TransferBody body;
        body.key = {large_lease_.slot, large_lease_.generation, large_lease_.key};
        body.bytes = bytes;
        return body;
    }
    void take_large_back() {
        (void)server_.transport->revoke(large_lease_);
        EXPECT_TRUE(pump_.until([&] { return !large_lease_.granted(); }));
    }
    // The result of a put into all of the lent memory.
    Errc put_large(Side& side) {
        const std::size_t bytes = large_.size();
        std::vector<std::byte> from(bytes, std::byte{5});
        const na::Segment segment{from.data(), from.size()};
        const auto memory = side.transport->register_memory({&segment, 1}, na::Access::read).value();
        std::array<std::byte, na::LeaseKey::wire_bytes> key{};
        ByteWriter writer(key);
        server_.transport->describe(large_lease_, writer);
        na::Op op;
        bool done = false;
        op.kind = na::OpKind::put;
        op.peer = side.context->peer(na::Addr::parse(target()).value()).value();
        op.local = memory.get();
        op.remote = {key, bytes};
        op.bytes = bytes;
        op.user = &done;
        op.complete = [](na::Op& self) noexcept { *static_cast<bool*>(self.user) = true; };
        EXPECT_EQ(side.context->post_owned(op), Errc::ok);
        EXPECT_TRUE(pump_.until([&] { return done; }));
        return op.result;
    }
    // Connects `count` strangers, each with one session. `little`: their sockets get small buffers.
    void invite(std::size_t count, bool little = true) {
        for (std::size_t i = 0; i < count; ++i) {
            Stranger& stranger = strangers_.emplace_back(target());
            ASSERT_EQ(stranger.connect(pump_), 0u);
            if (!little) continue;
            bound_sockets(fabric_port(stranger.theirs(0)), fabric_port(stranger.endpoint().address()));
        }
    }
    // Each stranger sends `frames` frames, a few at a time so that the server reads them; fewer if its session ends.
    void flood(FrameKind kind, std::size_t frames) {
        constexpr std::size_t at_once = 8;
        TransferBody body;
        body.bytes = 8;  // of an unknown lease
        for (std::size_t i = 0; i < frames; ++i) {
            for (Stranger& stranger : strangers_) {
                if (i % at_once == 0 && stranger.ended(0)) continue;
                (void)stranger.shout(0, kind, next_id_, body);
            }
            if (i % at_once == 0) {
                for (int rounds = 0; rounds < 4; ++rounds) (void)pump_.round();
            }
            ++next_id_;
        }
    }
    // Runs until so many sessions have ended, while the strangers send more requests than they read answers.
    bool until_paid(std::size_t sessions, FrameKind kind) {
        return pump_.until([&] {
            flood(kind, 100);
            for (Stranger& stranger : strangers_) stranger.poll();
            return std::count_if(strangers_.begin(), strangers_.end(), [](const Stranger& each) {
                       return each.ended(0);
                   }) >= static_cast<std::ptrdiff_t>(sessions);
        });
    }
    // A peer that was connected before and a new one are both served.
    void others_are_served() {
        EXPECT_EQ(get(friend_), Errc::ok);
        EXPECT_EQ(friend_.receiver.count(na::PeerEvent::lost), 0u);
        latecomer_.open(network_, pump_, "latecomer", false);
        EXPECT_EQ(get(latecomer_), Errc::ok);
        EXPECT_EQ(latecomer_.receiver.count(na::PeerEvent::lost), 0u);
    }

    // Otherwise RxM holds 16 KiB for each small frame that waits, 4 GiB in all. It reads this when it is first used.
    const int small_buffers_ = ::setenv("FI_OFI_RXM_BUFFER_SIZE", "2048", 0);
    support::Network network_{GetParam()};
    support::Pump pump_;
    std::vector<std::byte> lent_ = std::vector<std::byte>(lent_bytes, std::byte{9});
    std::unique_ptr<na::Memory> memory_;
    na::Lease lease_;
    std::vector<std::byte> large_;
    std::unique_ptr<na::Memory> large_memory_;
    na::Lease large_lease_;
    std::deque<Stranger> strangers_;
    std::uint64_t next_id_ = 0;
    std::deque<Get> gets_;  // their memory must outlive the contexts
    Side server_;
    Side friend_;
    Side latecomer_;
};

// Together the strangers could hold all control frames of the server, and all room of its provider.
TEST_P(SilentPeers, APeerThatReadsNoAnswersIsEnded) {
    friend_.open(network_, pump_, "friend", false);
    ASSERT_EQ(get(friend_), Errc::ok);
    ASSERT_NO_FATAL_FAILURE(invite(20));
    flood(FrameKind::get, 5000);
    EXPECT_TRUE(until_paid(1, FrameKind::get));
    others_are_served();
}

// With so many sessions, all notes are used up before any session has as many as would end it by itself.
TEST_P(SilentPeers, SessionsThatEndForOthersFillNoLog) {
    if (GetParam() == NetworkKind::ofi_tcp_rxm) GTEST_SKIP() << "they fill its room before they have used all notes";
    constexpr std::size_t lines_max = LogLimit::burst_default;
    const LinesWith lines("holds the most of a shared pool");
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_NO_FATAL_FAILURE(invite(40));
    flood(FrameKind::get, 5000);
    EXPECT_TRUE(until_paid(lines_max + 5, FrameKind::get));
    const auto periods = (std::chrono::steady_clock::now() - begin) / LogLimit::period_default;
    EXPECT_GE(lines.count(), 1u);
    EXPECT_LE(lines.count(), lines_max + static_cast<std::size_t>(periods) + 1);
}

// Some providers queue answers without limit, which also takes memory: these peers' sessions end as well.
TEST_P(SilentPeers, APeerThatReadsNoSmallAnswersIsEnded) {
    friend_.open(network_, pump_, "friend", false);
    ASSERT_EQ(get(friend_), Errc::ok);
    ASSERT_NO_FATAL_FAILURE(invite(4));
    flood(FrameKind::probe, 40'000);
    EXPECT_TRUE(until_paid(4, FrameKind::probe));
    others_are_served();
}

// After a stop the peer has to say how many chunks of the get it has sent. This peer reads everything but does not
// answer.
TEST_P(SilentPeers, APeerThatAnswersNoStopsIsEnded) {
    constexpr std::size_t large = 2 * small_bytes_max;
    ASSERT_NO_FATAL_FAILURE(invite(1, false));
    na::Peer* const peer = server_.receiver.events.back().peer;
    std::vector<std::byte> here(large);
    const na::Segment segment{here.data(), here.size()};
    const auto memory = server_.transport->register_memory({&segment, 1}, na::Access::read_write).value();
    const auto lost = [&] { return server_.receiver.count(na::PeerEvent::lost) > 0; };
    std::size_t stopped = 0;
    for (; stopped < 2 * Origin::unanswered_max && !lost(); ++stopped) {
        Get& get = gets_.emplace_back();
        get.op.kind = na::OpKind::get;
        get.op.peer = peer;
        get.op.local = memory.get();
        get.op.remote = {get.key, large};
        get.op.bytes = large;
        get.op.user = &get;
        get.op.complete = [](na::Op& self) noexcept { static_cast<Get*>(self.user)->done = true; };
        ASSERT_EQ(server_.context->post_owned(get.op), Errc::ok);
        ASSERT_TRUE(pump_.until([&] {
            strangers_.front().poll();
            return strangers_.front().heard.size() > 2 * stopped;  // all requests and stops so far
        }));
        (void)pump_.round();
        server_.context->cancel_owned(get.op);
        ASSERT_TRUE(pump_.until([&] { return get.done; }));
    }
    EXPECT_EQ(stopped, Origin::unanswered_max + 1);
    ASSERT_TRUE(lost());
    EXPECT_EQ(server_.receiver.events.back().why, Errc::timed_out);
}

// Large gets of lent memory, without receives posted for their chunks.
TEST_P(SilentPeers, APeerThatRequestsMoreThanItReadsIsEnded) {
    ASSERT_NO_FATAL_FAILURE(invite(1, false));
    TransferBody body = lend_large(1024 * 1024, na::Access::read);
    body.chunk = small_bytes_max;
    const auto lost = [&] { return server_.receiver.count(na::PeerEvent::lost) > 0; };
    for (std::uint64_t id = 0; id < 2 * Owner::requests_max && !lost(); ++id) {
        body.tag = (id + 1) << chunk_number_bits;
        strangers_.front().say(0, FrameKind::get, id, body);
        strangers_.front().poll();
        (void)pump_.round();
    }
    EXPECT_TRUE(pump_.until([&] {
        strangers_.front().poll();
        return lost();
    }));
    EXPECT_EQ(server_.receiver.events.back().why, Errc::overloaded);
    strangers_.clear();  // otherwise the provider keeps its sends
    take_large_back();
}

// Large puts whose chunks never arrive, until the server or its provider has no more room.
TEST_P(SilentPeers, APeerThatSendsNoChunksIsEndedForOthers) {
    constexpr std::uint32_t chunk = 2 * small_bytes_max;
    TransferBody body = lend_large(std::size_t{2} * Owner::served_max * chunk, na::Access::write);
    body.chunk = chunk;

    EXPECT_NO_FATAL_FAILURE(invite(1, false));
    Stranger& stranger = strangers_.front();
    const auto takes_its_share = [&](std::size_t session) {
        stranger.heard.clear();
        stranger.say(session, FrameKind::put, session, body);
        for (int rounds = 0; rounds < 1000 && stranger.heard.size() < Owner::served_max; ++rounds) {
            stranger.poll();
            (void)pump_.round();
        }
        return stranger.heard.size() == Owner::served_max;
    };
    std::size_t session = 0;
    while (takes_its_share(session) && session < staging_default) session = stranger.connect(pump_);
    EXPECT_GT(session, 64u);
    EXPECT_LE(session, staging_default / Owner::served_max);

    friend_.open(network_, pump_, "friend", false);
    EXPECT_EQ(put_large(friend_), Errc::ok);
    EXPECT_EQ(large_.back(), std::byte{5});
    EXPECT_GE(server_.receiver.count(na::PeerEvent::lost), 1u);
    EXPECT_LE(server_.receiver.count(na::PeerEvent::lost), 4u) << "more than there was need for";
    EXPECT_EQ(server_.receiver.events.back().why, Errc::timed_out);
    take_large_back();
}

// Peers that this side gets memory from, and that neither send nor answer.
class SilentLenders : public SilentPeers {
  protected:
    void SetUp() override {
        ASSERT_NO_FATAL_FAILURE(SilentPeers::SetUp());
        if (IsSkipped()) return;
        // 16 chunks, whatever their size.
        const std::size_t bytes = std::min<std::size_t>(server_.transport->limits().rma_bytes_max / 16, 1024 * 1024);
        here_.resize(GetParam() == NetworkKind::ofi_tcp_rxm ? 16 * bytes : bytes);
        const na::Segment segment{here_.data(), here_.size()};
        here_memory_ = server_.transport->register_memory({&segment, 1}, na::Access::read_write).value();
        friend_.open(network_, pump_, "friend", false);
        ASSERT_EQ(get(friend_), Errc::ok);
        friends_peer_ = server_.receiver.events.back().peer;
    }
    void TearDown() override {
        if (friends_lease_.granted()) (void)friend_.transport->revoke(friends_lease_);
        SilentPeers::TearDown();
    }
    // Posts a get of this side.
    Get& post_get(na::Peer& from) {
        Get& get = gets_.emplace_back();
        get.op.kind = na::OpKind::get;
        get.op.peer = &from;
        get.op.local = here_memory_.get();
        get.op.remote = {get.key, here_.size()};
        get.op.bytes = here_.size();
        get.op.user = &get;
        get.op.complete = [](na::Op& self) noexcept { static_cast<Get*>(self.user)->done = true; };
        if (&from == friends_peer_) friend_lends(get);
        EXPECT_EQ(server_.context->post_owned(get.op), Errc::ok);
        return get;
    }
    // Posts as many gets from each of `sessions` strangers as are admitted, and lets them begin.
    void get_from_strangers(std::size_t sessions) {
        ASSERT_NO_FATAL_FAILURE(invite(1, false));
        Stranger& stranger = strangers_.front();
        for (std::size_t session = 0; session < sessions; ++session) {
            if (session > 0) (void)stranger.connect(pump_);
            na::Peer& peer = *server_.receiver.events.back().peer;
            for (std::size_t i = 0; i < Origin::admitted_max; ++i) posted_.push_back(&post_get(peer));
            for (int rounds = 0; rounds < 100; ++rounds) {
                stranger.poll();
                (void)pump_.round();
            }
        }
        EXPECT_TRUE(std::none_of(posted_.begin(), posted_.end(), [](const Get* each) { return each->done; }));
    }
    bool until(const std::function<bool()>& done) {
        return pump_.until([&] {
            strangers_.front().poll();
            return done();
        });
    }
    // The stranger answers the stops that it has heard: all chunks were sent.
    void say_all_was_sent() {
        Stranger& stranger = strangers_.front();
        for (; !stranger.heard.empty(); stranger.heard.pop_front()) {
            const Frame& frame = stranger.heard.front().frame;
            if (frame.kind != FrameKind::stop) continue;
            stranger.say(stranger.session_of(frame), FrameKind::get_ended, frame.id, {.bytes = chunks_max});
        }
    }
    void cancel_all() {
        for (Get* each : posted_) server_.context->cancel_owned(each->op);
    }
    [[nodiscard]] bool all_done() const {
        return std::all_of(posted_.begin(), posted_.end(), [](const Get* each) { return each->done; });
    }
    // Of those that have all receives, no more are ended than another peer needs.
    void expect_few_were_ended() const {
        EXPECT_GE(server_.receiver.count(na::PeerEvent::lost), 1u);
        EXPECT_LE(server_.receiver.count(na::PeerEvent::lost), 4u) << "more than there was need for";
        EXPECT_EQ(server_.receiver.events.back().why, Errc::timed_out);
    }

    std::vector<std::byte> here_;
    std::unique_ptr<na::Memory> here_memory_;
    na::Peer* friends_peer_ = nullptr;
    std::vector<std::byte> friends_;
    std::unique_ptr<na::Memory> friends_memory_;
    na::Lease friends_lease_;
    std::vector<Get*> posted_;

  private:
    void friend_lends(Get& get) {
        friends_.assign(here_.size(), std::byte{3});
        const na::Segment segment{friends_.data(), friends_.size()};
        friends_memory_ = friend_.transport->register_memory({&segment, 1}, na::Access::read).value();
        friends_lease_.memory = friends_memory_.get();
        friends_lease_.bytes = friends_.size();
        friends_lease_.access = na::Access::read;
        friends_lease_.fenced.run = [](WorkItem&) noexcept {};
        EXPECT_EQ(friend_.transport->grant(friends_lease_), Errc::ok);
        ByteWriter writer(get.key);
        friend_.transport->describe(friends_lease_, writer);
    }
};

TEST_P(SilentLenders, LeaveReceivesForOthers) {
    ASSERT_NO_FATAL_FAILURE(get_from_strangers(1));
    const Get& wanted = post_get(*friends_peer_);
    EXPECT_TRUE(until([&] { return wanted.done; }));
    EXPECT_EQ(wanted.op.result, Errc::ok) << to_string(wanted.op.result);
    EXPECT_EQ(here_.back(), std::byte{3});
    EXPECT_EQ(server_.receiver.count(na::PeerEvent::lost), 0u);
}

// Together they have all receives, also after their gets were canceled.
TEST_P(SilentLenders, ThatAnswerNoStopsAreEndedForOthers) {
    if (GetParam() == NetworkKind::ofi_net) GTEST_SKIP() << "it takes receives without limit";
    ASSERT_NO_FATAL_FAILURE(get_from_strangers(12));
    cancel_all();
    EXPECT_TRUE(until([&] { return all_done(); }));
    const Get& wanted = post_get(*friends_peer_);
    EXPECT_TRUE(until([&] { return wanted.done; }));
    EXPECT_EQ(wanted.op.result, Errc::ok) << to_string(wanted.op.result);
    EXPECT_EQ(here_.back(), std::byte{3});
    expect_few_were_ended();
}

// They answer at once, but send nothing of what they say they have sent, so the receives for it stay posted.
TEST_P(SilentLenders, ThatSayTheyHaveSentAllAreEndedForOthers) {
    if (GetParam() == NetworkKind::ofi_net) GTEST_SKIP() << "it takes receives without limit";
    ASSERT_NO_FATAL_FAILURE(get_from_strangers(12));
    cancel_all();
    EXPECT_TRUE(until([&] {
        say_all_was_sent();
        return all_done();
    }));
    const Get& wanted = post_get(*friends_peer_);
    EXPECT_TRUE(until([&] {
        say_all_was_sent();
        return wanted.done;
    }));
    EXPECT_EQ(wanted.op.result, Errc::ok) << to_string(wanted.op.result);
    EXPECT_EQ(here_.back(), std::byte{3});
    // RxM returns receives that were canceled, before the answers to the stops come; then nobody need be ended.
    EXPECT_LE(server_.receiver.count(na::PeerEvent::lost), 4u) << "more than there was need for";
}

// Five seconds each, mostly of waiting.
std::vector<NetworkKind> networks_of_lenders() {
    std::vector<NetworkKind> networks{NetworkKind::ofi_tcp_rxm, NetworkKind::ofi_net};
#ifdef CINNABAR_FULL_TESTS
    networks.push_back(NetworkKind::ofi_udp_rxd);
#endif
    return networks;
}
INSTANTIATE_TEST_SUITE_P(On, SilentLenders, testing::ValuesIn(networks_of_lenders()),
                         [](const auto& each) { return to_string(each.param); });

INSTANTIATE_TEST_SUITE_P(On, SilentPeers, testing::Values(NetworkKind::ofi_tcp_rxm, NetworkKind::ofi_net),
                         [](const auto& each) { return to_string(each.param); });

}  // namespace
}  // namespace cinnabar::ofi
