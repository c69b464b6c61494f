// SPDX-License-Identifier: BSD-3-Clause
// What somebody on the way can do to sealed messages: nothing is executed, and the session ends with a typed error.
#include "between.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace cinnabar::tls {
namespace {

constexpr const char* noticed = "was changed, repeated or left out on its way";

class SealedAttack : public SealedTest {};

TEST_F(SealedAttack, NothingCanBeReadOnTheWay) {
    ASSERT_NO_FATAL_FAILURE(connect_through(nullptr));
    (void)send(*client_, *there_, 77, 4'000);
    ASSERT_TRUE(until_passing([&] { return server_->receiver.count_tag(77) == 1; }));
    EXPECT_TRUE(support::holds_pattern(server_->receiver.messages.back().bytes, 77));
    std::vector<std::byte> pattern(4'000);
    support::fill_pattern(pattern, 77);
    for (const auto& [message, from_dialler] : all_) {
        for (std::size_t at = 0; at + 16 <= pattern.size(); at += 500) {
            const auto part = pattern.begin() + static_cast<std::ptrdiff_t>(at);
            EXPECT_EQ(std::search(message.begin(), message.end(), part, part + 16), message.end());
        }
    }
    EXPECT_GT(all_.size(), 4u);
}

TEST_F(SealedAttack, AChangedMessageEndsTheSession) {
    log_.allow(noticed);
    ASSERT_NO_FATAL_FAILURE(connect_through(from_message([](Message message, std::size_t number) {
        if (number == 2) message[message.size() / 2] ^= std::byte{1};
        return std::vector<Message>{std::move(message)};
    })));
    (void)send(*client_, *there_, 2);
    expect_server_ends_by(Errc::protocol);
    EXPECT_EQ(server_->receiver.count_tag(2), 0u);
    EXPECT_TRUE(until_passing([&] { return client_->receiver.count(na::PeerEvent::lost) == 1; }));
}

TEST_F(SealedAttack, AChangedEnvelopeEndsTheSession) {
    ASSERT_NO_FATAL_FAILURE(connect_through(from_message([](Message message, std::size_t number) {
        if (number == 2) message[3] = std::byte{1};
        return std::vector<Message>{std::move(message)};
    })));
    (void)send(*client_, *there_, 2);
    expect_server_ends_by(Errc::protocol);
    EXPECT_EQ(server_->receiver.count_tag(2), 0u);
}

TEST_F(SealedAttack, AMessageThatIsSentTwiceIsExecutedOnceAndEndsTheSession) {
    log_.allow(noticed);
    ASSERT_NO_FATAL_FAILURE(connect_through(from_message([](Message message, std::size_t number) {
        if (number != 2) return std::vector<Message>{std::move(message)};
        return std::vector<Message>{message, message};
    })));
    (void)send(*client_, *there_, 2);
    expect_server_ends_by(Errc::protocol);
    EXPECT_EQ(server_->receiver.count_tag(2), 1u);
}

TEST_F(SealedAttack, AMessageThatIsLeftOutEndsTheSession) {
    log_.allow(noticed);
    ASSERT_NO_FATAL_FAILURE(connect_through(from_message([](Message message, std::size_t number) {
        return number == 2 ? std::vector<Message>{} : std::vector<Message>{std::move(message)};
    })));
    (void)send(*client_, *there_, 2);
    (void)send(*client_, *there_, 3);
    expect_server_ends_by(Errc::protocol);
    EXPECT_EQ(server_->receiver.count_tag(2) + server_->receiver.count_tag(3), 0u);
}

TEST_F(SealedAttack, MessagesInAnotherOrderEndTheSession) {
    log_.allow(noticed);
    std::optional<Message> held;
    ASSERT_NO_FATAL_FAILURE(connect_through(from_message([&held](Message message, std::size_t number) {
        if (number == 2) {
            held = std::move(message);
            return std::vector<Message>{};
        }
        std::vector<Message> passed{std::move(message)};
        if (held) passed.push_back(*std::exchange(held, std::nullopt));
        return passed;
    })));
    (void)send(*client_, *there_, 2);
    (void)send(*client_, *there_, 3);
    expect_server_ends_by(Errc::protocol);
    EXPECT_EQ(server_->receiver.count_tag(2) + server_->receiver.count_tag(3), 0u);
}

TEST_F(SealedAttack, AMessageThatIsCutEndsTheSession) {
    log_.allow(noticed);
    ASSERT_NO_FATAL_FAILURE(connect_through(from_message([](Message message, std::size_t number) {
        if (number == 2) message.resize(message.size() - 30);
        return std::vector<Message>{std::move(message)};
    })));
    (void)send(*client_, *there_, 2);
    expect_server_ends_by(Errc::protocol);
    EXPECT_EQ(server_->receiver.count_tag(2), 0u);
}

TEST_F(SealedAttack, AMessageThatIsSentBackEndsTheSession) {
    log_.allow(noticed);
    ASSERT_NO_FATAL_FAILURE(connect_through(nullptr));
    const auto mine =
        std::find_if(all_.rbegin(), all_.rend(), [](const auto& each) { return each.second && is_sealed(each.first); });
    ASSERT_NE(mine, all_.rend());
    send_below(*middle_, *dialler_, mine->first);
    ASSERT_TRUE(until_passing([&] { return client_->receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(client_->receiver.events.back().why, Errc::protocol);
    EXPECT_TRUE(client_->receiver.messages.empty());
}

TEST_F(SealedAttack, AMessageThatIsNotSealedEndsTheSession) {
    ASSERT_NO_FATAL_FAILURE(connect_through(nullptr));
    Message plain(200);
    support::fill_pattern(plain, 5);
    send_below(*middle_, *to_server_, plain);
    expect_server_ends_by(Errc::protocol);
    EXPECT_EQ(server_->receiver.messages.size(), 1u) << "only what the client has sent";
}

TEST_F(SealedAttack, AHandshakeInAnOpenSessionEndsIt) {
    ASSERT_NO_FATAL_FAILURE(connect_through(nullptr));
    ASSERT_FALSE(all_.empty());
    ASSERT_FALSE(is_sealed(all_.front().first));
    send_below(*middle_, *to_server_, all_.front().first);
    expect_server_ends_by(Errc::protocol);
}

TEST_F(SealedAttack, ACutConnectionLosesThePeer) {
    ASSERT_NO_FATAL_FAILURE(connect_through(nullptr));
    drop(*to_server_);
    expect_server_ends_by(Errc::peer_lost);
}

// One bit of each message of the handshake and of both greetings.
TEST_F(SealedAttack, AChangedHandshakeComesToNothing) {
    log_.allow("");
    server_ = &serve(alice());
    bool all = false;
    for (std::size_t at = 0; at < 16 && !all; ++at) {
        tcp::Process& client = dial_from(alice());
        std::size_t seen = 0;
        bool greeted = false;
        bool changed = false;
        const std::string way = lead_to(server_->endpoint(), [&](Message message, bool from_dialler) {
            // The second sealed message of the dialler is what it sends once both have greeted.
            const bool opened = from_dialler && is_sealed(message) && std::exchange(greeted, true);
            if (seen++ == at && !opened) {
                message[message.size() - 1] ^= std::byte{0x10};
                changed = true;
            }
            return std::vector<Message>{std::move(message)};
        });
        const Errc result = sent(client, way, [&] { pass(); });
        all = !changed;
        if (all) {
            EXPECT_EQ(result, Errc::ok) << to_string(result);
            EXPECT_GE(at, 5u) << "three messages of the handshake, and two greetings";
            continue;
        }
        EXPECT_TRUE(result == Errc::protocol || result == Errc::permission || result == Errc::peer_lost)
            << at << ": " << to_string(result);
        EXPECT_EQ(server_->receiver.count_tag(1), 0u) << at;
        close(*middle_);
        middle_ = nullptr;
    }
    EXPECT_TRUE(all);
}

// The ticket, which a server sends in pieces after the handshake, as one message.
TEST_F(SealedAttack, ATicketInOneLargeMessageEndsTheSession) {
    log_.allow("");
    authority("ca");
    server_ = &serve(certificate("ca", server_of()));
    tcp::Process& client = dial_from(certificate("ca", {"ann", {}, false}));
    bool server_has_sent = false;
    bool client_has_ended = false;  // the handshake, in its second flight
    Message ticket;
    const std::string way = lead_to(server_->endpoint(), [&](Message message, bool from_dialler) {
        std::vector<Message> passed;
        if (from_dialler) {
            client_has_ended = client_has_ended || server_has_sent;
        } else {
            server_has_sent = true;
            const bool late = client_has_ended && !is_sealed(message);
            if (late && ticket.empty()) {
                ticket = std::move(message);
                return passed;
            }
            if (late) {
                ticket.insert(ticket.end(), message.begin() + envelope_bytes, message.end());
                return passed;
            }
            if (is_sealed(message) && !ticket.empty()) passed.push_back(ticket);
        }
        passed.push_back(std::move(message));
        return passed;
    });
    EXPECT_EQ(sent(client, way, [&] { pass(); }), Errc::protocol);
    EXPECT_GT(ticket.size(), envelope_bytes + handshake_piece_bytes) << "in several pieces";
    EXPECT_EQ(server_->receiver.count_tag(1), 0u);
}

// All that a client sends, to another server with the same key.
TEST_F(SealedAttack, ASessionThatIsRepeatedToAnotherServerComesToNothing) {
    log_.allow("");
    ASSERT_NO_FATAL_FAILURE(connect_through(nullptr));
    tcp::Process& other = serve(alice());
    tcp::Process& thief = open("tcp://127.0.0.1:0");
    na::Peer& there = peer(thief, plain_of(other.endpoint()));
    for (const auto& [message, from_dialler] : all_) {
        if (from_dialler) send_below(thief, there, message);
    }
    ASSERT_TRUE(until([&] { return thief.receiver.count(na::PeerEvent::lost) > 0; }));
    expect_nothing_came(other);
}

TEST_F(SealedAttack, AProcessIsNotLedBackToItself) {
    log_.allow("a connection of this process to itself, redirected on the way");
    server_ = &serve(alice());
    EXPECT_EQ(sent(*server_, lead_to(server_->endpoint(), nullptr), [&] { pass(); }), Errc::permission);
    EXPECT_GT(log_.allowed(), 0u);
    EXPECT_TRUE(server_->receiver.messages.empty());
    EXPECT_EQ(sent(*server_, server_->endpoint()), Errc::ok) << "on its own it may call itself";
}

TEST_F(SealedAttack, AChangedPutPlacesNothingOfItsMessage) {
    log_.allow(noticed);
    ASSERT_NO_FATAL_FAILURE(connect_through(from_message([](Message message, std::size_t number) {
        if (number == 2) message[message.size() / 2] ^= std::byte{1};
        return std::vector<Message>{std::move(message)};
    })));
    support::GuardedBuffer target(2'000, 9);
    std::vector<std::byte> mine(2'000, std::byte{1});
    const tcp::Lent& lent = lend(*server_, {target.segment()});
    const auto local = registered(*client_, {{mine.data(), mine.size()}});
    const tcp::TestOp& put = rma(*client_, *there_, na::OpKind::put, *local, lent, mine.size());
    expect_server_ends_by(Errc::protocol);
    ASSERT_TRUE(until_passing([&] { return put.done(); }));
    EXPECT_EQ(put.result, Errc::peer_lost) << to_string(put.result);
    EXPECT_TRUE(target.holds(9));
}

}  // namespace
}  // namespace cinnabar::tls
