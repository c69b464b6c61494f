// SPDX-License-Identifier: BSD-3-Clause
// What arrives outside of a TLS connection, sealed or made to look so: frames and chunks with their trailers. The first
// byte says what the rest is:
//     0  bytes in place of a sealed message
//     1  changes to a sealed message: its length, then two bytes each, the position and the value added there
//     2  what a network does with messages, and keys that change meanwhile: a byte for each step, see Network
// and, by its highest bit, whether they are frames or chunks. Only what the other end has sealed is opened, as it was,
// with a key that is not too old, and frames once.
#include "guards.hpp"
#include "key_file.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/log.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/session/message_guard.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace cinnabar::fuzz {
namespace {

using tls::TlsGuards;
using Kind = na::MessageGuard::Kind;
using Message = std::vector<std::byte>;

constexpr std::size_t trailer = na::MessageGuard::trailer_bytes;
constexpr std::array<std::byte, 8> head{std::byte{1}, std::byte{2}};

const TlsGuards& guards() {
    static const std::shared_ptr<const TlsGuards> made = [] {
        set_log_sink([](const LogLine&, void*) {}, nullptr);
        na::TlsOptions options;
        options.key_file = key_file();
        auto loaded = TlsGuards::make(options, {.key_update_bytes = 64, .scheme = {"tcps", 56}});
        CINNABAR_ASSERT(loaded.ok());
        return *std::move(loaded);
    }();
    return *made;
}

// The message guards of the two ends of a connection.
struct Ends {
    Ends() {
        std::array<int, 2> fds{};
        CINNABAR_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()) == 0);
        dialler = na::Stream(UniqueFd(fds[0]));
        acceptor = na::Stream(UniqueFd(fds[1]));
        CINNABAR_ASSERT(guards().protect_dialled(dialler, na::Addr::parse("tcps://127.0.0.1:1").value()) == Errc::ok);
        CINNABAR_ASSERT(guards().protect_accepted(acceptor) == Errc::ok);
        std::uint32_t events = 0;
        std::array<Errc, 2> states{Errc::again, Errc::again};
        for (int step = 0; step < 10; ++step) {
            if (states[0] == Errc::again) states[0] = dialler.guard()->establish(events);
            if (states[1] == Errc::again) states[1] = acceptor.guard()->establish(events);
        }
        CINNABAR_ASSERT(states[0] == Errc::ok && states[1] == Errc::ok);
        here = dialler.guard()->message_guard();
        there = acceptor.guard()->message_guard();
        CINNABAR_ASSERT(here && there);
    }
    na::Stream dialler;  // outlive the message guards
    na::Stream acceptor;
    std::unique_ptr<na::MessageGuard> here;
    std::unique_ptr<na::MessageGuard> there;
};

Message sealed(na::MessageGuard& by, Kind kind, std::size_t bytes) {
    Message message(bytes + trailer, static_cast<std::byte>(bytes));
    CINNABAR_ASSERT(by.seal(kind, head, ConstBytes(message).first(bytes), message.data()));
    return message;
}

// Whether the message is opened; if so, it is what sealed() was called with. An exact copy on the heap, so that the
// address sanitizer notices an access beyond its end.
bool opens(na::MessageGuard& by, Kind kind, ConstBytes message) {
    Message copy(message.begin(), message.end());
    copy.shrink_to_fit();
    if (!by.open(kind, head, Bytes(copy))) return false;
    const std::size_t bytes = copy.size() - trailer;
    CINNABAR_ASSERT(std::count(copy.begin(), copy.begin() + static_cast<std::ptrdiff_t>(bytes),
                               static_cast<std::byte>(bytes)) == static_cast<std::ptrdiff_t>(bytes));
    return true;
}

// For messages that depend on no other; a handshake for each would take most of the time.
Ends& lasting_ends() {
    static Ends ends;
    return ends;
}

void try_changed(Kind kind, ConstBytes changes) {
    if (changes.empty()) return;
    Ends& ends = lasting_ends();
    const Message right = sealed(*ends.here, kind, std::to_integer<std::size_t>(changes[0]));
    Message message = right;
    for (ConstBytes rest = changes.subspan(1); rest.size() >= 2; rest = rest.subspan(2)) {
        message[std::to_integer<std::size_t>(rest[0]) % message.size()] ^= rest[1];
    }
    CINNABAR_ASSERT(opens(*ends.there, kind, message) == (message == right));
    const bool again = kind == Kind::chunk || message != right;
    CINNABAR_ASSERT(opens(*ends.there, kind, right) == again);
}

// Delivers what was sealed in any order, more than once, cut and changed, and knows what has to be opened.
class Network {
  public:
    explicit Network(Kind kind) : kind_(kind) {}

    void step(std::size_t what) {
        constexpr std::size_t messages_max = 256;
        if (what < 64 && messages_.size() < messages_max) messages_.push_back(sealed(*ends_.here, kind_, what));
        if (messages_.empty()) return;
        const std::size_t which = what % messages_.size();
        if (what >= 64 && what < 128) return deliver(which);
        Message wrong = messages_[which];
        if (what < 192) {
            wrong.pop_back();
        } else {
            wrong[wrong.size() - 1 - what % trailer] ^= std::byte{0x10};
        }
        CINNABAR_ASSERT(!opens(*ends_.there, kind_, wrong));
    }

  private:
    void deliver(std::size_t which) {
        const Message& message = messages_[which];
        const auto epoch = static_cast<std::uint16_t>(ByteReader(ConstBytes(message).last(trailer)).u64() >> 48);
        const bool known = epoch > newest_ || keys_[epoch % 2] == epoch;
        const bool expected = known && (kind_ == Kind::chunk || !taken_.contains(which));
        CINNABAR_ASSERT(opens(*ends_.there, kind_, message) == expected);
        if (!expected) return;
        taken_.insert(which);
        if (epoch <= newest_) return;
        newest_ = epoch;
        keys_[epoch % 2] = epoch;
    }

    const Kind kind_;
    Ends ends_;
    std::vector<Message> messages_;
    std::set<std::size_t> taken_;
    std::array<std::optional<std::uint16_t>, 2> keys_{0, std::nullopt};
    std::uint16_t newest_ = 0;
};

void try_input(unsigned first, ConstBytes rest) {
    const Kind kind = first >= 128 ? Kind::chunk : Kind::frame;
    switch (first % 3) {
        case 0:
            CINNABAR_ASSERT(!opens(*lasting_ends().there, kind, rest));
            break;
        case 1:
            try_changed(kind, rest);
            break;
        default: {
            Network network(kind);
            for (const std::byte each : rest) network.step(std::to_integer<std::size_t>(each));
        }
    }
}

}  // namespace
}  // namespace cinnabar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size != 0) cinnabar::fuzz::try_input(bytes[0], std::as_bytes(std::span(bytes, size)).subspan(1));
    return 0;
}
