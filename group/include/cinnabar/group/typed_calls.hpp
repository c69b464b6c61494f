// SPDX-License-Identifier: BSD-3-Clause
// The typed part of Group's calls: encodes arguments and decodes results. Any thread. A call copies its options and
// encodes its arguments before it returns its task.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/group/collective.hpp>
#include <cinnabar/group/erased.hpp>

#include <map>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace cinnabar::group::detail {

// A call with these options, and without arguments.
[[nodiscard]] CINNABAR_API CollectiveCall call_with(const CollectiveOptions& options);
// A call that every member makes for itself. Without a combiner, the values are dropped.
[[nodiscard]] CINNABAR_API CollectiveCall call_by_all(Combine combine, const CollectiveOptions& options);
// Restricts a call to one member.
[[nodiscard]] CINNABAR_API CollectiveCall to_one(Rank rank, CollectiveCall call);

// If the arguments cannot be encoded, sets CollectiveCall::failed, and the call ends with that error.
template <typename R>
[[nodiscard]] CollectiveCall encoded_call(const R& rpc, Mode mode, const CollectiveOptions& options,
                                          const typename R::Input& in) {
    CollectiveCall call = call_with(options);
    call.rpc = rpc.name();
    call.shape = rpc::shape_of<typename R::Input>();
    call.mode = mode;
    call.failed = encode_into(call.input, in);
    return call;
}
template <typename R>
[[nodiscard]] std::vector<CollectiveCall> encoded_calls(const R& rpc, Mode mode, const CollectiveOptions& options,
                                                        const std::map<Rank, typename R::Input>& in) {
    std::vector<CollectiveCall> calls;
    for (const auto& [rank, argument] : in) calls.push_back(to_one(rank, encoded_call(rpc, mode, options, argument)));
    return calls;
}

[[nodiscard]] CINNABAR_API Error error_of(const Failure& failure);

// Awaits the answers and converts them to a result. A call that could not start, or whose bytes cannot be decoded as
// `Out`, ends with an error; failures of single members are part of the result.
[[nodiscard]] CINNABAR_API hl::Task<Result<Reached>> reached(hl::Task<Result<Collected>> collecting);

// The result of a call to one member; its failure is the error of the call.
template <typename Out>
[[nodiscard]] hl::Task<Result<Out>> one_result(hl::Task<Result<Collected>> collecting) {
    auto collected = co_await collecting;
    if (!collected) co_return std::move(collected).error();
    if (!collected->failures.empty()) co_return error_of(collected->failures.front());
    if (collected->parts.size() != 1) co_return Errc::protocol;
    if constexpr (std::is_void_v<Out>) {
        co_return Result<void>();
    } else {
        Out out{};
        const Errc decoded = rpc::decode(ConstBytes(collected->parts.front().bytes), out);
        if (decoded != Errc::ok) co_return decoded;
        co_return out;
    }
}

// A member whose bytes cannot be decoded as `Out` is listed as a failure.
template <typename Out>
[[nodiscard]] hl::Task<Result<Gathered<Out>>> gathered(hl::Task<Result<Collected>> collecting) {
    auto collected = co_await collecting;
    if (!collected) co_return std::move(collected).error();
    Gathered<Out> all;
    all.failures = std::move(collected->failures);
    for (const Part& part : collected->parts) {
        Out out{};
        const Errc decoded = rpc::decode(ConstBytes(part.bytes), out);
        if (decoded == Errc::ok)
            all.values.emplace_back(part.rank, std::move(out));
        else
            all.failures.push_back({part.rank, decoded, 0, {}});
    }
    co_return all;
}

template <typename Out>
[[nodiscard]] hl::Task<Result<Reduced<Out>>> reduced(hl::Task<Result<Collected>> collecting) {
    auto collected = co_await collecting;
    if (!collected) co_return std::move(collected).error();
    Reduced<Out> all;
    all.count = collected->count;
    all.failures = std::move(collected->failures);
    if (all.count == 0) co_return all;
    Out out{};
    const Errc decoded = rpc::decode(ConstBytes(collected->combined), out);
    if (decoded != Errc::ok) co_return decoded;
    all.value = std::move(out);
    co_return all;
}

template <typename Out, typename C>
[[nodiscard]] hl::Task<Result<Reduced<Out>>> reduced_by(std::shared_ptr<Core> core, C combine, CollectiveCall call) {
    call.combine = combine_by<Out>(std::move(combine));
    return reduced<Out>(collect(std::move(core), std::move(call)));
}

}  // namespace cinnabar::group::detail
