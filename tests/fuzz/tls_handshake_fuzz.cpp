// SPDX-License-Identifier: BSD-3-Clause
// What arrives at an open tcps port, and what a server answers to a dial. The first byte says what the rest is:
//     0  bytes that arrive at the accepting side, until the other side hangs up
//     1  bytes that arrive at the dialling side
//     2  changes to a handshake between two sides that share a key: three bytes each, the position in the traffic and
//        the value added there
// A peer without a key is never accepted: raw bytes end in an error. A handshake without changes succeeds. If one with
// changes succeeds on both sides, because only unprotected bytes were changed (the version in a record's header), it
// has the identity of the key.
#include "greeting.hpp"
#include "guards.hpp"
#include "key_file.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/log.hpp>
#include <cinnabar/base/unique_fd.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

using namespace cinnabar;
using namespace cinnabar::tcp;
using cinnabar::tls::TlsGuards;

namespace {

using Pair = std::array<UniqueFd, 2>;

Pair connected() {
    std::array<int, 2> fds{};
    CINNABAR_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()) == 0);
    return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

const TlsGuards& guards() {
    static const std::shared_ptr<const TlsGuards> made = [] {
        set_log_sink([](const LogLine&, void*) {}, nullptr);  // each input causes a log line
        na::TlsOptions options;
        options.key_file = fuzz::key_file();
        auto loaded = TlsGuards::make(options, {.scheme = {"tcps", Greeting::wire_bytes}});
        CINNABAR_ASSERT(loaded.ok());
        return *std::move(loaded);
    }();
    return *made;
}

const na::Addr& somewhere() {
    static const na::Addr addr = na::Addr::parse("tcps://127.0.0.1:1").value();
    return addr;
}

// One side of a connection, with its end of the network.
struct Side {
    Pair way = connected();
    na::Stream stream;
    Errc state = Errc::again;

    explicit Side(bool accepts) : stream(std::move(way[0])) {
        const Errc made = accepts ? guards().protect_accepted(stream) : guards().protect_dialled(stream, somewhere());
        CINNABAR_ASSERT(made == Errc::ok);
        step();
    }
    void step() {
        std::uint32_t events = 0;
        if (state == Errc::again) state = stream.guard()->establish(events);
    }
    std::vector<std::byte> sent() {
        std::vector<std::byte> bytes(64 * 1024);
        const ssize_t count = ::recv(way[1].get(), bytes.data(), bytes.size(), 0);
        bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
        return bytes;
    }
    void give(ConstBytes bytes) { (void)::send(way[1].get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); }
};

void try_raw(bool accepts, ConstBytes bytes) {
    Side side(accepts);
    while (!bytes.empty() && side.state == Errc::again) {
        const ConstBytes part = bytes.first(std::min<std::size_t>(bytes.size(), 1'024));
        side.give(part);
        bytes = bytes.subspan(part.size());
        side.step();
        (void)side.sent();
    }
    side.way[1].reset();
    for (int i = 0; i < 100 && side.state == Errc::again; ++i) side.step();
    CINNABAR_ASSERT(side.state != Errc::ok && side.state != Errc::again);
}

void try_changed(ConstBytes changes) {
    Side server(true);
    Side client(false);
    std::size_t passed = 0;
    bool changed = false;
    const auto pass = [&](Side& from, Side& to) {
        std::vector<std::byte> bytes = from.sent();
        for (ConstBytes rest = changes; rest.size() >= 3; rest = rest.subspan(3)) {
            const auto at = std::to_integer<std::size_t>(rest[0]) | std::to_integer<std::size_t>(rest[1]) << 8;
            if (at < passed || at - passed >= bytes.size() || rest[2] == std::byte{0}) continue;
            bytes[at - passed] ^= rest[2];
            changed = true;
        }
        passed += bytes.size();
        to.give(bytes);
        to.step();
        return !bytes.empty();
    };
    for (bool more = true; more;) {
        more = pass(client, server);
        more = pass(server, client) || more;
    }
    const bool both = server.state == Errc::ok && client.state == Errc::ok;
    CINNABAR_ASSERT(both || changed);
    if (both) CINNABAR_ASSERT(server.stream.identity()->name == "tests" && client.stream.identity()->name == "tests");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size == 0) return 0;
    const ConstBytes rest = std::as_bytes(std::span(bytes, size)).subspan(1);
    if (bytes[0] % 3 == 2) {
        try_changed(rest);
    } else {
        try_raw(bytes[0] % 3 == 0, rest);
    }
    return 0;
}
