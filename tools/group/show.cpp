// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar group`: follows a group as a client.
#include "commands/reach.hpp"
#include "group/command.hpp"
#include "group/view_text.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/report.hpp"

#include <cinnabar/group/group.hpp>
#include <cinnabar/hl/sync_wait.hpp>

namespace cinnabar::tools::group {
namespace {

using cinnabar::group::Event;
using cinnabar::group::Group;
using cinnabar::group::GroupOptions;
using cinnabar::group::Happened;

constexpr Microseconds answer_max{5'000'000};

void show(const ShowOptions& options, const Group& group) {
    print_line(options.json ? view_json(options.name, group.view()) : view_text(options.name, group.view()));
}

Result<void> watch(const ShowOptions& options, const Group& group, const Interrupt& interrupt) {
    auto events = group.events();
    show(options, group);
    for (;;) {
        const Result<Event> event = sync_wait(events.next(), interrupt.token());
        if (interrupt.happened()) return {};
        if (!event) return event.error();
        print_line(options.json ? event_json(*event) : event_text(*event));
        if (event->happened == Happened::missed) show(options, group);
    }
}

Result<void> follow(const ShowOptions& options, const Interrupt& interrupt) {
    CINNABAR_TRY(const auto reached, reach(options.to, options.transport, 1, options.tls));
    GroupOptions follower;
    follower.name = options.name;
    follower.provider = options.provider;
    follower.join_time = answer_max;
    auto group = sync_wait(Group::follow(reached.node, {options.to}, std::move(follower)), interrupt.token());
    if (!group) {
        Error error = std::move(group).error();
        if (error.code == Errc::no_such_rpc) error.hint = "no group there: check --provider";
        if (error.code == Errc::not_found) error.hint = "wrong group: see --name";
        return error;
    }
    if (options.watch) return watch(options, *group, interrupt);
    show(options, *group);
    return {};
}

}  // namespace

ExitCode run_show(const ShowOptions& options) {
    const Interrupt interrupt;
    const auto followed = follow(options, interrupt);
    if (followed) return ExitCode::ok;
    complain(options.to + ": " + explain(followed.error(), options.to));
    return exit_code(followed.code());
}

}  // namespace cinnabar::tools::group
