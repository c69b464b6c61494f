// SPDX-License-Identifier: BSD-3-Clause
// Accounts of callers with a quota: one for each caller, under the quota of the present policy.
#include "caller_quotas.hpp"

#include "support/log_watch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace cinnabar::rpc {
namespace {

na::Addr of_user(std::uint32_t uid, std::uint32_t gid) {
    return na::Addr::of_connection("shm", 0, 0, 7, false, {}, na::HostProcess{1, uid, gid});
}

std::shared_ptr<const Policy> policy_of(std::string_view text) { return Policy::parse(text).value(); }

std::shared_ptr<CallerAccount> account_of(CallerAccounts& accounts, const Policy& policy, const na::Addr& source) {
    return accounts.of(source, *policy.quota_of(source));
}

class CallerAccountsTest : public testing::Test {
  protected:
    CallerAccountsTest() {
        log_.allow("uid:5 has as many bytes in progress as the quota ");
        log_.allow("uid:5 has as many requests in progress as the quota ");
        log_.allow("uid:5 is lent as many ");
    }
    support::LogWatch log_;
    CallerTable table_;
};

TEST_F(CallerAccountsTest, OneCallerHasOneAccount) {
    const auto policy = policy_of("all quota anyone 2 100\n");
    CallerAccounts accounts(table_);
    const auto first = account_of(accounts, *policy, of_user(5, 1));
    EXPECT_EQ(account_of(accounts, *policy, of_user(5, 1)), first);
    EXPECT_NE(account_of(accounts, *policy, of_user(6, 1)), first);
    EXPECT_TRUE(first->take_request());
    EXPECT_TRUE(first->take_request());
    EXPECT_FALSE(first->take_request());
    first->give_back_request();
    EXPECT_TRUE(first->take_request());
    EXPECT_TRUE(first->take_bytes(100));
    EXPECT_FALSE(first->take_bytes(1));
    first->give_back_bytes(40);
    EXPECT_FALSE(first->take_bytes(~std::uint64_t{0})) << "more than can be added";
    EXPECT_TRUE(first->take_bytes(40));
    EXPECT_EQ(first->bytes(), 100u);
    EXPECT_EQ(log_.allowed(), 3u);
}

// In whatever order they connect.
TEST_F(CallerAccountsTest, TheFirstQuotaThatMatchesAConnectionAppliesToAll) {
    const auto policy = policy_of("one quota gid:1 1\ntwo quota gid:2 2\n");
    for (const bool upwards : {false, true}) {
        CallerAccounts accounts(table_);
        const auto account = account_of(accounts, *policy, of_user(5, upwards ? 1 : 2));
        EXPECT_EQ(account_of(accounts, *policy, of_user(5, upwards ? 2 : 1)), account);
        EXPECT_EQ(account_of(accounts, *policy, of_user(5, 2)), account);
        EXPECT_EQ(account->quota()->name, "one");
    }
}

TEST_F(CallerAccountsTest, FollowThePolicyAndKeepWhatIsCharged) {
    const auto before = policy_of("all quota anyone 2 100\n");
    CallerAccounts accounts(table_);
    const auto account = account_of(accounts, *before, of_user(5, 1));
    EXPECT_TRUE(account->take_request());
    EXPECT_TRUE(account->take_bytes(60));
    const auto smaller = policy_of("less quota uid:5 1 50\n");
    accounts.follow(smaller.get());
    EXPECT_EQ(account->quota()->name, "less");
    EXPECT_FALSE(account->take_request());
    EXPECT_FALSE(account->take_bytes(1));
    const auto without = policy_of("others quota uid:6 1 50\n");
    for (const Policy* none : {without.get(), static_cast<const Policy*>(nullptr)}) {
        accounts.follow(none);
        EXPECT_EQ(account->quota(), nullptr);
        EXPECT_TRUE(account->take_request());
        EXPECT_TRUE(account->take_bytes(1'000));
        account->give_back_request();
        account->give_back_bytes(1'000);
    }
    const auto requests_alone = policy_of("all quota anyone 2\n");
    EXPECT_EQ(account_of(accounts, *requests_alone, of_user(5, 1)), account);
    EXPECT_TRUE(account->take_bytes(1'000)) << "a quota without bytes does not limit them";
    account->give_back_bytes(1'060);
    EXPECT_EQ(account->bytes(), 0u);
}

TEST_F(CallerAccountsTest, LeasesHaveANumberAndASize) {
    const auto policy = policy_of("all quota anyone 9 - 2 100\n");
    CallerAccounts accounts(table_);
    const auto account = account_of(accounts, *policy, of_user(5, 1));
    EXPECT_TRUE(account->take_bytes(1'000)) << "another limit, and there is none";
    EXPECT_FALSE(account->take_lease(101));
    EXPECT_TRUE(account->take_lease(100)) << "what was refused is not held";
    EXPECT_FALSE(account->take_lease(1));
    account->give_back_lease(100);
    EXPECT_TRUE(account->take_lease(10));
    EXPECT_TRUE(account->take_lease(10));
    EXPECT_FALSE(account->take_lease(10)) << "a third piece";
    EXPECT_EQ(log_.allowed(), 3u);
    const auto only_bytes = policy_of("all quota anyone 9 - - 40\n");
    accounts.follow(only_bytes.get());
    EXPECT_TRUE(account->take_lease(20));
    EXPECT_FALSE(account->take_lease(1));
    accounts.follow(nullptr);
    EXPECT_TRUE(account->take_lease(1'000));
}

TEST_F(CallerAccountsTest, ARefusalSaysWhichQuotaOfWhomAndWhenToTryAgain) {
    const auto policy = policy_of("all quota anyone 1 100 2 150\n");
    CallerAccounts accounts(table_);
    const auto account = account_of(accounts, *policy, of_user(5, 1));
    QuotaRefusal why;
    const auto said = [&] {
        std::array<char, 256> room{};
        return std::string(room.data(), account->explain(why, room));
    };
    EXPECT_TRUE(account->take_request(&why));
    EXPECT_EQ(why.limit, QuotaLimit::none);
    EXPECT_FALSE(account->take_request(&why));
    EXPECT_EQ(why.code(), Errc::overloaded);
    EXPECT_EQ(said(), "by the quota all: uid:5 has 1 of 1 requests in progress: call again when one has ended");
    EXPECT_TRUE(account->take_bytes(60));
    EXPECT_FALSE(account->take_bytes(41, &why));
    EXPECT_EQ(why.code(), Errc::overloaded);
    EXPECT_EQ(said(),
              "by the quota all: uid:5 has 60 of 100 bytes in progress, and this is 41: call again when others have "
              "ended");
    EXPECT_FALSE(account->take_bytes(101, &why));
    EXPECT_EQ(why.code(), Errc::too_large) << "in vain at any time";
    EXPECT_EQ(said(),
              "by the quota all: uid:5 may have at most 100 bytes in progress, and this is 101: send or lend less at "
              "once");
    EXPECT_TRUE(account->take_lease(100));
    EXPECT_FALSE(account->take_lease(51, &why));
    EXPECT_EQ(why.limit, QuotaLimit::lent_bytes);
    EXPECT_EQ(said(),
              "by the quota all: uid:5 has 100 of 150 bytes of lent memory, and this is 51: call again when others "
              "were given back");
    EXPECT_FALSE(account->take_lease(151, &why));
    EXPECT_EQ(why.code(), Errc::too_large);
    EXPECT_TRUE(account->take_lease(50));
    EXPECT_FALSE(account->take_lease(50, &why));
    EXPECT_EQ(why.limit, QuotaLimit::leases);
    EXPECT_EQ(said(), "by the quota all: uid:5 has 2 of 2 pieces of lent memory: call again when one was given back");
    std::array<char, 9> little{};
    EXPECT_EQ(account->explain(why, little), little.size()) << "it ends where its room does";
}

// Each context has its accounts and its policy; they share what a caller has.
TEST_F(CallerAccountsTest, ContextsCountTogether) {
    const auto policy = policy_of("all quota anyone 2 100 2 100\n");
    CallerAccounts here(table_);
    CallerAccounts there(table_);
    const auto one = account_of(here, *policy, of_user(5, 1));
    const auto two = account_of(there, *policy, of_user(5, 1));
    const auto other = account_of(there, *policy, of_user(6, 1));
    EXPECT_NE(one, two);
    EXPECT_TRUE(one->take_request());
    EXPECT_TRUE(two->take_request());
    EXPECT_FALSE(one->take_request());
    EXPECT_FALSE(two->take_request());
    EXPECT_TRUE(other->take_request());
    EXPECT_TRUE(one->take_bytes(60));
    EXPECT_FALSE(two->take_bytes(41));
    EXPECT_TRUE(two->take_bytes(40));
    EXPECT_TRUE(one->take_lease(60));
    EXPECT_FALSE(two->take_lease(41));
    EXPECT_TRUE(two->take_lease(40));
    EXPECT_TRUE(other->take_lease(100));
    one->give_back_request();
    EXPECT_TRUE(two->take_request()) << "given back in one context, free in the other";
    const auto larger = policy_of("all quota anyone 3 100 2 100\n");
    there.follow(larger.get());
    EXPECT_TRUE(two->take_request());
    EXPECT_FALSE(one->take_request()) << "the other context has its policy still, and counts all of them";
}

// The accounts of a context end with it, but not what its requests have still in progress.
TEST_F(CallerAccountsTest, WhatIsInProgressOutlivesItsContext) {
    const auto policy = policy_of("all quota anyone 1\n");
    std::shared_ptr<CallerAccount> left;
    {
        CallerAccounts closed(table_);
        left = account_of(closed, *policy, of_user(5, 1));
        EXPECT_TRUE(left->take_request());
    }
    CallerAccounts accounts(table_);
    const auto account = account_of(accounts, *policy, of_user(5, 1));
    EXPECT_FALSE(account->take_request());
    left->give_back_request();
    EXPECT_TRUE(account->take_request());
}

TEST_F(CallerAccountsTest, ThreadsOfContextsNeverTakeMoreRequestsThanTheQuota) {
    const auto policy = policy_of("all quota anyone 2\n");
    std::atomic<int> taken{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            CallerAccounts accounts(table_);
            const auto account = account_of(accounts, *policy, of_user(5, 1));
            for (int round = 0; round < 10'000; ++round) {
                if (!account->take_request()) continue;
                EXPECT_LE(++taken, 2);
                --taken;
                account->give_back_request();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CallerAccounts accounts(table_);
    const auto account = account_of(accounts, *policy, of_user(5, 1));
    EXPECT_TRUE(account->take_request());
    EXPECT_TRUE(account->take_request());
}

// More than are ever kept unused, so that accounts are removed meanwhile.
TEST_F(CallerAccountsTest, ThoseInUseStay) {
    const auto policy = policy_of("all quota anyone 2 100\n");
    CallerAccounts accounts(table_);
    const auto kept = account_of(accounts, *policy, of_user(0, 1));
    EXPECT_TRUE(kept->take_bytes(70));
    for (std::uint32_t uid = 1; uid < 1'000; ++uid) (void)account_of(accounts, *policy, of_user(uid, 1));
    EXPECT_EQ(account_of(accounts, *policy, of_user(0, 1)), kept);
}

TEST_F(CallerAccountsTest, ThreadsNeverTakeMoreThanTheQuota) {
    const auto policy = policy_of("all quota anyone 2 100\n");
    CallerAccounts accounts(table_);
    const auto account = account_of(accounts, *policy, of_user(5, 1));
    std::vector<std::thread> threads;
    for (std::uint64_t bytes = 30; bytes < 34; ++bytes) {
        threads.emplace_back([&account, bytes] {
            for (int i = 0; i < 10'000; ++i) {
                if (!account->take_bytes(bytes)) continue;
                EXPECT_LE(account->bytes(), 100u);
                account->give_back_bytes(bytes);
            }
        });
    }
    for (std::uint32_t i = 0; i < 100; ++i) {
        const auto next = policy_of("next" + std::to_string(i) + " quota anyone 2 100\n");
        accounts.follow(next.get());
        accounts.follow(policy.get());
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(account->bytes(), 0u);
}

}  // namespace
}  // namespace cinnabar::rpc
