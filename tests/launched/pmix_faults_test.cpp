// SPDX-License-Identifier: BSD-3-Clause
// The exchange of addresses by a PMIx that fails in each of its functions.
#include "fake_pmix.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/announcement.hpp>
#include <cinnabar/group/pmix.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <set>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::PmixJob;

class PmixFaults : public testing::Test {
  protected:
    PmixFaults() {
        fake_pmix() = {};
        ::setenv("PMIX_NAMESPACE", "fake", 1);
    }
    ~PmixFaults() override {
        EXPECT_EQ(fake_pmix().open, 0) << "PMIx is initialized as often as it is finalized";
        ::unsetenv("PMIX_NAMESPACE");
    }

    Result<PmixJob> exchange(Microseconds join_time = 5s) {
        group::GroupOptions options;
        options.join_time = join_time;
        return sync_wait(group::exchange_by_pmix(node_, options));
    }
    const Node node_ = Node::listen("tcp://127.0.0.1:0").value();
};

TEST_F(PmixFaults, all_addresses_are_known_by_rank) {
    const PmixJob job = exchange(1500ms).value();
    EXPECT_EQ(job.run, "fake");
    EXPECT_EQ(job.roster.self, 1u);
    EXPECT_EQ(job.roster.addresses,
              (std::vector<std::string>{"tcp://127.0.0.1:1", node_.address(), "tcp://127.0.0.1:3"}));
    EXPECT_EQ(fake_pmix().limit, 2) << "whole seconds, rounded up";
    ASSERT_TRUE(exchange().ok());
    ASSERT_EQ(fake_pmix().keys.size(), 2u);
    EXPECT_NE(fake_pmix().keys[0], fake_pmix().keys[1]) << "PMIx may return what was put before";
    fake_pmix().fence = PMIX_OPERATION_SUCCEEDED;
    EXPECT_TRUE(exchange().ok());
    fake_pmix().fence = PMIX_SUCCESS;
}

TEST_F(PmixFaults, a_group_is_complete_with_the_lines_of_all) {
    EXPECT_EQ(sync_wait(group::bootstrap_by_pmix(node_)).code(), Errc::protocol) << "the others have only addresses";
    const Node others[]{Node::listen("tcp://127.0.0.1:0").value(), Node::listen("tcp://127.0.0.1:0").value()};
    const auto first = group::Announcement::make(others[0]).value();
    const auto last = group::Announcement::make(others[1]).value();
    fake_pmix().others = {{0, first.line()}, {2, last.line()}};
    const group::Group group = sync_wait(group::bootstrap_by_pmix(node_)).value();
    EXPECT_EQ(group.rank(), 1u);
    EXPECT_EQ(group.view().present().size(), 3u);
}

TEST_F(PmixFaults, without_a_launcher_it_is_not_found) {
    ::unsetenv("PMIX_NAMESPACE");
    EXPECT_EQ(exchange().code(), Errc::not_found);
    EXPECT_EQ(sync_wait(group::bootstrap_by_pmix(node_)).code(), Errc::not_found);
    // The program has initialized PMIx in vain.
    fake_pmix().open = 1;
    fake_pmix().init = PMIX_ERR_UNREACH;
    EXPECT_EQ(exchange().code(), Errc::not_found);
    fake_pmix().open = 0;
}

TEST_F(PmixFaults, a_pmix_that_the_program_has_initialized_stays_so) {
    ::unsetenv("PMIX_NAMESPACE");
    fake_pmix().open = 1;
    EXPECT_TRUE(exchange().ok());
    EXPECT_EQ(fake_pmix().open, 1);
    fake_pmix().open = 0;
}

TEST_F(PmixFaults, who_comes_too_late_is_not_waited_for) {
    fake_pmix().fenced = PMIX_ERR_TIMEOUT;
    EXPECT_EQ(exchange().code(), Errc::timed_out);
    fake_pmix() = {};
    fake_pmix().get = PMIX_ERR_TIMEOUT;
    EXPECT_EQ(exchange().code(), Errc::timed_out);
    fake_pmix() = {};
    fake_pmix().fenced = {};  // a server without limits: this side gives up a second later
    EXPECT_EQ(exchange(1ms).code(), Errc::timed_out);
}

TEST_F(PmixFaults, an_exchange_that_others_begin_before_this_process_has_ended_the_last_one_is_begun_again) {
    fake_pmix().fences_spoiled = 2;
    EXPECT_TRUE(exchange().ok());
    EXPECT_EQ(fake_pmix().fences_spoiled, 0u);
    fake_pmix() = {};
    fake_pmix().fences_spoiled = 1'000'000;
    EXPECT_EQ(exchange(50ms).code(), Errc::io) << "not beyond the time for joining";
}

TEST_F(PmixFaults, of_two_exchanges_at_once_one_is_refused) {
    fake_pmix().fenced = {};
    auto one = std::async(std::launch::async, [&] { return exchange(1ms).code(); });
    auto other = std::async(std::launch::async, [&] { return exchange(1ms).code(); });
    EXPECT_EQ((std::set<Errc>{one.get(), other.get()}), (std::set<Errc>{Errc::timed_out, Errc::busy}));
    fake_pmix() = {};
    EXPECT_TRUE(exchange(no_deadline).ok()) << "the next one, and without a time limit";
}

TEST_F(PmixFaults, each_function_that_fails_is_named) {
    const std::pair<pmix_status_t FakePmix::*, std::string> steps[]{
        {&FakePmix::init, "PMIx_Init"},      {&FakePmix::put, "PMIx_Put"}, {&FakePmix::commit, "PMIx_Commit"},
        {&FakePmix::fence, "PMIx_Fence_nb"}, {&FakePmix::get, "PMIx_Get"},
    };
    for (const auto& [step, name] : steps) {
        fake_pmix() = {};
        fake_pmix().*step = PMIX_ERR_LOST_CONNECTION;
        const auto failed = exchange();
        EXPECT_EQ(failed.code(), Errc::io) << name;
        EXPECT_EQ(failed.error().subject, name + ": FAKE-ERROR");
        EXPECT_EQ(fake_pmix().open, 0) << name;
    }
    fake_pmix() = {};
    fake_pmix().fenced = PMIX_ERR_LOST_CONNECTION;
    EXPECT_EQ(exchange().code(), Errc::io);
}

TEST_F(PmixFaults, a_size_that_cannot_be_is_refused) {
    fake_pmix().size = {};
    EXPECT_EQ(exchange().code(), Errc::io);
    fake_pmix().size = 1;  // this process has rank 1
    EXPECT_EQ(exchange().code(), Errc::io);
    fake_pmix().size = 65'537;
    EXPECT_EQ(exchange().code(), Errc::too_large);
}

TEST_F(PmixFaults, a_process_without_an_address_is_named) {
    fake_pmix().others.erase(2);
    const auto none = exchange();
    EXPECT_EQ(none.code(), Errc::invalid_argument);
    EXPECT_EQ(none.error().subject, "rank 2");
    fake_pmix().others[2] = "";
    EXPECT_EQ(exchange().code(), Errc::protocol);
    fake_pmix().others[2] = std::string(20'000, 'x');
    EXPECT_EQ(exchange().code(), Errc::protocol);
    fake_pmix().texts_are_numbers = true;
    EXPECT_EQ(exchange().code(), Errc::invalid_argument);
}

TEST_F(PmixFaults, a_node_that_does_not_listen_is_refused) {
    const Node silent = Node::open("tcp://").value();
    EXPECT_EQ(sync_wait(group::bootstrap_by_pmix(silent)).code(), Errc::invalid_argument);
    EXPECT_TRUE(fake_pmix().keys.empty());
}

}  // namespace
}  // namespace cinnabar::test
