// SPDX-License-Identifier: BSD-3-Clause
// Runs random commands against a server and against a tree in memory: both must give the same answers and have the same
// contents in the end. CINNABAR_SEEDS sets the number of walks.
#include "model_servers.hpp"
#include "model_tree.hpp"
#include "support/content.hpp"
#include "support/seeds.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/base/random.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/files/copy.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace cinnabar::files {
namespace {

namespace fs = std::filesystem;
using test::ModelTree;
using test::Thing;
using test::ThingPtr;

mode_t umask_here() {
    const mode_t mask = ::umask(0);
    (void)::umask(mask);
    return mask;
}

// One walk: a sequence of commands whose results are compared.
class ModelWalk {
  public:
    ModelWalk(Both& both, std::uint64_t seed) : both_(both), random_(seed), into_(Root::open(into_folder()).value()) {}

    void run() {
        for (unsigned i = 0; i < 40 && !testing::Test::HasFailure(); ++i) command();
        if (!testing::Test::HasFailure()) compare_folder({}, *model_.root());
        if (!testing::Test::HasFailure()) remove_all({}, model_.root());
    }

  private:
    std::string into_folder() const { return both_.folder().path().string(); }
    template <typename T>
    static Errc code_of(const Result<T>& result) {
        return result.ok() ? Errc::ok : result.code();
    }
    // Counts the outcome, and compares the server's with the model's.
    testing::AssertionResult agree(Errc served, Errc expected, const std::string& what) {
        auto& count = both_.counts[what.substr(0, what.find(' '))];
        ++(expected == Errc::ok ? count.done : count.refused);
        if (served == expected) return testing::AssertionSuccess();
        return testing::AssertionFailure()
               << what << ": the server says " << to_string(served) << ", and should say " << to_string(expected);
    }

    // --- what a command is about

    std::string leaf() {
        static const std::vector<std::string> leaves{"a", "b", "c d", "\xff\n", "\xc3\xbc", ".e", "f"};
        return leaves[random_.below(leaves.size())];
    }
    std::string name() {
        if (random_.chance(30)) return bad_name();
        std::string name = leaf();
        auto parent = model_.root();
        // Often descends into existing folders.
        while (random_.below(3) != 0 && std::count(name.begin(), name.end(), '/') < 4) {
            if (!parent->names.empty() && random_.below(4) != 0) {
                auto chosen = parent->names.begin();
                std::advance(chosen, static_cast<std::ptrdiff_t>(random_.below(parent->names.size())));
                const auto above = name.rfind('/');
                name = (above == name.npos ? std::string() : name.substr(0, above + 1)) + chosen->first;
                if (chosen->second->kind == EntryKind::file) return name;
                if (chosen->second->kind == EntryKind::folder) parent = chosen->second;
            }
            name += "/" + leaf();
        }
        return name;
    }
    std::string bad_name() {
        const std::vector<std::string> names{"",
                                             "/a",
                                             "..",
                                             "a/../b",
                                             "a//b",
                                             "./a",
                                             std::string("a\0b", 3),
                                             std::string(256, 'x'),
                                             std::string(2100, 'x').replace(1050, 1, "/") + std::string(2000, '/'),
                                             ".cinnabar-staging",
                                             ".cinnabar-staging/x"};
        return names[random_.below(names.size())];
    }
    std::string target() {
        static const std::vector<std::string> targets{"a",    "b",   "../a",      "..", "../../..",
                                                      "/etc", "a/b", "../b/../a", "."};
        return targets[random_.below(targets.size())];
    }
    std::size_t size() {
        static constexpr std::size_t sizes[] = {0, 1, 100, 4096, 9000, 65535, 65536, 65537, 200'000, 300'000};
        return sizes[random_.below(random_.chance(4) ? std::size(sizes) : 5)];
    }
    Attributes attributes() {
        Attributes made;
        made.mode = 0600u | static_cast<std::uint32_t>(random_.below(0100));
        made.modified_s = static_cast<std::int64_t>(random_.below(1u << 31));
        made.modified_ns = static_cast<std::uint32_t>(random_.below(1'000'000'000));
        return made;
    }
    // Creates a local file with the content to save, and sets its path.
    ThingPtr make_source(const SaveMode& mode, std::size_t bytes, const std::string& path) {
        auto file = std::make_shared<Thing>();
        file->kind = EntryKind::file;
        file->content = support::pattern(bytes, static_cast<unsigned>(random_.next()));
        const bool hole = bytes > 3 * 8192 && random_.chance(2);
        if (hole) std::fill_n(file->content.begin() + 8192, bytes - 2 * 8192, '\0');
        const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        const std::size_t edge = hole ? 8192 : bytes;
        EXPECT_EQ(::pwrite(fd.get(), file->content.data(), edge, 0), static_cast<ssize_t>(edge));
        if (hole) {
            EXPECT_EQ(::pwrite(fd.get(), file->content.data(), 8192, static_cast<off_t>(bytes - 8192)), 8192);
            file->content.replace(bytes - 8192, 8192, file->content, 0, 8192);
        }
        const auto wanted = attributes();
        EXPECT_EQ(::fchmod(fd.get(), wanted.mode), 0);
        const timespec times[2] = {{0, UTIME_OMIT}, {wanted.modified_s, static_cast<long>(wanted.modified_ns)}};
        EXPECT_EQ(::futimens(fd.get(), times), 0);
        file->mode = mode.exact ? wanted.mode : wanted.mode & ~umask_;
        if (mode.exact) file->modified = {wanted.modified_s, wanted.modified_ns};
        file->checked = mode.checked;
        return file;
    }
    SaveMode save_mode() {
        SaveMode mode;
        mode.existing = random_.chance(2) ? Existing::replace : Existing::keep;
        mode.push = random_.chance(3);
        mode.checked = !random_.chance(4);
        mode.exact = random_.chance(2);
        mode.sync = random_.chance(2) ? Sync::none : Sync::batch;
        return mode;
    }

    // --- commands

    void command() {
        switch (random_.below(20)) {
            case 0:
            case 1:
            case 2:
                return save();
            case 3:
                return save_pack();
            case 4:
            case 5:
            case 6:
                return make_folder();
            case 7:
                return make_link();
            case 8:
                return make_hard_link();
            case 9:
                return finish_folder();
            case 10:
                return fetch();
            case 11:
                return fetch_pack();
            case 12:
                return list();
            case 13:
                return look();
            case 14:
                return copy_file();
            case 15:
                return copy_pack();
            case 16:
                return remove_several();
            case 17:
                return random_.chance(40) ? both_.restart() : verify();
            case 18:
                return save_twice();
            default:
                return remove();
        }
    }

    Errc expected_put(const std::string& name, const ThingPtr& thing, bool replace) {
        const Errc can_be = ModelTree::check(name);
        return can_be != Errc::ok ? can_be : model_.put(name, thing, replace);
    }
    void save() {
        const auto name = this->name();
        const auto mode = save_mode();
        const auto path = both_.folder().at("source");
        const auto file = make_source(mode, size(), path);
        const auto saved = hl::sync_wait(both_.client().save(path, name, mode));
        const Errc expected = expected_put(name, file, mode.existing == Existing::replace);
        ASSERT_TRUE(agree(code_of(saved), expected, "save " + printable(name)));
        if (!saved) return;
        EXPECT_EQ(saved->bytes, file->content.size());
    }
    // The client or the server goes in the middle of a save, and the same command is given again.
    void save_twice() {
        const auto name = this->name();
        auto mode = save_mode();
        const auto path = both_.folder().at("source");
        const std::uint64_t bytes = (4 + random_.below(8)) * window_bytes + random_.below(window_bytes);
        const auto file = make_source(mode, static_cast<std::size_t>(bytes), path);
        const std::uint64_t until = 1 + random_.below(bytes);
        const bool server_goes = random_.chance(2);
        std::uint64_t moved = 0;
        std::thread killer;
        std::stop_source stop;
        const BytesMoved interrupt = [&](std::uint64_t more) {
            moved += more;
            if (moved < until || killer.joinable() || stop.stop_requested()) return;
            if (server_goes) {
                killer = std::thread([this] { both_.kill_server(); });
            } else {
                stop.request_stop();
            }
        };
        const auto first = hl::sync_wait(both_.client().save(path, name, mode, interrupt), stop.get_token());
        const bool interrupted = killer.joinable() || stop.stop_requested();
        if (killer.joinable()) killer.join();
        if (interrupted) both_.restart();
        mode.again = true;  // the answer to the commit may have been lost
        const auto last = interrupted && !first ? hl::sync_wait(both_.client().save(path, name, mode)) : first;
        const Errc expected = expected_put(name, file, mode.existing == Existing::replace);
        ASSERT_TRUE(agree(code_of(last), expected, "save twice " + printable(name)));
        if (!last) return;
        EXPECT_EQ(last->bytes, bytes);
        EXPECT_LE(last->had_bytes + last->sent_bytes, bytes);
        if (last->had_bytes > 0) ++both_.resumed;
    }
    // All files go into one folder to which no link leads, so that files do not replace each other's folders.
    void save_pack() {
        const auto folder = plain_folder({}, model_.root());
        SaveMode mode = save_mode();
        mode.push = false;
        std::vector<SmallFile> files;
        std::vector<ThingPtr> things;
        const std::size_t count = 1 + random_.below(6);
        for (std::size_t i = 0; i < count; ++i) {
            const auto path = both_.folder().at("source" + std::to_string(i));
            things.push_back(make_source(mode, std::min<std::size_t>(size(), 9000), path));
            files.push_back({[path] { return SourceFile::open(path); }, folder + leaf()});
        }
        const auto outcome = hl::sync_wait(both_.client().save_small(files, mode));
        ASSERT_TRUE(outcome.ok());
        const auto& saved = *outcome;
        ASSERT_EQ(saved.size(), files.size());
        std::set<std::string> begun;
        for (std::size_t i = 0; i < files.size(); ++i) {
            const bool first = begun.insert(files[i].name).second;
            const bool replace = mode.existing == Existing::replace;
            const Errc expected = first ? expected_put(files[i].name, things[i], replace) : Errc::busy;
            ASSERT_TRUE(agree(code_of(saved[i]), expected, "save together " + printable(files[i].name)));
        }
    }
    std::string plain_folder(const std::string& at, const ThingPtr& folder) {
        for (const auto& [name, thing] : folder->names) {
            if (thing->kind == EntryKind::folder && random_.chance(2)) return plain_folder(at + name + "/", thing);
        }
        return at;
    }
    CopyMode copy_mode() {
        CopyMode mode;
        mode.existing = random_.chance(2) ? Existing::replace : Existing::keep;
        mode.exact = random_.chance(2);
        mode.sync = random_.chance(2) ? Sync::none : Sync::batch;
        return mode;
    }
    ThingPtr make_lent(const CopyMode& mode, std::size_t bytes, const std::string& name) {
        SaveMode as_saved;
        as_saved.exact = mode.exact;
        return make_source(as_saved, bytes, both_.folder().at("lender/" + name));
    }
    void copy_file() {
        const auto name = this->name();
        const auto mode = copy_mode();
        const std::string lent = "lent";
        const auto file = make_lent(mode, size(), lent);
        const auto copied = hl::sync_wait(files::copy(both_.lender(), lent, both_.client(), name, mode));
        const Errc expected = expected_put(name, file, mode.existing == Existing::replace);
        ASSERT_TRUE(agree(code_of(copied), expected, "copy " + printable(name)));
        if (!copied) return;
        EXPECT_EQ(copied->bytes, file->content.size());
    }
    // No two files get one name: which of them is first would depend on chance.
    void copy_pack() {
        const auto folder = plain_folder({}, model_.root());
        const auto mode = copy_mode();
        std::vector<CopiedFile> files;
        std::vector<ThingPtr> things;
        std::set<std::string> begun;
        const std::size_t count = 1 + random_.below(6);
        for (std::size_t i = 0; i < count; ++i) {
            const auto as = folder + leaf();
            if (!begun.insert(as).second) continue;
            const auto lent = "lent" + std::to_string(i);
            things.push_back(make_lent(mode, std::min<std::size_t>(size(), 9000), lent));
            files.push_back({lent, as, things.back()->content.size()});
        }
        const auto outcome = hl::sync_wait(files::copy_small(both_.lender(), files, both_.client(), mode));
        ASSERT_TRUE(outcome.ok());
        const auto& copied = *outcome;
        ASSERT_EQ(copied.size(), files.size());
        for (std::size_t i = 0; i < files.size(); ++i) {
            const Errc expected = expected_put(files[i].as, things[i], mode.existing == Existing::replace);
            ASSERT_TRUE(agree(code_of(copied[i]), expected, "copy together " + printable(files[i].as)));
        }
    }
    void make_folder() {
        const auto name = this->name();
        const auto made = hl::sync_wait(both_.client().make_folder(name));
        const Errc can_be = ModelTree::check(name);
        const Errc expected = can_be != Errc::ok ? can_be : model_.make_folder(name);
        ASSERT_TRUE(agree(code_of(made), expected, "make folder " + printable(name)));
    }
    void make_link() {
        const auto name = this->name();
        const bool replace = random_.chance(2);
        auto link = std::make_shared<Thing>();
        link->kind = EntryKind::link;
        link->target = target();
        const auto made = hl::sync_wait(
            both_.client().make_link(name, link->target, attributes(), replace ? Existing::replace : Existing::keep));
        ASSERT_TRUE(agree(code_of(made), expected_put(name, link, replace), "make link " + printable(name)));
    }
    void make_hard_link() {
        const auto name = this->name();
        const auto of = this->name();
        const bool replace = random_.chance(2);
        const auto made =
            hl::sync_wait(both_.client().make_hard_link(name, of, replace ? Existing::replace : Existing::keep));
        // Names that are too long are refused first; then the file that gets the new name is looked up.
        const bool too_long = std::max(name.size(), of.size()) > name_bytes_max;
        Errc expected = too_long ? Errc::too_large : ModelTree::check(of);
        ThingPtr file;
        if (expected == Errc::ok) std::tie(expected, file) = model_.find_for_link(of);
        if (expected == Errc::ok) expected = expected_put(name, file, replace);
        ASSERT_TRUE(agree(code_of(made), expected, "make " + printable(name) + " a name of " + printable(of)));
    }
    Errc expected_folder(const std::string& name, ThingPtr& folder) const {
        if (const Errc can_be = ModelTree::check(name); can_be != Errc::ok) return can_be;
        const auto [code, found] = model_.find(name, false);
        if (code != Errc::ok) return code;
        folder = found;
        return found->kind == EntryKind::folder ? Errc::ok : Errc::invalid_argument;
    }
    void finish_folder() {
        const auto name = this->name();
        auto wanted = attributes();
        wanted.mode |= 0700u;
        const auto finished = hl::sync_wait(both_.client().finish_folder(name, wanted));
        ThingPtr folder;
        ASSERT_TRUE(agree(code_of(finished), expected_folder(name, folder), "finish folder " + printable(name)));
        if (!finished) return;
        folder->mode = wanted.mode;
        const auto seen = hl::sync_wait(both_.client().look(name));
        ASSERT_TRUE(seen.ok());
        EXPECT_EQ(seen->entry.attributes.modified_s, wanted.modified_s);
        EXPECT_EQ(seen->entry.attributes.modified_ns, wanted.modified_ns);
    }
    Errc expected_file(const std::string& name, ThingPtr& file) const {
        if (const Errc can_be = ModelTree::check(name); can_be != Errc::ok) return can_be;
        const auto [code, found] = model_.find(name, true);
        if (code != Errc::ok) return code;
        file = found;
        return found->kind == EntryKind::file ? Errc::ok : Errc::invalid_argument;
    }
    void fetch() {
        const auto name = this->name();
        const FetchMode mode{Existing::replace, "got", random_.chance(2)};
        const auto fetched = hl::sync_wait(both_.client().fetch(name, into_, mode));
        ThingPtr file;
        ASSERT_TRUE(agree(code_of(fetched), expected_file(name, file), "fetch " + printable(name)));
        if (!fetched) return;
        EXPECT_EQ(fetched->bytes, file->content.size());
        EXPECT_TRUE(both_.folder().get("got") == file->content) << printable(name);
        if (!mode.exact) return;
        const auto got = into_.look("got", {});
        ASSERT_TRUE(got.ok());
        EXPECT_EQ(got->attributes.mode, file->mode);
        if (!file->modified) return;
        EXPECT_EQ(got->attributes.modified_ns, file->modified->second);
    }
    // Some sizes are listed wrong, and some files are large: these are fetched by themselves.
    void fetch_pack() {
        FetchMode mode;
        mode.existing = Existing::replace;
        mode.exact = random_.chance(2);
        mode.sync = random_.chance(2) ? Sync::each : Sync::none;
        std::vector<ListedFile> files;
        std::vector<ThingPtr> things;
        std::vector<Errc> expected;
        const std::size_t count = 1 + random_.below(6);
        for (std::size_t i = 0; i < count; ++i) {
            const auto name = this->name();
            ThingPtr file;
            expected.push_back(expected_file(name, file));
            const std::uint64_t bytes = file ? file->content.size() : 0;
            files.push_back({name, "got" + std::to_string(i), bytes + (random_.chance(8) ? 1 : 0)});
            things.push_back(std::move(file));
        }
        const auto outcome = hl::sync_wait(both_.client().fetch_small(files, into_, mode));
        ASSERT_TRUE(outcome.ok());
        const auto& fetched = *outcome;
        ASSERT_EQ(fetched.size(), files.size());
        for (std::size_t i = 0; i < files.size(); ++i) {
            ASSERT_TRUE(agree(code_of(fetched[i]), expected[i], "fetch together " + printable(files[i].name)));
            if (!fetched[i]) continue;
            EXPECT_EQ(fetched[i]->bytes, things[i]->content.size());
            EXPECT_TRUE(both_.folder().get(files[i].as) == things[i]->content) << printable(files[i].name);
        }
    }
    void verify() {
        const auto name = this->name();
        const auto verified = hl::sync_wait(both_.client().verify(name));
        ThingPtr file;
        ASSERT_TRUE(agree(code_of(verified), expected_file(name, file), "verify " + printable(name)));
        if (!verified) return;
        EXPECT_EQ(verified->bytes, file->content.size());
        EXPECT_FALSE(verified->damaged());
        if (!both_.keeps_attributes()) return;
        const auto expected = file->checked ? StoredChecksum::State::good : StoredChecksum::State::none;
        EXPECT_EQ(verified->stored.state, expected) << printable(name);
    }
    void list() {
        const auto name = random_.chance(4) ? std::string() : this->name();
        const auto listed = hl::sync_wait(both_.client().list(name));
        ThingPtr folder = model_.root();
        const Errc expected = name.empty() ? Errc::ok : expected_folder(name, folder);
        ASSERT_TRUE(agree(code_of(listed), expected, "list " + printable(name)));
        if (listed) compare(*listed, name, *folder);
    }
    void look() {
        const auto name = this->name();
        const auto seen = hl::sync_wait(both_.client().look(name));
        Errc expected = ModelTree::check(name);
        ThingPtr thing;
        if (expected == Errc::ok) std::tie(expected, thing) = model_.find(name, false);
        ASSERT_TRUE(agree(code_of(seen), expected, "look at " + printable(name)));
        if (seen) compare(seen->entry, name, *thing);
    }
    void remove() {
        const auto name = this->name();
        const auto removed = hl::sync_wait(both_.client().remove(name));
        const Errc can_be = ModelTree::check(name);
        const Errc expected = can_be != Errc::ok ? can_be : model_.remove(name);
        ASSERT_TRUE(agree(code_of(removed), expected, "remove " + printable(name)));
    }

    // As --delete does.
    void remove_several() {
        std::vector<std::string> names;
        const std::size_t count = 1 + random_.below(6);
        for (std::size_t i = 0; i < count; ++i) {
            auto name = this->name();
            if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
        }
        const auto outcome = hl::sync_wait(both_.client().remove_many(names));
        ASSERT_TRUE(outcome.ok());
        const auto& removed = *outcome;
        ASSERT_EQ(removed.size(), names.size());
        for (std::size_t i = 0; i < names.size(); ++i) {
            const Errc can_be = ModelTree::check(names[i]);
            const Errc expected = can_be != Errc::ok ? can_be : model_.remove(names[i]);
            ASSERT_TRUE(agree(code_of(removed[i]), expected, "remove together " + printable(names[i])));
        }
    }

    // --- whether both hold the same

    void compare(const Entry& entry, const std::string& name, const Thing& thing) const {
        ASSERT_EQ(entry.kind, thing.kind) << printable(name);
        EXPECT_EQ(entry.target, thing.target) << printable(name);
        if (thing.kind == EntryKind::link) return;
        EXPECT_EQ(entry.attributes.mode, thing.mode) << printable(name);
        if (thing.kind == EntryKind::folder) return;
        EXPECT_EQ(entry.bytes, thing.content.size()) << printable(name);
        if (!thing.modified) return;
        EXPECT_EQ(entry.attributes.modified_s, thing.modified->first) << printable(name);
        EXPECT_EQ(entry.attributes.modified_ns, thing.modified->second) << printable(name);
    }
    void compare(const Listing& listing, const std::string& name, const Thing& folder) const {
        EXPECT_EQ(listing.entries.size(), folder.names.size()) << "in " << printable(name);
        for (const auto& entry : listing.entries) {
            const auto found = folder.names.find(entry.name);
            ASSERT_NE(found, folder.names.end()) << printable(name) << "/" << printable(entry.name);
            compare(entry, name + "/" + entry.name, *found->second);
        }
    }
    // Compares everything, including contents read from disk, and which names belong to the same file.
    void compare_folder(const std::string& name, const Thing& folder) {
        const auto listed = hl::sync_wait(both_.client().list(name));
        ASSERT_TRUE(listed.ok()) << printable(name) << ": " << listed.error().message();
        compare(*listed, name, folder);
        for (const auto& entry : listed->entries) {
            const auto full = name.empty() ? entry.name : name + "/" + entry.name;
            const auto found = folder.names.find(entry.name);
            if (found == folder.names.end()) return;
            if (entry.kind == EntryKind::folder) compare_folder(full, *found->second);
            if (entry.kind != EntryKind::file) continue;
            EXPECT_TRUE(both_.folder().get("root/" + full) == found->second->content) << printable(full);
            const bool several = found->second.use_count() > 1;
            EXPECT_EQ(entry.inode != 0, several) << printable(full);
            if (!several) continue;
            const auto [inode, first] = inodes_.try_emplace(found->second.get(), entry.inode);
            EXPECT_TRUE(first || inode->second == entry.inode) << printable(full);
        }
    }
    void remove_all(const std::string& at, const ThingPtr& folder) {
        while (!folder->names.empty()) {
            const auto name = at + folder->names.begin()->first;
            if (folder->names.begin()->second->kind == EntryKind::folder)
                remove_all(name + "/", folder->names.begin()->second);
            const auto removed = hl::sync_wait(both_.client().remove(name));
            ASSERT_TRUE(removed.ok()) << printable(name) << ": " << removed.error().message();
            ASSERT_EQ(model_.remove(name), Errc::ok) << printable(name);
        }
    }

    Both& both_;
    Random random_;
    const mode_t umask_ = umask_here();
    ModelTree model_;
    Root into_;
    std::map<const Thing*, std::uint64_t> inodes_;
};

TEST(ModelTest, RandomCommandsDoWhatATreeInMemoryDoes) {
    Both both;
    unsigned walks = 0;
    cinnabar::test::for_each_seed(
        [&](std::uint64_t seed) {
            ++walks;
            ModelWalk(both, seed).run();
            if (testing::Test::HasFailure()) return;
            const auto left = support::Folder::list_of(both.folder().path() / "root");
            EXPECT_EQ(left, (std::vector<std::string>{".cinnabar-staging"})) << "nothing else is left";
        },
        10);
    if (walks < 10) return;
    EXPECT_GT(both.resumed, 0u);
    EXPECT_EQ(both.counts.size(), 9u) << "save, copy, make, finish, fetch, verify, list, look, remove";
    for (const auto& [command, count] : both.counts)
        EXPECT_TRUE(count.done > 0 && count.refused > 0) << command << ": " << count.done << ", " << count.refused;
}

}  // namespace
}  // namespace cinnabar::files
