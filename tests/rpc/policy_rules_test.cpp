// SPDX-License-Identifier: BSD-3-Clause
// The rules of a policy: what they decide, and which texts are not rules.
#include "support/folder.hpp"

#include <cinnabar/rpc/policy.hpp>
#include <cinnabar/rpc/rule_lines.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace cinnabar::rpc {
namespace {

using By = na::ProvenIdentity::By;

na::Addr proven(By by, std::string name) {
    return na::Addr::of_connection("tcps", 0, 0, 7, false, "tcps://10.0.0.5:41234", {},
                                   na::ProvenIdentity{by, std::move(name)});
}
na::Addr of_user(std::uint32_t uid, std::uint32_t gid) {
    return na::Addr::of_connection("shm", 0, 0, 7, false, {}, na::HostProcess{1, uid, gid});
}
const na::Addr& stranger() {
    static const na::Addr addr = na::Addr::of_connection("tcp", 0, 0, 7, false, "tcp://10.0.0.5:41234");
    return addr;
}

std::shared_ptr<const Policy> policy_of(std::string_view text) {
    auto policy = Policy::parse(text);
    EXPECT_TRUE(policy.ok()) << policy.error().message();
    return policy ? *policy : nullptr;
}

TEST(PolicyRules, TheFirstThatIsAboutTheCallerAndTheRpcDecides) {
    const auto policy = policy_of(
        "# who may do what\n"
        "\n"
        "banned   deny   key:mallory            *\n"
        "readers  allow  key:ann,cert:build-*   store.get,list.*\r\n"
        "admins   allow  uid:1000,gid:27        store.*  1,2\n"
        "known    allow  proven                 ping\n");
    const auto rule = [&](const na::Addr& caller, std::string_view rpc, ProviderId provider = 0) {
        const Policy::Verdict& verdict = policy->decide(caller, rpc, provider);
        return (verdict.allow ? "+" : "-") + verdict.name;
    };
    EXPECT_EQ(rule(proven(By::key, "ann"), "store.get"), "+readers");
    EXPECT_EQ(rule(proven(By::key, "ann"), "list.all"), "+readers");
    EXPECT_EQ(rule(proven(By::key, "ann"), "store.get2"), "-");
    EXPECT_EQ(rule(proven(By::key, "anna"), "store.get"), "-");
    EXPECT_EQ(rule(proven(By::certificate, "ann"), "store.get"), "-") << "a certificate is no key";
    EXPECT_EQ(rule(proven(By::certificate, "build-7"), "store.get"), "+readers");
    EXPECT_EQ(rule(proven(By::certificate, "build"), "store.get"), "-");
    EXPECT_EQ(rule(proven(By::key, "mallory"), "ping"), "-banned");
    EXPECT_EQ(rule(proven(By::key, "bob"), "ping"), "+known");
    EXPECT_EQ(rule(of_user(1000, 100), "store.put", 1), "+admins");
    EXPECT_EQ(rule(of_user(1001, 27), "store.put", 2), "+admins");
    EXPECT_EQ(rule(of_user(1000, 100), "store.put", 0), "-") << "of another provider";
    EXPECT_EQ(rule(of_user(1001, 28), "store.put", 1), "-");
    EXPECT_EQ(rule(of_user(1000, 100), "ping"), "-") << "the kernel's word is no key";
    EXPECT_EQ(rule(stranger(), "ping"), "-");
}

TEST(PolicyRules, StrangersThoseOfThisHostAndThoseWhoWereDialledAreWords) {
    const auto policy = policy_of("a allow local one\nb allow dialled two\nc allow anyone three\n");
    const na::Addr dialled = na::Addr::parse("tcp://10.0.0.5:7000").value();
    EXPECT_TRUE(policy->decide(of_user(5, 5), "one", 0).allow);
    EXPECT_FALSE(policy->decide(stranger(), "one", 0).allow);
    EXPECT_TRUE(policy->decide(dialled, "two", 0).allow);
    EXPECT_FALSE(policy->decide(stranger(), "two", 0).allow);
    EXPECT_TRUE(policy->decide(stranger(), "three", 0).allow);
    EXPECT_TRUE(policy->decide(dialled, "three", 0).allow);
}

TEST(PolicyRules, AProcessMayCallItself) {
    const auto policy = policy_of("nobody deny anyone *\n");
    const na::Addr own = na::Addr::of_connection("tcp", 0, 0, 7, true, "tcp://127.0.0.1:9");
    EXPECT_TRUE(policy->decide(own, "any", 0).allow);
    EXPECT_TRUE(policy->decide(na::Addr::parse("self://x").value(), "any", 0).allow);
    EXPECT_FALSE(policy->decide(stranger(), "any", 0).allow);
}

TEST(PolicyRules, AnAddressThatAlsoReachesOthersIsNotThisProcess) {
    const auto policy = policy_of("nobody deny anyone *\nall quota dialled 5\n");
    for (const char* text : {"self://x,tcp://10.0.0.5:7000", "tcp://10.0.0.5:7000,self://x"}) {
        const na::Addr mixed = na::Addr::parse(text).value();
        EXPECT_FALSE(policy->decide(mixed, "any", 0).allow) << text;
        EXPECT_NE(policy->quota_of(mixed), nullptr) << text;
        EXPECT_EQ(caller_name(mixed), text);
    }
}

TEST(PolicyRules, CallersHaveNamesForLogs) {
    EXPECT_EQ(caller_name(proven(By::key, "ann")), "key:ann");
    EXPECT_EQ(caller_name(proven(By::certificate, "ann")), "cert:ann");
    EXPECT_EQ(caller_name(of_user(1000, 1)), "uid:1000");
    EXPECT_EQ(caller_name(stranger()), "tcp://10.0.0.5:41234");
    EXPECT_EQ(caller_name(na::Addr::parse("tcp://10.0.0.5:7000").value()), "tcp://10.0.0.5:7000");
}

TEST(PolicyRules, AnErrorNamesTheLineThatIsNotARule) {
    const auto told = [](std::string_view line) {
        auto policy = Policy::parse("# one\n" + std::string(line) + "\n");
        EXPECT_FALSE(policy.ok()) << line;
        return policy ? std::string() : policy.error().message();
    };
    const auto has = [](const std::string& text, std::string_view part) {
        return text.find(part) != text.npos ? testing::AssertionSuccess() : testing::AssertionFailure() << text;
    };
    EXPECT_TRUE(has(told("a permit anyone *"), "line 2: permit"));
    EXPECT_TRUE(has(told("a permit anyone *"), "NAME allow|deny CALLER"));
    EXPECT_TRUE(has(told("a allow ann *"), "line 2: ann"));
    EXPECT_TRUE(has(told("a allow ann *"), "key:NAME"));
    EXPECT_TRUE(has(told("a allow key: *"), "line 2: key:"));
    EXPECT_TRUE(has(told("a allow uid:root *"), "line 2: uid:root"));
    EXPECT_TRUE(has(told("a allow uid:99999999999 *"), "line 2: uid:99999999999"));
    EXPECT_TRUE(has(told("a allow anyone"), "names RPCs"));
    EXPECT_TRUE(has(told("a allow anyone x,,y"), "names RPCs"));
    EXPECT_TRUE(has(told("a allow"), "line 2"));
    EXPECT_TRUE(has(told("a/b allow anyone *"), "a rule has a name"));
    EXPECT_TRUE(has(told("a allow anyone * 65536"), "line 2: 65536"));
    EXPECT_TRUE(has(told("a allow anyone * 1 more"), "line 2: more"));
    EXPECT_TRUE(has(told("a quota anyone"), "a quota is a number of requests"));
    EXPECT_TRUE(has(told("a quota anyone 5x"), "line 2: 5x"));
    EXPECT_TRUE(has(told("a quota anyone 0"), "a quota is at least 1"));
    for (const std::string_view bytes : {"0", "-1", "1K", "many", "99999999999999999999"}) {
        const std::string text = told("a quota anyone 5 " + std::string(bytes));
        EXPECT_TRUE(has(text, "line 2: " + std::string(bytes)));
        EXPECT_TRUE(has(text, "the bytes of a quota are a number from 1"));
    }
    for (const std::string_view wrong : {"0", "-1", "1K", "4294967296"}) {
        const std::string text = told("a quota anyone 5 6 " + std::string(wrong));
        EXPECT_TRUE(has(text, "line 2: " + std::string(wrong)));
        EXPECT_TRUE(has(text, "the leases of a quota are a number from 1"));
    }
    EXPECT_TRUE(has(told("a quota anyone 5 - - 0"), "the lent bytes of a quota are a number from 1"));
    EXPECT_TRUE(has(told("a quota anyone - 5"), "a quota is a number of requests"));
    EXPECT_TRUE(has(told("a quota anyone 5 6 7 8 more"), "line 2: more"));
    EXPECT_TRUE(has(told("a quota anyone 5 6 7 8 more"), "REQUESTS [BYTES [LEASES [LENT-BYTES]]]"));
}

TEST(PolicyRules, TheFirstQuotaThatIsAboutACallerCounts) {
    const auto policy = policy_of(
        "robots  quota  cert:build-*   64\n"
        "all     allow  anyone         *\n"
        "rest    quota  proven,uid:5   8   1000000\n");
    const auto quota = [&](const na::Addr& caller) {
        const Policy::Quota* const found = policy->quota_of(caller);
        if (!found) return std::string();
        return found->name + " " + std::to_string(found->requests_max) + " " + std::to_string(found->bytes_max);
    };
    EXPECT_EQ(quota(proven(By::certificate, "build-7")), "robots 64 0");
    EXPECT_EQ(quota(proven(By::key, "build-7")), "rest 8 1000000");
    EXPECT_EQ(quota(of_user(5, 5)), "rest 8 1000000");
    EXPECT_EQ(quota(stranger()), "");
    EXPECT_EQ(quota(na::Addr()), "") << "calls of the own process";
    for (const char* wrong : {"a quota key:x", "a quota key:x 0", "a quota key:x -1", "a quota key:x many",
                              "a quota x 5", "a quota key:x 5 6 7 8 9", "a! quota key:x 5", "a quota"}) {
        EXPECT_EQ(Policy::parse(wrong).code(), Errc::invalid_argument) << wrong;
    }
}

TEST(PolicyRules, AQuotaMayLimitWhatIsLent) {
    const auto policy = policy_of(
        "one    quota  uid:1   5  -    16  1000000\n"
        "two    quota  uid:2   5  600  -   1000000\n"
        "three  quota  uid:3   5  -    16\n"
        "four   quota  uid:4   5\n");
    const auto lent = [&](std::uint32_t uid) {
        const Policy::Quota* const found = policy->quota_of(of_user(uid, 1));
        if (!found) return std::string();
        return std::to_string(found->bytes_max) + " " + std::to_string(found->leases_max) + " " +
               std::to_string(found->lent_bytes_max);
    };
    EXPECT_EQ(lent(1), "0 16 1000000");
    EXPECT_EQ(lent(2), "600 0 1000000");
    EXPECT_EQ(lent(3), "0 16 0");
    EXPECT_EQ(lent(4), "0 0 0");
}

TEST(PolicyRules, AreBoundedInNumber) {
    std::string lines;
    for (std::size_t i = 0; i < Policy::rules_max; ++i) lines += "a allow anyone x\n";
    EXPECT_TRUE(Policy::parse(lines).ok());
    EXPECT_EQ(Policy::parse(lines + "a allow anyone x\n").code(), Errc::too_large);
    Policy::Rule wide{"a", true, {"anyone"}, {"x"}, {}};
    wide.providers.resize(Policy::items_max - 2);
    EXPECT_TRUE(Policy::make({wide}).ok());
    wide.providers.push_back(1);
    EXPECT_EQ(Policy::make({wide}).code(), Errc::too_large);
}

TEST(PolicyRules, AFileThatOthersCanWriteIsRefused) {
    const support::Folder folder;
    const std::string path = folder.put("policy", "a allow anyone x\nb what\n");
    ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
    const auto wrong = Policy::load(path);
    ASSERT_FALSE(wrong.ok());
    EXPECT_NE(wrong.error().message().find(path + " line 2"), std::string::npos) << wrong.error().message();
    (void)folder.put("policy", "a allow anyone x\n");
    EXPECT_TRUE(Policy::load(path).ok());
    for (const unsigned mode : {0664u, 0646u}) {
        ASSERT_EQ(::chmod(path.c_str(), mode), 0);
        const auto open = Policy::load(path);
        EXPECT_EQ(open.code(), Errc::permission) << mode;
        EXPECT_NE(open.error().message().find("chmod go-w"), std::string::npos);
    }
    EXPECT_EQ(Policy::load(folder.at("")).code(), Errc::invalid_argument);
    EXPECT_EQ(Policy::load(folder.at("none")).code(), Errc::not_found);
    (void)folder.put("large", std::string(rule_text_bytes_max + 1, '#'));
    EXPECT_EQ(Policy::load(folder.at("large")).code(), Errc::too_large);
}

}  // namespace
}  // namespace cinnabar::rpc
