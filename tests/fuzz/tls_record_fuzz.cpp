// SPDX-License-Identifier: BSD-3-Clause
// What arrives at a tcps connection after the handshake. The first byte says what the rest is:
//     0  bytes in place of records, at the accepting side
//     1  the same, at the dialling side
//     2  what a network does with records, two bytes for each step, see Network
// No byte is received that the other side did not send, and those that it sent are received once, in their order and
// without a gap, until the session ends.
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
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace cinnabar::fuzz {
namespace {

using tls::TlsGuards;
using Record = std::vector<std::byte>;

constexpr std::size_t head_bytes = 5;  // of a record: type, version, and the length in the last two

// Keys change often, so that the messages that announce it are on the way, too.
const TlsGuards& guards() {
    static const std::shared_ptr<const TlsGuards> made = [] {
        set_log_sink([](const LogLine&, void*) {}, nullptr);  // each input causes a log line
        na::TlsOptions options;
        options.key_file = key_file();
        auto loaded = TlsGuards::make(options, {.key_update_bytes = 20'000, .scheme = {"tcps", 56}});
        CINNABAR_ASSERT(loaded.ok());
        return *std::move(loaded);
    }();
    return *made;
}

// What the dialling side sends, by the position in all of it.
std::byte sent_at(std::uint64_t position) {
    return static_cast<std::byte>((position + 1) * 0x9e37'79b9'7f4a'7c15 >> 56);
}

// One side of a connection, with its end of the network.
struct Side {
    UniqueFd way;
    na::Stream stream;
    Errc state = Errc::again;
    std::uint64_t received = 0;

    explicit Side(bool accepts) {
        std::array<int, 2> fds{};
        CINNABAR_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()) == 0);
        stream = na::Stream(UniqueFd(fds[0]));
        way = UniqueFd(fds[1]);
        const Errc made = accepts ? guards().protect_accepted(stream)
                                  : guards().protect_dialled(stream, na::Addr::parse("tcps://127.0.0.1:1").value());
        CINNABAR_ASSERT(made == Errc::ok);
        shake();
    }
    void shake() {
        std::uint32_t events = 0;
        if (state == Errc::again) state = stream.guard()->establish(events);
    }
    std::vector<std::byte> sent() const {
        std::vector<std::byte> bytes(64 * 1024);
        const ssize_t count = ::recv(way.get(), bytes.data(), bytes.size(), 0);
        bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
        return bytes;
    }
    void give(ConstBytes bytes) const { (void)::send(way.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); }
    // Receives all that has come. again: the session goes on.
    Errc receive() {
        std::array<std::byte, 4096> room{};
        for (int nothing = 0;;) {
            const na::Moved moved = stream.receive(room.data(), room.size());
            // A message about keys may lie in front of more.
            const bool more = moved.bytes > 0 || (moved.why == Errc::again && stream.guard()->unread());
            if (!more) return moved.why;
            if (moved.bytes == 0) CINNABAR_ASSERT(++nothing < 1'000);
            for (std::size_t i = 0; i < moved.bytes; ++i) CINNABAR_ASSERT(room[i] == sent_at(received + i));
            received += moved.bytes;
        }
    }
    // The other side is gone, so the session ends, whatever has come.
    void expect_end() {
        way.reset();
        Errc why = Errc::again;
        for (int i = 0; i < 100 && why == Errc::again; ++i) why = receive();
        CINNABAR_ASSERT(why != Errc::ok && why != Errc::again);
    }
};

struct Ends {
    Side acceptor{true};
    Side dialler{false};

    Ends() {
        for (int step = 0; step < 10; ++step) {
            acceptor.give(dialler.sent());
            acceptor.shake();
            dialler.give(acceptor.sent());
            dialler.shake();
        }
        CINNABAR_ASSERT(acceptor.state == Errc::ok && dialler.state == Errc::ok);
    }
};

// Nobody without the keys can make a record, so nothing is received.
void try_raw(bool accepts, ConstBytes bytes) {
    Ends ends;
    Side& side = accepts ? ends.acceptor : ends.dialler;
    Errc why = Errc::again;
    while (!bytes.empty() && why == Errc::again) {
        const ConstBytes part = bytes.first(std::min<std::size_t>(bytes.size(), 1'024));
        side.give(part);
        bytes = bytes.subspan(part.size());
        why = side.receive();
    }
    side.expect_end();
    CINNABAR_ASSERT(side.received == 0);
}

// Passes on the records of the dialling side, or does something else with them.
class Network {
  public:
    void step(unsigned what, std::size_t value) {
        if (what % 8 == 0) return send(value * 67 + 1);  // of up to two records
        if (records_.empty()) return;
        switch (what % 8) {
            case 1:
                deliver(next());
                break;
            case 2: {
                Record changed = next();
                changed[value % changed.size()] ^= std::byte{0x10};
                deliver_wrong(changed);
                break;
            }
            case 3: {
                const Record record = next();
                deliver(record);
                deliver_wrong(record);
                break;
            }
            case 4:
                (void)next();
                is_whole_ = false;
                break;
            case 5:
                if (records_.size() < 2) break;
                std::swap(records_[0], records_[1]);
                is_whole_ = false;
                break;
            case 6: {
                Record cut = next();
                cut.resize(value % cut.size());
                deliver_wrong(cut);
                break;
            }
            default: {
                const Record record = next();
                const std::size_t part = value % record.size();
                deliver(ConstBytes(record).first(part));
                deliver(ConstBytes(record).subspan(part));
            }
        }
    }
    void finish() {
        while (!records_.empty()) deliver(next());
        if (is_whole_) CINNABAR_ASSERT(ends_.acceptor.received == sent_);
        ends_.acceptor.expect_end();
    }

  private:
    void send(std::size_t bytes) {
        constexpr std::size_t sent_max = 1'000'000;
        if (sent_ + bytes > sent_max) return;
        std::vector<std::byte> text(bytes);
        for (std::size_t i = 0; i < bytes; ++i) text[i] = sent_at(sent_ + i);
        CINNABAR_ASSERT(ends_.dialler.stream.send(text.data(), text.size()).bytes == bytes);
        sent_ += bytes;
        const std::vector<std::byte> out = ends_.dialler.sent();
        for (ConstBytes rest(out); !rest.empty();) {
            CINNABAR_ASSERT(rest.size() >= head_bytes);
            const auto high = std::to_integer<std::size_t>(rest[3]);
            const std::size_t length = high << 8 | std::to_integer<std::size_t>(rest[4]);
            CINNABAR_ASSERT(rest.size() - head_bytes >= length);
            const ConstBytes record = rest.first(head_bytes + length);
            records_.emplace_back(record.begin(), record.end());
            rest = rest.subspan(record.size());
        }
    }
    Record next() {
        Record record = std::move(records_.front());
        records_.pop_front();
        return record;
    }
    void deliver(ConstBytes bytes) {
        ends_.acceptor.give(bytes);
        const Errc why = ends_.acceptor.receive();
        CINNABAR_ASSERT(!is_whole_ || why == Errc::again);
    }
    void deliver_wrong(ConstBytes bytes) {
        is_whole_ = false;
        deliver(bytes);
    }

    Ends ends_;
    std::deque<Record> records_;  // sent, and not passed on yet
    std::uint64_t sent_ = 0;
    bool is_whole_ = true;  // each record was passed on as it was sent
};

void try_input(unsigned first, ConstBytes rest) {
    if (first % 3 != 2) return try_raw(first % 3 == 0, rest);
    Network network;
    for (; rest.size() >= 2; rest = rest.subspan(2)) {
        network.step(std::to_integer<unsigned>(rest[0]), std::to_integer<std::size_t>(rest[1]));
    }
    network.finish();
}

}  // namespace
}  // namespace cinnabar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size != 0) cinnabar::fuzz::try_input(bytes[0], std::as_bytes(std::span(bytes, size)).subspan(1));
    return 0;
}
