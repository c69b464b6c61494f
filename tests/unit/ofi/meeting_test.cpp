// SPDX-License-Identifier: BSD-3-Clause
// Who calls at the socket of a fabric transport, and what a peer without a working fabric comes to.
#include "card.hpp"
#include "support/network.hpp"
#include "support/pump.hpp"

#include <cinnabar/na/context.hpp>
#include <cinnabar/na/session/greeting.hpp>
#include <cinnabar/na/session/socket.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace cinnabar::ofi {
namespace {

using support::NetworkKind;

class Meeting : public testing::Test {
  protected:
    Meeting() : network_(NetworkKind::ofi_tcp_rxm), pump_() {
        na::TransportOptions options;
        options.listen = true;
        options.hello_timeout = Microseconds(100'000);
        options.connect_timeout = Microseconds(300'000);
        transport_ = network_.open("server", options).value();
        na::ContextOptions one;
        one.threads = Threads::one;
        na::Transport* const transport = transport_.get();
        context_ = na::Context::open({&transport, 1}, one, receiver_).value();
        pump_.add(*context_);
    }

    UniqueFd call() {
        const auto uri = na::Uri::parse(transport_->endpoints().front()).value();
        UniqueFd fd;
        EXPECT_EQ(na::start_connect(na::resolve(uri, na::Purpose::dial).value().front(), nullptr, fd), Errc::ok);
        return fd;
    }
    static void say(const UniqueFd& fd, const Card& card) {
        std::array<std::byte, Card::bytes> bytes;
        card.encode(bytes);
        EXPECT_TRUE(na::send_greeting(fd.get(), bytes));
    }
    static Card stranger() {
        Card card;
        card.hello.incarnation = 77;
        card.hello.message_bytes_max = 4096;
        card.set_provider("tcp;ofi_rxm");
        return card;
    }
    // again: it is silent; peer_lost: it has hung up.
    Errc listen(const UniqueFd& fd, Card& out) {
        na::GreetingReader reader;
        reader.expect(Card::bytes);
        Errc came = Errc::again;
        (void)pump_.until([&] { return (came = reader.read(fd.get())) != Errc::again; });
        return came == Errc::ok ? Card::decode(reader.bytes(), out) : came;
    }

    support::Network network_;
    support::Pump pump_;
    support::RecordingReceiver receiver_;
    std::unique_ptr<na::Transport> transport_;
    std::unique_ptr<na::Context> context_;
};

TEST_F(Meeting, ACallerOnAnotherProviderIsTurnedAway) {
    const UniqueFd fd = call();
    Card card = stranger();
    card.set_provider("sockets");
    say(fd, card);
    Card answer;
    ASSERT_EQ(listen(fd, answer), Errc::ok);
    EXPECT_EQ(answer.hello.kind, na::HelloKind::reject);
    EXPECT_EQ(answer.hello.reason, static_cast<std::uint8_t>(Errc::unreachable));
    EXPECT_EQ(answer.provider(), "tcp;ofi_rxm");
}

TEST_F(Meeting, ACallerForAContextThatIsNotThereIsTurnedAway) {
    const UniqueFd fd = call();
    Card card = stranger();
    card.hello.peer_context = 9;
    say(fd, card);
    Card answer;
    ASSERT_EQ(listen(fd, answer), Errc::ok);
    EXPECT_EQ(answer.hello.reason, static_cast<std::uint8_t>(Errc::unreachable));
}

TEST_F(Meeting, ACallerForAnEarlierProcessIsToldThatItIsGone) {
    const UniqueFd fd = call();
    Card card = stranger();
    card.hello.peer_incarnation = transport_->incarnation() ^ 1;
    say(fd, card);
    Card answer;
    ASSERT_EQ(listen(fd, answer), Errc::ok);
    EXPECT_EQ(answer.hello.reason, static_cast<std::uint8_t>(Errc::peer_lost));
}

TEST_F(Meeting, SilenceAndNonsenseAreDropped) {
    const UniqueFd silent = call();
    const UniqueFd noisy = call();
    const std::array<std::byte, Card::bytes> nonsense{};
    ASSERT_TRUE(na::send_greeting(noisy.get(), nonsense));
    Card answer;
    EXPECT_EQ(listen(noisy, answer), Errc::peer_lost);
    EXPECT_EQ(listen(silent, answer), Errc::peer_lost);
}

TEST_F(Meeting, AFabricAddressThatIsNoneEndsTheSession) {
    const UniqueFd fd = call();
    Card card = stranger();
    card.address_bytes = 3;
    say(fd, card);
    Card answer;
    ASSERT_EQ(listen(fd, answer), Errc::ok);
    EXPECT_EQ(answer.hello.kind, na::HelloKind::accept);
    EXPECT_EQ(listen(fd, answer), Errc::peer_lost);
}

TEST_F(Meeting, WhoNeverComesByTheFabricIsDropped) {
    const UniqueFd fd = call();
    Card card = stranger();
    say(fd, card);
    Card answer;
    ASSERT_EQ(listen(fd, answer), Errc::ok);
    // The socket met; the fabric carries nothing within the connect timeout.
    card.address_bytes = answer.address_bytes;
    EXPECT_EQ(listen(fd, answer), Errc::peer_lost);
    EXPECT_EQ(receiver_.count(na::PeerEvent::connected), 0u);
}

TEST_F(Meeting, WordsBehindTheGreetingEndTheSession) {
    const UniqueFd fd = call();
    Card card = stranger();
    say(fd, card);
    Card answer;
    ASSERT_EQ(listen(fd, answer), Errc::ok);
    const std::byte word{1};
    ASSERT_EQ(na::send_some(fd.get(), &word, 1).bytes, 1u);
    EXPECT_EQ(listen(fd, answer), Errc::peer_lost);
}

}  // namespace
}  // namespace cinnabar::ofi
