// SPDX-License-Identifier: BSD-3-Clause
// A group of 24 processes, two of which are killed in the middle of each call. CINNABAR_GROUP_PROCESSES=200 makes it
// larger: that takes a minute or two.
#include "processes.hpp"
#include "support/seeds.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <iostream>
#include <map>
#include <optional>
#include <semaphore>

extern char** environ;

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::CollectiveOptions;
using group::Group;
using group::Rank;
using group::Tree;
using Ranks = std::vector<Rank>;

// Members in separate processes, which the destructor kills.
class Members {
  public:
    Members(std::size_t count, const std::string& seed, const std::string& listen) {
        EXPECT_EQ(::pipe2(pipe_, O_CLOEXEC), 0);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, pipe_[0], STDIN_FILENO);
        for (std::size_t i = 0; i < count; ++i) {
            std::string program = CINNABAR_GROUP_MEMBER;
            std::string seed_argument = seed;
            std::string listen_argument = listen;
            char* arguments[] = {program.data(), seed_argument.data(), listen_argument.data(), nullptr};
            pid_t pid = 0;
            EXPECT_EQ(::posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments, environ), 0);
            pids_.push_back(pid);
        }
        posix_spawn_file_actions_destroy(&actions);
    }
    ~Members() {
        ::close(pipe_[0]);
        ::close(pipe_[1]);
        for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
    }
    Members(const Members&) = delete;
    Members& operator=(const Members&) = delete;

  private:
    int pipe_[2] = {-1, -1};
    std::vector<pid_t> pids_;
};

// Calls all processes, and kills two of them during each call.
class Killing {
  public:
    explicit Killing(const std::string& listen)
        : node_(Node::listen(listen).value()), group_(Group::create(node_, quick_group()).value()) {
        serve_late(node_, group_, [this] { begun_.release(); });
        serve_words(node_, group_, [this] { begun_.release(); });
        members_.emplace(left_ - 1, node_.address(), listen);
        EXPECT_TRUE(sync_wait(with_deadline(group_.wait_for_members(left_), 60s)).ok());
        // There may be a moment between the join of a member and the first call to it that succeeds.
        for (int i = 0; i < 1000 && pids_.size() < left_; ++i) {
            for (const auto& [rank, pid] : sync_wait(group_.gather(get_pid, binary)).value().values) pids_[rank] = pid;
        }
        EXPECT_EQ(pids_.size(), left_);
    }

    // Makes the call, and kills two members once it has begun: the first child of the caller, which has half of the
    // other members below it, and one further down.
    template <typename Call>
    auto kill_in(Call call) {
        const group::View view = group_.view();
        victims_ = {view.present()[1], view.present()[12]};
        auto result = std::async(std::launch::async, [&] { return sync_wait(call(group_, victims_)).value(); });
        begun_.acquire();
        for (const Rank victim : victims_) ::kill(pids_.at(victim), SIGKILL);
        return result.get();
    }
    void expect_failures_of_victims(const std::vector<group::Failure>& failures) const {
        ASSERT_EQ(failures.size(), 2u);
        for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(failures[i].rank, victims_[i]);
    }
    void wait_for_exclusion() {
        auto events = group_.events();
        left_ -= 2;
        while (group_.view().present().size() > left_) ASSERT_TRUE(sync_wait(with_deadline(events.next(), 60s)).ok());
    }
    [[nodiscard]] std::size_t left() const noexcept { return left_; }
    [[nodiscard]] Group& group() noexcept { return group_; }
    static constexpr CollectiveOptions binary{.deadline = 60s, .tree = Tree::k_nomial, .fanout = 2};

  private:
    std::counting_semaphore<> begun_{0};
    std::size_t left_ = number_from_environment("CINNABAR_GROUP_PROCESSES", 24);
    std::map<Rank, int> pids_;
    Ranks victims_;
    Node node_;
    Group group_;
    std::optional<Members> members_;
};

void kill_in_mid_call(const std::string& listen) {
    Killing all(listen);
    const auto sum = [](Group& group, const Ranks&) { return group.reduce(count_late, group::plus, Killing::binary); };
    const auto reduced = all.kill_in(sum);
    all.expect_failures_of_victims(reduced.failures);
    EXPECT_EQ(reduced.value, static_cast<int>(all.left() - 2));
    all.wait_for_exclusion();

    const auto tell = [](Group& group, const Ranks&) { return group.broadcast(count_late, Killing::binary); };
    const auto reached = all.kill_in(tell);
    all.expect_failures_of_victims(reached.failures);
    EXPECT_EQ(reached.count, all.left() - 2);
    all.wait_for_exclusion();

    // The two victims do not arrive at the barrier, so all others wait there until the deaths have been noticed.
    const auto pass = [](Group& group, const Ranks& victims) {
        return group.gather(pass_barrier, {.deadline = 60s, .except = victims, .tree = Tree::k_nomial, .fanout = 2});
    };
    const auto passed = all.kill_in(pass);
    EXPECT_TRUE(passed.all());
    ASSERT_EQ(passed.values.size(), all.left() - 2);
    for (const auto& [rank, count] : passed.values) EXPECT_EQ(count, all.left() - 2) << rank;
    all.wait_for_exclusion();
    // A lot of memory, sent down a chain: its second member dies, and one in the middle.
    std::vector<std::uint64_t> memory = words((std::size_t{24} << 20) / std::max<std::size_t>(all.left() + 6, 24));
    const auto load = [&memory](Group& group, const Ranks&) {
        group::BulkOptions options;
        options.call.deadline = 60s;
        options.chunk_bytes = 64 << 10;
        auto region = bulk::Region::expose(std::as_writable_bytes(std::span(memory)), na::Access::read).value();
        return group.broadcast_bulk(load_words, true, std::move(region), options);
    };
    const auto loaded = all.kill_in(load);
    all.expect_failures_of_victims(loaded.failures);
    EXPECT_EQ(loaded.count, all.left() - 2);
    all.wait_for_exclusion();
    const auto rest = sync_wait(all.group().gather(get_pid, Killing::binary)).value();
    EXPECT_EQ(rest.values.size(), all.left());
    EXPECT_TRUE(rest.all());
}

TEST(group_processes, two_of_them_are_killed_in_each_call_over_tcp) { kill_in_mid_call("tcp://127.0.0.1:0"); }
TEST(group_processes, two_of_them_are_killed_in_each_call_over_shm) { kill_in_mid_call("shm://"); }

// To measure: CINNABAR_GROUP_MEMBERS=15 CINNABAR_GROUP_MIB=128, and CINNABAR_GROUP_LISTEN=tcp://127.0.0.1:0.
TEST(group_processes, memory_flows_and_is_stored_and_forwarded) {
    const std::size_t members = number_from_environment("CINNABAR_GROUP_MEMBERS", 4);
    const std::size_t mib = number_from_environment("CINNABAR_GROUP_MIB", 4);
    const char* named = std::getenv("CINNABAR_GROUP_LISTEN");
    const std::string listen = named ? named : "shm://";
    const int rounds = mib > 16 ? 3 : 1;
    Node node = Node::listen(listen).value();
    Group group = Group::create(node, quick_group()).value();
    Members others(members, node.address(), listen);
    ASSERT_TRUE(sync_wait(with_deadline(group.wait_for_members(members + 1), 60s)).ok());
    const std::vector<std::uint64_t> expected = words((mib << 20) / 8);
    const bulk::Region region = node.allocate(mib << 20).value();
    std::memcpy(region.contiguous().data(), expected.data(), region.bytes());
    const Rank self[] = {0};
    group::BulkOptions options;
    options.call.deadline = 60s;
    options.call.except = self;
    // There may be a moment between the join of a member and the first call to it that succeeds.
    for (int i = 0; i < 1000 && !sync_wait(group.gather(get_pid, {.deadline = 5s})).value().all(); ++i) {
    }
    EXPECT_TRUE(sync_wait(group.broadcast_bulk(load_words, true, region, options)).value().all());
    const group::View view = group.view();
    std::vector<std::byte> copy(mib << 20);
    for (int round = 0; round < rounds; ++round) {
        const auto begun = std::chrono::steady_clock::now();
        EXPECT_EQ(sync_wait(group.broadcast_bulk(load_words, false, region, options)).value().count, members);
        const auto flowed = std::chrono::steady_clock::now();
        const std::vector<Rank> ranks(view.present().begin() + 1, view.present().end());
        EXPECT_TRUE(sync_wait(pass_on(group, region, ranks)).ok());
        const auto stored = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < members; ++i) std::memcpy(copy.data(), region.contiguous().data(), copy.size());
        const auto copied = std::chrono::steady_clock::now();
        const auto ms = [](auto span) { return std::chrono::duration<double, std::milli>(span).count(); };
        std::cout << mib << " MiB to " << members << ": flows " << ms(flowed - begun) << " ms, stored and forwarded "
                  << ms(stored - flowed) << " ms, memcpy of one thread " << ms(copied - stored) << " ms\n";
    }
    group.leave();
}

}  // namespace
}  // namespace cinnabar::test
