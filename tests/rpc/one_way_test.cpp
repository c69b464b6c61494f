// SPDX-License-Identifier: BSD-3-Clause
// One-way requests whose origin disappears before their handlers have run.
#include "rpc_fixture.hpp"

#include <atomic>
#include <thread>

namespace cinnabar::rpc {
namespace {

class OneWayTest : public RpcTest {
  protected:
    void note(Ending& ending) {
        Call* call = make("note");
        call->args.one_way = true;
        ASSERT_EQ(call->forward(0, &Ending::take, &ending), Errc::ok);
    }
    // Everything arrives at the target, but no handler runs.
    void take_in(const std::function<bool()>& done) {
        for (int i = 0; i < 1'000'000 && !done(); ++i) {
            (void)target_.context->progress(Microseconds(0));
            if (!origin_.context) continue;
            (void)origin_.context->progress(Microseconds(0));
            (void)origin_.context->trigger(64);
            if (network_.is_sim()) network_.world().run_to(network_.world().now_us() + 1);
        }
        ASSERT_TRUE(done());
    }
};

TEST_P(OneWayTest, ThoseThatCameAreHandledWhateverBecomesOfTheirOrigin) {
    if (network_.one_process()) GTEST_SKIP() << "both sides share their transport";
    int handled = 0;
    int told = 0;
    std::vector<Request*> held;
    serve("note", [&](Request& request) {
        EXPECT_FALSE(request.canceled());
        request.on_cancel([](Request&, void* user) noexcept { ++*static_cast<int*>(user); }, &told);
        ++handled;
        held.push_back(&request);
    });
    options_.leave_max = Microseconds{0};
    close(origin_);
    open(origin_, 1, false);
    constexpr int count = 2;  // the initial credits of a connection
    std::vector<Ending> endings(count);
    for (Ending& ending : endings) note(ending);
    ASSERT_NO_FATAL_FAILURE(take_in([&] { return target_.context->counts().requests == count; }));
    close(origin_);
    if (!network_.is_sim()) {
        ASSERT_NO_FATAL_FAILURE(take_in([&] { return target_.context->counts().connections == 0; }));
    }
    EXPECT_EQ(handled, 0);
    ASSERT_TRUE(pump_of({&target_}).until([&] { return handled == count; }, std::chrono::seconds(20)));
    for (int i = 0; i < 10; ++i) pump();
    for (Request* request : held) {
        EXPECT_FALSE(request->canceled());
        request->release();
    }
    EXPECT_EQ(told, 0);
    EXPECT_EQ(target_.context->counts().requests, 0u);
}

// More calls than there are credits, on a connection that is not established yet.
TEST_P(OneWayTest, AClosingContextLetsThemLeave) {
    if (network_.is_sim() || network_.one_process()) GTEST_SKIP() << "both sides share their clock";
    std::atomic<int> handled{0};
    serve("note", [&](Request& request) {
        ++handled;
        request.release();
    });
    constexpr int count = 700;
    std::vector<Ending> endings(count);
    for (Ending& ending : endings) note(ending);
    std::atomic<bool> over{false};
    std::thread driver([&] {
        while (!over.load()) {
            (void)target_.context->progress(Microseconds(1'000));
            (void)target_.context->trigger(64);
        }
    });
    close(origin_);
    over.store(true);
    driver.join();
    int ended_well = 0;
    for (const Ending& ending : endings) ended_well += ending.count == 1 && ending.result == Errc::ok ? 1 : 0;
    EXPECT_EQ(ended_well, count);
    ASSERT_TRUE(pump_of({&target_}).until([&] { return handled == count; }, std::chrono::seconds(20))) << handled;
}

CINNABAR_OVER_ALL(OneWayTest);

}  // namespace
}  // namespace cinnabar::rpc
