// SPDX-License-Identifier: BSD-3-Clause
// Reads by the fabric with a peer that is not the library: the test greets, and says and hears every frame itself. As
// the reader it asks for more than it may, and keeps what it should give back; as the owner it answers with nonsense.
#include "card.hpp"
#include "direct_reads.hpp"
#include "own_end.hpp"
#include "session.hpp"
#include "support/network.hpp"
#include "support/pump.hpp"

#include <cinnabar/na/context.hpp>
#include <cinnabar/na/session/greeting.hpp>
#include <cinnabar/na/session/socket.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::ofi {
namespace {

using support::NetworkKind;

struct Heard {
    Frame frame;
    TransferBody body;
    std::vector<std::byte> data;
};

// The peer: a socket, an endpoint, and what came in by it.
class Stranger {
  public:
    static constexpr std::uint32_t message_bytes_max = 4096;
    static constexpr SessionName name{3, 12345};

    explicit Stranger(Selection selection) : ears_(16), end_(std::move(selection)) {
        for (Ear& ear : ears_) {
            ear.self = this;
            ear.done = [](FabricOp& op, const Done& done) noexcept {
                auto& heard = static_cast<Ear&>(op);
                heard.self->hear(heard, done);
            };
            listen(ear);
        }
    }

    Card card() const {
        Card card;
        card.hello.incarnation = 77;
        card.hello.message_bytes_max = message_bytes_max;
        card.session = name;
        card.set_provider(end_->selection.provider->name);
        const ConstBytes address = end_->endpoint->address();
        card.address_bytes = static_cast<std::uint16_t>(address.size());
        std::copy(address.begin(), address.end(), card.address.begin());
        return card;
    }
    void meet(UniqueFd socket, const Card& theirs) {
        socket_ = std::move(socket);
        session_ = theirs.session;
        ASSERT_EQ(end_->endpoint->insert({theirs.address.data(), theirs.address_bytes}, there_), Errc::ok);
    }
    void hang_up() {
        end_.reset();
        socket_.reset();
    }

    void say(FrameKind kind, std::uint64_t id = 0, const TransferBody& body = {}, Errc status = Errc::ok,
             ConstBytes data = {}) {
        Word& word = words_.emplace_back();
        word.bytes.resize(head_bytes(kind) + padded(data.size()));
        encode({kind, 0, status, static_cast<std::uint32_t>(data.size()), session_, id}, body, word.bytes);
        std::copy(data.begin(), data.end(), word.bytes.begin() + static_cast<std::ptrdiff_t>(head_bytes(kind)));
    }
    // again: the provider has no room.
    Errc read(const Piece& from, Bytes to, Watched& op) {
        RemoteKey at;
        if (const Errc why = end_->endpoint->registrar().learn(from.name, at); why != Errc::ok) return why;
        const iovec here{to.data(), to.size()};
        const fi_rma_iov remote{at.address, to.size(), at.key};
        return end_->endpoint->read({&here, 1}, {}, {&remote, 1}, there_, op);
    }
    void poll() {
        if (!end_) return;
        while (said_ < words_.size()) {
            Word& word = words_[said_];
            const Errc why = end_->endpoint->send(word.bytes.data(), word.bytes.size(), {}, there_, word);
            if (why == Errc::again) break;
            ++said_;
        }
        (void)end_->endpoint->poll(64);
    }
    // The oldest frame of that kind.
    std::optional<Heard> heard(FrameKind kind) {
        const auto at =
            std::find_if(heard_.begin(), heard_.end(), [&](const Heard& h) { return h.frame.kind == kind; });
        if (at == heard_.end()) return std::nullopt;
        Heard found = std::move(*at);
        heard_.erase(at);
        return found;
    }

  private:
    struct Ear : FabricOp {
        Stranger* self = nullptr;
        std::array<std::byte, frame_header_bytes + transfer_body_bytes + message_bytes_max> room;
    };
    struct Word : Watched {
        std::vector<std::byte> bytes;
    };

    void listen(Ear& ear) { EXPECT_EQ(end_->endpoint->receive(ear.room.data(), ear.room.size(), {}, ear), Errc::ok); }
    void hear(Ear& ear, const Done& done) {
        if (done.result != Errc::ok) return;
        Heard& heard = heard_.emplace_back();
        ConstBytes data;
        EXPECT_EQ(decode({ear.room.data(), done.bytes}, message_bytes_max, heard.frame, heard.body, data), Errc::ok);
        EXPECT_EQ(heard.frame.session == name, heard.frame.kind != FrameKind::marker);
        heard.data.assign(data.begin(), data.end());
        listen(ear);
    }

    std::deque<Ear> ears_;
    std::deque<Word> words_;
    std::size_t said_ = 0;
    std::deque<Heard> heard_;
    SessionName session_;
    fi_addr_t there_ = FI_ADDR_UNSPEC;
    UniqueFd socket_;
    std::optional<End> end_;
};

class HostileReads : public testing::TestWithParam<NetworkKind> {
  protected:
    static constexpr std::size_t lent_bytes = 1024 * 1024;

    void SetUp() override {
        if (const std::string missing = network_.missing(); !missing.empty()) GTEST_SKIP() << missing;
        na::TransportOptions options;
        options.listen = true;
        transport_ = network_.open("library", options).value();
        na::ContextOptions one;
        one.threads = Threads::one;
        na::Transport* const transport = transport_.get();
        context_ = na::Context::open({&transport, 1}, one, receiver_).value();
        pump_.add(*context_);
        ASSERT_NO_FATAL_FAILURE(meet());
    }
    // The stranger calls.
    void meet() {
        const auto uri = na::Uri::parse(transport_->endpoints().front() + "?reads=fabric").value();
        stranger_.emplace(select(read_address(uri).value()).value());
        UniqueFd fd;
        ASSERT_EQ(na::start_connect(na::resolve(uri, na::Purpose::dial).value().front(), nullptr, fd), Errc::ok);
        std::array<std::byte, Card::bytes> bytes;
        stranger_->card().encode(bytes);
        ASSERT_TRUE(na::send_greeting(fd.get(), bytes));
        na::GreetingReader reader;
        reader.expect(Card::bytes);
        ASSERT_TRUE(until([&] { return reader.read(fd.get()) == Errc::ok; }));
        Card theirs;
        ASSERT_EQ(Card::decode(reader.bytes(), theirs), Errc::ok);
        ASSERT_NO_FATAL_FAILURE(stranger_->meet(std::move(fd), theirs));
        stranger_->say(FrameKind::probe);
        (void)await(FrameKind::answer);
        ASSERT_EQ(receiver_.count(na::PeerEvent::connected), 1u);
    }
    // Within `limit` also where there is something to do in every round.
    bool until(const std::function<bool()>& done, std::chrono::milliseconds limit = support::Pump::limit_default) {
        const auto end = std::chrono::steady_clock::now() + limit;
        bool is_so = false;
        (void)pump_.until([&] {
            stranger_->poll();
            is_so = done();
            return is_so || std::chrono::steady_clock::now() > end;
        });
        return is_so;
    }
    Heard await(FrameKind kind) {
        std::optional<Heard> heard;
        EXPECT_TRUE(until([&] { return (heard = stranger_->heard(kind)).has_value(); }))
            << "frame " << static_cast<int>(kind) << " has not come";
        return heard.value_or(Heard{});
    }
    bool lost() const { return receiver_.count(na::PeerEvent::lost) > 0; }
    void ends_by_the_protocol() {
        ASSERT_TRUE(until([&] { return lost(); }));
        EXPECT_EQ(receiver_.events.back().why, Errc::protocol) << to_string(receiver_.events.back().why);
    }
    std::unique_ptr<na::Memory> cut_in_two(std::vector<std::byte>& bytes, na::Access access) {
        const std::array segments{na::Segment{bytes.data(), first_bytes},
                                  na::Segment{bytes.data() + first_bytes, bytes.size() - first_bytes}};
        return transport_->register_memory(segments, access).value();
    }
    static constexpr std::size_t first_bytes = 300'001;

    support::Network network_{GetParam()};
    support::Pump pump_;
    support::RecordingReceiver receiver_;
    std::unique_ptr<na::Transport> transport_;
    std::vector<std::byte> bytes_ = std::vector<std::byte>(lent_bytes);
    std::unique_ptr<na::Memory> memory_;
    na::Lease lease_;
    struct Get {
        na::Op op;
        bool done = false;
    };
    std::deque<Get> gets_;
    std::unique_ptr<na::Context> context_;
    std::optional<Stranger> stranger_;
};

// The library has lent memory to the stranger.
class HostileReader : public HostileReads {
  protected:
    void SetUp() override {
        HostileReads::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(i * 7 / 3 | 1);
        memory_ = cut_in_two(bytes_, na::Access::read);
        lease_.memory = memory_.get();
        lease_.bytes = lent_bytes;
        lease_.access = na::Access::read;
        lease_.fenced.run = [](Work&) noexcept {};
        ASSERT_EQ(transport_->grant(lease_), Errc::ok);
        key_ = {lease_.slot, lease_.generation, lease_.key};
    }
    void TearDown() override {
        if (lease_.granted()) (void)transport_->revoke(lease_);
    }
    void ask(std::uint64_t id, const na::LeaseKey& key) {
        TransferBody body;
        body.key = key;
        stranger_->say(FrameKind::open, id, body);
    }
    std::vector<Piece> open(std::uint64_t id) {
        ask(id, key_);
        const Heard opened = await(FrameKind::opened);
        EXPECT_EQ(opened.frame.id, id);
        EXPECT_EQ(opened.frame.status, Errc::ok) << to_string(opened.frame.status);
        std::vector<Piece> pieces;
        Reader reader(opened.data);
        while (reader.left() > 0) {
            if (!Piece::decode(reader, pieces.emplace_back())) ADD_FAILURE() << "piece " << pieces.size();
        }
        return pieces;
    }
    void close(std::uint64_t id) {
        stranger_->say(FrameKind::closed, id);
        (void)await(FrameKind::marker);
    }
    // Whether it has come to its end, well or not.
    bool read(const Piece& from, Bytes to, Watched& op, std::chrono::milliseconds limit) {
        Errc posted = Errc::again;
        return until(
            [&] {
                if (posted == Errc::again) posted = stranger_->read(from, to, op);
                return posted != Errc::again && (posted != Errc::ok || op.endings > 0);
            },
            limit);
    }
    void is_taken_back() {
        const Errc revoked = transport_->revoke(lease_);
        EXPECT_TRUE(revoked == Errc::ok || revoked == Errc::again) << to_string(revoked);
        EXPECT_TRUE(until([&] { return !lease_.granted(); }));
        EXPECT_FALSE(lease_.fence_failed);
    }

    na::LeaseKey key_;
};

// The library has gets of memory that the stranger is said to have.
class HostileOwner : public HostileReads {
  protected:
    static constexpr std::size_t get_bytes = 256 * 1024;

    void get() {
        if (!memory_) memory_ = cut_in_two(bytes_, na::Access::read_write);
        Get& made = gets_.emplace_back();
        made.op.kind = na::OpKind::get;
        made.op.peer = receiver_.events.front().peer;
        made.op.local = memory_.get();
        made.op.remote = {key_, lent_bytes};
        made.op.bytes = get_bytes;
        made.op.local_offset = made.op.remote_offset = (gets_.size() - 1) * get_bytes % lent_bytes;
        made.op.user = &made;
        made.op.complete = [](na::Op& self) noexcept { static_cast<Get*>(self.user)->done = true; };
        ASSERT_EQ(context_->post_owned(made.op), Errc::ok);
    }
    // Several at once, so that the library asks for keys; the id by which it does.
    std::uint64_t asked_for_keys() {
        for (int i = 0; i < 3; ++i) get();
        return await(FrameKind::open).frame.id;
    }
    void answer(std::uint64_t id, Errc status, ConstBytes pieces) {
        stranger_->say(FrameKind::opened, id, {}, status, pieces);
    }
    // As many of the same size, under keys that nobody has.
    static std::vector<std::byte> pieces(std::size_t count, std::uint64_t bytes) {
        Piece piece;
        piece.bytes = bytes;
        piece.name.set_key(0xbad'c0de);
        std::vector<std::byte> out(count * piece_bytes);
        Writer writer(out);
        for (std::size_t i = 0; i < count; ++i) piece.encode(writer);
        EXPECT_TRUE(writer.ok());
        return out;
    }
    void all_gets_fail() {
        EXPECT_TRUE(
            until([&] { return std::all_of(gets_.begin(), gets_.end(), [](const Get& each) { return each.done; }); }));
        for (const Get& each : gets_) EXPECT_NE(each.op.result, Errc::ok);
    }
    void ends_it(std::uint64_t id, Errc status, ConstBytes pieces) {
        answer(id, status, pieces);
        ends_by_the_protocol();
        all_gets_fail();
    }
    static constexpr std::size_t piece_bytes = 32;

    std::array<std::byte, na::LeaseKey::wire_bytes> key_{};
};

std::string name_of(const testing::TestParamInfo<NetworkKind>& info) { return support::to_string(info.param); }
constexpr std::array kinds{NetworkKind::ofi_tcp_rxm_reads, NetworkKind::ofi_net_reads};
INSTANTIATE_TEST_SUITE_P(On, HostileReader, testing::ValuesIn(kinds), name_of);
INSTANTIATE_TEST_SUITE_P(On, HostileOwner, testing::ValuesIn(kinds), name_of);

TEST_P(HostileReader, KeysReadWhatIsLentUntilTheyAreClosed) {
    const std::vector<Piece> pieces = open(1);
    ASSERT_EQ(pieces.size(), 2u);
    EXPECT_EQ(pieces[0].bytes, first_bytes);
    EXPECT_EQ(pieces[1].bytes, lent_bytes - first_bytes);
    std::vector<std::byte> here(lent_bytes);
    Bytes room = here;
    for (const Piece& piece : pieces) {
        Watched op;
        ASSERT_TRUE(read(piece, room.first(piece.bytes), op, support::Pump::limit_default));
        ASSERT_EQ(op.result, Errc::ok) << op.words;
        room = room.subspan(piece.bytes);
    }
    EXPECT_EQ(here, bytes_);

    close(1);
    std::fill(here.begin(), here.end(), std::byte{0});
    Watched late;
    (void)read(pieces[0], Bytes(here).first(pieces[0].bytes), late, std::chrono::milliseconds(500));
    EXPECT_FALSE(late.endings > 0 && late.result == Errc::ok);
    EXPECT_EQ(std::count(here.begin(), here.end(), std::byte{0}), static_cast<std::ptrdiff_t>(lent_bytes));
    is_taken_back();
    stranger_->hang_up();  // before `late` goes
}

TEST_P(HostileReader, AWrongKeyOpensNothing) {
    const std::array wrong{na::LeaseKey{key_.slot, key_.generation, key_.key ^ 1},
                           na::LeaseKey{key_.slot, key_.generation + 1, key_.key},
                           na::LeaseKey{key_.slot + 1, key_.generation, key_.key},
                           na::LeaseKey{~std::uint32_t{0}, key_.generation, key_.key}};
    for (std::uint64_t id = 0; id < wrong.size(); ++id) {
        ask(id, wrong[id]);
        const Heard opened = await(FrameKind::opened);
        EXPECT_EQ(opened.frame.id, id);
        EXPECT_EQ(opened.frame.status, Errc::permission) << to_string(opened.frame.status);
        EXPECT_TRUE(opened.data.empty());
    }
    EXPECT_FALSE(lost());
    is_taken_back();
}

TEST_P(HostileReader, MoreThanASessionMayHaveOpenIsRefusedAndTheSessionLives) {
    constexpr std::uint64_t beyond = 8;
    for (std::uint64_t id = 0; id < Session::exposures_max; ++id) EXPECT_EQ(open(id).size(), 2u);
    for (std::uint64_t id = 0; id < beyond; ++id) {
        ask(Session::exposures_max + id, key_);
        const Heard opened = await(FrameKind::opened);
        EXPECT_EQ(opened.frame.status, Errc::unsupported) << to_string(opened.frame.status);
        EXPECT_TRUE(opened.data.empty());
    }
    close(5);
    EXPECT_EQ(open(Session::exposures_max).size(), 2u) << "one was given back";
    for (std::uint64_t id = 0; id <= Session::exposures_max; ++id) {
        if (id != 5) close(id);
    }
    EXPECT_FALSE(lost());
    is_taken_back();
}

TEST_P(HostileReader, ToCloseWhatIsNotOpenEndsTheSession) {
    (void)open(1);
    stranger_->say(FrameKind::closed, 2);
    ends_by_the_protocol();
    (void)await(FrameKind::marker);  // behind the end of the session, which closes the other
    is_taken_back();
}

TEST_P(HostileReader, ToCloseTwiceEndsTheSession) {
    (void)open(1);
    close(1);
    stranger_->say(FrameKind::closed, 1);
    ends_by_the_protocol();
    is_taken_back();
}

TEST_P(HostileReader, WhoNeverClosesMakesTheFenceFail) {
    (void)open(1);
    ASSERT_EQ(transport_->revoke(lease_), Errc::again);
    EXPECT_EQ(await(FrameKind::close).frame.id, 1u);
    ASSERT_TRUE(until([&] { return !lease_.granted(); }));
    EXPECT_TRUE(lease_.fence_failed);
    EXPECT_FALSE(lost());
    stranger_->hang_up();
    EXPECT_TRUE(until([&] { return lost(); }));
}

// Nothing tells that its provider has nothing left to answer: the session gives up on that after a while.
TEST_P(HostileReader, WhoHangsUpHasClosedAllInTheEnd) {
    constexpr std::chrono::milliseconds drained{2500};
    (void)open(1);
    (void)open(2);
    stranger_->hang_up();
    ASSERT_TRUE(until([&] { return lost(); }));
    (void)until([] { return false; }, drained);
    EXPECT_EQ(transport_->revoke(lease_), Errc::ok);
}

TEST_P(HostileOwner, KeysThatNobodyAskedForEndTheSession) {
    const std::uint64_t id = asked_for_keys();
    ends_it(id + 1, Errc::ok, pieces(1, lent_bytes));
}

TEST_P(HostileOwner, ASecondAnswerEndsTheSession) {
    const std::uint64_t id = asked_for_keys();
    answer(id, Errc::unsupported, {});
    ends_it(id, Errc::ok, pieces(1, lent_bytes));
}

TEST_P(HostileOwner, ARefusalWithPiecesEndsTheSession) {
    const std::uint64_t id = asked_for_keys();
    ends_it(id, Errc::permission, pieces(1, lent_bytes));
}

TEST_P(HostileOwner, MorePiecesThanThereMayBeEndTheSession) {
    const std::uint64_t id = asked_for_keys();
    ends_it(id, Errc::ok, pieces(exposed_pieces_max + 1, 4096));
}

TEST_P(HostileOwner, PiecesThatWrapEndTheSession) {
    const std::uint64_t id = asked_for_keys();
    ends_it(id, Errc::ok, pieces(2, ~std::uint64_t{0}));
}

TEST_P(HostileOwner, APieceWithoutItsKeyEndsTheSession) {
    const std::uint64_t id = asked_for_keys();
    ends_it(id, Errc::ok, ConstBytes(pieces(2, 4096)).first(2 * piece_bytes - sizeof(std::uint64_t)));
}

TEST_P(HostileOwner, APieceThatIsCutShortEndsTheSession) {
    const std::uint64_t id = asked_for_keys();
    ends_it(id, Errc::ok, ConstBytes(pieces(2, 4096)).first(piece_bytes + 5));
}

TEST_P(HostileOwner, KeysOfNoMemoryFailTheGetsThatUseThem) {
    answer(asked_for_keys(), Errc::ok, pieces(1, lent_bytes));
    stranger_->say(FrameKind::open);
    (void)await(FrameKind::opened);  // and so that was heard before
    get();
    EXPECT_TRUE(until([&] { return lost(); }));
    all_gets_fail();
}

}  // namespace
}  // namespace cinnabar::ofi
