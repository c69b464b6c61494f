// SPDX-License-Identifier: BSD-3-Clause
// Distributed variables: the functions that send and serve values. Their local state is in VariableCopies.
#pragma once

#include "core.hpp"
#include "variable_copies.hpp"
#include "variable_wire.hpp"

#include <cinnabar/group/served.hpp>

namespace cinnabar::group {

[[nodiscard]] VariableCopies::Here here_of(Core& core, const std::string& key);
// Checks a key and a value against the limits, whether they are local or were received.
[[nodiscard]] Errc check_variable(const Core& core, const std::string& key, std::size_t bytes);
[[nodiscard]] Sent sent_from(const Copy& copy, const Version& held, TimeUs now);

// Returns a usable copy of at least the version `asked.floor`. `patient`: retries until the deadline if that may help;
// not `patient`: makes only one request.
[[nodiscard]] hl::Task<Result<Copy>> find_value(std::shared_ptr<Core> core, VariableCopies::Asked asked, bool patient);
// Runs a request returned by VariableCopies::find() or put().
[[nodiscard]] Errc begin_flight(const std::shared_ptr<Core>& core, std::string key, std::shared_ptr<Flight> flight,
                                VariableCopies::Here here);
// The root's request: asks all members for their versions and takes over the newest value.
[[nodiscard]] hl::Task<Errc> settle_key(std::shared_ptr<Core> core, std::string key, std::shared_ptr<Flight> flight,
                                        VariableCopies::Here here);
// The combiner of the recall: keeps the newer of two `Held`.
[[nodiscard]] Errc newer_held(const detail::Encoded& input, detail::Encoded& into, const detail::Encoded& more);
// Executes an update at the root. again: in this process's view it is not the root.
[[nodiscard]] hl::Task<Result<Version>> update_here(std::shared_ptr<Core> core, Update update, na::Addr source);

[[nodiscard]] Result<void> serve_variables(const std::shared_ptr<Core>& core);

// Whether a failed request had no effect, and a retry may succeed when the view has changed.
[[nodiscard]] constexpr bool may_pass(Errc code) noexcept {
    return code == Errc::again || code == Errc::refused || code == Errc::unreachable || code == Errc::overloaded;
}

// One call to one member.
template <typename Out, typename In>
hl::Task<Result<Out>> call_one(std::shared_ptr<Core> core, const hl::Rpc<Out(In)>& rpc, Rank rank, In in,
                               Microseconds deadline = {}) {
    detail::CollectiveCall call;
    call.rpc = rpc.name();
    call.shape = rpc::shape_of<In>();
    call.mode = detail::Mode::gather;
    call.everybody = false;
    call.only = {rank};
    call.deadline = deadline;
    call.gone = Errc::refused;  // it may pass: the next root may be known soon
    call.failed = detail::encode_into(call.input, in);
    auto collecting = detail::collect(core, std::move(call));
    auto collected = co_await collecting;
    if (!collected) co_return collected.code();
    if (!collected->failures.empty()) co_return collected->failures.front().code;
    Out out{};
    if (collected->parts.size() != 1) co_return Errc::protocol;
    const Errc decoded = rpc::decode(ConstBytes(collected->parts.front().bytes), out);
    if (decoded != Errc::ok) co_return decoded;
    co_return out;
}

}  // namespace cinnabar::group
