// SPDX-License-Identifier: BSD-3-Clause
// What a server has of an interrupted save is claimed by checksums, many windows in one call: a client with servers
// that lie, and the server with claims that cannot be.
#include "file/journal.hpp"
#include "file/staging.hpp"
#include "handmade_server.hpp"
#include "server_fixture.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/source_file.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>

namespace cinnabar::files {
namespace {

constexpr std::uint64_t claim_window = 16u << 10;

// A server that says what it has, and counts what it is sent.
struct ClaimingClientTest : HandmadeServer {
    const std::string content = support::pattern(40 * claim_window + 7);
    std::uint64_t resumed_bytes = content.size();
    std::uint64_t proven_bytes = 0;
    std::function<std::uint32_t(const ClaimIn&)> has = [](const ClaimIn& in) {
        return static_cast<std::uint32_t>(in.checksums.size());
    };
    std::vector<std::uint64_t> claimed;  // the checksums of all claims
    unsigned claims = 0;
    std::vector<std::uint64_t> windows;                // offsets
    std::vector<std::optional<std::uint64_t>> so_far;  // of these windows
    std::uint64_t committed = 0;
    static constexpr std::uint64_t whole_sum = 42;  // as the server says

    ClaimingClientTest() : HandmadeServer(support::memory_folder()) {}
    void SetUp() override {
        begin(claim_window, content);
        serve(open_rpc, [this](const OpenIn&) { return OpenOut{1, resumed_bytes, 0, proven_bytes}; });
        serve(claim_rpc, [this](const ClaimIn& in) {
            EXPECT_EQ(in.offset, proven_bytes + claimed.size() * claim_window);
            ++claims;
            claimed.insert(claimed.end(), in.checksums.begin(), in.checksums.end());
            return ClaimOut{has(in)};
        });
        serve(window_rpc, [this](hl::Request<WindowIn> request) {
            windows.push_back(request->offset);
            so_far.push_back(request->so_far);
            return WindowOut{0};
        });
        serve(commit_rpc, [this](const CommitIn& in) {
            committed = in.checksum;
            return CommitOut{whole_sum};
        });
    }

    Result<Moved> save(const SaveMode& mode = {}) { return hl::sync_wait(client->save(folder.at("a"), "a", mode)); }
    // Waits until changes of the file can be told. False: never.
    [[nodiscard]] bool rests() const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (std::chrono::steady_clock::now() < end) {
            if (SourceFile::open(folder.at("a")).value().tells_changes()) return true;
            (void)::poll(nullptr, 0, 10);
        }
        return false;
    }
    [[nodiscard]] std::uint64_t sum_between(std::uint64_t begin, std::uint64_t end) const {
        return block_checksum(as_bytes(std::string_view(content).substr(begin, end - begin)));
    }
    // The checksums of the sent windows are those of the file from `proven_bytes` on.
    void expect_sums_so_far() const {
        for (std::size_t i = 0; i < windows.size(); ++i) {
            const auto end = std::min<std::uint64_t>(windows[i] + claim_window, content.size());
            EXPECT_EQ(so_far[i], sum_between(proven_bytes, end)) << windows[i];
        }
    }
    [[nodiscard]] std::uint64_t checksum_of(std::size_t window) const {
        return block_checksum(as_bytes(std::string_view(content).substr(window * claim_window, claim_window)));
    }
    void expect_claims_of_the_source() const {
        for (std::size_t i = 0; i < claimed.size(); ++i) EXPECT_EQ(claimed[i], checksum_of(i)) << i;
    }
};

TEST_F(ClaimingClientTest, ManyWindowsThatTheServerHasAreOneCallAndNoneIsSent) {
    const auto saved = save();
    ASSERT_TRUE(saved.ok()) << saved.error().message();
    EXPECT_EQ(saved->had_bytes, content.size());
    EXPECT_EQ(saved->sent_bytes, 0u);
    EXPECT_EQ(claims, 3u);
    EXPECT_EQ(claimed.size(), 41u);
    expect_claims_of_the_source();
    EXPECT_TRUE(windows.empty());
    EXPECT_EQ(committed, block_checksum(as_bytes(content))) << "the checksum is that of the whole file";
}

TEST_F(ClaimingClientTest, FromTheFirstWindowThatTheServerDoesNotHaveWindowsAreSent) {
    has = [](const ClaimIn& in) { return in.offset == 0 ? 16u : 5u; };
    const auto saved = save();
    ASSERT_TRUE(saved.ok()) << saved.error().message();
    EXPECT_EQ(saved->had_bytes, 21 * claim_window);
    EXPECT_EQ(saved->sent_bytes, content.size() - 21 * claim_window);
    EXPECT_EQ(claims, 2u);
    std::ranges::sort(windows);
    ASSERT_EQ(windows.size(), 20u);
    for (std::size_t i = 0; i < windows.size(); ++i) EXPECT_EQ(windows[i], (21 + i) * claim_window);
    EXPECT_EQ(committed, block_checksum(as_bytes(content))) << "what was read ahead does not count twice";
}

TEST_F(ClaimingClientTest, AServerThatHasNothingAfterAllIsSentAll) {
    has = [](const ClaimIn&) { return 0u; };
    const auto saved = save();
    ASSERT_TRUE(saved.ok()) << saved.error().message();
    EXPECT_EQ(saved->had_bytes, 0u);
    EXPECT_EQ(windows.size(), 41u);
    EXPECT_EQ(committed, block_checksum(as_bytes(content)));
    EXPECT_EQ(saved->checksum, committed) << "the client's own, whatever the server says";
    expect_sums_so_far();
}

TEST_F(ClaimingClientTest, BehindWhatIsProvenWindowsAreClaimedAndSent) {
    ASSERT_TRUE(rests()) << "these tests need tmpfs at /dev/shm";
    proven_bytes = 10 * claim_window;
    resumed_bytes = 20 * claim_window;
    const auto saved = save();
    ASSERT_TRUE(saved.ok()) << saved.error().message();
    EXPECT_EQ(saved->had_bytes, 20 * claim_window);
    EXPECT_EQ(saved->sent_bytes, content.size() - 20 * claim_window);
    ASSERT_EQ(claimed.size(), 10u);
    for (std::size_t i = 0; i < claimed.size(); ++i) EXPECT_EQ(claimed[i], checksum_of(10 + i)) << i;
    EXPECT_EQ(windows.size(), 21u);
    expect_sums_so_far();
    EXPECT_EQ(committed, sum_between(proven_bytes, content.size()));
    EXPECT_EQ(saved->checksum, whole_sum) << "only the server knows it";
}

TEST_F(ClaimingClientTest, WhatIsProvenToItsEndIsCommitted) {
    ASSERT_TRUE(rests()) << "these tests need tmpfs at /dev/shm";
    proven_bytes = content.size();
    const auto saved = save();
    ASSERT_TRUE(saved.ok()) << saved.error().message();
    EXPECT_EQ(saved->had_bytes, content.size());
    EXPECT_EQ(claims, 0u);
    EXPECT_TRUE(windows.empty());
    EXPECT_EQ(committed, block_checksum({}));
}

TEST_F(ClaimingClientTest, AServerThatCannotHaveProvenThatEndsTheSave) {
    proven_bytes = claim_window;
    EXPECT_EQ(save().code(), Errc::protocol) << "the file is too new for that";
    ASSERT_TRUE(rests()) << "these tests need tmpfs at /dev/shm";
    SaveMode all;
    all.rereads = true;
    EXPECT_EQ(save(all).code(), Errc::protocol);
    SaveMode unchecked;
    unchecked.checked = false;
    EXPECT_EQ(save(unchecked).code(), Errc::protocol);
    for (const std::uint64_t bytes : {claim_window + 1, 41 * claim_window, ~std::uint64_t{0}}) {
        proven_bytes = bytes;
        EXPECT_EQ(save().code(), Errc::protocol) << bytes;
    }
    proven_bytes = 2 * claim_window;
    resumed_bytes = claim_window;
    EXPECT_EQ(save().code(), Errc::protocol);
    EXPECT_TRUE(windows.empty());
    EXPECT_EQ(claims, 0u);
}

TEST_F(ClaimingClientTest, AServerThatHasMoreThanTheFileIsClaimedTheFileOnly) {
    resumed_bytes = ~std::uint64_t{0};
    const auto saved = save();
    ASSERT_TRUE(saved.ok()) << saved.error().message();
    EXPECT_EQ(claimed.size(), 41u);
    EXPECT_EQ(saved->had_bytes, content.size());
}

TEST_F(ClaimingClientTest, AServerThatHasMoreThanWasClaimedEndsTheSave) {
    has = [](const ClaimIn& in) { return static_cast<std::uint32_t>(in.checksums.size() + 1); };
    EXPECT_EQ(save().code(), Errc::protocol);
    EXPECT_TRUE(windows.empty());
}

// A server on whose disk four of the eight windows of a file of zeros are left.
struct ClaimTest : ServerTest {
    static constexpr std::uint64_t whole = 8 * claim_window;
    const std::uint64_t of_zeros = block_checksum(ConstBytes(std::vector<std::byte>(claim_window)));

    void SetUp() override {
        options.window_bytes = claim_window;
        options.journal_interval = std::chrono::milliseconds(0);
        begin();
    }
    std::uint64_t open_resumed() {
        AbortIn abort;
        abort.file = open("a", whole);
        abort.keep = true;
        for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(send(abort.file, i * claim_window, claim_window).ok());
        seals.stamp(abort);
        EXPECT_TRUE(here->call(abort_rpc, to, abort).wait().ok());
        OpenIn in;
        in.name = "a";
        in.bytes = whole;
        in.attributes.mode = 0600;
        seals.stamp(in);
        const auto opened = here->call(open_rpc, to, in).wait();
        EXPECT_EQ(opened.value().resumed_bytes, 4 * claim_window);
        return opened.value().file;
    }
    Result<std::uint32_t> claim(std::uint64_t file, std::uint64_t offset, std::vector<std::uint64_t> checksums) {
        ClaimIn in;
        in.file = file;
        in.offset = offset;
        in.checksums = std::move(checksums);
        seals.stamp(in);
        const auto out = here->call(claim_rpc, to, in).wait();
        if (!out) return from_remote(out.error());
        return out->windows;
    }
    // Of windows 1 to 3.
    hl::Task<void> claim_behind_the_first(std::uint64_t file) {
        ClaimIn in;
        in.file = file;
        in.offset = claim_window;
        in.checksums = {of_zeros, of_zeros, of_zeros};
        seals.stamp(in);
        const auto out = co_await here->call(claim_rpc, to, in);
        if (out) had_behind = out->windows;
    }
    std::optional<std::uint32_t> had_behind;

    void expect_the_rest_completes_it(std::uint64_t file, std::uint64_t from) {
        for (std::uint64_t i = from; i < 8; ++i) ASSERT_TRUE(send(file, i * claim_window, claim_window).ok()) << i;
        CommitIn commit;
        commit.file = file;
        commit.checksum = block_checksum(ConstBytes(std::vector<std::byte>(whole)));
        seals.stamp(commit);
        const auto committed = here->call(commit_rpc, to, commit).wait();
        ASSERT_TRUE(committed.ok()) << committed.error().message();
        EXPECT_EQ(folder.get("a"), std::string(whole, '\0'));
    }
    void damage(std::uint64_t offset) const {
        const auto part = folder.path() / std::string(staging_folder) / staged_names_of("a").part;
        const UniqueFd file(::open(part.c_str(), O_WRONLY | O_CLOEXEC));
        ASSERT_EQ(::pwrite(file.get(), "damage", 6, static_cast<off_t>(offset)), 6);
    }
};

TEST_F(ClaimTest, WhatIsOnDiskAsClaimedCountsAsReceived) {
    const auto file = open_resumed();
    EXPECT_EQ(claim(file, 0, {of_zeros}).value(), 1u);
    EXPECT_EQ(claim(file, claim_window, {of_zeros, of_zeros, of_zeros}).value(), 3u);
    expect_the_rest_completes_it(file, 4);
}

TEST_F(ClaimTest, NothingBehindADamagedWindowCounts) {
    const auto file = open_resumed();
    damage(2 * claim_window + 9);
    EXPECT_EQ(claim(file, 0, {of_zeros, of_zeros, of_zeros, of_zeros}).value(), 2u);
    expect_the_rest_completes_it(file, 2);
}

TEST_F(ClaimTest, NothingBehindAWindowOfAnotherFileIsKept) {
    const auto file = open_resumed();
    EXPECT_EQ(claim(file, 0, {of_zeros, of_zeros + 1, of_zeros}).value(), 1u);
    EXPECT_EQ(claim(file, claim_window, {of_zeros}).code(), Errc::invalid_argument) << "it was discarded";
}

TEST_F(ClaimTest, AWindowIsClaimedOnce) {
    const auto file = open_resumed();
    EXPECT_EQ(claim(file, 0, {of_zeros}).value(), 1u);
    EXPECT_EQ(claim(file, 0, {of_zeros}).code(), Errc::invalid_argument);
}

TEST_F(ClaimTest, AClaimWaitsForTheWindowsBeforeIt) {
    const auto file = open_resumed();
    ASSERT_EQ(here->spawn(claim_behind_the_first(file)), Errc::ok);
    EXPECT_EQ(claim(file, 0, {of_zeros}).value(), 1u);
    EXPECT_TRUE(wait_until([this] { return had_behind.has_value(); }));
    EXPECT_EQ(had_behind.value_or(0), 3u);
    expect_the_rest_completes_it(file, 4);
}

TEST_F(ClaimTest, ClaimsThatCannotBeEndTheFile) {
    EXPECT_EQ(claim(open_resumed(), 0, std::vector<std::uint64_t>(5, of_zeros)).code(), Errc::invalid_argument);
    for (const std::uint64_t offset : {std::uint64_t{1}, 4 * claim_window, whole, ~std::uint64_t{0}}) {
        const auto file = open("b" + std::to_string(offset), whole);
        EXPECT_EQ(claim(file, offset, {of_zeros}).code(), Errc::invalid_argument) << offset;
    }
    EXPECT_EQ(claim(open("c", whole), 0, {}).code(), Errc::invalid_argument);
    EXPECT_EQ(claim(~std::uint64_t{0}, 0, {of_zeros}).code(), Errc::not_found);
}

TEST_F(ClaimTest, MoreThanACallMayClaimIsRefused) {
    const auto file = open_resumed();
    EXPECT_EQ(claim(file, 0, std::vector<std::uint64_t>(claimed_windows_max + 1, of_zeros)).code(), Errc::too_large);
    EXPECT_EQ(claim(file, 0, {of_zeros}).value(), 1u) << "the file goes on";
}

}  // namespace
}  // namespace cinnabar::files
