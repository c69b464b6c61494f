// SPDX-License-Identifier: BSD-3-Clause
// Names: taken once, found, released, and taken over from dead processes.
#include "directory.hpp"

#include "local_socket.hpp"
#include "support/folder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace cinnabar::shm {
namespace {

class Names : public testing::Test {
  protected:
    Names() { ::setenv("CINNABAR_SHM_DIR", root_.path().c_str(), 1); }
    ~Names() override { ::unsetenv("CINNABAR_SHM_DIR"); }
    [[nodiscard]] static Directory directory(const std::string& uri = "shm://") {
        return Directory(AllowedUsers::of(na::Uri::parse(uri).value()).value());
    }
    // A process takes the name and dies while it holds it.
    static void die_with(const std::string& name) {
        const pid_t child = ::fork();
        if (child == 0) {
            auto held = directory().listen(name);
            ::_exit(held.ok() ? 0 : 1);  // without a destructor
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_EQ(status, 0);
    }
    [[nodiscard]] static mode_t mode_of(const std::string& path) {
        struct stat status {};
        EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
        return status.st_mode & 07777;
    }
    const support::Folder root_;
};

TEST_F(Names, are_only_for_their_user) {
    Directory place = directory();
    const NameHolder held = place.listen("one").value();
    EXPECT_EQ(mode_of(place.path()), 0700u);
    EXPECT_EQ(mode_of(place.socket_path("one")), 0600u);
    EXPECT_EQ(mode_of(place.path() + "/one.lock"), 0600u);
    UniqueFd caller;
    EXPECT_EQ(connect_to(place.socket_path("one"), caller), Errc::ok);
}

TEST_F(Names, are_taken_once) {
    const NameHolder held = directory().listen("one").value();
    EXPECT_EQ(directory().listen("one").code(), Errc::address_in_use);
    EXPECT_TRUE(directory().listen("two").ok());
}

TEST_F(Names, are_free_after_their_holder) {
    Directory place = directory();
    { const NameHolder held = place.listen("one").value(); }
    UniqueFd caller;
    EXPECT_EQ(connect_to(place.socket_path("one"), caller), Errc::refused);
    EXPECT_TRUE(place.entries().empty());
    EXPECT_TRUE(place.listen("one").ok());
}

TEST_F(Names, default_to_the_process_id) {
    const std::string pid = std::to_string(::getpid());
    const NameHolder first = directory().listen("").value();
    const NameHolder second = directory().listen("").value();
    EXPECT_EQ(first.name(), pid);
    EXPECT_EQ(second.name(), pid + "-2");
}

TEST_F(Names, of_dead_processes_are_listed_and_removed_by_the_next) {
    die_with("late");
    Directory place = directory();
    ASSERT_EQ(place.entries().size(), 1u);
    EXPECT_FALSE(place.entries().front().alive);
    UniqueFd caller;
    EXPECT_EQ(connect_to(place.socket_path("late"), caller), Errc::refused);
    const NameHolder held = place.listen("other").value();
    EXPECT_EQ(place.swept(), 1u);
    ASSERT_EQ(place.entries().size(), 1u);
    EXPECT_EQ(place.entries().front().name, "other");
    EXPECT_TRUE(place.entries().front().alive);
    EXPECT_NE(::access(place.socket_path("late").c_str(), F_OK), 0);
}

TEST_F(Names, of_dead_processes_can_be_taken) {
    die_with("again");
    const NameHolder held = directory().listen("again").value();
    UniqueFd caller;
    EXPECT_EQ(connect_to(directory().socket_path("again"), caller), Errc::ok);
}

TEST_F(Names, in_a_folder_open_to_others_are_refused) {
    ASSERT_EQ(::mkdir(directory().path().c_str(), 0755), 0);
    ASSERT_EQ(::chmod(directory().path().c_str(), 0755), 0);
    EXPECT_EQ(directory().listen("one").code(), Errc::permission);
}

// Any user can create the folder first. The error names that user and says what to do.
TEST_F(Names, in_a_folder_that_another_user_made_are_refused) {
    ASSERT_EQ(::mkdir(directory().path().c_str(), 0700), 0);
    if (::chown(directory().path().c_str(), 65534, 65534) != 0) GTEST_SKIP() << "needs root, to give a folder away";
    const auto refused = directory().listen("one");
    ASSERT_EQ(refused.code(), Errc::permission);
    const std::string told = refused.error().message();
    EXPECT_NE(told.find("user 65534"), std::string::npos) << told;
    EXPECT_NE(told.find("CINNABAR_SHM_DIR"), std::string::npos) << told;
    EXPECT_NE(told.find(directory().path()), std::string::npos) << told;
}

TEST_F(Names, behind_a_link_are_refused) {
    ASSERT_EQ(::mkdir(root_.at("elsewhere").c_str(), 0700), 0);
    ASSERT_EQ(::symlink(root_.at("elsewhere").c_str(), directory().path().c_str()), 0);
    EXPECT_EQ(directory().listen("one").code(), Errc::permission);
}

// Any member of the group can hold the lock of the folder.
TEST_F(Names, in_a_locked_folder_are_not_waited_for_for_long) {
    Directory place = directory();
    auto held = std::make_unique<NameHolder>(place.listen("one").value());
    const UniqueFd folder(::open(place.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::flock(folder.get(), LOCK_EX), 0);
    std::promise<Errc> refused;
    std::promise<void> given_up;
    std::thread waits([&] {
        refused.set_value(place.listen("two").code());
        held.reset();
        given_up.set_value();
    });
    constexpr std::chrono::seconds patience(20);
    auto code = refused.get_future();
    auto end = given_up.get_future();
    EXPECT_EQ(code.wait_for(patience), std::future_status::ready) << "waits for the lock to be opened";
    EXPECT_EQ(end.wait_for(patience), std::future_status::ready) << "waits for the lock to be closed";
    ASSERT_EQ(::flock(folder.get(), LOCK_UN), 0);
    waits.join();
    EXPECT_EQ(code.get(), Errc::busy);
    // Its files are like those of a dead process: the next listener removes them.
    const NameHolder next = place.listen("two").value();
    EXPECT_EQ(place.swept(), 1u);
    EXPECT_NE(::access(place.socket_path("one").c_str(), F_OK), 0);
}

TEST_F(Names, of_a_group_are_open_to_it) {
    const std::string uri = "shm://one?group=" + std::to_string(::getegid());
    Directory place = directory(uri);
    const NameHolder held = place.listen("one").value();
    EXPECT_EQ(mode_of(place.path()) & 0777, 0770u);
    EXPECT_EQ(mode_of(place.socket_path("one")), 0660u);
    EXPECT_NE(place.path(), directory().path());
    for (const auto of : {&AllowedUsers::of, &AllowedUsers::of_known}) {
        EXPECT_EQ(of(na::Uri::parse("shm://x?group=no-such-group").value()).code(), Errc::bad_address);
        EXPECT_EQ(of(na::Uri::parse("shm://x?group=root").value()).value().group, 0u);
        EXPECT_EQ(of(na::Uri::parse("shm://x?group=4321").value()).value().group, 4321u);
    }
}

// Whoever finds the folder finds it with its group and its mode: no process sees it in between, and none is killed
// there.
TEST_F(Names, of_a_group_come_in_a_folder_that_is_finished_when_it_appears) {
    Directory place = directory("shm://?group=" + std::to_string(::getegid()));
    const UniqueFd watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    ASSERT_GE(::inotify_add_watch(watch.get(), root_.path().c_str(), IN_CREATE | IN_ATTRIB | IN_MOVED_TO), 0);
    const NameHolder held = place.listen("one").value();
    const std::string own = place.path().substr(place.path().rfind('/') + 1);
    alignas(inotify_event) std::array<char, 16 * 1024> told{};
    const ssize_t size = ::read(watch.get(), told.data(), told.size());
    std::vector<std::uint32_t> changes;
    for (ssize_t at = 0; at < size;) {
        const auto* const event = reinterpret_cast<const inotify_event*>(told.data() + at);
        if (own == event->name) changes.push_back(event->mask & ~std::uint32_t{IN_ISDIR});
        at += static_cast<ssize_t>(sizeof *event + event->len);
    }
    EXPECT_EQ(changes, std::vector<std::uint32_t>{IN_MOVED_TO});
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(root_.path()), {}), 1) << "nothing else is left";
}

// As two processes that both look before either has made it.
TEST_F(Names, of_a_group_are_taken_by_many_at_once) {
    constexpr int many = 8;
    const std::string group = std::to_string(::geteuid() == 0 ? 4321 : ::getegid());
    std::vector<std::future<Errc>> taken;
    for (int i = 0; i < many; ++i) {
        taken.push_back(std::async(std::launch::async, [i, group] {
            return directory("shm://?group=" + group).listen("name" + std::to_string(i)).code();
        }));
    }
    for (auto& one : taken) EXPECT_EQ(one.get(), Errc::ok);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(root_.path()), {}), 1);
}

}  // namespace
}  // namespace cinnabar::shm
