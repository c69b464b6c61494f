// SPDX-License-Identifier: BSD-3-Clause
// What the processes of a group serve.
#pragma once

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/group.hpp>

#include <unistd.h>

namespace cinnabar::test {

inline constexpr Rpc<int()> get_pid{"test.get_pid"};
inline constexpr Rpc<int()> count_late{"test.count_late"};                // 1, after a second
inline constexpr Rpc<std::uint64_t()> pass_barrier{"test.pass_barrier"};  // how many have come

inline group::GroupOptions quick_group() {
    group::GroupOptions options;
    options.swim.period = std::chrono::milliseconds(200);
    options.swim.suspicion_min = 4;
    options.swim.suspicion_spread = 2;
    return options;
}

// `begun` is called where a handler begins to wait. The group outlives its handlers.
template <typename F>
void serve_late(NodeRef node, const group::Group& group, F begun) {
    group.serve(get_pid, [] { return static_cast<int>(::getpid()); }).value();
    const auto late = [node, begun]() -> Task<int> {
        begun();
        (void)co_await node.sleep_for(std::chrono::seconds(1));
        co_return 1;
    };
    group.serve(count_late, late, group::plus).value();
    const auto pass = [&group, begun]() -> Task<Result<std::uint64_t>> {
        begun();
        auto passing = group.barrier("step", {.deadline = std::chrono::seconds(60)});
        const Result<group::Reached> reached = co_await passing;
        if (!reached) co_return reached.error();
        co_return reached->count;
    };
    group.serve(pass_barrier, pass).value();
}

}  // namespace cinnabar::test
