// SPDX-License-Identifier: BSD-3-Clause
// A hand-made peer: it makes its own greetings, and sends and receives every frame itself. One endpoint may have
// several sessions with the library. It receives only while it is polled. It seals nothing by itself.
#pragma once

#include "frame.hpp"
#include "greeting.hpp"
#include "own_end.hpp"
#include "support/pump.hpp"

#include <cinnabar/na/session/greeting.hpp>
#include <cinnabar/na/session/socket.hpp>
#include <cinnabar/na/transport.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::ofi {

struct Heard {
    Frame frame;
    TransferBody body;
    std::vector<std::byte> data;
};

class Stranger {
  public:
    static constexpr std::uint32_t message_bytes_max = 4096;
    static constexpr std::uint32_t first_session = 3;

    // For connections to the transport that listens at `target`.
    explicit Stranger(std::string target, std::size_t receives = 16)
        : target_(std::move(target)), end_(chosen(target_)), ears_(receives) {
        for (Ear& ear : ears_) {
            ear.self = this;
            ear.done = [](FabricOp& op, const Done& done) noexcept {
                auto& used = static_cast<Ear&>(op);
                used.self->hear(used, done);
            };
            listen(ear);
        }
    }

    // A greeting for a new session, each time with another identity.
    Greeting greeting() {
        Greeting greeting;
        greeting.hello.incarnation = 77 + sessions_made_;
        greeting.hello.message_bytes_max = message_bytes_max;
        greeting.session = {first_session + sessions_made_++, 12345};
        greeting.set_provider(end_.selection.provider->name);
        set_address(greeting, end_.endpoint->address());
        return greeting;
    }
    static void set_address(Greeting& greeting, ConstBytes address) {
        greeting.address = {};
        greeting.address_bytes = static_cast<std::uint16_t>(address.size());
        std::copy(address.begin(), address.end(), greeting.address.begin());
    }
    // For protected transports: makes the guard of each new connection.
    std::function<void(na::Stream&)> protect;
    // Returns the index of the new session. Fails the test if the greeting is refused.
    std::size_t meet(support::Pump& pump, const Greeting& greeting) {
        Joined& joined = joined_.emplace_back();
        const auto uri = na::Uri::parse(target_).value();
        UniqueFd socket;
        EXPECT_EQ(na::start_connect(na::resolve(uri, na::Purpose::dial).value().front(), nullptr, socket), Errc::ok);
        joined.stream = na::Stream(std::move(socket));
        if (protect) prove(pump, joined.stream);
        EXPECT_TRUE(na::send_greeting(joined.stream, greeting.encode()));
        na::GreetingReader reader;
        reader.expect(Greeting::wire_bytes);
        EXPECT_TRUE(pump.until([&] { return reader.read(joined.stream) == Errc::ok; }));
        Greeting theirs;
        EXPECT_EQ(Greeting::decode(reader.bytes(), theirs), Errc::ok);
        EXPECT_EQ(theirs.hello.kind, na::HelloKind::accept);
        joined.session = theirs.session;
        joined.address.assign(theirs.address.begin(), theirs.address.begin() + theirs.address_bytes);
        EXPECT_EQ(end_.endpoint->insert({theirs.address.data(), theirs.address_bytes}, joined.there), Errc::ok);
        return joined_.size() - 1;
    }
    // Connects and waits until the fabric carries messages.
    std::size_t connect(support::Pump& pump) {
        const std::size_t session = meet(pump, greeting());
        say(session, FrameKind::probe);
        EXPECT_TRUE(pump.until([&] {
            poll();
            return std::any_of(heard.begin(), heard.end(),
                               [](const Heard& each) { return each.frame.kind == FrameKind::answer; });
        }));
        heard.clear();
        return session;
    }
    [[nodiscard]] std::size_t sessions() const noexcept { return joined_.size(); }
    // The session for which a frame was heard.
    [[nodiscard]] std::size_t session_of(const Frame& frame) const noexcept {
        return frame.session.index - first_session;
    }
    // Whether the library has ended the session.
    bool ended(std::size_t session) const {
        std::byte nothing{};
        return na::receive_some(joined_[session].stream.fd(), &nothing, 1).why != Errc::again;
    }
    [[nodiscard]] int socket(std::size_t session) const { return joined_[session].stream.fd(); }
    [[nodiscard]] na::StreamGuard& guard(std::size_t session) { return *joined_[session].stream.guard(); }

    // The library's address on the fabric.
    [[nodiscard]] ConstBytes theirs(std::size_t session) const { return joined_[session].address; }

    // Sends a frame; it is queued until the provider takes it.
    void say(std::size_t session, FrameKind kind, std::uint64_t id = 0, const TransferBody& body = {}) {
        say_as(name(session), session, kind, id, body);
    }
    // The same to that session's address, but with any session name.
    void say_as(const SessionName& name, std::size_t session, FrameKind kind, std::uint64_t id = 0,
                const TransferBody& body = {}) {
        Word& word = words_.emplace_back();
        word.to = joined_[session].there;
        word.bytes.resize(head_bytes(kind));
        encode({kind, 0, Errc::ok, 0, name, id}, body, word.bytes);
    }
    // Sends these bytes to that session's address.
    void say_bytes(std::size_t session, std::vector<std::byte> bytes) {
        Word& word = words_.emplace_back();
        word.to = joined_[session].there;
        word.bytes = std::move(bytes);
    }
    // The library's name for the session.
    [[nodiscard]] const SessionName& name(std::size_t session) const { return joined_[session].session; }
    // Sends at once, without reading anything. False: the provider has no room.
    bool shout(std::size_t session, FrameKind kind, std::uint64_t id, const TransferBody& body) {
        std::array<std::byte, frame_header_bytes + transfer_body_bytes> bytes;
        encode({kind, 0, Errc::ok, 0, joined_[session].session, id}, body, bytes);
        return end_.endpoint->inject(bytes.data(), head_bytes(kind), joined_[session].there) == Errc::ok;
    }
    void poll() {
        while (said_ < words_.size()) {
            Word& word = words_[said_];
            if (end_.endpoint->send(word.bytes.data(), word.bytes.size(), {}, word.to, word) == Errc::again) break;
            ++said_;
        }
        (void)end_.endpoint->poll(64);
    }
    [[nodiscard]] Endpoint& endpoint() { return *end_.endpoint; }

    std::deque<Heard> heard;

  private:
    struct Joined {
        na::Stream stream;
        SessionName session;
        fi_addr_t there = FI_ADDR_UNSPEC;
        std::vector<std::byte> address;
    };
    struct Ear : FabricOp {
        Stranger* self = nullptr;
        std::array<std::byte, frame_header_bytes + transfer_body_bytes + message_bytes_max> room;
    };
    struct Word : Watched {
        fi_addr_t to = FI_ADDR_UNSPEC;
        std::vector<std::byte> bytes;
    };

    void prove(support::Pump& pump, na::Stream& stream) const {
        std::uint32_t events = 0;
        EXPECT_TRUE(pump.until([&] { return na::connect_outcome(stream.fd()) == Errc::ok; }));
        protect(stream);
        EXPECT_TRUE(pump.until([&] { return stream.guard()->establish(events) == Errc::ok; }));
    }
    static Selection chosen(const std::string& target) {
        const auto uri = na::Uri::parse(target).value();
        return select(read_address(uri).value()).value();
    }
    void listen(Ear& ear) { EXPECT_EQ(end_.endpoint->receive(ear.room.data(), ear.room.size(), {}, ear), Errc::ok); }
    void hear(Ear& ear, const Done& done) {
        if (done.result != Errc::ok) return;
        Heard& came = heard.emplace_back();
        ConstBytes data;
        if (protect) {  // sealed
            came.data.assign(ear.room.begin(), ear.room.begin() + static_cast<std::ptrdiff_t>(done.bytes));
            return listen(ear);
        }
        EXPECT_EQ(decode({ear.room.data(), done.bytes}, message_bytes_max, came.frame, came.body, data), Errc::ok);
        came.data.assign(data.begin(), data.end());
        listen(ear);
    }

    const std::string target_;
    End end_;
    std::deque<Ear> ears_;
    std::deque<Word> words_;
    std::deque<Joined> joined_;
    std::size_t said_ = 0;
    std::uint32_t sessions_made_ = 0;
};

}  // namespace cinnabar::ofi
