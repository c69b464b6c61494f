// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar member`: a member of a group that does nothing else.
#include "commands/descriptors.hpp"
#include "group/command.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/report.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/group/bootstrap.hpp>
#include <cinnabar/group/group.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/sync_wait.hpp>
#include <cinnabar/hl/with_deadline.hpp>

#include <fmt/format.h>

#include <chrono>

namespace cinnabar::tools::group {
namespace {

using cinnabar::group::Group;
using cinnabar::group::GroupOptions;
using cinnabar::group::Source;

Result<GroupOptions> group_options(const MemberOptions& options) {
    GroupOptions group;
    group.name = options.name;
    group.provider = options.provider;
    group.swim.period = std::chrono::duration_cast<Microseconds>(std::chrono::duration<double>(options.period_seconds));
    for (const auto& label : options.labels) {
        const auto equals = label.find('=');
        if (equals == std::string::npos || equals == 0)
            return Error(Errc::invalid_argument, "a label is KEY=VALUE", printable(label));
        group.labels[label.substr(0, equals)] = label.substr(equals + 1);
    }
    return group;
}

Result<Group> begin(const MemberOptions& options, const hl::Node& node, const Interrupt& interrupt) {
    CINNABAR_TRY(GroupOptions group, group_options(options));
    if (!options.join.empty()) return sync_wait(Group::join(node, options.join, std::move(group)), interrupt.token());
    auto source = Source::from_environment();
    if (source)
        return sync_wait(cinnabar::group::bootstrap(node, *std::move(source), std::move(group)), interrupt.token());
    if (source.code() != Errc::not_found) return std::move(source).error();
    return Group::create(node, std::move(group));
}

// Waits until options.until members have joined, then until all of them have passed a barrier.
Result<void> stay_until(const MemberOptions& options, const Group& group, const Interrupt& interrupt) {
    constexpr Microseconds patience{120'000'000};
    CINNABAR_TRY_VOID(sync_wait(hl::with_deadline(group.wait_for_members(options.until), patience), interrupt.token()));
    auto passing = group.barrier("cinnabar member", {.deadline = patience});
    CINNABAR_TRY(const auto reached, sync_wait(std::move(passing), interrupt.token()));
    if (reached.all()) return {};
    return Error(reached.failures.front().code, "a member did not reach the barrier",
                 "rank " + std::to_string(reached.failures.front().rank));
}

Result<void> live(const MemberOptions& options, const Interrupt& interrupt) {
    hl::NodeOptions opening;
    opening.transport.tls = options.tls;
    CINNABAR_TRY(const hl::Node node, hl::Node::listen(options.listen, std::move(opening)));
    CINNABAR_TRY(const Group group, begin(options, node, interrupt));
    print_line(fmt::format("{}: rank {} at {}", printable(options.name), group.rank(), node.address()));
    Result<void> stayed;
    if (options.until != 0)
        stayed = stay_until(options, group, interrupt);
    else
        interrupt.wait();
    group.leave();
    return stayed;
}

}  // namespace

ExitCode run_member(const MemberOptions& options) {
    raise_descriptor_limit();
    const Interrupt interrupt;
    const auto lived = live(options, interrupt);
    if (lived) return ExitCode::ok;
    complain(lived.error().message());
    return exit_code(lived.code());
}

}  // namespace cinnabar::tools::group
