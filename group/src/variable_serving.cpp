// SPDX-License-Identifier: BSD-3-Clause
// The RPCs for variables that a member serves, to other members and to clients.
#include "variables.hpp"

#include <algorithm>

namespace cinnabar::group {
namespace {

hl::Task<Result<Sent>> answer_fetch(std::shared_ptr<Core> core, Fetch fetch, na::Addr source) {
    if (const Errc bad = check_variable(*core, fetch.key, 0); bad != Errc::ok) co_return bad;
    VariableCopies::Asked asked{fetch.key, fetch.floor, std::min(fetch.depth, TreePosition::outside),
                                std::move(source)};
    auto finding = find_value(core, std::move(asked), false);
    const Result<Copy> copy = co_await finding;
    if (!copy) co_return copy.error();
    co_return sent_from(*copy, fetch.held, core->now_us());
}

Result<void> hear(Core& core, const Tell& tell, const na::Addr& source) {
    const Sent& value = tell.value;
    if (const Errc bad = check_variable(core, tell.key, value.bytes.size()); bad != Errc::ok) return bad;
    Copy copy{value.version, value.shape, nullptr, 0};
    if (!tell.drops) {
        copy.bytes = std::make_shared<const detail::Encoded>(value.bytes);
        const auto longest = static_cast<std::uint64_t>(core.options.variables.copy_max.count()) / 2;
        copy.until_us = core.now_us() + std::min(value.left_us, longest);
    }
    core.copies.hear(tell.key, copy, source, here_of(core, tell.key));
    return {};
}

Result<Held> answer_recall(Core& core, const Recall& recall) {
    if (const Errc bad = check_variable(core, recall.key, 0); bad != Errc::ok) return bad;
    const Result<Copy> copy = core.copies.yield(recall.key, recall.root, here_of(core, recall.key));
    if (!copy) return copy.error();
    return copy->bytes ? Held{copy->version, core.rank()} : Held{};
}

Result<Sent> answer_take(Core& core, const std::string& key) {
    const Copy copy = core.copies.held(key);
    if (!copy.bytes) return Error(Errc::not_found, "it was dropped to make room");
    return sent_from(copy, {}, core.now_us());
}

}  // namespace

Result<void> serve_variables(const std::shared_ptr<Core>& core) {
    // The group owns these handlers, so they must not own it.
    const std::weak_ptr<Core> of = core;
    CINNABAR_TRY_VOID(core->served.add(
        detail::served_by(fetch_rpc, [of](const CallInfo& info, const Fetch& fetch) -> hl::Task<Result<Sent>> {
            return answer_fetch(of.lock(), fetch, info.source);
        })));
    CINNABAR_TRY_VOID(core->served.add(
        detail::served_by(update_rpc, [of](const CallInfo& info, const Update& update) -> hl::Task<Result<Version>> {
            return update_here(of.lock(), update, info.source);
        })));
    CINNABAR_TRY_VOID(core->served.add(detail::served_by(
        tell_rpc, [of](const CallInfo& info, const Tell& tell) { return hear(*of.lock(), tell, info.source); })));
    detail::ServedRpc recall =
        detail::served_by(recall_rpc, [of](const Recall& asked) { return answer_recall(*of.lock(), asked); });
    recall.combine = newer_held;
    CINNABAR_TRY_VOID(core->served.add(std::move(recall)));
    return core->served.add(
        detail::served_by(take_rpc, [of](const std::string& key) { return answer_take(*of.lock(), key); }));
}

}  // namespace cinnabar::group
