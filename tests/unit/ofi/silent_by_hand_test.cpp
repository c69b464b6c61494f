// SPDX-License-Identifier: BSD-3-Clause
// ofis: peers that have proven who they are, and keep memory and receives that others need by not reading, or by lying
// about what they have sent.
#include "../tcp/tls_fixture.hpp"
#include "guards.hpp"
#include "origin.hpp"
#include "owner.hpp"
#include "stranger.hpp"
#include "support/missing_here.hpp"

#include <cinnabar/na/session/message_guard.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::ofi {
namespace {

using na::MessageGuard;
using tcp::Lent;
using tcp::Process;
using tcp::TestOp;

// Makes and opens the frames of all its sessions by hand. It reads nothing while it is not polled.
class ProvenStranger {
  public:
    ProvenStranger(const std::string& target, std::shared_ptr<const tls::TlsGuards> guards)
        : guards_(std::move(guards)), stranger_(target) {
        stranger_.protect = [this, target](na::Stream& stream) {
            EXPECT_EQ(guards_->protect_dialled(stream, na::Addr::parse(target).value()), Errc::ok);
        };
    }

    // Returns the index of the new session.
    std::size_t connect(support::Pump& pump) {
        const std::size_t session = stranger_.meet(pump, stranger_.greeting());
        seals_.push_back(stranger_.guard(session).message_guard());
        say(session, FrameKind::probe);
        EXPECT_TRUE(pump.until([&] {
            poll();
            return std::any_of(heard.begin(), heard.end(),
                               [](const Heard& each) { return each.frame.kind == FrameKind::answer; });
        }));
        heard.clear();
        return session;
    }
    // It is sent by the next poll().
    void say(std::size_t session, FrameKind kind, std::uint64_t id = 0, const TransferBody& body = {},
             Errc status = Errc::ok) {
        const std::size_t bytes = head_bytes(kind);
        std::vector<std::byte> frame(bytes + MessageGuard::trailer_bytes);
        encode({kind, 0, status, 0, stranger_.name(session), id}, body, frame);
        const Bytes all(frame);
        EXPECT_TRUE(seals_[session]->seal(MessageGuard::Kind::frame, all.first(frame_header_bytes),
                                          all.subspan(frame_header_bytes, bytes - frame_header_bytes),
                                          frame.data() + frame_header_bytes));
        stranger_.say_bytes(session, std::move(frame));
    }
    void poll() {
        stranger_.poll();
        for (; !stranger_.heard.empty(); stranger_.heard.pop_front()) open(stranger_.heard.front().data);
    }
    [[nodiscard]] std::size_t session_of(const Frame& frame) const noexcept { return stranger_.session_of(frame); }

    std::deque<Heard> heard;

  private:
    void open(std::vector<std::byte>& sealed) {
        const Bytes all(sealed);
        const std::size_t session = receiver_of(all).index - Stranger::first_session;
        EXPECT_TRUE(seals_.at(session)->open(MessageGuard::Kind::frame, all.first(frame_header_bytes),
                                             all.subspan(frame_header_bytes)));
        Heard& came = heard.emplace_back();
        ConstBytes data;
        EXPECT_EQ(decode(all.first(all.size() - MessageGuard::trailer_bytes), Stranger::message_bytes_max, came.frame,
                         came.body, data),
                  Errc::ok);
    }

    const std::shared_ptr<const tls::TlsGuards> guards_;
    Stranger stranger_;
    std::deque<std::unique_ptr<MessageGuard>> seals_;  // destroyed before the streams whose keys they have
};

class SilentByHand : public tcp::TlsTest {
  protected:
    static constexpr std::size_t chunk = 1024 * 1024;
    static constexpr std::size_t chunks = 16;  // of one operation, the largest
    static constexpr std::size_t staging = 64;

    SilentByHand() { scheme_ = "ofis+tcp;ofi_rxm"; }
    ~SilentByHand() override {
        stranger_.reset();  // otherwise the provider keeps its sends
        for (Process& process : processes_) close(process);
    }
    void SetUp() override {
        const std::string missing =
            support::missing_here(registry().open("ofi+tcp;ofi_rxm://127.0.0.1:0", listening()));
        if (!missing.empty()) GTEST_SKIP() << missing;
    }
    // The server, with these options of its address, its friend, and a stranger that knows the key.
    void begin(const std::string& options) {
        server_ = &open(scheme_ + "://127.0.0.1:0" + options, with(alice(), true));
        friend_ = &open(scheme_ + "://127.0.0.1:0", with(alice(), true));
        friends_peer_ = &peer(*server_, *friend_);
        connect(*server_, *friends_peer_, *friend_);
        stranger_.emplace(server_->endpoint(),
                          tls::TlsGuards::make(alice(), {.scheme = {"ofis", Greeting::wire_bytes}}).value());
        here_.resize(chunks * chunk);
        here_memory_ = registered(*server_, {{here_.data(), here_.size()}});
    }
    // Another session of the stranger; returns the server's peer.
    na::Peer& connect_stranger() {
        (void)stranger_->connect(pump_);
        const auto& events = server_->receiver.events;
        const auto last = std::find_if(events.rbegin(), events.rend(),
                                       [](const auto& each) { return each.event == na::PeerEvent::connected; });
        return *last->peer;
    }
    // The server gets or puts as much as one operation holds.
    TestOp& post(na::OpKind kind, na::Peer& peer, const Lent& remote) {
        return rma(*server_, peer, kind, *here_memory_, remote, here_.size());
    }
    Lent& lend_of_friend() {
        theirs_.assign(here_.size(), std::byte{3});
        return lend(*friend_, {{theirs_.data(), theirs_.size()}});
    }
    // Memory that nobody has lent.
    Lent& unknown() {
        Lent& lent = lent_.emplace_back();
        lent.lease.bytes = here_.size();
        return lent;
    }
    void expect_some_were_ended(std::size_t of) const {
        EXPECT_GE(server_->receiver.count(na::PeerEvent::lost), 1u);
        EXPECT_LT(server_->receiver.count(na::PeerEvent::lost), of) << "more than there was need for";
        EXPECT_EQ(server_->receiver.events.back().why, Errc::timed_out);
        EXPECT_EQ(friend_->receiver.count(na::PeerEvent::lost), 0u);
    }

    Process* server_ = nullptr;
    Process* friend_ = nullptr;
    na::Peer* friends_peer_ = nullptr;
    std::vector<std::byte> here_;
    std::vector<std::byte> theirs_;
    std::unique_ptr<na::Memory> here_memory_;
    std::unique_ptr<na::Memory> theirs_memory_;
    std::optional<ProvenStranger> stranger_;
};

TEST_F(SilentByHand, TheirMemoryHasItsBounds) {
    const auto opened = [this](const std::string& chunks_of_staging) {
        return registry().open(scheme_ + "://127.0.0.1:0?staging=" + chunks_of_staging, with(alice(), true)).code();
    };
    EXPECT_EQ(opened("64"), Errc::ok);
    for (const char* const wrong : {"63", "65537", "", "many", "64x"}) {
        EXPECT_EQ(opened(wrong), Errc::bad_address) << wrong;
    }
}

// They answer each get at once, without a stop: it may not be read, but all of it was sent.
TEST_F(SilentByHand, LendersThatSayTheyHaveSentAllAreEndedForOthers) {
    begin("?staging=512");
    const Lent& theirs = unknown();
    constexpr std::size_t sessions = 12;
    const auto lie = [this] {
        stranger_->poll();
        for (; !stranger_->heard.empty(); stranger_->heard.pop_front()) {
            const Frame& frame = stranger_->heard.front().frame;
            if (frame.kind != FrameKind::get) continue;
            stranger_->say(stranger_->session_of(frame), FrameKind::get_ended, frame.id, {.bytes = chunks_max},
                           Errc::permission);
        }
    };
    for (std::size_t session = 0; session < sessions; ++session) {
        na::Peer& peer = connect_stranger();
        for (int i = 0; i < 64; ++i) (void)post(na::OpKind::get, peer, theirs);
        for (int rounds = 0; rounds < 100; ++rounds) {
            lie();
            (void)pump_.round();
        }
    }
    const TestOp& wanted = post(na::OpKind::get, *friends_peer_, lend_of_friend());
    EXPECT_TRUE(until([&] {
        lie();
        return wanted.done();
    }));
    EXPECT_EQ(wanted.result, Errc::ok) << to_string(wanted.result);
    EXPECT_EQ(here_.back(), std::byte{3});
    expect_some_were_ended(sessions / 2);
}

// They get memory and read none of it, so the sealed copies of it stay with the fabric, also after their sessions.
TEST_F(SilentByHand, ReadersThatStallAreEndedForOthers) {
    begin("?staging=" + std::to_string(staging));
    constexpr std::size_t sessions = staging / Owner::served_max + 2;
    std::fill(here_.begin(), here_.end(), std::byte{9});
    const Lent& lent = lend(*server_, {{here_.data(), here_.size()}});
    for (std::size_t session = 0; session < sessions; ++session) (void)connect_stranger();
    ByteReader key(lent.key);
    TransferBody body;
    body.key = na::LeaseKey::decode(key);
    body.bytes = here_.size();
    body.chunk = chunk;
    for (std::size_t session = 0; session < sessions; ++session) {
        for (std::uint64_t id = 1; id <= 4; ++id) {
            body.tag = (session * 4 + id) << chunk_number_bits;
            stranger_->say(session, FrameKind::get, id, body);
        }
    }
    stranger_->poll();  // never again
    pump_.run_for(Microseconds(500'000));
    theirs_.resize(here_.size());
    theirs_memory_ = registered(*friend_, {{theirs_.data(), theirs_.size()}});
    const TestOp& wanted = rma(*friend_, friend_->only_peer(), na::OpKind::get, *theirs_memory_, lent, theirs_.size());
    EXPECT_TRUE(until([&] { return wanted.done(); }));
    EXPECT_EQ(wanted.result, Errc::ok) << to_string(wanted.result);
    EXPECT_EQ(theirs_, here_);
    expect_some_were_ended(sessions);
}

// They allow this side to put all it has, and read none of it.
TEST_F(SilentByHand, TargetsThatStallAreEndedForOthers) {
    begin("?staging=" + std::to_string(staging));
    constexpr std::size_t sessions = staging / Origin::put_chunks_max + 2;
    constexpr std::size_t puts_each = 4;
    const Lent& theirs = unknown();
    std::vector<Frame> puts;
    for (std::size_t session = 0; session < sessions; ++session) {
        na::Peer& peer = connect_stranger();
        for (std::size_t i = 0; i < puts_each; ++i) (void)post(na::OpKind::put, peer, theirs);
        EXPECT_TRUE(until([&] {
            stranger_->poll();
            return stranger_->heard.size() == puts_each;
        }));
        for (const Heard& put : stranger_->heard) puts.push_back(put.frame);
    }
    TransferBody go;
    go.bytes = chunks;
    for (const Frame& put : puts) {
        go.tag = put.id << chunk_number_bits & 0xffff'ffff'ff00;
        stranger_->say(stranger_->session_of(put), FrameKind::put_go, put.id, go);
    }
    stranger_->poll();  // never again
    pump_.run_for(Microseconds(500'000));
    const TestOp& wanted = post(na::OpKind::get, *friends_peer_, lend_of_friend());
    EXPECT_TRUE(until([&] { return wanted.done(); }));
    EXPECT_EQ(wanted.result, Errc::ok) << to_string(wanted.result);
    EXPECT_EQ(here_.back(), std::byte{3});
    expect_some_were_ended(sessions);
}

}  // namespace
}  // namespace cinnabar::ofi
