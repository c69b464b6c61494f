// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes in steps, which tell how far they have come.
#include "remote_fixture.hpp"

#include <cinnabar/hl/remote_steps.hpp>

#include <algorithm>
#include <functional>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using namespace test;
using hl::read_in_steps;
using hl::RemoteSteps;
using hl::write_in_steps;

class RemoteStepsEach : public RemoteWords {
  protected:
    static constexpr std::uint64_t all_bytes = count * sizeof(std::uint64_t);
    static constexpr std::uint64_t step = 64 * 1024;
    static constexpr std::uint64_t steps_needed = (all_bytes + step - 1) / step;

    // Fewer than one for each step: those behind one that takes longer are told of with it.
    void expect_told() const {
        EXPECT_EQ(moved_, all_bytes);
        EXPECT_LE(told_.size(), steps_needed);
        ASSERT_GE(told_.size(), 2u);
        EXPECT_TRUE(std::ranges::is_sorted(told_));
        EXPECT_EQ(told_.back(), all_bytes);
    }
    std::vector<std::uint64_t> told_;
    std::uint64_t moved_ = 7;
    std::function<void(std::uint64_t)> progress_ = [this](std::uint64_t bytes) { told_.push_back(bytes); };
    const RemoteSteps steps_{.step_bytes = step, .progress = &progress_, .moved = &moved_};
};

TEST_P(RemoteStepsEach, a_read_tells_its_progress) {
    Words into(count);
    const Region region = user().expose(std::span(into)).value();
    EXPECT_EQ(sync_wait(read_in_steps(user().ref(), token().token(), region, steps_)).value(), all_bytes);
    EXPECT_EQ(into, memory_);
    expect_told();
}

TEST_P(RemoteStepsEach, a_write_tells_its_progress) {
    const Words from = counted(count, 5);
    const Region region = user().expose(std::span(from)).value();
    EXPECT_EQ(sync_wait(write_in_steps(user().ref(), token().token(), region, steps_)).value(), all_bytes);
    EXPECT_EQ(memory_, from);
    expect_told();
}

TEST_P(RemoteStepsEach, one_that_ends_early_says_how_far_it_came) {
    Words into(count);
    const Region region = user().expose(std::span(into)).value();
    progress_ = [this](std::uint64_t bytes) {
        if (bytes >= 3 * step) shared_.renew();
    };
    const auto read = sync_wait(read_in_steps(user().ref(), token().token(), region, steps_));
    EXPECT_EQ(read.code(), Errc::stale);
    EXPECT_GE(moved_, 3 * step);
    EXPECT_LT(moved_, all_bytes);
    EXPECT_EQ(moved_ % step, 0u);
    const auto words = static_cast<std::ptrdiff_t>(moved_ / sizeof(std::uint64_t));
    EXPECT_TRUE(std::equal(into.begin(), into.begin() + words, memory_.begin()));
    const std::string said = read.error().message();
    EXPECT_NE(said.find(std::to_string(moved_) + " of 800000 bytes were moved"), std::string::npos) << said;
}

CINNABAR_ON_EACH_REMOTE_WAY(RemoteStepsEach);

TEST(RemoteStepsTcp, their_deadline_is_of_all_of_them) {
    NodeOptions undriven;
    undriven.progress_thread = false;
    Words memory = counted(100'000), into(100'000);
    Node owner = Node::listen("tcp://127.0.0.1:0", undriven).value();  // so it never answers
    const Node user = Node::open("tcp://").value();
    const auto shared = share(owner, std::span(memory)).value();
    const Region region = user.expose(std::span(into)).value();
    std::uint64_t moved = 7;
    const RemoteSteps steps{.step_bytes = 100'000, .moved = &moved, .deadline = 20ms};
    const auto read = sync_wait(read_in_steps(user.ref(), shared.token(), region, steps));
    EXPECT_EQ(read.code(), Errc::timed_out);
    EXPECT_EQ(moved, 0u);
    const RemoteSteps none{.step_bytes = 0};
    EXPECT_EQ(sync_wait(read_in_steps(user.ref(), shared.token(), region, none)).code(), Errc::invalid_argument);
    const auto part = shared.token().part(0, 8);
    EXPECT_EQ(sync_wait(write_in_steps(user.ref(), part, region)).code(), Errc::invalid_argument);
}

}  // namespace
}  // namespace cinnabar
