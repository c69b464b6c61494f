// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/group/typed_calls.hpp>

namespace cinnabar::group::detail {

CollectiveCall call_with(const CollectiveOptions& options) {
    CollectiveCall call;
    call.only.assign(options.only.begin(), options.only.end());
    call.except.assign(options.except.begin(), options.except.end());
    call.everybody = call.only.empty();
    call.tree = options.tree;
    call.counts = true;
    call.fanout = options.fanout;
    call.priority = options.priority;
    call.deadline = options.deadline.value_or(Microseconds(0));
    if (options.deadline && call.deadline.count() <= 0) call.deadline = Microseconds(1);
    if (options.stop) call.stop = *options.stop;
    return call;
}

CollectiveCall call_by_all(Combine combine, const CollectiveOptions& options) {
    CollectiveCall call = call_with(options);
    call.counts = false;  // no quota, since members wait for each other
    call.combine = combine ? std::move(combine) : [](const Encoded&, Encoded&, const Encoded&) { return Errc::ok; };
    return call;
}

CollectiveCall to_one(Rank rank, CollectiveCall call) {
    call.everybody = false;
    call.only = {rank};
    call.except.clear();
    return call;
}

Error error_of(const Failure& failure) {
    Error error(failure.code, failure.code == Errc::application ? std::string_view() : advice(failure.code),
                failure.text);
    error.app_code = failure.app_code;
    return error;
}

hl::Task<Result<Reached>> reached(hl::Task<Result<Collected>> collecting) {
    auto collected = co_await collecting;
    if (!collected) co_return std::move(collected).error();
    Reached all{collected->count, std::move(collected->failures)};
    co_return all;
}

}  // namespace cinnabar::group::detail
