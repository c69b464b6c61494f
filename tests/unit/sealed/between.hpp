// SPDX-License-Identifier: BSD-3-Clause
// A process between a dialler and a server, which passes on the messages below those that are sealed, changed as the
// test wants.
#pragma once

#include "../tcp/tls_fixture.hpp"
#include "sealed/frame.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::tls {

using Message = std::vector<std::byte>;

// The address below of an endpoint of sealed messages, and the reverse.
inline std::string plain_of(const std::string& endpoint) { return "tcp" + endpoint.substr(endpoint.find("://")); }
inline std::string sealed_of(const std::string& endpoint) {
    return "sealed_tcp" + endpoint.substr(endpoint.find("://"));
}

inline bool is_sealed(const Message& message) {
    return !message.empty() && message.front() == static_cast<std::byte>(Envelope::sealed);
}

class SealedTest : public tcp::TlsTest {
  protected:
    // Receives a message from one side, and returns the messages to pass on instead.
    using Change = std::function<std::vector<Message>(Message message, bool from_dialler)>;

    SealedTest() { scheme_ = "sealed_tcp"; }
    ~SealedTest() override {
        if (!middle_) return;
        middle_->receiver.on_arrival = nullptr;
        middle_->receiver.on_event = nullptr;
    }

    // From now on, a dial of the returned endpoint leads to `server`.
    std::string lead_to(const std::string& server, Change change) {
        change_ = std::move(change);
        waiting_.clear();
        all_.clear();
        dialler_ = nullptr;
        lost_ = nullptr;
        middle_ = &open("tcp://127.0.0.1:0");
        to_server_ = &peer(*middle_, plain_of(server));
        middle_->receiver.record = false;
        middle_->receiver.on_arrival = [this](na::Arrival& arrival) {
            const bool from_dialler = arrival.source != to_server_;
            if (from_dialler && !dialler_) {
                dialler_ = arrival.source;
                dialler_->acquire();
                held_.emplace_back(middle_, dialler_);
            }
            const Message message(arrival.bytes.begin(), arrival.bytes.end());
            all_.emplace_back(message, from_dialler);
            for (Message& each : change_ ? change_(message, from_dialler) : std::vector<Message>{message}) {
                waiting_.emplace_back(std::move(each), from_dialler);
            }
        };
        middle_->receiver.on_event = [this](na::Peer& peer, na::PeerEvent event, Errc) {
            if (event == na::PeerEvent::lost) lost_ = &peer;
        };
        return sealed_of(middle_->endpoint());
    }
    // Passes on what has arrived, and the loss of one side.
    void pass() {
        const bool sends = !waiting_.empty();
        while (!waiting_.empty()) {
            auto [message, from_dialler] = std::move(waiting_.front());
            waiting_.pop_front();
            send_below(*middle_, from_dialler ? *to_server_ : *dialler_, message);
        }
        // What was passed on now would be dropped with the connection: it leaves in the next round.
        if (sends || !lost_ || !dialler_) return;
        drop(std::exchange(lost_, nullptr) == to_server_ ? *dialler_ : *to_server_);
    }
    void drop(na::Peer& peer) {
        const na::Context::Ownership own(*middle_->context);
        middle_->port().disconnect(peer);
    }
    void send_below(tcp::Process& from, na::Peer& to, const Message& message) {
        tcp::TestOp& test = ops_.emplace_back();
        test.op.kind = na::OpKind::send_unexpected;
        test.op.peer = &to;
        test.op.tag = 0;
        test.op.message = from.port().take_message();
        ASSERT_NE(test.op.message, nullptr);
        test.op.message_bytes = static_cast<std::uint32_t>(message.size());
        std::copy(message.begin(), message.end(), test.op.message->payload);
        EXPECT_EQ(from.context->post(test.op), Errc::ok);
    }
    [[nodiscard]] testing::AssertionResult until_passing(const std::function<bool()>& done) {
        return until([&] {
            if (middle_) pass();
            return done();
        });
    }

    // A server and a client that dials it through the process in the middle; connected when it returns.
    void connect_through(Change change) {
        server_ = &serve(alice());
        client_ = &dial_from(alice());
        there_ = &peer(*client_, lead_to(server_->endpoint(), std::move(change)));
        (void)send(*client_, *there_, 1);
        ASSERT_TRUE(until_passing([&] { return server_->receiver.count_tag(1) == 1; }));
    }
    // Only messages after the handshake and the greeting: the n-th is sealed message n of the dialler, from 1 on.
    static Change from_message(std::function<std::vector<Message>(Message, std::size_t)> change) {
        return [change = std::move(change), count = std::size_t{0}](Message message,
                                                                    bool from_dialler) mutable -> std::vector<Message> {
            if (!from_dialler || !is_sealed(message)) return {std::move(message)};
            const std::size_t number = count++;
            if (number == 0) return {std::move(message)};
            return change(std::move(message), number);
        };
    }
    void expect_server_ends_by(Errc why) {
        ASSERT_TRUE(until_passing([&] { return server_->receiver.count(na::PeerEvent::lost) == 1; }));
        EXPECT_EQ(server_->receiver.events.back().why, why) << to_string(server_->receiver.events.back().why);
    }

    tcp::Process* server_ = nullptr;
    tcp::Process* client_ = nullptr;
    na::Peer* there_ = nullptr;
    tcp::Process* middle_ = nullptr;
    na::Peer* dialler_ = nullptr;
    na::Peer* to_server_ = nullptr;
    na::Peer* lost_ = nullptr;
    std::vector<std::pair<Message, bool>> all_;  // with: from the dialler

  private:
    Change change_;
    std::deque<std::pair<Message, bool>> waiting_;
};

}  // namespace cinnabar::tls
