// SPDX-License-Identifier: BSD-3-Clause
#include "raw_peer.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace cinnabar::shm {

RawPeer::RawPeer() {
    hello.incarnation = 4711;
    hello.message_bytes_max = 16 * 1024;
    hello.credits = 2;
    terms.ring_bytes = ring_bytes_min;
    terms.record_bytes_max = 16 * 1024;
    terms.lease_slots = 16;
    EXPECT_EQ(Segment::make("raw-ring", ring_header_bytes + ring_bytes_min, incoming_ring, ring_fd), Errc::ok);
    EXPECT_EQ(Segment::make("raw-board", sizeof(BoardSlot) * 16, board, board_fd), Errc::ok);
    bell_fd.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

void RawPeer::dial(const std::string& path) { ASSERT_EQ(connect_to(path, socket), Errc::ok); }

void RawPeer::greet() {
    const OwnFds fds{ring_fd.get(), bell_fd.get(), board_fd.get()};
    ASSERT_TRUE(send_greeting(socket.get(), hello, terms, &fds));
}

void RawPeer::take_answer() {
    const Terms& theirs = answer.terms;
    ASSERT_EQ(Segment::attach(answer.fds.ring.get(), ring_header_bytes + theirs.ring_bytes, outgoing_ring), Errc::ok);
    if (theirs.lease_slots > 0) {
        ASSERT_EQ(view.attach(answer.fds.board.get(), theirs.lease_slots), Errc::ok);
    }
    writer.attach(outgoing_ring.base(), theirs.ring_bytes);
    reader.attach(incoming_ring.base(), terms.ring_bytes, terms.record_bytes_max);
}

void RawPeer::write(const Record& record, ConstBytes payload) {
    std::byte* to = writer.reserve(record.bytes);
    ASSERT_NE(to, nullptr);
    if (!payload.empty()) std::memcpy(to, payload.data(), payload.size());
    writer.publish(record);
}

void RawPeer::end_while_holding() {
    writer.header().holding.store(1);
    write({static_cast<RecordKind>(99), 0, 0, 0, 1});
    ring_bell();
}

std::size_t rings_mapped() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) count += line.find("cinnabar-ring") != std::string::npos ? 1 : 0;
    return count;
}

ShmTest::ShmTest(const std::string& uri) {
    ::setenv("CINNABAR_SHM_DIR", root_.path().c_str(), 1);
    na::TransportOptions options;
    options.listen = true;
    transport_ = plugin_info.open(na::Uri::parse(uri).value(), options).value();
    na::Transport* raw = transport_.get();
    na::ContextOptions one;
    one.threads = ThreadUse::one;
    context_ = na::Context::open({&raw, 1}, one, receiver_).value();
    pump_.add(*context_);
}

ShmTest::~ShmTest() {
    pump_.clear();
    context_.reset();
    transport_.reset();
    ::unsetenv("CINNABAR_SHM_DIR");
}

std::string ShmTest::path() const {
    const std::string endpoint = transport_->endpoints().front();
    const na::Uri uri = na::Uri::parse(endpoint).value();
    const std::string_view group = uri.option("group");
    const std::string folder = group.empty() ? std::to_string(::geteuid()) : "group-" + std::string(group);
    return root_.at("cinnabar-" + folder + '/' + uri.host + ".sock");
}

testing::AssertionResult ShmTest::until(const std::function<bool()>& done) {
    if (pump_.until(done)) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "nothing more happens";
}

// ok: accepted. Otherwise the reason of the reject, or peer_lost if there was no answer.
Errc ShmTest::answer_to(RawPeer& peer) {
    Errc came = Errc::again;
    EXPECT_TRUE(until([&] { return (came = receive_greeting(peer.socket.get(), peer.answer)) != Errc::again; }));
    if (came != Errc::ok) return came;
    if (peer.answer.hello.kind == na::HelloKind::reject) return static_cast<Errc>(peer.answer.hello.reason);
    return Errc::ok;
}

void ShmTest::connect(RawPeer& peer) {
    ASSERT_NO_FATAL_FAILURE(peer.dial(path()));
    ASSERT_NO_FATAL_FAILURE(peer.greet());
    ASSERT_EQ(answer_to(peer), Errc::ok);
    ASSERT_NO_FATAL_FAILURE(peer.take_answer());
    ASSERT_TRUE(until([this] { return receiver_.count(na::PeerEvent::connected) > 0; }));
}

}  // namespace cinnabar::shm
