// SPDX-License-Identifier: BSD-3-Clause
// The caller's side of variables.
#include "bounded.hpp"
#include "variables.hpp"

#include <cinnabar/group/variable.hpp>

#include <algorithm>

namespace cinnabar::group {
namespace {

hl::Task<Result<Version>> try_update(std::shared_ptr<Core> core, Update update) {
    Microseconds pause{2'000};
    for (;;) {
        if (core->closed()) co_return Error(Errc::closed, "this process has left the group");
        const Rank root = here_of(*core, update.key).position.reign.root;
        if (root == no_rank) co_return Error(Errc::unreachable, "no member is known to be present");
        update.seen = core->copies.seen(update.key);
        auto calling = call_one(core, update_rpc, root, update);
        Result<Version> version = co_await calling;
        if (version.ok() || !may_pass(version.code())) co_return version;
        const Errc slept = co_await core->node.sleep_for(pause);
        if (slept != Errc::ok) co_return version.code() == Errc::again ? Result<Version>(slept) : version;
        pause = std::min(pause * 2, Microseconds(200'000));
    }
}

// Stores the update locally, so that this process sees its own updates at once.
hl::Task<Result<Version>> update_and_keep(std::shared_ptr<Core> core, Update update) {
    const TimeUs began_us = core->now_us();
    const auto bytes = std::make_shared<const detail::Encoded>(update.bytes);
    auto trying = try_update(core, update);
    Result<Version> version = co_await trying;
    if (!version) co_return version;
    Copy copy{*version, update.shape, update.drops ? nullptr : bytes,
              after(began_us, core->options.variables.copy_max)};
    core->copies.hear(update.key, copy, {}, here_of(*core, update.key));
    co_return version;
}

Error explained(const Error& error) {
    if (!error.hint.empty()) return error;
    switch (error.code) {
        case Errc::not_found:
            return Error(error.code, "the variable has no value yet: update it first");
        case Errc::stale:
            return Error(error.code,
                         "a newer value was seen here, and was lost with the members that had it: update it");
        default:
            return Error(error.code, advice(error.code));
    }
}

}  // namespace

namespace detail {

hl::Task<Result<Version>> update_variable(std::shared_ptr<Core> core, std::string key, std::uint16_t shape, Sync sync,
                                          std::optional<Encoded> bytes, Bounds bounds) {
    const Errc bad = check_variable(*core, key, bytes ? bytes->size() : 0);
    if (bad != Errc::ok) co_return Error(bad, "a key has at most 256 bytes, a value VariableLimits::value_bytes_max");
    Update update{key, {}, sync, !bytes, shape, {}};
    if (bytes) update.bytes = *std::move(bytes);
    auto updating = update_and_keep(core, std::move(update));
    auto bounded = run_bounded(core, std::move(updating), bounds.deadline, bounds.stop);
    co_return co_await bounded;
}

hl::Task<Result<FetchedValue>> fetch_variable(std::shared_ptr<Core> core, std::string key, std::uint16_t shape,
                                              Bounds bounds) {
    if (check_variable(*core, key, 0) != Errc::ok)
        co_return Error(Errc::invalid_argument, "a key has at most 256 bytes");
    VariableCopies::Asked asked{key, core->copies.seen(key), std::numeric_limits<unsigned>::max(), {}};
    auto finding = find_value(core, std::move(asked), true);
    auto bounded = run_bounded(core, std::move(finding), bounds.deadline, bounds.stop);
    Result<Copy> copy = co_await bounded;
    if (!copy) co_return explained(copy.error());
    if (copy->shape != shape) co_return Error(Errc::bad_signature, "the variable has a value of another type");
    FetchedValue value{copy->version, std::move(copy->bytes)};
    co_return value;
}

}  // namespace detail
}  // namespace cinnabar::group
