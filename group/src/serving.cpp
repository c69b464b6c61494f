// SPDX-License-Identifier: BSD-3-Clause
// The RPCs that a member serves to other members, to processes that join, and to followers.
#include "all_reduce.hpp"
#include "offers.hpp"
#include "tree_run.hpp"
#include "variables.hpp"

#include <cinnabar/hl/call.hpp>
#include <cinnabar/hl/serve.hpp>

namespace cinnabar::group {
namespace {

constexpr Microseconds follow_time{5'000'000};

// A process serves these RPCs before it has joined.
Error joining() { return Error(Errc::shutting_down, "this process is not a member yet: ask another one, or later"); }

// Forwards the request to the member that assigns ranks, unless this member does.
hl::Task<Result<JoinAnswer>> answer_join(std::shared_ptr<Core> core, JoinRequest request) {
    if (request.name != core->options.name) co_return Error(Errc::not_found, "the group here has another name");
    na::Addr hand_on;
    auto accepted = core->accept(request, hand_on);
    if (accepted || hand_on.empty()) co_return accepted;
    ++request.hops;
    hl::CallOptions options;
    options.provider = core->options.provider;
    auto call = core->node.call(join_rpc, hand_on, request, options);
    co_return co_await call;
}

Result<ViewPage> answer_view(Core& core, const ViewRequest& request) {
    if (request.name != core.options.name) return Error(Errc::not_found, "the group here has another name");
    if (!core.is_member()) return joining();
    if (request.known.size() > core.options.swim.members_max / 64 + 1)
        return Error(Errc::invalid_argument, "the request names more ranks than there can be: members_max");
    return core.page(request);
}

hl::Task<Result<ViewPage>> wait_for_change(std::shared_ptr<Core> core, FollowRequest request) {
    for (;;) {
        const std::shared_ptr<Signal> changed = core->next_change();
        ViewPage page{core->group(), core->stamp(), no_rank, false, {}};
        if (!(page.stamp == request.known)) {
            page.claims = core->missing_since(request.known, page.too_old);
            co_return page;
        }
        if (core->closed()) co_return Errc::shutting_down;
        const Errc waited = co_await wait_for(core->node, changed, follow_time);
        if (waited == Errc::timed_out) co_return page;
        if (waited != Errc::ok) co_return waited;
    }
}

hl::Task<Result<ViewPage>> answer_follower(std::shared_ptr<Core> core, hl::Request<FollowRequest> incoming) {
    const FollowRequest& request = *incoming;
    const na::Addr source = incoming.source();
    if (!core->is_member()) co_return joining();
    if (request.group != core->group()) co_return Error(Errc::not_found, "no member of that group runs here");
    if (!core->followers.enter(source)) co_return Error(Errc::overloaded, "this member has too many followers");
    auto waiting = wait_for_change(core, request);
    auto page = co_await waiting;
    core->followers.leave(source);
    co_return page;
}

}  // namespace

Result<void> Core::serve_members() {
    const std::shared_ptr<Core> core = shared_from_this();
    const hl::WithProvider by = hl::provider(options.provider);
    const auto hear = [core](hl::Request<Message> r) { core->on_message(*r, r.source()); };
    CINNABAR_TRY_VOID(node.serve(swim_message, hear, by));
    {
        const std::lock_guard lock(mutex_);
        serving_ = true;
    }
    if (has_side_loop) CINNABAR_TRY_VOID(prober.serve(swim_message, hear, by));
    CINNABAR_TRY_VOID(node.serve(
        join_rpc, [core](const JoinRequest& r) { return answer_join(core, r); }, by));
    CINNABAR_TRY_VOID(node.serve(
        view_rpc, [core](const ViewRequest& r) { return answer_view(*core, r); }, by));
    CINNABAR_TRY_VOID(node.serve(
        follow_rpc, [core](hl::Request<FollowRequest> r) { return answer_follower(core, std::move(r)); }, by));
    CINNABAR_TRY_VOID(node.serve(
        tree_rpc, [core](hl::Request<TreeRequest> r) { return answer_call(core, std::move(r)); }, by));
    CINNABAR_TRY_VOID(node.serve(
        cancel_message,
        [core](std::uint64_t of, const CallId& id) {
            if (of == core->group()) core->executions.cancel(id);
        },
        by));
    CINNABAR_TRY_VOID(Offers::serve(offers, node, options.provider));
    CINNABAR_TRY_VOID(serve_variables(core));
    return serve_arrivals(core);
}

}  // namespace cinnabar::group
