// SPDX-License-Identifier: BSD-3-Clause
// How many records carry what is sent: each one costs both sides a call of the cipher, and the network 22 bytes.
#include "guards.hpp"
#include "tls_fixture.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace cinnabar::tcp {
namespace {

constexpr std::size_t record_head_bytes = 5;     // type, version, and the length in the last two
constexpr std::size_t record_sealed_bytes = 17;  // the inner type, and the tag of the cipher
constexpr std::size_t record_text_max = 16 * 1024;

// The bytes that each record carries. Requires: whole records.
std::vector<std::size_t> texts_of(ConstBytes bytes) {
    std::vector<std::size_t> texts;
    while (bytes.size() >= record_head_bytes) {
        const auto high = std::to_integer<std::size_t>(bytes[3]);
        const std::size_t length = high << 8 | std::to_integer<std::size_t>(bytes[4]);
        if (length < record_sealed_bytes || length > bytes.size() - record_head_bytes) break;
        texts.push_back(length - record_sealed_bytes);
        bytes = bytes.subspan(record_head_bytes + length);
    }
    EXPECT_TRUE(bytes.empty()) << "half a record";
    return texts;
}

using TlsRecords = TlsTest;

TEST_F(TlsRecords, SmallMessagesOfARoundShareOne) {
    Process& server = serve(alice());
    na::ContextOptions one;
    one.threads = ThreadUse::one;  // so that nothing is sent before the next round
    Process& client = open("tcps://", with(alice(), false), one);
    Relay relay(server.endpoint());
    const auto passing = [&](const std::function<bool()>& done) {
        return until([&] {
            relay.step();
            return done();
        });
    };
    na::Peer& there = peer(client, relay.endpoint());
    (void)send(client, there, 1);
    ASSERT_TRUE(passing([&] { return server.receiver.count_tag(1) == 1; }));
    std::vector<std::byte> seen;
    relay.change([&](std::vector<std::byte> bytes, bool from_dialler) {
        if (from_dialler) seen.insert(seen.end(), bytes.begin(), bytes.end());
        return bytes;
    });
    // Some are sent from where they are, in place of a copy.
    constexpr std::array<std::size_t, 12> sizes{64, 64, 1, 200, 64, 2'500, 64, 2'500, 64, 64, 2'500, 8};
    std::size_t bytes = 0;
    for (const std::size_t size : sizes) {
        (void)send(client, there, 2, size);
        bytes += size;
    }
    ASSERT_TRUE(passing([&] { return server.receiver.count_tag(2) == sizes.size(); }));
    const std::vector<std::size_t> texts = texts_of(seen);
    ASSERT_EQ(texts.size(), 1u);
    EXPECT_GT(texts.front(), bytes);
}

// The two ends of a connection without a transport, which the test reads itself.
class TlsBulkRecords : public TlsTest {
  protected:
    TlsBulkRecords() {
        auto made = tls::TlsGuards::make(alice(), {.scheme = {"tcps", Greeting::wire_bytes}});
        EXPECT_TRUE(made.ok());
        guards_ = *std::move(made);
        std::array<int, 2> from{};
        std::array<int, 2> to{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, from.data()), 0);
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, to.data()), 0);
        dialler_ = na::Stream(UniqueFd(from[0]));
        after_dialler_ = UniqueFd(from[1]);
        acceptor_ = na::Stream(UniqueFd(to[0]));
        before_acceptor_ = UniqueFd(to[1]);
        EXPECT_EQ(guards_->protect_dialled(dialler_, na::Addr::parse("tcps://127.0.0.1:1").value()), Errc::ok);
        EXPECT_EQ(guards_->protect_accepted(acceptor_), Errc::ok);
        shake();
    }
    void shake() {
        std::array<Errc, 2> states{Errc::again, Errc::again};
        std::uint32_t events = 0;
        for (int step = 0; step < 20 && (states[0] == Errc::again || states[1] == Errc::again); ++step) {
            if (states[0] == Errc::again) states[0] = dialler_.guard()->establish(events);
            pass(after_dialler_, before_acceptor_);
            if (states[1] == Errc::again) states[1] = acceptor_.guard()->establish(events);
            pass(before_acceptor_, after_dialler_);
        }
        ASSERT_EQ(states[0], Errc::ok);
        ASSERT_EQ(states[1], Errc::ok);
    }
    static std::vector<std::byte> taken(const UniqueFd& from) {
        std::vector<std::byte> all;
        std::array<std::byte, 64 * 1024> room;
        for (;;) {
            const ssize_t count = ::recv(from.get(), room.data(), room.size(), 0);
            if (count <= 0) return all;
            all.insert(all.end(), room.begin(), room.begin() + count);
        }
    }
    static void pass(const UniqueFd& from, const UniqueFd& to) {
        const std::vector<std::byte> bytes = taken(from);
        if (bytes.empty()) return;
        EXPECT_EQ(::send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    }

    std::shared_ptr<const tls::TlsGuards> guards_;
    UniqueFd after_dialler_;
    UniqueFd before_acceptor_;
    na::Stream dialler_;
    na::Stream acceptor_;
};

// As the transport sends a put: a head and pieces of memory, and the rest again when there is room.
TEST_F(TlsBulkRecords, AreFull) {
    constexpr std::size_t head = 48;
    std::vector<std::byte> memory(1 << 20);
    const std::size_t all = head + memory.size();
    std::array<std::byte, head> heads{};
    std::vector<std::byte> seen;
    std::size_t sent = 0;
    for (int step = 0; step < 1'000 && (sent < all || dialler_.guard()->unsent()); ++step) {
        if (dialler_.guard()->flush() && sent < all) {
            // Two pieces, neither of which is a multiple of a record.
            constexpr std::size_t first = 300'001;
            std::array<iovec, 3> pieces{iovec{heads.data(), head}, iovec{memory.data(), first},
                                        iovec{memory.data() + first, memory.size() - first}};
            std::size_t skip = sent;
            for (iovec& piece : pieces) {
                const std::size_t part = std::min(skip, piece.iov_len);
                piece.iov_base = static_cast<std::byte*>(piece.iov_base) + part;
                piece.iov_len -= part;
                skip -= part;
            }
            const na::Moved moved = dialler_.send(pieces.data(), pieces.size());
            ASSERT_TRUE(moved.why == Errc::ok || moved.why == Errc::again);
            sent += moved.bytes;
        }
        const std::vector<std::byte> came = taken(after_dialler_);
        seen.insert(seen.end(), came.begin(), came.end());
    }
    ASSERT_EQ(sent, all);
    const std::vector<std::size_t> texts = texts_of(seen);
    const auto full = static_cast<std::size_t>(std::ranges::count(texts, record_text_max));
    EXPECT_EQ(texts.size(), (all + record_text_max - 1) / record_text_max);
    EXPECT_EQ(full, all / record_text_max) << "the last one alone has less";
}

}  // namespace
}  // namespace cinnabar::tcp
