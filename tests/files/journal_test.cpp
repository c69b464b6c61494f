// SPDX-License-Identifier: BSD-3-Clause
// The remains of an unfinished file, and how the next save under the same name uses them.
#include "file/journal.hpp"

#include "file/checksum.hpp"
#include "file/staging.hpp"
#include "support/content.hpp"
#include "support/os_limits.hpp"

#include <cinnabar/files/name.hpp>
#include <cinnabar/files/root.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

// Takes the place of the C library's, so that a sync can fail.
static std::atomic<bool> disk_is_broken = false;
extern "C" __attribute__((visibility("default"))) int fdatasync(int fd) {
    if (!disk_is_broken) return static_cast<int>(::syscall(SYS_fdatasync, fd));
    errno = EIO;
    return -1;
}

namespace cinnabar::files {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

constexpr std::uint32_t block = 4096;
constexpr Resumable by_blocks{block, false, std::chrono::milliseconds(0)};

struct JournalTest : testing::Test {
    Folder folder{support::memory_folder()};
    std::string base = folder.at("root");
    fs::path staging = fs::path(base) / staging_folder;
    const std::string content = pattern(5 * block + 17);
    JournalTest() { fs::create_directory(base); }

    Root serve(const RemainsLimits& limits = {}) const { return Root::serve(base, {}, limits).value(); }
    NewFile create(const Root& root, const std::string& name = "a", const Resumable& how = by_blocks) const {
        return root.create(name, content.size(), 0644, Existing::replace, how).value();
    }
    ConstBytes block_at(std::uint64_t index) const {
        return as_bytes(std::string_view(content).substr(index * block, block));
    }
    // Writes blocks [from, to).
    void write(NewFile& file, std::uint64_t from, std::uint64_t to) const {
        for (auto i = from; i < to; ++i) ASSERT_TRUE(file.write(i * block, block_at(i)).ok());
    }
    // Leaves the remains of a save that ended after three blocks.
    void leave_three(const Root& root, const std::string& name = "a", const Resumable& how = by_blocks) const {
        auto file = create(root, name, how);
        write(file, 0, 3);
        file.park();
    }
    fs::path part_of(const std::string& name = "a") const { return staging / staged_names_of(name).part; }
    fs::path journal_of(const std::string& name = "a") const { return staging / staged_names_of(name).journal; }
    [[nodiscard]] std::uint64_t promised() const {
        const UniqueFd there(::open(staging.c_str(), O_RDONLY | O_CLOEXEC));
        const auto summary = there ? Journal::read(there.get(), journal_of().filename()) : std::nullopt;
        return summary ? summary->blocks : 0;
    }
    static bool has(const NewFile& file, std::uint64_t index) {
        std::vector<std::byte> to(block);
        return file.read_block(index * block, to).has_value();
    }
    static void overwrite(const fs::path& path, std::uint64_t offset, std::string_view with) {
        const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        ASSERT_EQ(::pwrite(file.get(), with.data(), with.size(), static_cast<off_t>(offset)),
                  static_cast<ssize_t>(with.size()));
    }
    void finish(NewFile file, std::uint64_t from) const {
        write(file, from, 6);
        ASSERT_TRUE(file.commit().ok());
        EXPECT_EQ(folder.get("root/a"), content);
        EXPECT_TRUE(fs::is_empty(staging)) << "nothing is left of a file that has its name";
    }
};

TEST(Xxh3, HasTheValuesOfThePlainFunctions) {
    for (const std::size_t bytes : std::vector<std::size_t>{0, 1, 128, 240, 241, 1024, 1025, (1u << 20) + 5}) {
        const auto content = pattern(bytes);
        const std::uint64_t plain = XXH3_64bits(content.data(), content.size());
        EXPECT_EQ(block_checksum(as_bytes(content)), plain) << bytes;
        Checksum sum;
        sum.update(as_bytes(content).first(bytes / 3));
        Checksum copy(sum);
        sum.update(as_bytes(content).subspan(bytes / 3));
        EXPECT_EQ(sum.digest(), plain) << bytes;
        copy.update(as_bytes(content).subspan(bytes / 3));
        EXPECT_EQ(copy.digest(), plain) << bytes << ": what the other one is given does not change it";
    }
}

// Blocks that were written again are in no later record, so no checkpoint has synced them.
TEST_F(JournalTest, WhatWasWrittenAgainIsSyncedBeforeItIsCalledLeft) {
    const auto root = serve();
    for (const bool again : {true, false}) {
        leave_three(root);
        auto file = create(root);
        if (again) write(file, 0, 3);
        bool left = false;
        disk_is_broken = true;
        file.park([&](const FileStamp&) { left = true; });
        disk_is_broken = false;
        EXPECT_FALSE(again && left);
        EXPECT_EQ(promised(), again ? 0u : 3u) << "what may not be on the disk is not kept";
    }
}

TEST_F(JournalTest, RecordsAreReadManyAtOnce) {
    const auto root = serve();
    leave_three(root);
    auto file = create(root);
    EXPECT_TRUE(has(file, 0));
    overwrite(journal_of(), fs::file_size(journal_of()) - 16, "?");
    EXPECT_TRUE(has(file, 1)) << "its record was read with that of the first block";
    EXPECT_TRUE(has(file, 2));
    finish(std::move(file), 3);
}

TEST_F(JournalTest, AnotherFileOfTheNameGoesOn) {
    const auto root = serve();
    leave_three(root);
    auto file = create(root);
    EXPECT_EQ(file.resumed_bytes(), 3 * block);
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(has(file, i)) << i;
    EXPECT_FALSE(has(file, 3));
    finish(std::move(file), 3);
}

TEST_F(JournalTest, AnotherServerGoesOn) {
    { leave_three(serve()); }
    const auto root = serve();
    EXPECT_EQ(root.removed(), 0u);
    auto file = create(root);
    EXPECT_EQ(file.resumed_bytes(), 3 * block);
    finish(std::move(file), 3);
}

TEST_F(JournalTest, WhatWasOnlyWrittenIsNotPromised) {
    const auto root = serve();
    auto file = create(root);
    write(file, 0, 2);
    const auto due = file.due_journal();
    ASSERT_TRUE(due);
    EXPECT_FALSE(file.due_journal()) << "one at a time";
    due->checkpoint();
    write(file, 2, 4);
    EXPECT_EQ(promised(), 2u);
}

TEST_F(JournalTest, DamageIsFoundByBlockAndOnlyThatIsWrittenAgain) {
    const auto root = serve();
    leave_three(root);
    overwrite(part_of(), block + 100, "damage");
    auto file = create(root);
    EXPECT_EQ(file.resumed_bytes(), 3 * block);
    EXPECT_TRUE(has(file, 0));
    EXPECT_FALSE(has(file, 1));
    EXPECT_TRUE(has(file, 2));
    write(file, 1, 2);
    EXPECT_TRUE(has(file, 1));
    EXPECT_EQ(file.resumed_bytes(), 3 * block) << "what is behind it is as good as it was";
    finish(std::move(file), 3);
}

TEST_F(JournalTest, OfAnotherSourceNothingBehindTheFirstDifferenceIsUsed) {
    const auto root = serve();
    leave_three(root);
    auto file = create(root);
    std::vector<std::byte> to(block);
    EXPECT_TRUE(file.find_block(0, to, block_checksum(block_at(0))).value());
    EXPECT_FALSE(file.find_block(block, to, block_checksum(block_at(4))).value());
    EXPECT_EQ(file.resumed_bytes(), block);
    EXPECT_EQ(fs::file_size(part_of()), block);
    finish(std::move(file), 1);
}

TEST_F(JournalTest, ATornRecordIsNone) {
    const auto root = serve();
    leave_three(root);
    fs::resize_file(journal_of(), fs::file_size(journal_of()) - 3);
    EXPECT_EQ(create(root).resumed_bytes(), 2 * block);
}

TEST_F(JournalTest, APartThatIsShorterThanPromisedIsBelieved) {
    const auto root = serve();
    leave_three(root);
    fs::resize_file(part_of(), 2 * block + 5);
    auto file = create(root);
    EXPECT_EQ(file.resumed_bytes(), 2 * block);
    finish(std::move(file), 2);
}

TEST_F(JournalTest, RemainsOfAnotherFileAreReplaced) {
    const auto root = serve();
    leave_three(root);
    auto larger = root.create("a", content.size() + 1, 0644, Existing::keep, by_blocks).value();
    EXPECT_EQ(larger.resumed_bytes(), 0u);
    larger.discard();
    leave_three(root);
    EXPECT_EQ(root.create("a", content.size(), 0600, Existing::keep, by_blocks).value().resumed_bytes(), 0u);
    leave_three(root);
    overwrite(journal_of(), 9, "?");
    EXPECT_EQ(create(root).resumed_bytes(), 0u) << "a head that is damaged";
}

TEST_F(JournalTest, AFileThatItsOwnerMayNotWriteGoesOnAndIsReadOnlyInTheEnd) {
    const auto root = serve();
    auto file = root.create("a", content.size(), 0444, Existing::keep, by_blocks).value();
    write(file, 0, 3);
    file.park();
    auto next = root.create("a", content.size(), 0444, Existing::keep, by_blocks).value();
    EXPECT_EQ(next.resumed_bytes(), 3 * block);
    finish(std::move(next), 3);
    EXPECT_EQ(fs::status(folder.at("root/a")).permissions(), fs::perms(0444));
}

TEST_F(JournalTest, HolesStayHoles) {
    const auto root = serve();
    constexpr std::uint64_t blocks = 64;
    const Resumable how{block, true, std::chrono::milliseconds(0)};
    const auto begin = [&] { return root.create("a", blocks * block, 0644, Existing::keep, how).value(); };
    auto file = begin();
    ASSERT_TRUE(file.leave_out(0, block).ok());
    write(file, 1, 2);
    ASSERT_TRUE(file.leave_out(2 * block, block).ok());
    file.park();
    overwrite(part_of(), 100, "not zero");
    auto next = begin();
    EXPECT_EQ(next.resumed_bytes(), 3 * block);
    ASSERT_TRUE(next.leave_out(0, block).ok());
    EXPECT_TRUE(has(next, 1));
    for (std::uint64_t i = 2; i < blocks; ++i) ASSERT_TRUE(next.leave_out(i * block, block).ok());
    ASSERT_TRUE(next.commit().ok());
    EXPECT_EQ(folder.get("root/a"),
              std::string(block, '\0') + content.substr(block, block) + std::string((blocks - 2) * block, '\0'));
}

TEST_F(JournalTest, WhoIsAtWorkOnAFileKeepsItForItself) {
    const auto root = Root::open(base).value();
    auto first = create(root);
    write(first, 0, 2);
    auto second = create(root);
    EXPECT_EQ(second.resumed_bytes(), 0u);
    write(second, 0, 6);
    EXPECT_TRUE(second.commit().ok());
    first.park();
    EXPECT_EQ(create(root).resumed_bytes(), 2 * block);
}

// Others may have write permission for the folder of a fetch.
TEST_F(JournalTest, WhatSomebodyElsePutThereIsLeftAlone) {
    const auto root = Root::open(base).value();
    const auto names = staged_names_of("a");
    fs::create_symlink("/etc/passwd", fs::path(base) / names.part);
    auto file = create(root);
    EXPECT_EQ(file.resumed_bytes(), 0u);
    write(file, 0, 6);
    ASSERT_TRUE(file.commit().ok());
    EXPECT_EQ(folder.get("root/a"), content);
    EXPECT_TRUE(fs::is_symlink(fs::path(base) / names.part));
}

TEST_F(JournalTest, AServerSweepsWhatNobodyCanGoOnWith) {
    {
        const auto root = serve();
        leave_three(root);
        leave_three(root, "b");
        auto empty = create(root, "c");
        fs::copy_file(part_of("c"), staging / ".cinnabar-0123456789abcdef.part");
        fs::remove(journal_of("b"));
        fs::copy_file(journal_of("a"), staging / ".cinnabar-00000000000000aa.journal");
        fs::copy_file(part_of("c"), staging / staged_names_of("d").part);
        fs::copy_file(journal_of("c"), staging / staged_names_of("d").journal);
        fs::create_symlink("nowhere", staging / ".cinnabar-00000000000000bb.part");  // it cannot be opened
        empty.discard();
    }
    const auto root = serve();
    EXPECT_EQ(root.removed(), 4u);
    EXPECT_EQ(Folder::list_of(staging),
              (std::vector<std::string>{staged_names_of("a").journal, staged_names_of("a").part}));
}

TEST_F(JournalTest, RemainsHaveAQuotaAnAgeAndANumber) {
    std::uint64_t each = 0;
    {
        const auto root = serve();
        for (const std::string name : {"old", "middle", "new"}) {
            leave_three(root, name);
            const timespec times[2] = {{0, UTIME_OMIT},
                                       {::time(nullptr) - (name == "old"      ? 300
                                                           : name == "middle" ? 200
                                                                              : 100),
                                        0}};
            ASSERT_EQ(::utimensat(AT_FDCWD, part_of(name).c_str(), times, 0), 0);
        }
        const auto remains = root.list_remains();
        ASSERT_EQ(remains.size(), 3u);
        EXPECT_EQ(remains[0].name, "old");
        EXPECT_EQ(remains[0].bytes, content.size());
        EXPECT_EQ(remains[0].kept_bytes, 3 * block);
        EXPECT_GE(remains[0].age_seconds, 300u);
        each = remains[0].disk_bytes;
        EXPECT_GE(each, 3 * block);
        EXPECT_EQ(root.trim_remains(), 0u);
    }
    {
        const auto root = serve({2 * each, std::chrono::hours(1)});
        EXPECT_EQ(root.removed(), 1u) << "the oldest is over the quota";
        EXPECT_EQ(root.list_remains().at(0).name, "middle");
    }
    {
        const auto root = serve({2 * each, std::chrono::seconds(150)});
        EXPECT_EQ(root.removed(), 1u) << "too old";
    }
    const auto root = serve();
    EXPECT_EQ(root.list_remains().at(0).name, "new");
    auto under_way = create(root, "new");
    EXPECT_EQ(root.list_remains().size(), 0u);
    EXPECT_EQ(root.remove_remains({}), 0u) << "somebody is at work on it";
    under_way.park();
    EXPECT_EQ(root.remove_remains("other"), 0u);
    EXPECT_EQ(root.remove_remains("new"), 1u);
    EXPECT_TRUE(fs::is_empty(staging));
    for (std::size_t i = 0; i < remains_max + 3; ++i) leave_three(root, "n" + std::to_string(i), {block, false, {}});
    EXPECT_EQ(root.trim_remains(), 3u);
    EXPECT_EQ(root.remove_remains({}), remains_max);
}

TEST_F(JournalTest, RemainsMakeRoomWhereThereIsNone) {
    const support::SmallDisk disk(base, 256 << 10);
    if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
    const auto root = serve();
    const auto fill = pattern(160 << 10);
    auto file = root.create("a", fill.size(), 0644, Existing::keep, by_blocks).value();
    for (std::size_t i = 0; i < fill.size(); i += block)
        ASSERT_TRUE(file.write(i, as_bytes(std::string_view(fill).substr(i, block))).ok());
    file.park();
    EXPECT_EQ(root.create("b", 300 << 10, 0644, Existing::keep).code(), Errc::no_space);
    EXPECT_EQ(root.list_remains().size(), 1u) << "no room was to be made for that";
    EXPECT_TRUE(root.create("b", 128 << 10, 0644, Existing::keep).ok());
    EXPECT_EQ(root.list_remains().size(), 0u);
}

// A file that got its name was killed before it had removed its journal, and then another file of that name, size and
// mode begins: what the journal promises is of the first one.
struct LeftJournal : JournalTest {
    const std::string other = pattern(content.size(), 7);
    fs::path kept = folder.at("kept");

    void name_one_and_keep_its_journal(const Root& root, const fs::path& journal) const {
        auto file = create(root);
        write(file, 0, 6);
        file.due_journal()->checkpoint();
        fs::copy_file(journal, kept);
        ASSERT_TRUE(file.commit().ok());
        EXPECT_FALSE(fs::exists(journal));
        fs::copy_file(kept, journal);
    }
    // As a server does with what a client offers.
    void save_other(const Root& root) const {
        auto file = create(root);
        std::vector<std::byte> to(block);
        for (std::uint64_t offset = 0; offset < other.size(); offset += block) {
            const auto part = as_bytes(std::string_view(other).substr(offset, block));
            const auto room = Bytes(to).first(part.size());
            if (offset < file.resumed_bytes()) {
                ASSERT_FALSE(file.find_block(offset, room, block_checksum(part)).value()) << offset;
            }
            ASSERT_TRUE(file.write(offset, part).ok());
        }
        ASSERT_TRUE(file.commit().ok());
        EXPECT_EQ(folder.get("root/a"), other);
        EXPECT_FALSE(fs::exists(journal_of()));
    }
};

TEST_F(LeftJournal, IsRemovedByTheNextFileOfThatName) {
    const auto root = serve();
    name_one_and_keep_its_journal(root, journal_of());
    EXPECT_TRUE(root.list_remains().empty());
    auto file = create(root);
    EXPECT_EQ(file.resumed_bytes(), 0u);
    EXPECT_EQ(promised(), 0u);
    file.discard();
    fs::copy_file(kept, journal_of());
    save_other(root);
}

TEST_F(LeftJournal, IsRemovedByTheNextServer) {
    { name_one_and_keep_its_journal(serve(), journal_of()); }
    const auto root = serve();
    EXPECT_TRUE(fs::is_empty(staging));
    EXPECT_EQ(folder.get("root/a"), content);
}

TEST_F(LeftJournal, OfAFetchIsRemovedByTheNextOne) {
    const auto root = Root::open(base).value();
    const auto journal = fs::path(base) / staged_names_of("a").journal;
    name_one_and_keep_its_journal(root, journal);
    EXPECT_EQ(root.remove_leftovers(), 1u);
    EXPECT_FALSE(fs::exists(journal));
    EXPECT_EQ(folder.get("root/a"), content);
}

// The next file was killed, too, after it was made and before it removed the journal.
TEST_F(LeftJournal, BesideAnEmptyFilePromisesNothing) {
    { name_one_and_keep_its_journal(serve(), journal_of()); }
    (void)folder.put("root/" + std::string(staging_folder) + "/" + staged_names_of("a").part, "");
    save_other(serve());
}

// After a power loss a file system may have the size of the next file, and not yet the removal of the journal.
TEST_F(LeftJournal, BesideTheNextFileIsNotBelieved) {
    { name_one_and_keep_its_journal(serve(), journal_of()); }
    (void)folder.put("root/" + std::string(staging_folder) + "/" + staged_names_of("a").part,
                     std::string(other.size(), '\0'));
    const auto root = serve();
    {
        auto file = create(root);
        ASSERT_EQ(file.resumed_bytes(), other.size());
        for (std::uint64_t i = 0; i < 5; ++i) EXPECT_FALSE(has(file, i)) << i;
        file.park();
    }
    save_other(root);
}

TEST_F(JournalTest, AJournalThatTheNextFileHasBegunStays) {
    const auto root = serve();
    const auto there = std::make_shared<const UniqueFd>(::open(staging.c_str(), O_RDONLY | O_CLOEXEC));
    const auto part =
        std::make_shared<const UniqueFd>(::open(part_of().c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    const JournalHead head{"a", content.size(), block, 0644, false, 0644};
    const auto name = staged_names_of("a").journal;
    const auto first = Journal::begin(there, name, part, head).value();
    first->finish();
    first->add(1);
    first->checkpoint();
    EXPECT_EQ(promised(), 0u) << "nothing more is recorded";
    fs::remove(journal_of());
    const auto second = Journal::begin(there, name, part, head).value();
    first->remove();
    EXPECT_TRUE(fs::exists(journal_of()));
    second->finish();
    second->remove();
    EXPECT_FALSE(fs::exists(journal_of()));
    fs::remove(part_of());
}

TEST_F(JournalTest, HeadsThatAreCutOrDamagedAreNone) {
    const JournalHead head{"folder/name", 123456789, block, 0640, true, 0640};
    const auto text = encode_head(head);
    const auto whole = decode_head(as_bytes(text + "records"));
    ASSERT_TRUE(whole);
    EXPECT_TRUE(whole->head.is_of_same_file(head));
    EXPECT_EQ(whole->head.final_mode, 0640u);
    EXPECT_EQ(whole->bytes, text.size());
    for (std::size_t bytes = 0; bytes < text.size(); ++bytes)
        EXPECT_FALSE(decode_head(as_bytes(text.substr(0, bytes)))) << bytes;
    for (std::size_t at = 0; at < text.size(); ++at) {
        auto damaged = text;
        damaged[at] = static_cast<char>(damaged[at] ^ 4);
        EXPECT_FALSE(decode_head(as_bytes(damaged))) << at;
    }
}

// A process that writes is killed: everything that its journal promises exists.
TEST_F(JournalTest, AKilledProcessHasPromisedNoMoreThanThereIs) {
    constexpr std::uint64_t many = 100'000;
    const Resumable how{block, true, std::chrono::milliseconds(0)};
    const auto begin = [&](const Root& root) {
        return root.create("a", many * block, 0644, Existing::keep, how).value();
    };
    for (unsigned round = 0; round < 20; ++round) {
        const auto child = ::fork();
        if (child == 0) {
            const auto root = serve();
            auto file = begin(root);
            for (std::uint64_t i = file.resumed_bytes() / block; i < many; ++i) {
                if (!file.write(i * block, block_at(i % 5)).ok()) ::_exit(1);
                if (auto journal = file.due_journal()) journal->checkpoint();
            }
        }
        const auto before = promised();
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (promised() <= before + round && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        ASSERT_EQ(::kill(child, SIGKILL), 0);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status));
        const auto blocks = promised();
        const auto root = serve();
        auto file = begin(root);
        ASSERT_EQ(file.resumed_bytes(), blocks * block);
        for (std::uint64_t i = 0; i < blocks; ++i) ASSERT_TRUE(has(file, i)) << i << " of " << blocks;
        file.park();
    }
}

}  // namespace
}  // namespace cinnabar::files
