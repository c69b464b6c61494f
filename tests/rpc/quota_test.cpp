// SPDX-License-Identifier: BSD-3-Clause
// The quota of a caller: the bytes that its requests hold, in one context or in several, and which policy applies to
// what it has already.
#include "rpc_fixture.hpp"

#include <cinnabar/rpc/policy.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::rpc {
namespace {

using support::NetworkKind;

class CallerQuotaTest : public RpcTest {
  protected:
    CallerQuotaTest() { log_.allow("has as many bytes in progress as the quota few allows"); }
    void SetUp() override {
        options_.policy = with("few quota anyone 16 1000000");
        options_.leave_max = Microseconds{0};
        options_.context.initial_credits = 16;  // so that no call waits for a credit
        RpcTest::SetUp();
        if (IsSkipped()) return;
        serve("hold", [this](Request& request) { held_.push_back(&request); });
    }
    [[nodiscard]] static std::shared_ptr<const Policy> with(const std::string& quota) {
        return Policy::parse("all allow anyone *\n" + quota + "\n").value();
    }
    void use(const std::string& quota) { target_.context->set_policy(with(quota)); }
    void use_audited(const std::string& quota) {
        const auto audit = [this](const AuditEvent& event) {
            if (!event.allowed) refused_.push_back(event);
        };
        target_.context->set_policy(Policy::parse("all allow anyone *\n" + quota + "\n", audit).value());
    }
    // The audit function was told of that many refusals, the last one by this number of the quota.
    void expect_refusals(std::size_t count, const std::string& rpc, const std::string& limit) {
        ASSERT_TRUE(until([&] { return refused_.size() >= count; }));
        EXPECT_EQ(refused_.size(), count);
        EXPECT_EQ(refused_.back().rule, "few");
        EXPECT_EQ(refused_.back().rpc, rpc);
        EXPECT_EQ(refused_.back().limit, limit);
        EXPECT_FALSE(refused_.back().caller.empty());
    }

    void hold(Side& from, std::size_t bytes, Ending& ending, bool one_way = false) {
        Errc why = Errc::ok;
        Call* const call = from.context->make_call(to_, why);
        ASSERT_NE(call, nullptr) << to_string(why);
        call->args.rpc = rpc_id("hold");
        call->args.one_way = one_way;
        Bytes room;
        if (bytes != 0) {
            ASSERT_EQ(call->grow_input(bytes, room), Errc::ok);
        }
        ASSERT_EQ(call->forward(bytes, &Ending::take, &ending), Errc::ok);
    }
    // Drives all sides until the target holds this many requests.
    [[nodiscard]] bool held(std::size_t count) {
        return all_sides().until([&] { return held_.size() == count; });
    }
    void expect_refused(Side& from, std::size_t bytes) {
        const std::size_t before = held_.size();
        Ending ending;
        hold(from, bytes, ending);
        ASSERT_TRUE(all_sides().until([&] { return ending.count == 1 || held_.size() != before; }));
        EXPECT_EQ(ending.result, Errc::overloaded) << to_string(ending.result);
        EXPECT_TRUE(ending.fenced);
        EXPECT_EQ(held_.size(), before);
    }
    void answer(std::size_t index, std::size_t bytes) {
        held_[index]->respond(bytes);
        held_[index]->release();
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
    }
    // Waits until the replies have left and the results were fetched.
    void answer_all() {
        while (!held_.empty()) answer(0, 0);
        const auto none = [](const Side& side) { return !side.context || side.context->counts().calls == 0; };
        ASSERT_TRUE(all_sides().until(
            [&] { return target_.context->counts().requests == 0 && none(origin_) && none(other_); }));
    }
    // Nothing is charged to the caller: a single request may hold all that the quota allows.
    void expect_all_is_free(Side& from) {
        ASSERT_TRUE(held_.empty());
        use("few quota anyone 16 1000000");
        Ending ending;
        hold(from, 1'000'000, ending);
        ASSERT_TRUE(all_sides().until([&] { return ending.count == 1 || held_.size() == 1; }));
        EXPECT_EQ(held_.size(), 1u) << to_string(ending.result);
        answer_all();
        EXPECT_EQ(ending.result, Errc::ok) << to_string(ending.result);
    }
    [[nodiscard]] support::Pump all_sides() { return pump_of({&origin_, &target_, &other_}); }

    Side other_;  // another connection
    std::vector<Request*> held_;
    std::vector<AuditEvent> refused_;
};

TEST_P(CallerQuotaTest, ARefusalOfArgumentsSaysWhoseBytesTheyAreAndWhenToTryAgain) {
    use_audited("few quota anyone 16 1000000");
    Ending first;
    hold(origin_, 600'000, first);
    ASSERT_TRUE(held(1));
    const std::string quota = "by the quota few: " + caller_name(held_[0]->source()).substr(0, 96);
    Ending later;
    hold(origin_, 400'001, later);
    ASSERT_TRUE(until([&] { return later.count == 1; }));
    EXPECT_EQ(later.result, Errc::overloaded) << to_string(later.result);
    EXPECT_EQ(later.app_text, quota +
                                  " has 600000 of 1000000 bytes in progress, and this is 400001: call again when "
                                  "others have ended");
    expect_refusals(1, "hold", "bytes");
    Ending never;
    hold(origin_, 1'000'001, never);
    ASSERT_TRUE(until([&] { return never.count == 1; }));
    EXPECT_EQ(never.result, Errc::too_large) << to_string(never.result);
    EXPECT_EQ(never.app_text, quota +
                                  " may have at most 1000000 bytes in progress, and this is 1000001: send or lend "
                                  "less at once");
    expect_refusals(2, "hold", "bytes");
    answer_all();
    EXPECT_EQ(first.result, Errc::ok) << to_string(first.result);
}

TEST_P(CallerQuotaTest, ARefusalOfAResultOrOfDecodedArgumentsSaysSoAsWell) {
    use_audited("few quota anyone 16 1000000");
    Ending endings[3];
    for (Ending& each : endings) hold(origin_, 0, each);
    ASSERT_TRUE(held(3));
    Bytes room;
    ASSERT_EQ(held_[0]->grow_output(600'000, room), Errc::ok);
    EXPECT_EQ(held_[1]->grow_output(400'001, room), Errc::overloaded);
    EXPECT_EQ(held_[2]->charge_memory(1'000'001), Errc::too_large);
    const auto refuse_last = [&](Errc code) {
        held_.back()->respond_error(code);
        held_.back()->release();
        held_.pop_back();
    };
    refuse_last(Errc::too_large);
    refuse_last(Errc::overloaded);
    const auto said_with = [&](Errc code) {  // the requests may have arrived in any order
        for (const Ending& each : endings) {
            if (each.count == 1 && each.result == code) return std::string(each.app_text);
        }
        return std::string();
    };
    ASSERT_TRUE(until([&] { return endings[0].count + endings[1].count + endings[2].count == 2; }));
    EXPECT_NE(said_with(Errc::overloaded).find("has 600000 of 1000000 bytes in progress, and this is 400001"),
              std::string::npos)
        << said_with(Errc::overloaded);
    EXPECT_NE(said_with(Errc::too_large).find("may have at most 1000000 bytes in progress"), std::string::npos)
        << said_with(Errc::too_large);
    expect_refusals(2, "hold", "bytes");
    answer(0, 600'000);
    answer_all();
}

TEST_P(CallerQuotaTest, ArgumentsBeyondItAreRefusedAndNotFetched) {
    Ending endings[4];
    hold(origin_, 600'000, endings[0]);
    ASSERT_TRUE(held(1));
    for (const bool one_way : {false, true}) {
        Ending beyond;
        hold(origin_, 400'001, beyond, one_way);
        std::uint64_t most = 0;
        ASSERT_TRUE(until([&] {
            most = std::max(most, target_.context->counts().large_bytes);
            return beyond.count == 1;
        }));
        EXPECT_TRUE(one_way || beyond.result == Errc::overloaded) << to_string(beyond.result);
        EXPECT_EQ(most, 600'000u) << "nothing was fetched";
        EXPECT_EQ(held_.size(), 1u);
    }
    EXPECT_GE(log_.allowed(), 2u);
    hold(origin_, 0, endings[1]);
    ASSERT_TRUE(held(2)) << "a small request holds none of these bytes";
    hold(origin_, 400'000, endings[2]);
    ASSERT_TRUE(held(3)) << "exactly what is left";
    held_.front()->release_input();
    hold(origin_, 600'000, endings[3]);
    ASSERT_TRUE(held(4)) << "what was released is free again";
    answer_all();
    for (const Ending& each : endings) EXPECT_EQ(each.result, Errc::ok) << to_string(each.result);
    expect_all_is_free(origin_);
}

TEST_P(CallerQuotaTest, ResultsAndDecodedArgumentsCountAsWell) {
    Ending endings[2];
    for (Ending& each : endings) hold(origin_, 0, each);
    ASSERT_TRUE(held(2));
    Bytes room;
    ASSERT_EQ(held_[0]->grow_output(600'000, room), Errc::ok);
    EXPECT_EQ(held_[1]->grow_output(400'001, room), Errc::overloaded);
    EXPECT_EQ(held_[1]->charge_memory(400'001), Errc::overloaded);
    EXPECT_EQ(held_[1]->charge_memory(400'000), Errc::ok);
    EXPECT_EQ(held_[1]->charge_memory(1), Errc::overloaded);
    answer(0, 600'000);
    ASSERT_TRUE(until([&] { return target_.context->counts().requests == 1; })) << "it was fetched";
    EXPECT_EQ(held_[0]->grow_output(600'001, room), Errc::overloaded);
    ASSERT_EQ(held_[0]->grow_output(600'000, room), Errc::ok) << "and is free again";
    answer(0, 600'000);
    answer_all();
    for (const Ending& each : endings) EXPECT_EQ(each.result, Errc::ok) << to_string(each.result);
    expect_all_is_free(origin_);
}

TEST_P(CallerQuotaTest, ConnectionsOfOneCallerShareItAndOthersHaveTheirOwn) {
    open(other_, 0, false, "other");
    Ending names[2];
    hold(origin_, 0, names[0]);
    ASSERT_TRUE(held(1));
    hold(other_, 0, names[1]);
    ASSERT_TRUE(held(2));
    const bool one_caller = caller_name(held_[0]->source()) == caller_name(held_[1]->source());
    const NetworkKind kind = network_.kind();
    if (kind == NetworkKind::shm || kind == NetworkKind::tcps || kind == NetworkKind::ofis_tcp_rxm) {
        EXPECT_TRUE(one_caller) << "one user, or one key";
    }
    if (kind == NetworkKind::tcp) {
        EXPECT_FALSE(one_caller);
    }
    answer_all();

    Ending first;
    hold(origin_, 600'000, first);
    ASSERT_TRUE(held(1));
    Ending second;
    if (one_caller) {
        expect_refused(other_, 600'000);
        close(origin_);  // the handler still has the arguments
        expect_refused(other_, 600'000);
    } else {
        hold(other_, 600'000, second);
        ASSERT_TRUE(held(2)) << "another caller is not affected";
        expect_refused(origin_, 600'000);
    }
    answer_all();
    expect_all_is_free(other_);
    close(other_);
}

// A caller that is known by its key or user is one caller in all contexts of an engine.
TEST_P(CallerQuotaTest, ContextsOfANodeShareIt) {
    const NetworkKind kind = network_.kind();
    if (kind != NetworkKind::shm && kind != NetworkKind::tcps && kind != NetworkKind::ofis_tcp_rxm) return;
    log_.allow("has as many requests in progress as the quota few allows");
    Options options = options_;
    options.context.threads = ThreadUse::one;
    options.context.id = 1;
    auto opened = target_.engine->open_context(options);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    Side second;  // of the same engine
    second.context = *std::move(opened);
    const na::Addr first_addr = to_;
    const auto both = [&] { return pump_of({&origin_, &target_, &second}); };
    const auto refused_by = [&](const na::Addr& to, std::size_t bytes) {
        const std::size_t before = held_.size();
        Ending ending;
        to_ = to;
        hold(origin_, bytes, ending);
        EXPECT_TRUE(both().until([&] { return ending.count == 1; }));
        EXPECT_EQ(held_.size(), before);
        return ending.result == Errc::overloaded ? ending.app_text : std::string(to_string(ending.result));
    };
    Ending endings[2];
    hold(origin_, 600'000, endings[0]);
    ASSERT_TRUE(both().until([&] { return held_.size() == 1; }));
    (void)refused_by(second.context->self_addr(), 400'001);
    to_ = second.context->self_addr();
    hold(origin_, 400'000, endings[1]);
    ASSERT_TRUE(both().until([&] { return held_.size() == 2; })) << "exactly what is left";
    EXPECT_NE(&held_[0]->context(), &held_[1]->context());
    (void)refused_by(first_addr, 1);
    target_.context->set_policy(with("few quota anyone 2"));
    second.context->set_policy(with("few quota anyone 2"));
    for (const na::Addr& to : {first_addr, second.context->self_addr()})
        EXPECT_TRUE(refused_by(to, 0).starts_with("by the quota few: "));
    while (!held_.empty()) answer(0, 0);
    ASSERT_TRUE(both().until(
        [&] { return endings[0].count + endings[1].count == 2 && second.context->counts().requests == 0; }));
    for (const Ending& each : endings) EXPECT_EQ(each.result, Errc::ok) << to_string(each.result);
    second.context.reset();
    to_ = first_addr;
}

TEST_P(CallerQuotaTest, TheBytesOfACallerHaveTheQuotaOfThePresentPolicy) {
    Ending endings[3];
    hold(origin_, 600'000, endings[0]);
    ASSERT_TRUE(held(1));
    use("few quota anyone 16 500000");
    Bytes room;
    EXPECT_EQ(held_[0]->grow_output(100'000, room), Errc::overloaded) << "also before another request has come";
    expect_refused(origin_, 100'000);
    use("");
    ASSERT_EQ(held_[0]->grow_output(2'000'000, room), Errc::ok) << "no quota";
    hold(origin_, 2'000'000, endings[1]);
    ASSERT_TRUE(held(2));
    use("few quota anyone 16 3000000");
    expect_refused(origin_, 400'001);  // 2,600,000 are charged, and the request that came without a quota is not
    hold(origin_, 400'000, endings[2]);
    ASSERT_TRUE(held(3));
    target_.context->set_policy(nullptr);
    answer(0, 2'000'000);
    answer_all();
    for (const Ending& each : endings) EXPECT_EQ(each.result, Errc::ok) << to_string(each.result);
    expect_all_is_free(origin_);
}

TEST_P(CallerQuotaTest, TheRequestsOfACallerHaveTheQuotaOfThePresentPolicy) {
    log_.allow("has as many requests in progress as the quota few allows");
    use("few quota anyone 3");
    Ending endings[4];
    for (int i = 0; i < 3; ++i) hold(origin_, 0, endings[i]);
    ASSERT_TRUE(held(3));
    use("few quota anyone 2");
    expect_refused(origin_, 0);
    for (int i = 0; i < 2; ++i) answer(0, 0);
    ASSERT_TRUE(until([&] { return target_.context->counts().requests == 1; }));
    hold(origin_, 0, endings[3]);
    ASSERT_TRUE(held(2));
    expect_refused(origin_, 0);
    answer_all();
    for (const Ending& each : endings) EXPECT_EQ(each.result, Errc::ok) << to_string(each.result);
}

// Of what the target lends to its caller: large results, and memory that calls back lend.
class CallerLeasesTest : public CallerQuotaTest {
  protected:
    CallerLeasesTest() { log_.allow("of memory as the quota few allows"); }
    // The target answers the oldest request with a large result, which is lent before the origin makes progress.
    void answer_large(std::size_t bytes) {
        Bytes room;
        ASSERT_EQ(held_.front()->grow_output(bytes, room), Errc::ok);
        answer(0, bytes);
    }
    // The target calls its caller and lends it memory; the caller keeps the request in borrowed_.
    void lend_back(const na::Addr& to, std::vector<std::byte>& memory, Ending& ending) {
        Errc why = Errc::ok;
        Call* const call = target_.context->make_call(to, why);
        ASSERT_NE(call, nullptr) << to_string(why);
        call->args.rpc = rpc_id("borrow");
        auto region = bulk::Region::expose(Bytes(memory), na::Access::write);
        ASSERT_TRUE(region.ok());
        ByteWriter writer(call->input_room());
        ASSERT_EQ(call->lend(*region, na::Access::write, writer), Errc::ok);
        ASSERT_EQ(call->forward(writer.size(), &Ending::take, &ending), Errc::ok);
    }

    struct Case {
        const char* quota;
        const char* limit;
    };
    static constexpr Case cases[] = {{"few quota anyone 16 - 2", "leases"},
                                     {"few quota anyone 16 - - 250000", "lent bytes"}};
    std::vector<Request*> borrowed_;
};

TEST_P(CallerLeasesTest, LargeResultsThatWereNotFetchedAreBounded) {
    for (const Case& each : cases) {
        use_audited(each.quota);
        const std::size_t before = refused_.size();
        Ending endings[4];
        for (int i = 0; i < 3; ++i) hold(origin_, 0, endings[i]);
        ASSERT_TRUE(held(3));
        for (int i = 0; i < 3; ++i) answer_large(100'000);
        ASSERT_TRUE(until([&] { return endings[0].count + endings[1].count + endings[2].count == 3; }));
        int good = 0;  // the requests may have arrived in any order
        for (int i = 0; i < 3; ++i) {
            if (endings[i].result == Errc::ok) {
                ++good;
                continue;
            }
            EXPECT_EQ(endings[i].result, Errc::overloaded) << to_string(endings[i].result);
            EXPECT_TRUE(endings[i].app_text.starts_with("by the quota few: ")) << endings[i].app_text;
        }
        EXPECT_EQ(good, 2);
        expect_refusals(before + 1, "hold", each.limit);
        ASSERT_TRUE(until([&] { return target_.context->counts().leases == 0; })) << "they were fetched";
        hold(origin_, 0, endings[3]);
        ASSERT_TRUE(held(1));
        answer_large(200'000);
        ASSERT_TRUE(until([&] { return endings[3].count == 1; }));
        EXPECT_EQ(endings[3].result, Errc::ok) << "and there is room again";
        ASSERT_TRUE(until([&] { return target_.context->counts().leases == 0; }));
    }
}

TEST_P(CallerLeasesTest, WhatCallsBackLendIsBounded) {
    serve(origin_, "borrow", [this](Request& request) { borrowed_.push_back(&request); });
    std::vector<std::byte> memory(100'000);
    for (const Case& each : cases) {
        use_audited(each.quota);
        const std::size_t before = refused_.size();
        Ending first;
        hold(origin_, 0, first);
        ASSERT_TRUE(held(1));
        const na::Addr caller = held_.front()->source();
        Ending endings[4];
        for (int i = 0; i < 3; ++i) lend_back(caller, memory, endings[i]);
        ASSERT_TRUE(until([&] { return endings[2].count == 1 && borrowed_.size() == 2; }));
        EXPECT_EQ(endings[2].result, Errc::overloaded) << to_string(endings[2].result);
        EXPECT_TRUE(endings[2].app_text.starts_with("by the quota few: ")) << endings[2].app_text;
        EXPECT_TRUE(endings[2].fenced);
        expect_refusals(before + 1, "", each.limit);
        ASSERT_TRUE(until([&] { return target_.context->counts().leases == 2; })) << "nothing of the third is lent";
        const auto give_back = [&] {
            for (Request* request : std::exchange(borrowed_, {})) {
                request->respond(0);
                request->release();
            }
        };
        give_back();
        ASSERT_TRUE(until([&] { return endings[0].count + endings[1].count == 2; }));
        EXPECT_EQ(endings[0].result, Errc::ok) << to_string(endings[0].result);
        EXPECT_EQ(endings[1].result, Errc::ok) << to_string(endings[1].result);
        lend_back(caller, memory, endings[3]);
        ASSERT_TRUE(until([&] { return borrowed_.size() == 1; })) << "there is room again";
        give_back();
        ASSERT_TRUE(until([&] { return endings[3].count == 1; }));
        EXPECT_EQ(endings[3].result, Errc::ok) << to_string(endings[3].result);
        answer_all();
        EXPECT_EQ(first.result, Errc::ok) << to_string(first.result);
    }
}

TEST_P(CallerQuotaTest, AContextMayCloseWhileBytesAreCharged) {
    Ending ending;
    hold(origin_, 600'000, ending);
    ASSERT_TRUE(held(1));
    EXPECT_EQ(held_[0]->charge_memory(100'000), Errc::ok);
    target_.context.reset();
    EXPECT_EQ(held_[0]->charge_memory(300'001), Errc::overloaded) << "a request that is left keeps its account";
    held_[0]->release();
    ASSERT_TRUE(pump_of({&origin_}).until([&] { return ending.count == 1; }));
    EXPECT_NE(ending.result, Errc::ok);
}

// All but self, since no quota applies to a process's calls to itself.
std::vector<NetworkKind> networks_of_callers() {
    std::vector<NetworkKind> networks = support::networks_for_calls();
    std::erase(networks, NetworkKind::self);
    return networks;
}
INSTANTIATE_TEST_SUITE_P(Over, CallerQuotaTest, testing::ValuesIn(networks_of_callers()),
                         [](const auto& i) { return std::string(support::to_string(i.param)); });
INSTANTIATE_TEST_SUITE_P(Over, CallerLeasesTest, testing::ValuesIn(networks_of_callers()),
                         [](const auto& i) { return std::string(support::to_string(i.param)); });

}  // namespace
}  // namespace cinnabar::rpc
