// SPDX-License-Identifier: BSD-3-Clause
#include "credit_account.hpp"

#include <gtest/gtest.h>

#include <random>

namespace cinnabar::rpc {
namespace {

constexpr Microseconds answer_max{1'000};
using Recall = CreditAccount::Recall;

TEST(CreditAccount, EachIsInOnePlace) {
    CreditAccount account;
    account.open(2, 8);
    EXPECT_EQ(account.granted(), 2u);
    ASSERT_TRUE(account.spend());
    ASSERT_TRUE(account.spend());
    EXPECT_EQ(account.held(), 2u);
    EXPECT_FALSE(account.spend()) << "one that it does not have";
    EXPECT_FALSE(account.starving()) << "there is nothing to give";
    account.return_one();
    EXPECT_TRUE(account.starving());
    EXPECT_EQ(account.give(), 1u);
    EXPECT_EQ(account.granted(), 1u);
    EXPECT_EQ(account.held(), 1u);
    account.take_back(1);
    EXPECT_EQ(account.returnable(), 1u);
    account.grow(3);
    EXPECT_EQ(account.give(), 4u);
    EXPECT_EQ(account.budget(), 5u);
}

TEST(CreditAccount, TheLastOneDoesNotRetire) {
    CreditAccount account;
    account.open(2, 8);
    ASSERT_TRUE(account.spend());
    ASSERT_TRUE(account.spend());
    EXPECT_TRUE(account.retire());
    EXPECT_EQ(account.budget(), 1u);
    EXPECT_FALSE(account.retire());
    account.return_one();
    EXPECT_TRUE(account.starving());
}

TEST(CreditAccount, NothingIsGivenWhileRepliesDoNotLeave) {
    CreditAccount account;
    account.open(4, 2);
    account.reply_begins();
    EXPECT_TRUE(account.may_give());
    account.reply_begins();
    EXPECT_FALSE(account.may_give());
    EXPECT_EQ(account.unsent(), 2u);
    account.close();
    account.open(4, 2);
    EXPECT_FALSE(account.may_give()) << "forgotten with the connection";
    account.reply_left();
    EXPECT_TRUE(account.may_give());
}

TEST(CreditAccount, DebtIsWhatWasThereAtTheMark) {
    CreditAccount account;
    account.open(8, 8);
    for (int i = 0; i < 3; ++i) account.reply_begins();
    account.mark_unsent();
    for (int i = 0; i < 3; ++i) account.reply_begins();
    account.reply_left();
    EXPECT_EQ(account.unsent_since_mark(), 2u);
    for (int i = 0; i < 3; ++i) account.reply_left();
    EXPECT_EQ(account.unsent_since_mark(), 0u);
    EXPECT_EQ(account.unsent(), 2u);
}

TEST(CreditAccount, WhoUsesThemIsNotAsked) {
    CreditAccount account;
    account.open(2, 8);
    EXPECT_EQ(account.look(2, 1, answer_max), Recall::no) << "it has no more than it may keep";
    account.grow(6);
    (void)account.give();
    ASSERT_TRUE(account.spend());
    EXPECT_EQ(account.look(2, 2, answer_max), Recall::no);
    EXPECT_EQ(account.look(2, 3, answer_max), Recall::ask);
    EXPECT_EQ(account.look(2, 4, answer_max), Recall::no) << "asked twice";
    EXPECT_EQ(account.returned(5), 5u);
    EXPECT_EQ(account.granted(), 2u);
    EXPECT_EQ(account.look(2, 2'000, answer_max), Recall::no);
    EXPECT_EQ(account.returned(5), 0u) << "it was not asked";
    EXPECT_EQ(account.budget(), 3u);
}

TEST(CreditAccount, WhatAnIdlePeerWouldGetBackIsDestroyed) {
    CreditAccount account;
    account.open(8, 8);
    for (int i = 0; i < 7; ++i) {
        ASSERT_TRUE(account.spend());
        account.return_one();
        account.request_over();
    }
    EXPECT_EQ(account.look(2, 10, answer_max), Recall::no) << "it has just sent seven requests";
    EXPECT_EQ(account.budget(), 8u);
    EXPECT_EQ(account.look(2, 20, answer_max), Recall::no) << "it has only one, and nothing to return";
    EXPECT_EQ(account.budget(), 2u);
    EXPECT_EQ(account.granted(), 1u);
}

TEST(CreditAccount, WhoDoesNotAnswerIsOverdue) {
    CreditAccount account;
    account.open(8, 8);
    EXPECT_EQ(account.look(2, 10, answer_max), Recall::ask);
    ASSERT_TRUE(account.spend());
    EXPECT_EQ(account.look(2, 1'009, answer_max), Recall::no);
    EXPECT_EQ(account.look(2, 1'010, answer_max), Recall::overdue);
    EXPECT_EQ(account.look(2, 1'011, answer_max), Recall::no) << "said twice";
}

TEST(CreditAccount, WhoNeedsAllAndSendsNothingIsOverdue) {
    CreditAccount account;
    account.open(8, 8);
    EXPECT_EQ(account.look(2, 10, answer_max), Recall::ask);
    EXPECT_EQ(account.returned(0), 0u);
    EXPECT_EQ(account.look(2, 500, answer_max), Recall::ask);
    EXPECT_EQ(account.returned(0), 0u);
    EXPECT_EQ(account.look(2, 1'010, answer_max), Recall::overdue);
}

TEST(CreditAccount, SendingEndsTheTimeOfTheFirstQuestion) {
    CreditAccount account;
    account.open(8, 8);
    EXPECT_EQ(account.look(2, 10, answer_max), Recall::ask);
    EXPECT_EQ(account.returned(0), 0u);
    ASSERT_TRUE(account.spend());
    EXPECT_EQ(account.look(2, 900, answer_max), Recall::no);
    EXPECT_EQ(account.look(2, 1'010, answer_max), Recall::ask);
    EXPECT_EQ(account.look(2, 2'009, answer_max), Recall::no);
}

// Tests the debug assertions inside, and the sum from outside.
TEST(CreditAccount, AddUpWhateverHappens) {
    std::mt19937 random(5);
    CreditAccount account;
    account.open(4, 1'000);
    std::uint32_t held = 0;
    for (int i = 0; i < 100'000; ++i) {
        switch (random() % 7) {
            case 0:
            case 1:
                if (account.spend()) ++held;
                break;
            case 2:
                if (held == 0) break;
                account.return_one();
                --held;
                break;
            case 3:
                if (held != 0 && account.retire()) --held;
                break;
            case 4:
                if (account.may_give()) account.take_back(random() % 2 * account.give());
                break;
            case 5:
                if (account.budget() < 64) account.grow(random() % 4);
                break;
            default:
                (void)account.look(2, static_cast<TimeUs>(i), answer_max);
                (void)account.returned(random() % 8);
                break;
        }
        ASSERT_EQ(account.granted() + account.returnable() + held, account.budget());
    }
}

}  // namespace
}  // namespace cinnabar::rpc
