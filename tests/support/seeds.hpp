// SPDX-License-Identifier: BSD-3-Clause
// The seeds of random tests. CINNABAR_SEEDS sets their number (300 by default, fewer under the sanitizers, 3,000 in
// `./dev test --full` and `./dev soak`), CINNABAR_FIRST_SEED the first one; CINNABAR_SEED=n runs only seed n, to replay
// a failure.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace cinnabar::test {

// Which paths the simulator takes does not depend on the sanitizer.
#if defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t seeds_by_default = 20;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr std::uint64_t seeds_by_default = 60;
#else
inline constexpr std::uint64_t seeds_by_default = 300;
#endif

inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// The command that replays this seed of the current test, which is also printed if the program aborts.
class Replay {
  public:
    explicit Replay(std::uint64_t seed) {
        const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
        command() = "replay with: CINNABAR_SEED=" + std::to_string(seed) + " " + program_invocation_name +
                    " --gtest_filter=" + test.test_suite_name() + "." + test.name() + "\n";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        __sanitizer_set_death_callback([] { say(); });
#endif
        ::signal(SIGABRT, [](int) { say(); });  // abort() continues when this returns
    }
    ~Replay() { command().clear(); }
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

    [[nodiscard]] static std::string& command() {
        static std::string text;
        return text;
    }

  private:
    static void say() noexcept { (void)!::write(STDERR_FILENO, command().data(), command().size()); }
};

// Calls `body(seed)` for each seed and stops at the first that fails; the failure names the seed. A slow test divides
// the number of seeds by `cost`, and by `cost_by_default` if CINNABAR_SEEDS is not set, as in the short plan.
template <typename F>
void for_each_seed(F&& body, std::uint64_t cost = 1, std::uint64_t cost_by_default = 0) {
    const std::uint64_t none = ~std::uint64_t{0};
    const std::uint64_t only = number_from_environment("CINNABAR_SEED", none);
    const std::uint64_t asked = number_from_environment("CINNABAR_SEEDS", none);
    const std::uint64_t count = asked == none ? seeds_by_default : asked;
    if (asked == none && cost_by_default != 0) cost = cost_by_default;
    const std::uint64_t first = only == none ? number_from_environment("CINNABAR_FIRST_SEED", 0) : only;
    const std::uint64_t last = only == none ? first + (count + cost - 1) / cost : only + 1;
    for (std::uint64_t seed = first; seed < last; ++seed) {
        const Replay replay(seed);
        SCOPED_TRACE(Replay::command());
        body(seed);
        if (::testing::Test::HasFailure()) return;
    }
}

}  // namespace cinnabar::test
