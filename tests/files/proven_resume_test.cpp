// SPDX-License-Identifier: BSD-3-Clause
// What a server has compared when it arrived is read again by neither side, as long as nothing has changed; and is read
// again as soon as something has.
#include "file/staging.hpp"
#include "file/xxh3.hpp"
#include "session/source_mark.hpp"
#include "support/content.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace cinnabar::files {
namespace {

constexpr std::uint64_t small_window = 16 << 10;

// How many bytes this process, which is both sides, has read from files.
std::optional<std::uint64_t> all_bytes_read() {
    std::ifstream io("/proc/self/io");
    std::string what;
    std::uint64_t bytes = 0;
    while (io >> what >> bytes) {
        if (what == "rchar:") return bytes;
    }
    return std::nullopt;
}

struct ProvenResumeTest : testing::Test {
    // A source is trusted when it is two seconds old, so all tests wait for that together, and each has its own.
    static constexpr int sources_made = 20;
    static inline std::unique_ptr<support::Folder> sources;
    static inline int next_source = 0;

    static std::string content_of(int number) {
        return support::pattern(100 * small_window + 33, static_cast<unsigned>(number) + 1);
    }
    static void SetUpTestSuite() {
        sources = std::make_unique<support::Folder>(support::memory_folder());
        next_source = 0;
        for (int i = 0; i < sources_made; ++i) {
            (void)sources->put(std::to_string(i), content_of(i));
            make_hole(i);
        }
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (!is_trusted(sources->at(std::to_string(sources_made - 1))) && std::chrono::steady_clock::now() < end)
            (void)::poll(nullptr, 0, 10);
    }
    static void TearDownTestSuite() { sources.reset(); }
    static bool is_trusted(const std::string& path) { return SourceFile::open(path).value().tells_changes(); }
    // In the last source.
    static void make_hole(int number) {
        if (number + 1 != sources_made) return;
        const UniqueFd file(::open(sources->at(std::to_string(number)).c_str(), O_WRONLY | O_CLOEXEC));
        (void)::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 20 * small_window, 9 * small_window);
    }

    support::Folder folder{support::memory_folder()};
    ServerOptions options;
    std::unique_ptr<Server> server;
    std::optional<hl::Node> there;
    std::optional<hl::Node> here;
    std::optional<Client> client;
    std::string source;
    std::string content;
    SaveMode mode;
    std::uint64_t read = 0;  // by the last save(): what both sides have read from files
    const std::string name = "a";

    void SetUp() override {
        ASSERT_LT(next_source + 1, sources_made);
        use_source(next_source++);
        ASSERT_TRUE(is_trusted(source)) << "these tests need tmpfs at /dev/shm";
        ASSERT_TRUE(all_bytes_read()) << "the kernel does not count what a process reads";
        std::filesystem::create_directory(folder.at("root"));
        options.window_bytes = small_window;
        options.windows_max = 2;
        options.journal_interval = std::chrono::milliseconds(0);
        begin();
    }
    void use_source(int number) {
        source = sources->at(std::to_string(number));
        content = sources->get(std::to_string(number));
    }
    void begin() {
        server = Server::make(Root::serve(folder.at("root")).value(), std::nullopt, options, {}).value();
        there = hl::Node::listen("tcp://127.0.0.1:0").value();
        ASSERT_TRUE(server->serve_on(*there).ok());
        log_in();
    }
    void log_in() {
        here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        client.emplace(*here, here->lookup(there->endpoints().front()).value(), nullptr);
        ASSERT_TRUE(hl::sync_wait(client->open()).ok());
    }
    void log_out() {
        if (!client) return;
        EXPECT_TRUE(hl::sync_wait(client->close()).ok());
        client.reset();
        here.reset();
    }
    void end() {
        log_out();
        there.reset();
        server.reset();
    }
    void TearDown() override { end(); }

    // Saves until so many windows have arrived; then the client disappears. Returns how many bytes are kept.
    std::uint64_t save_until(std::uint64_t windows) {
        std::stop_source stop;
        std::uint64_t moved = 0;
        auto saving = client->save(source, name, mode, [&](std::uint64_t more) {
            if ((moved += more) >= windows * small_window) stop.request_stop();
        });
        const auto saved = hl::sync_wait(std::move(saving), stop.get_token());
        EXPECT_EQ(saved.code(), Errc::canceled);
        log_out();
        log_in();
        const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        auto remains = hl::sync_wait(client->list_remains()).value();
        while (remains.empty() && std::chrono::steady_clock::now() < late)
            remains = hl::sync_wait(client->list_remains()).value();
        return remains.empty() ? 0 : remains.front().kept_bytes;
    }
    // Saves to the end. What was saved has to be the source as it is now.
    std::uint64_t save() {
        const auto before = *all_bytes_read();
        const auto saved = hl::sync_wait(client->save(source, name, mode));
        read = *all_bytes_read() - before;
        EXPECT_TRUE(saved.ok()) << saved.error().message();
        if (!saved) return 0;
        EXPECT_EQ(folder.get("root/" + name), content);
        const auto whole = xxh3(as_bytes(content));
        EXPECT_EQ(saved->checksum, whole) << "it is that of the whole file";
        const auto verified = hl::sync_wait(client->verify(name)).value();
        EXPECT_EQ(verified.checksum, whole);
        EXPECT_NE(verified.stored.state, StoredChecksum::State::outdated);
        if (verified.stored.state == StoredChecksum::State::good) {
            EXPECT_EQ(verified.stored.checksum, whole);
        }
        return saved->had_bytes;
    }
    // What was there is read by neither side; what was missing, by the client, and from the socket.
    void expect_only_the_rest_was_read(std::uint64_t kept) const {
        EXPECT_LE(read, 2 * (content.size() - kept) + 32 * small_window);
    }
    // The client reads all of the source, and the server what is left of `kept`.
    void expect_both_read(std::uint64_t kept) const { EXPECT_GE(read, content.size() + kept); }

    [[nodiscard]] std::filesystem::path staged() const {
        return std::filesystem::path(folder.at("root")) / staging_folder / staged_names_of(name).part;
    }
    [[nodiscard]] std::filesystem::path journal() const {
        return std::filesystem::path(folder.at("root")) / staging_folder / staged_names_of(name).journal;
    }
    // Writes, and gives the file the time of modification that it had.
    static void change(const std::filesystem::path& path, std::uint64_t offset, const std::string& to) {
        struct stat status {};
        const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        ASSERT_EQ(::fstat(file.get(), &status), 0);
        ASSERT_EQ(::pwrite(file.get(), to.data(), to.size(), static_cast<off_t>(offset)),
                  static_cast<ssize_t>(to.size()));
        const timespec times[2] = {status.st_atim, status.st_mtim};
        ASSERT_EQ(::futimens(file.get(), times), 0);
    }
};

TEST_F(ProvenResumeTest, WhatWasComparedOnArrivalIsNotReadAgain) {
    const auto kept = save_until(90);
    EXPECT_GE(kept, 80 * small_window);
    EXPECT_EQ(save(), kept);
    expect_only_the_rest_was_read(kept);
}

TEST_F(ProvenResumeTest, TheProgressIsThatOfTheWholeFile) {
    (void)save_until(50);
    std::uint64_t moved = 0;
    auto saving = client->save(source, name, mode, [&](std::uint64_t more) { moved += more; });
    ASSERT_TRUE(hl::sync_wait(std::move(saving)).ok());
    EXPECT_EQ(moved, content.size());
}

TEST_F(ProvenResumeTest, AfterManyInterruptionsNeither) {
    std::uint64_t kept = 0;
    for (const std::uint64_t windows : {25u, 45u, 46u, 90u}) {
        const auto now = save_until(windows);
        EXPECT_GE(now, kept);
        kept = now;
    }
    EXPECT_EQ(save(), kept);
    expect_only_the_rest_was_read(kept);
}

TEST_F(ProvenResumeTest, AMarkIsOfOneFileOneServerAndOneName) {
    const auto file = SourceFile::open(source).value();
    const auto first = mark_of(file, "tcp://a:1", "a");
    EXPECT_NE(first, SourceMark{});
    EXPECT_EQ(first, mark_of(SourceFile::open(source).value(), "tcp://a:1", "a"));
    EXPECT_NE(first, mark_of(file, "tcp://b:1", "a"));
    EXPECT_NE(first, mark_of(file, "tcp://a:1", "b"));
    EXPECT_NE(first, mark_of(file, "tcp://a:1a", ""));
    use_source(sources_made - 1);
    EXPECT_NE(first, mark_of(SourceFile::open(source).value(), "tcp://a:1", "a"));
}

TEST_F(ProvenResumeTest, WhatWasClaimedIsProvenFromThenOn) {
    mode.rereads = true;
    (void)save_until(50);
    (void)save_until(75);  // claims the first fifty
    mode.rereads = false;
    const auto kept = save_until(90);
    EXPECT_EQ(save(), kept);
    expect_only_the_rest_was_read(kept);
}

TEST_F(ProvenResumeTest, ASparseFileToo) {
    use_source(sources_made - 1);
    const auto kept = save_until(90);
    (void)save();
    expect_only_the_rest_was_read(kept);
}

TEST_F(ProvenResumeTest, ASourceThatChangedIsReadThoughItsTimeIsThatOfBefore) {
    const auto kept = save_until(90);
    content[20 * small_window + 5] = static_cast<char>(content[20 * small_window + 5] ^ 1);
    change(source, 20 * small_window + 5, content.substr(20 * small_window + 5, 1));
    EXPECT_GT(kept, 80 * small_window);
    EXPECT_EQ(save(), 20 * small_window);
}

TEST_F(ProvenResumeTest, ASourceThatIsAnotherFileOfTheSameContentIsRead) {
    const auto kept = save_until(90);
    source = folder.put("copy", content);
    EXPECT_EQ(save(), kept);
    expect_both_read(kept);
}

TEST_F(ProvenResumeTest, AStagedFileThatChangedIsReadThoughItsTimeIsThatOfBefore) {
    const auto kept = save_until(90);
    change(staged(), 7 * small_window + 5, "damage");
    EXPECT_EQ(save(), kept - small_window) << "only that window is sent again";
    expect_both_read(kept - small_window);
}

TEST_F(ProvenResumeTest, AStagedFileThatIsACopyIsRead) {
    const auto kept = save_until(90);
    std::filesystem::copy_file(staged(), folder.at("copy"));
    std::filesystem::rename(folder.at("copy"), staged());
    EXPECT_EQ(save(), kept);
    expect_both_read(kept);
}

TEST_F(ProvenResumeTest, TheNextServerReads) {
    const auto kept = save_until(90);
    end();
    begin();
    EXPECT_EQ(save(), kept);
    expect_both_read(kept);
}

TEST_F(ProvenResumeTest, WhoeverWantsToHasAllRead) {
    const auto kept = save_until(90);
    mode.rereads = true;
    EXPECT_EQ(save(), kept);
    expect_both_read(kept);
}

TEST_F(ProvenResumeTest, ASourceThatWasJustWrittenIsRead) {
    source = folder.put("new", content);
    const auto kept = save_until(90);
    EXPECT_EQ(save(), kept);
    expect_both_read(kept);
}

TEST_F(ProvenResumeTest, AJournalThatHasLessDecides) {
    (void)save_until(90);
    std::filesystem::resize_file(journal(), std::filesystem::file_size(journal()) - 60 * sizeof(std::uint64_t));
    EXPECT_GT(save(), 20 * small_window);
    EXPECT_GE(read, content.size());
}

TEST_F(ProvenResumeTest, WithoutAJournalTheSaveBeginsAnew) {
    (void)save_until(90);
    change(journal(), 0, "damage");
    EXPECT_EQ(save(), 0u);
}

// The records are not used: the staged file is as it was.
TEST_F(ProvenResumeTest, DamagedRecordsDoNoHarm) {
    const auto kept = save_until(90);
    change(journal(), std::filesystem::file_size(journal()) - 60 * sizeof(std::uint64_t), "damage");
    EXPECT_EQ(save(), kept);
    expect_only_the_rest_was_read(kept);
}

TEST_F(ProvenResumeTest, WhatWasPushedIsReadAgain) {
    mode.push = true;
    const auto kept = save_until(90);
    EXPECT_EQ(save(), kept);
    expect_both_read(kept);
}

TEST_F(ProvenResumeTest, APushGoesOnBehindWhatIsProven) {
    const auto kept = save_until(90);
    mode.push = true;
    EXPECT_EQ(save(), kept);
    expect_only_the_rest_was_read(kept);
}

}  // namespace
}  // namespace cinnabar::files
