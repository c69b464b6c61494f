// SPDX-License-Identifier: BSD-3-Clause
// Hand-made calls that make or remove many entries.
#include "file/folder_syncs.hpp"
#include "server_fixture.hpp"

#include <cinnabar/files/name.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

namespace fs = std::filesystem;

struct HandmadeBatchTest : ServerTest {
    static NewEntry link(std::string name, std::string target) {
        return {MakeKind::link, std::move(name), std::move(target), {}, false};
    }
    static NewEntry new_folder(std::string name) { return {MakeKind::folder, std::move(name), {}, {}, false}; }
    template <typename R, typename In>
    Result<std::vector<Errc>> codes_of(const R& rpc, In in) {
        seals.stamp(in);
        auto out = here->call(rpc, to, in).wait();
        if (!out) return from_remote(std::move(out).error());
        std::vector<Errc> codes;
        for (const auto& outcome : out->outcomes) codes.push_back(outcome.code);
        return codes;
    }
    Result<std::vector<Errc>> make(std::vector<NewEntry> entries) {
        MakeManyIn in;
        in.entries = std::move(entries);
        return codes_of(make_many_rpc, std::move(in));
    }
    Result<std::vector<Errc>> remove(std::vector<std::string> names, std::optional<std::string_view> below = {}) {
        RemoveManyIn in;
        in.names = std::move(names);
        in.links = LinkLimit::of(below);
        return codes_of(remove_many_rpc, std::move(in));
    }
    [[nodiscard]] bool is_there(const std::string& name) const {
        return fs::exists(fs::symlink_status(folder.path() / name));
    }
};

using Codes = std::vector<Errc>;

TEST_F(HandmadeBatchTest, CallsThatCannotBeAreRefusedWhole) {
    begin();
    EXPECT_EQ(make({}).code(), Errc::invalid_argument);
    std::vector<NewEntry> many;
    std::vector<std::string> names;
    for (std::size_t i = 0; i <= batch_entries_max; ++i) {
        names.push_back("n" + std::to_string(i));
        many.push_back(new_folder(names.back()));
    }
    EXPECT_EQ(make(many).code(), Errc::invalid_argument);
    EXPECT_EQ(make({new_folder("a"), link("a", "x")}).code(), Errc::invalid_argument) << "a name twice";
    EXPECT_EQ(make({new_folder("a"), {static_cast<MakeKind>(4), "b", {}, {}, false}}).code(), Errc::invalid_argument);
    EXPECT_EQ(make({new_folder(std::string(name_bytes_max + 1, 'a'))}).code(), Errc::too_large);
    EXPECT_EQ(make({link("a", std::string(name_bytes_max + 1, 'a'))}).code(), Errc::too_large);
    NewEntry finish{MakeKind::finish_folder, "a", {}, {}, false};
    finish.attributes.extended = {{"user.x", std::string(batch_text_bytes_max, 'a')}};
    EXPECT_EQ(make({finish}).code(), Errc::too_large);
    many.resize(batch_entries_max);
    for (auto& entry : many) entry.name += std::string(2000, 'a');
    EXPECT_EQ(make(many).code(), Errc::too_large);
    EXPECT_EQ(remove({}).code(), Errc::invalid_argument);
    EXPECT_EQ(remove(names).code(), Errc::invalid_argument);
    EXPECT_EQ(remove({"a", "b", "a"}).code(), Errc::invalid_argument) << "a name twice";
    EXPECT_EQ(remove({std::string(name_bytes_max + 1, 'a')}).code(), Errc::too_large);
    EXPECT_EQ(remove({"a"}, std::string(name_bytes_max + 1, 'a')).code(), Errc::too_large);
    EXPECT_EQ(support::Folder::list_of(folder.path()), (std::vector<std::string>{".cinnabar-staging"}));
}

TEST_F(HandmadeBatchTest, EachEntryIsJudgedByItselfAndTold) {
    std::set<std::string> failures;
    hooks.may_access = [](const AccessRequest& access) -> Result<void> {
        if (access.name == "forbidden" || access.target == "forbidden") return Errc::permission;
        return {};
    };
    hooks.ended = [&failures](const ServerEvent& event) {
        if (event.error) failures.insert(event.name);
    };
    begin();
    (void)folder.put("file", "x");
    const auto made = make({new_folder("d"), new_folder("d/e"), link("d/e/link", "anywhere"), new_folder("../out"),
                            new_folder("/etc/out"), link(".cinnabar-staging/x", "y"), new_folder("forbidden"),
                            link("other", "forbidden"), new_folder("none/x"), new_folder("file"),
                            {MakeKind::hard_link, "d/file", "file", {}, false},
                            {MakeKind::hard_link, "d/secret", "forbidden", {}, false},
                            {MakeKind::hard_link, "d/passwd", "/etc/passwd", {}, false}});
    ASSERT_TRUE(made.ok()) << made.error().message();
    EXPECT_EQ(*made, (Codes{Errc::ok, Errc::ok, Errc::ok, Errc::permission, Errc::permission, Errc::permission,
                            Errc::permission, Errc::permission, Errc::not_found, Errc::exists, Errc::ok,
                            Errc::permission, Errc::permission}));
    EXPECT_EQ(failures.size(), 9u);
    EXPECT_TRUE(failures.contains("none/x"));
    EXPECT_EQ(fs::read_symlink(folder.path() / "d/e/link"), "anywhere");
    EXPECT_EQ(fs::hard_link_count(folder.path() / "file"), 2u);
    failures.clear();
    const auto removed = remove({"d/e/link", "d/e", "d", "../file", "forbidden", "none"});
    ASSERT_TRUE(removed.ok()) << removed.error().message();
    EXPECT_EQ(*removed, (Codes{Errc::ok, Errc::ok, Errc::busy, Errc::permission, Errc::permission, Errc::not_found}))
        << "in order, so that a folder is empty when it is removed";
    EXPECT_FALSE(is_there("d/e"));
    EXPECT_TRUE(is_there("d/file"));
    EXPECT_EQ(failures.size(), 4u);
}

TEST_F(HandmadeBatchTest, BelowAFolderNoLinkIsFollowed) {
    begin();
    fs::create_directories(folder.path() / "d/e");
    fs::create_directory(folder.path() / "other");
    (void)folder.put("other/precious", "x");
    (void)folder.put("d/e/x", "x");
    fs::create_symlink("../other", folder.path() / "d/link");
    const auto removed = remove({"d/link/precious", "other/precious", "d/e/x", "d/link"}, "d");
    ASSERT_TRUE(removed.ok()) << removed.error().message();
    EXPECT_EQ(*removed, (Codes{Errc::permission, Errc::invalid_argument, Errc::ok, Errc::ok}));
    EXPECT_EQ(folder.get("other/precious"), "x");
    EXPECT_FALSE(is_there("d/link"));
}

TEST_F(HandmadeBatchTest, EntriesCountAsFilesOfTheClientAndAgainstItsQuota) {
    options.session_files_max = 3;
    options.client_files_max = 3;
    begin();
    EXPECT_EQ(make({new_folder("a"), new_folder("b"), new_folder("c"), new_folder("d")}).code(), Errc::overloaded);
    EXPECT_EQ(make({new_folder("a"), new_folder("none/b"), new_folder("b")}).value(),
              (Codes{Errc::ok, Errc::not_found, Errc::ok}));
    EXPECT_EQ(make({new_folder("a"), new_folder("c"), link("d", "x")}).value(),
              (Codes{Errc::ok, Errc::no_space, Errc::no_space}))
        << "a folder that is there may be made, and takes a place while that is tried";
    EXPECT_EQ(make({new_folder("c")}).value(), Codes{Errc::ok}) << "what failed, or was there, is not charged";
    EXPECT_EQ(make({link("d", "x")}).value(), Codes{Errc::no_space});
    EXPECT_EQ(remove({"a", "b", "c", "d"}).code(), Errc::overloaded);
    EXPECT_EQ(remove({"a", "b", "c"}).value(), (Codes{Errc::ok, Errc::ok, Errc::ok}));
}

TEST_F(HandmadeBatchTest, ASignedCallCannotBeChanged) {
    keyed = true;
    begin();
    MakeManyIn good;
    good.entries = {link("a", "x"), link("b", "y")};
    seals.stamp(good);
    const auto refused = [&](auto change) {
        auto in = good;
        change(in.entries);
        return from_remote(here->call(make_many_rpc, to, in).wait().error()).code == Errc::permission;
    };
    EXPECT_TRUE(refused([](auto& entries) { entries[1].name = "c"; }));
    EXPECT_TRUE(refused([](auto& entries) { entries[1].target = "/etc"; }));
    EXPECT_TRUE(refused([](auto& entries) { entries[1].kind = MakeKind::folder; }));
    EXPECT_TRUE(refused([](auto& entries) { entries[1].replace = true; }));
    EXPECT_TRUE(refused([](auto& entries) { entries[1].attributes.mode = 07777; }));
    EXPECT_TRUE(refused([](auto& entries) { entries.pop_back(); }));
    EXPECT_TRUE(here->call(make_many_rpc, to, good).wait().ok());
    EXPECT_EQ(from_remote(here->call(make_many_rpc, to, good).wait().error()).code, Errc::permission) << "a replay";
    RemoveManyIn gone;
    gone.names = {"a", "b"};
    gone.links = LinkLimit::of("");
    seals.stamp(gone);
    auto changed = gone;
    changed.names = {"a", "c"};
    EXPECT_EQ(from_remote(here->call(remove_many_rpc, to, changed).wait().error()).code, Errc::permission);
    changed = gone;
    changed.links = {};
    EXPECT_EQ(from_remote(here->call(remove_many_rpc, to, changed).wait().error()).code, Errc::permission);
    EXPECT_TRUE(here->call(remove_many_rpc, to, gone).wait().ok());
}

UniqueFd open_folder(const fs::path& path, int how = O_RDONLY) {
    return UniqueFd(::open(path.c_str(), how | O_DIRECTORY | O_CLOEXEC));
}

TEST(FolderSyncs, EachFolderIsSyncedOnceAndAFailureIsThatOfItsEntries) {
    const support::Folder folder;
    fs::create_directory(folder.at("a"));
    fs::create_directory(folder.at("b"));
    fs::create_directory(folder.at("gone"));
    FolderSyncs folders;
    folders.add(open_folder(folder.at("a")), 0, "a/0");
    folders.add({}, 1, "unchanged");
    folders.add(open_folder(folder.at("b"), O_PATH), 2, "b/2");  // such a descriptor cannot be synced
    folders.add(open_folder(folder.at("a")), 3, "a/3");
    folders.add(open_folder(folder.at("b"), O_PATH), 4, "b/4");
    folders.add(open_folder(folder.at("gone")), 5, "gone/5");
    EXPECT_EQ(folders.count(), 3u);
    fs::remove(folder.at("gone"));
    std::vector<std::size_t> failed;
    folders.sync([&failed](std::size_t number, const Error& why) {
        EXPECT_EQ(why.subject, "b/2");
        failed.push_back(number);
    });
    EXPECT_EQ(failed, (std::vector<std::size_t>{2, 4}));
    EXPECT_EQ(folders.count(), 0u);
}

}  // namespace
}  // namespace cinnabar::files
