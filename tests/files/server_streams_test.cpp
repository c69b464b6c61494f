// SPDX-License-Identifier: BSD-3-Clause
// Further connections of a session, from a client that can break the protocol: who may join, how many, and windows that
// come again after their connection is lost.
#include "file/journal.hpp"
#include "server_fixture.hpp"
#include "support/limited_path.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <span>

namespace cinnabar::files {
namespace {

struct ServerStreamsTest : ServerTest {
    static constexpr std::uint64_t step = 16u << 10;

    ServerStreamsTest() : ServerTest(support::memory_folder()) {}
    void SetUp() override {
        options.window_bytes = step;
        keyed = true;
    }
    [[nodiscard]] na::Addr connection(unsigned number) const {
        return to.in_parallel(static_cast<std::uint8_t>(number));
    }
    [[nodiscard]] JoinIn greeted_at(const na::Addr& over) const {
        HelloIn hello;
        hello.version = protocol_version;
        JoinIn in;
        in.challenge = here->call(hello_rpc, over, hello).wait().value().challenge;
        return in;
    }
    [[nodiscard]] Result<void> send_join(const na::Addr& over, const JoinIn& in) const {
        auto joined = here->call(join_rpc, over, in).wait();
        if (!joined) return from_remote(std::move(joined).error());
        return {};
    }
    [[nodiscard]] Result<void> join(const na::Addr& over) {
        JoinIn in = greeted_at(over);
        seals.stamp(in);
        return send_join(over, in);
    }
    [[nodiscard]] Result<void> send_over(const na::Addr& over, std::uint64_t file, std::uint64_t offset, char content,
                                         bool again = false) {
        const std::string bytes(step, content);
        WindowIn in;
        in.file = file;
        in.offset = offset;
        in.again = again;
        in.window = hl::Bulk(bulk::Region::expose(as_bytes(bytes)).value(), na::Access::read);
        seals.stamp(in);
        auto sent = here->call(window_rpc, over, in, {.deadline = std::chrono::seconds(60)}).wait();
        if (!sent) return from_remote(std::move(sent).error());
        return {};
    }
    [[nodiscard]] Result<void> commit(std::uint64_t file, const std::string& content) {
        CommitIn in;
        in.file = file;
        in.checksum = block_checksum(as_bytes(content));
        seals.stamp(in);
        auto committed = here->call(commit_rpc, to, in, {.deadline = std::chrono::seconds(60)}).wait();
        if (!committed) return from_remote(std::move(committed).error());
        return {};
    }
    [[nodiscard]] Result<std::string> read_over(const na::Addr& over, std::uint64_t file, std::uint64_t offset,
                                                bool again = false) {
        std::string bytes(step, '\0');
        ReadIn in;
        in.file = file;
        in.offset = offset;
        in.again = again;
        in.window =
            hl::Bulk(bulk::Region::expose(std::as_writable_bytes(std::span(bytes)), na::Access::read_write).value(),
                     na::Access::write);
        seals.stamp(in);
        auto read = here->call(read_rpc, over, in, {.deadline = std::chrono::seconds(60)}).wait();
        if (!read) return from_remote(std::move(read).error());
        return bytes;
    }
};

TEST_F(ServerStreamsTest, WindowsOfAFileComeOverAnyConnectionOfTheSession) {
    begin();
    const auto file = open("a", 3 * step);
    ASSERT_TRUE(join(connection(1)).ok());
    ASSERT_TRUE(join(connection(2)).ok());
    EXPECT_TRUE(send_over(connection(2), file, 0, 'a').ok());
    EXPECT_TRUE(send_over(to, file, step, 'b').ok());
    EXPECT_TRUE(send_over(connection(1), file, 2 * step, 'c').ok());
    const std::string content = std::string(step, 'a') + std::string(step, 'b') + std::string(step, 'c');
    ASSERT_TRUE(commit(file, content).ok());
    EXPECT_TRUE(folder.get("a") == content);
}

TEST_F(ServerStreamsTest, AConnectionThatHasNotJoinedMovesNothing) {
    begin();
    const auto file = open("a", step);
    EXPECT_EQ(send_over(connection(1), file, 0, 'a').code(), Errc::peer_lost);
    EXPECT_TRUE(send_over(to, file, 0, 'a').ok()) << "the file has not suffered from that";
}

TEST_F(ServerStreamsTest, StrangersDoNotJoin) {
    std::atomic<int> refused = 0;
    hooks.ended = [&refused](const ServerEvent& event) {
        if (event.kind == ServerEvent::Kind::refused) ++refused;
    };
    begin();
    const na::Addr stranger = connection(1);
    JoinIn guessed = greeted_at(stranger);
    guessed.seal.token = {1, 2};
    EXPECT_EQ(send_join(stranger, guessed).code(), Errc::permission) << "no such session";
    JoinIn unsigned_call = greeted_at(stranger);
    unsigned_call.seal.token = seals.token();
    unsigned_call.seal.number = 1'000;
    EXPECT_EQ(send_join(stranger, unsigned_call).code(), Errc::permission) << "the token alone, as seen on the wire";
    JoinIn good = greeted_at(connection(2));
    seals.stamp(good);
    EXPECT_EQ(send_join(stranger, good).code(), Errc::timed_out) << "the challenge of another connection";
    JoinIn bent = greeted_at(stranger);
    seals.stamp(bent);
    bent.challenge.issued_us += 1;
    EXPECT_EQ(send_join(stranger, bent).code(), Errc::timed_out) << "a challenge that the server has not made";
    EXPECT_EQ(refused.load(), 4);
    EXPECT_TRUE(send_join(connection(2), good).ok()) << "the client itself";
    EXPECT_EQ(send_join(connection(2), good).code(), Errc::invalid_argument) << "it has joined";
}

TEST_F(ServerStreamsTest, ACallToJoinIsGoodOnce) {
    begin();
    JoinIn in = greeted_at(connection(1));
    seals.stamp(in);
    ASSERT_TRUE(send_join(connection(1), in).ok());
    const JoinIn next = greeted_at(connection(2));
    in.challenge = next.challenge;
    in.nonce = next.nonce;
    EXPECT_EQ(send_join(connection(2), in).code(), Errc::permission) << "its seal is for another challenge";
}

TEST_F(ServerStreamsTest, AConnectionWithASessionJoinsNone) {
    begin();
    EXPECT_EQ(join(to).code(), Errc::invalid_argument);
}

TEST_F(ServerStreamsTest, ASessionHasAtMostEightConnections) {
    begin();
    for (unsigned number = 1; number < session_connections_max; ++number)
        ASSERT_TRUE(join(connection(number)).ok()) << number;
    EXPECT_EQ(join(connection(session_connections_max)).code(), Errc::overloaded);
    const auto file = open("a", step);
    EXPECT_TRUE(send_over(connection(7), file, 0, 'a').ok());
}

TEST_F(ServerStreamsTest, AWindowWhoseAnswerWasLostMayComeAgain) {
    begin();
    const auto file = open("a", 2 * step);
    ASSERT_TRUE(send_over(to, file, 0, 'a').ok());
    EXPECT_TRUE(send_over(to, file, 0, 'x', true).ok()) << "the server has it: nothing is written";
    EXPECT_TRUE(send_over(to, file, step, 'b', true).ok()) << "nor did this one arrive before";
    const std::string content = std::string(step, 'a') + std::string(step, 'b');
    ASSERT_TRUE(commit(file, content).ok());
    EXPECT_TRUE(folder.get("a") == content);
}

// A further connection over a path so slow that a window takes seconds.
struct LostStreamTest : ServerStreamsTest {
    std::unique_ptr<support::LimitedPath> path;
    na::Addr second;
    static constexpr std::size_t windows = 4;
    std::array<std::string, windows> contents;
    std::array<std::optional<Result<WindowOut>>, windows> outcomes;  // of the windows that were sent last

    void TearDown() override {
        ServerStreamsTest::TearDown();
        path.reset();
    }
    void begin_with_second() {
        begin();
        path = std::make_unique<support::LimitedPath>(there->endpoints().front(), 4e3);
        second = here->lookup(path->endpoint()).value();
        ASSERT_TRUE(join(second).ok());
        for (std::size_t i = 0; i < windows; ++i) contents[i] = std::string(step, static_cast<char>('a' + i));
    }
    [[nodiscard]] hl::Task<void> window_over(na::Addr over, std::uint64_t file, std::size_t number, bool again) {
        WindowIn in;
        in.file = file;
        in.offset = number * step;
        in.again = again;
        in.window = hl::Bulk(bulk::Region::expose(as_bytes(contents[number])).value(), na::Access::read);
        seals.stamp(in);
        const hl::CallOptions call{.deadline = std::chrono::seconds(60)};
        outcomes[number] = co_await here->call(window_rpc, over, in, call);
    }
    void start(const na::Addr& over, std::uint64_t file, std::size_t number, bool again = false) {
        outcomes[number].reset();
        ASSERT_EQ(here->spawn(window_over(over, file, number, again)), Errc::ok);
    }
    [[nodiscard]] bool has_ended(std::size_t number) {
        return wait_until([&] { return outcomes[number].has_value(); });
    }
    // Starts the first window over the second connection, which is cut while the server pulls.
    void lose_first_window(std::uint64_t file) {
        start(second, file, 0);
        ASSERT_TRUE(wait_until([&] { return path->connections() == 2; })) << "one is for bulk data";
        (void)here->run_for(std::chrono::milliseconds(100));
        path->cut_last();
        ASSERT_TRUE(has_ended(0));
        ASSERT_FALSE(outcomes[0]->ok());
    }
};

TEST_F(LostStreamTest, ItsWindowComesAgainThoughOthersHaveTheBuffers) {
    options.buffers = 4;  // of which a file may have two
    begin_with_second();
    const auto file = open("a", windows * step);
    lose_first_window(file);
    for (std::size_t i = 1; i < windows; ++i) start(to, file, i);
    (void)here->run_for(std::chrono::milliseconds(100));
    EXPECT_FALSE(outcomes[1].has_value()) << "it waits for the first";
    start(to, file, 0, true);
    for (std::size_t i = 0; i < windows; ++i) {
        ASSERT_TRUE(has_ended(i)) << i;
        EXPECT_TRUE(outcomes[i]->ok()) << i;
    }
    const std::string content = contents[0] + contents[1] + contents[2] + contents[3];
    ASSERT_TRUE(commit(file, content).ok());
    EXPECT_TRUE(folder.get("a") == content);
}

// The client may notice the loss first.
TEST_F(LostStreamTest, AWindowThatComesAgainWaitsForTheServerToLetGo) {
    begin_with_second();
    const auto file = open("a", step);
    start(second, file, 0);
    ASSERT_TRUE(wait_until([&] { return path->connections() == 2; }));
    (void)here->run_for(std::chrono::milliseconds(100));
    Result<void> sent = send_over(to, file, 0, 'a', true);
    EXPECT_TRUE(sent.ok()) << "the slow one has arrived meanwhile, and this one is not moved";
    ASSERT_TRUE(has_ended(0));
    EXPECT_TRUE(outcomes[0]->ok());
    EXPECT_TRUE(commit(file, contents[0]).ok());
}

TEST_F(LostStreamTest, AWindowThatDoesNotComeAgainEndsTheFile) {
    options.again_seconds_max = 1;
    begin_with_second();
    const auto file = open("a", 2 * step);
    lose_first_window(file);
    start(to, file, 1);
    ASSERT_TRUE(has_ended(1));
    EXPECT_EQ(from_remote(outcomes[1]->error()).code, Errc::timed_out);
    EXPECT_EQ(send_over(to, file, 0, 'a', true).code(), Errc::timed_out);
}

TEST_F(ServerStreamsTest, AWindowThatComesAgainUnannouncedEndsTheFile) {
    begin();
    const auto file = open("a", 2 * step);
    ASSERT_TRUE(send_over(to, file, 0, 'a').ok());
    EXPECT_EQ(send_over(to, file, 0, 'a').code(), Errc::invalid_argument);
    EXPECT_EQ(send_over(to, file, step, 'b', true).code(), Errc::invalid_argument) << "the error of the file";
}

TEST_F(ServerStreamsTest, AWindowMayBeReadAgain) {
    begin();
    const std::string content = std::string(step, 'a') + std::string(step, 'b');
    (void)folder.put("a", content);
    AskIn ask;
    ask.name = "a";
    seals.stamp(ask);
    const auto file = here->call(ask_rpc, to, ask).wait().value().file;
    EXPECT_EQ(read_over(to, file, 0).value(), std::string(step, 'a'));
    EXPECT_EQ(read_over(to, file, 0, true).value(), std::string(step, 'a'));
    EXPECT_EQ(read_over(to, file, step, true).value(), std::string(step, 'b')) << "it was not read before";
    FinishIn finish;
    finish.file = file;
    seals.stamp(finish);
    EXPECT_EQ(here->call(finish_rpc, to, finish).wait().value().checksum, block_checksum(as_bytes(content)))
        << "each byte counts once";
}

}  // namespace
}  // namespace cinnabar::files
