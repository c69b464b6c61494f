// SPDX-License-Identifier: BSD-3-Clause
#include "remote_made.hpp"

#include <cinnabar/hl/remote_op.hpp>
#include <cinnabar/hl/remote_steps.hpp>
#include <cinnabar/hl/when_all.hpp>
#include <cinnabar/hl/with_deadline.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::hl {
namespace {

constexpr std::size_t step_lanes = 2;  // the next step is under way while the owner answers one
constexpr std::uint64_t no_step = std::numeric_limits<std::uint64_t>::max();

using MakeStep = detail::RemoteMade (*)(const NodeRef&, const RemoteBytes&, const bulk::Region&, const RemoteOptions&);

// An operation in steps; lanes take the next step in turn. On a pool they run on several threads.
struct SteppedMove {
    const NodeRef& node;
    const RemoteBytes& remote;
    const bulk::Region& local;
    const RemoteSteps& steps;
    const MakeStep make;
    std::mutex mutex;  // guards the members below
    std::uint64_t next = 0;
    std::uint64_t told = 0;
    bool failed = false;
    std::array<std::uint64_t, step_lanes> at{no_step, no_step};  // by lane: the step that it has not completed yet

    // Requires the lock, or that no lane runs.
    [[nodiscard]] std::uint64_t done() const noexcept { return std::min(next, *std::ranges::min_element(at)); }

    // Takes the next step; 0: there is none.
    [[nodiscard]] std::uint64_t begin(std::size_t lane, std::uint64_t& offset) noexcept {
        const std::lock_guard lock(mutex);
        if (failed) return 0;
        offset = next;
        const std::uint64_t bytes = std::min(steps.step_bytes, local.bytes() - offset);
        if (bytes > 0) at[lane] = offset;
        next += bytes;
        return bytes;
    }
    void end(std::size_t lane, bool succeeded) {
        const std::lock_guard lock(mutex);
        if (!succeeded) {
            failed = true;
            return;
        }
        at[lane] = no_step;
        if (done() <= told) return;
        told = done();
        if (steps.progress) (*steps.progress)(told);
    }
};

Task<Result<void>> move_steps(SteppedMove& move, std::size_t lane) {
    RemoteOptions options;
    options.follow_owner = move.steps.follow_owner;
    std::uint64_t offset = 0;
    while (const std::uint64_t bytes = move.begin(lane, offset)) {
        const RemoteBytes part = move.remote.part(offset, bytes);
        const bulk::Region piece = move.local.slice(offset, bytes);
        RemoteOp step(move.make(move.node, part, piece, options), detail::ReadInto{{}, bytes});
        const Result<std::uint64_t> moved = co_await step;
        move.end(lane, moved.ok());
        if (!moved) co_return moved.error();
    }
    co_return Result<void>();
}

Task<Result<std::uint64_t>> move_all(SteppedMove& move) {
    std::vector<Task<Result<void>>> lanes;
    for (std::size_t lane = 0; lane < step_lanes; ++lane) lanes.push_back(move_steps(move, lane));
    const auto ends = co_await when_all(std::move(lanes));
    for (const Result<void>& ended : ends)
        if (!ended) co_return ended.error();
    co_return move.local.bytes();
}

Error with_bytes(Error error, std::uint64_t moved, std::uint64_t bytes) {
    const std::string rest = error.subject.empty() ? "" : ", " + error.subject;
    error.subject = std::to_string(moved) + " of " + std::to_string(bytes) + " bytes were moved" + rest;
    return error;
}

Task<Result<std::uint64_t>> in_steps(NodeRef node, RemoteBytes remote, bulk::Region local, RemoteSteps steps,
                                     MakeStep make, na::Access access) {
    if (steps.moved) *steps.moved = 0;
    if (steps.step_bytes == 0) co_return Error(Errc::invalid_argument, "a step needs at least one byte");
    RemoteOptions options;
    options.follow_owner = steps.follow_owner;
    const na::Addr target = detail::target_of(node, remote, options);
    if (auto refused = detail::refusal(remote, target, local.bytes(), access)) co_return *std::move(refused);
    SteppedMove move{node, remote, local, steps, make};
    auto all = move_all(move);
    if (steps.deadline) all = with_deadline(std::move(all), *steps.deadline);
    auto outcome = co_await std::move(all);
    const std::uint64_t moved = move.done();
    if (steps.moved) *steps.moved = moved;
    if (!outcome) co_return with_bytes(std::move(outcome).error(), moved, local.bytes());
    co_return outcome;
}

}  // namespace

Task<Result<std::uint64_t>> read_in_steps(NodeRef node, RemoteBytes from, bulk::Region into, RemoteSteps steps) {
    return in_steps(std::move(node), std::move(from), std::move(into), steps, &detail::make_read, na::Access::read);
}

Task<Result<std::uint64_t>> write_in_steps(NodeRef node, RemoteBytes to, bulk::Region from, RemoteSteps steps) {
    return in_steps(std::move(node), std::move(to), std::move(from), steps, &detail::make_write, na::Access::write);
}

}  // namespace cinnabar::hl
