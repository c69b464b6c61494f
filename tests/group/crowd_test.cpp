// SPDX-License-Identifier: BSD-3-Clause
// Groups of many processes, a tenth of which is killed in the middle of each call: 100 over each transport.
// CINNABAR_GROUP_PROCESSES=1000 makes them larger; run the program by itself then, and see that `ulimit -n` allows some
// descriptors for each process.
#include "processes.hpp"
#include "support/sanitizers.hpp"
#include "support/seeds.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <iostream>
#include <map>
#include <optional>
#include <semaphore>
#include <string>
#include <vector>

extern char** environ;

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::CollectiveOptions;
using group::Failure;
using group::Group;
using group::Rank;

constexpr std::uint64_t processes_by_default = support::sanitized ? 24 : 100;
constexpr std::size_t one_in = 10;  // of the members is killed

// Members in processes that one process has forked. They end with this object.
class Forked {
  public:
    Forked(std::size_t count, std::string seed, std::string listen) {
        EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends_[0], STDIN_FILENO);
        std::string program = CINNABAR_GROUP_MEMBER;
        std::string number = std::to_string(count);
        char* arguments[] = {program.data(), seed.data(), listen.data(), number.data(), nullptr};
        EXPECT_EQ(::posix_spawn(&parent_, program.c_str(), &actions, nullptr, arguments, environ), 0);
        posix_spawn_file_actions_destroy(&actions);
    }
    ~Forked() {
        for (const int end : ends_) ::close(end);
        if (parent_ > 0) ::waitpid(parent_, nullptr, 0);
    }
    Forked(const Forked&) = delete;
    Forked& operator=(const Forked&) = delete;

  private:
    std::array<int, 2> ends_{-1, -1};
    pid_t parent_ = -1;
};

class Crowd {
  public:
    explicit Crowd(const std::string& listen)
        : node_(Node::listen(listen).value()), group_(Group::create(node_, quick_group_of_many()).value()) {
        const auto begun = std::chrono::steady_clock::now();
        serve_late(node_, group_, [this] { begun_.release(); });
        others_.emplace(left_ - 1, node_.address(), listen);
        EXPECT_TRUE(sync_wait(with_deadline(group_.wait_for_members(left_), 60s)).ok());
        // There may be a moment between the join of a member and the first call to it that succeeds.
        for (int i = 0; i < 1000 && pids_.size() < left_; ++i) {
            for (const auto& [rank, pid] : sync_wait(group_.gather(get_pid, options)).value().values) pids_[rank] = pid;
        }
        EXPECT_EQ(pids_.size(), left_);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
        std::cout << left_ << " members know each other after " << took.count() << " s\n";
    }

    // Makes the call, and kills one in ten members once it has begun, the first child of the caller among them.
    template <typename Call>
    auto kill_in(Call call) {
        const group::View view = group_.view();
        victims_.clear();
        for (std::size_t i = 1; i < view.present().size(); i += one_in) victims_.push_back(view.present()[i]);
        auto result = std::async(std::launch::async, [&] { return sync_wait(call(group_, victims_)).value(); });
        begun_.acquire();
        for (const Rank victim : victims_) {
            if (const auto at = pids_.find(victim); at != pids_.end()) ::kill(at->second, SIGKILL);
        }
        return result.get();
    }
    [[nodiscard]] std::size_t survivors() const noexcept { return left_ - victims_.size(); }
    void expect_failures_of_victims(const std::vector<Failure>& failures) const {
        std::vector<Rank> failed;
        for (const Failure& failure : failures) failed.push_back(failure.rank);
        std::sort(failed.begin(), failed.end());
        EXPECT_EQ(failed, victims_);
    }
    void wait_for_exclusion() {
        auto events = group_.events();
        left_ = survivors();
        while (!settled()) ASSERT_TRUE(sync_wait(with_deadline(events.next(), 60s)).ok());
        victims_.clear();
    }
    [[nodiscard]] Group& group() noexcept { return group_; }
    static constexpr CollectiveOptions options{.deadline = 60s};

  private:
    // Whether exactly those count as members that have not been killed.
    [[nodiscard]] bool settled() const {
        const group::View view = group_.view();
        const auto present = view.present();
        const auto is_present = [&](Rank rank) { return std::binary_search(present.begin(), present.end(), rank); };
        return present.size() == left_ && std::none_of(victims_.begin(), victims_.end(), is_present);
    }

    std::counting_semaphore<> begun_{0};
    std::size_t left_ = number_from_environment("CINNABAR_GROUP_PROCESSES", processes_by_default);
    std::map<Rank, int> pids_;
    std::vector<Rank> victims_;  // in ascending order
    Node node_;
    Group group_;
    std::optional<Forked> others_;
};

void kill_a_tenth_in_mid_call(const std::string& listen) {
    Crowd all(listen);
    const auto tell = [](Group& group, const std::vector<Rank>&) {
        return group.broadcast(count_late, Crowd::options);
    };
    const auto reached = all.kill_in(tell);
    all.expect_failures_of_victims(reached.failures);
    EXPECT_EQ(reached.count, all.survivors());
    all.wait_for_exclusion();

    const auto sum = [](Group& group, const std::vector<Rank>&) {
        return group.reduce(count_late, group::plus, Crowd::options);
    };
    const auto reduced = all.kill_in(sum);
    all.expect_failures_of_victims(reduced.failures);
    EXPECT_EQ(reduced.count, all.survivors());
    EXPECT_EQ(reduced.value, static_cast<int>(all.survivors()));
    all.wait_for_exclusion();

    // Victims do not arrive at the barrier, so all others wait there until the deaths have been noticed.
    const auto pass = [](Group& group, const std::vector<Rank>& victims) {
        return group.gather(pass_barrier, {.deadline = 60s, .except = victims});
    };
    const auto passed = all.kill_in(pass);
    EXPECT_TRUE(passed.all());
    EXPECT_EQ(passed.values.size(), all.survivors());
    for (const auto& [rank, count] : passed.values) EXPECT_EQ(count, all.survivors()) << rank;
    all.wait_for_exclusion();

    const auto rest = sync_wait(all.group().gather(get_pid, Crowd::options)).value();
    EXPECT_EQ(rest.values.size(), all.survivors());
    EXPECT_TRUE(rest.all());
}

#ifdef CINNABAR_FULL_TESTS
TEST(crowd, a_tenth_of_it_is_killed_in_each_call_over_tcp) { kill_a_tenth_in_mid_call("tcp://127.0.0.1:0"); }
#endif
TEST(crowd, a_tenth_of_it_is_killed_in_each_call_over_shm) { kill_a_tenth_in_mid_call("shm://"); }

}  // namespace
}  // namespace cinnabar::test
