// SPDX-License-Identifier: BSD-3-Clause
// What the processes of a launched job share: expectations that end the job, and a group that is used.
#pragma once

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/group.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace cinnabar::test {

// The launcher ends the other processes, too.
inline void expect(bool holds, const std::string& what) {
    if (holds) return;
    std::fprintf(stderr, "FAILED: %s\n", what.c_str());
    std::_Exit(1);
}

template <typename T>
void expect_code(const Result<T>& result, Errc code, const std::string& what) {
    expect(result.code() == code, what + ": " + (result.ok() ? std::string("ok") : result.error().message()));
}

inline Node listening() { return Node::listen("tcp://127.0.0.1:0").value(); }

inline group::GroupOptions options_for(const std::string& name, rpc::ProviderId provider = 0) {
    group::GroupOptions options;
    options.name = name;
    options.provider = provider;
    return options;
}

// Waits until all have come to this point, and so for those that are still needed by others.
inline void pass(const group::Group& group, const std::string& step) {
    const auto reached = sync_wait(group.barrier(step, {.deadline = std::chrono::seconds(60)}));
    expect(reached.ok() && reached->all(), "barrier " + step);
}

// Expects a member of that rank in a group of that size, in which everybody answers.
inline void expect_member(const Result<group::Group>& group, group::Rank rank, std::size_t size) {
    static constexpr Rpc<int()> one{"launched.one"};
    expect_code(group, Errc::ok, "bootstrap");
    expect(group->rank() == rank, "the rank is " + std::to_string(group->rank()));
    expect(sync_wait(with_deadline(group->wait_for_members(size), std::chrono::seconds(60))).ok(), "all members come");
    expect(group
               ->serve(
                   one, [] { return 1; }, group::plus)
               .ok(),
           "serve");
    pass(*group, "served");
    const auto sum = sync_wait(group->reduce(one, group::plus));
    expect(sum.ok() && sum->value == static_cast<int>(size), "all members answer");
    pass(*group, "called");
}

}  // namespace cinnabar::test
