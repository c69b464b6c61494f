// SPDX-License-Identifier: BSD-3-Clause
// A context with a policy neither runs handlers nor fetches arguments for refused callers.
#include "rpc_fixture.hpp"

#include <cinnabar/rpc/policy.hpp>

#include <algorithm>
#include <array>

namespace cinnabar::rpc {
namespace {

class PolicyTest : public RpcTest {
  protected:
    void SetUp() override {
        options_.policy = policy("some allow anyone open.*\nclosed deny anyone shut.*\n");
        options_.leave_max = Microseconds{0};
        options_.context.initial_credits = 16;  // so that no call waits for a credit
        RpcTest::SetUp();
    }
    [[nodiscard]] std::shared_ptr<const Policy> policy(std::string_view text) {
        auto made = Policy::parse(text, [this](const AuditEvent& event) { events_.push_back(event); });
        EXPECT_TRUE(made.ok());
        return made ? *made : nullptr;
    }
    void serve_counted(const char* name, bool on_arrival = false) {
        Handler handler;
        handler.name = name;
        handler.on_arrival = on_arrival;
        handler.target = std::make_shared<PolicyTest*>(this);
        handler.run = [](Request& request, void* target) noexcept {
            ++(*static_cast<PolicyTest**>(target))->ran_;
            if (!request.one_way()) request.respond(0);
            request.release();
        };
        ASSERT_TRUE(target_.engine->serve(rpc_id(name), 0, std::move(handler)).ok());
    }
    [[nodiscard]] Ending ended(const char* name) {
        Ending ending;
        send(name, "argument", ending);
        EXPECT_TRUE(until([&] { return ending.count == 1; }));
        return ending;
    }
    void expect_refused(const char* name, std::string_view text) {
        const int before = ran_;
        const Ending ending = ended(name);
        EXPECT_EQ(ending.result, Errc::permission);
        EXPECT_EQ(ending.app_text, text);
        EXPECT_EQ(ran_, before);
    }

    int ran_ = 0;
    std::vector<AuditEvent> events_;
};

TEST_P(PolicyTest, ARefusedCallerLearnsTheRule) {
    log_.allow("may not call");
    for (const char* name : {"open.one", "shut.one", "other"}) serve_counted(name);
    EXPECT_EQ(ended("open.one").result, Errc::ok);
    EXPECT_EQ(ran_, 1);
    expect_refused("shut.one", "by the rule closed");
    expect_refused("other", "no rule allows it");
    EXPECT_EQ(ended("open.one").result, Errc::ok) << "the connection goes on";
    EXPECT_EQ(ended("none").result, Errc::no_such_rpc);
}

TEST_P(PolicyTest, HandlersOnArrivalAreBehindItAsWell) {
    log_.allow("may not call");
    serve_counted("open.now", true);
    serve_counted("shut.now", true);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(ended("open.now").result, Errc::ok);
        expect_refused("shut.now", "by the rule closed");
    }
    EXPECT_EQ(ran_, 3);
}

TEST_P(PolicyTest, LargeArgumentsOfRefusedCallsAreNotFetched) {
    log_.allow("may not call");
    serve_counted("open.large");
    serve_counted("shut.large");
    for (const char* name : {"open.large", "shut.large"}) {
        Ending ending;
        Call* call = make(name);
        Bytes room;
        ASSERT_EQ(call->grow_input(1u << 20, room), Errc::ok);
        ASSERT_EQ(call->forward(room.size(), &Ending::take, &ending), Errc::ok);
        std::uint64_t fetched = 0;
        ASSERT_TRUE(until([&] {
            fetched = std::max(fetched, target_.context->counts().large_bytes);
            return ending.count == 1;
        }));
        const bool open = std::string_view(name) == "open.large";
        EXPECT_EQ(ending.result, open ? Errc::ok : Errc::permission);
        EXPECT_EQ(fetched, open ? 1u << 20 : 0u);
        EXPECT_TRUE(ending.fenced);
    }
    EXPECT_EQ(ran_, 1);
}

TEST_P(PolicyTest, RefusedOneWayCallsAreDropped) {
    log_.allow("may not call");
    serve_counted("shut.note");
    serve_counted("open.note");
    for (const bool large : {false, true}) {
        Ending ending;
        Call* call = make("shut.note");
        call->args.one_way = true;
        Bytes room;
        if (large) {
            ASSERT_EQ(call->grow_input(1u << 20, room), Errc::ok);
        }
        ASSERT_EQ(call->forward(room.size(), &Ending::take, &ending), Errc::ok);
        ASSERT_TRUE(until([&] { return ending.count == 1; }));
    }
    EXPECT_EQ(ended("open.note").result, Errc::ok);
    EXPECT_EQ(ran_, 1);
}

TEST_P(PolicyTest, AnotherPolicyHoldsAtOnceOnConnectionsThatAreThere) {
    log_.allow("may not call");
    serve_counted("open.one");
    EXPECT_EQ(ended("open.one").result, Errc::ok);
    target_.context->set_policy(policy("none deny anyone open.one\n"));
    expect_refused("open.one", "by the rule none");
    target_.context->set_policy(nullptr);
    EXPECT_EQ(ended("open.one").result, Errc::ok);
}

TEST_P(PolicyTest, TheAuditHearsOfTheFirstCallAndOfEachThatIsRefused) {
    log_.allow("may not call");
    serve_counted("open.one");
    serve_counted("shut.one");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ended("open.one").result, Errc::ok);
    for (int i = 0; i < 2; ++i) expect_refused("shut.one", "by the rule closed");
    ASSERT_TRUE(until([&] { return events_.size() == 3; }));
    EXPECT_TRUE(events_[0].allowed);
    EXPECT_EQ(events_[0].rpc, "open.one");
    EXPECT_EQ(events_[0].rule, "some");
    EXPECT_FALSE(events_[0].caller.empty());
    for (int i = 1; i < 3; ++i) {
        EXPECT_FALSE(events_[i].allowed);
        EXPECT_EQ(events_[i].rpc, "shut.one");
        EXPECT_EQ(events_[i].rule, "closed");
        EXPECT_EQ(events_[i].caller, events_[0].caller);
        EXPECT_EQ(events_[i].left_out, 0u);
    }
}

// A peer that keeps making refused calls fills neither the log nor the audit.
TEST_P(PolicyTest, TheAuditOfAFloodIsCounted) {
    log_.allow("may not call");
    serve_counted("shut.one");
    for (int i = 0; i < 300; ++i) {
        Ending ending;
        send("shut.one", "", ending);
        ASSERT_TRUE(until([&] { return ending.count == 1; }));
    }
    EXPECT_GE(events_.size(), 100u);
    EXPECT_LT(events_.size(), 300u) << "a hundred at once, and then ten a second";
}

// More handlers than a connection can cache.
TEST_P(PolicyTest, ManyHandlersAreToldApart) {
    log_.allow("may not call");
    std::vector<std::string> names;
    for (int i = 0; i < 100; ++i) names.push_back((i % 3 == 0 ? "shut." : "open.") + std::to_string(i));
    for (const std::string& name : names) serve_counted(name.c_str());
    for (int round = 0; round < 3; ++round) {
        for (const std::string& name : names) {
            const Errc wanted = name.starts_with("open.") ? Errc::ok : Errc::permission;
            ASSERT_EQ(ended(name.c_str()).result, wanted) << name;
        }
    }
}

// Also tests handlers that would run on arrival, and requests whose origin no longer waits.
TEST_P(PolicyTest, AQuotaBoundsWhatIsWithHandlers) {
    log_.allow("has as many requests in progress as the quota few allows");
    target_.context->set_policy(policy("all allow anyone *\nfew quota anyone 2\n"));
    std::vector<Request*> kept;
    Handler handler;
    handler.name = "keep";
    handler.on_arrival = true;
    handler.target = std::make_shared<std::vector<Request*>*>(&kept);
    handler.run = [](Request& request, void* target) noexcept {
        (*static_cast<std::vector<Request*>**>(target))->push_back(&request);
    };
    ASSERT_TRUE(target_.engine->serve(rpc_id("keep"), 0, std::move(handler)).ok());
    const auto answer_all = [&] {
        for (Request* request : std::exchange(kept, {})) {
            request->respond(0);
            request->release();
        }
    };
    std::array<Ending, 2> within;
    for (int round = 0; round < 3; ++round) {
        for (Ending& each : within) {
            each = {};
            send("keep", "argument", each);
        }
        ASSERT_TRUE(until([&] { return kept.size() == 2; }));
        EXPECT_EQ(ended("keep").result, Errc::overloaded);
        EXPECT_EQ(ended("keep").result, Errc::overloaded);
        EXPECT_EQ(kept.size(), 2u);
        answer_all();
        ASSERT_TRUE(until([&] {
            return within[0].count + within[1].count == 2 && target_.context->counts().requests == 0;
        })) << "and the replies have left";
        EXPECT_EQ(within[0].result, Errc::ok);
    }
    Ending late;
    send("keep", "argument", late, Microseconds(20'000));
    ASSERT_TRUE(until([&] { return late.count == 1 && kept.size() == 1; }));
    for (Ending& each : within) {
        each = {};
        send("keep", "argument", each);
    }
    ASSERT_TRUE(until([&] { return within[0].count + within[1].count == 1; })) << "it is with its handler still";
    answer_all();
    ASSERT_TRUE(until([&] { return within[0].count + within[1].count == 2; }));
}

// All but self, since a process may always call itself (PolicyRules.AProcessMayCallItself).
std::vector<support::NetworkKind> networks_of_others() {
    std::vector<support::NetworkKind> networks = support::networks_for_calls();
    std::erase(networks, support::NetworkKind::self);
    return networks;
}
INSTANTIATE_TEST_SUITE_P(Over, PolicyTest, testing::ValuesIn(networks_of_others()),
                         [](const auto& i) { return std::string(support::to_string(i.param)); });

}  // namespace
}  // namespace cinnabar::rpc
