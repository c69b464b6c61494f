// SPDX-License-Identifier: BSD-3-Clause
// Distributed variables: the calls by which copies of a key travel. What a process knows is in Copies.
#pragma once

#include "copies.hpp"
#include "core.hpp"
#include "variable_wire.hpp"

#include <cinnabar/group/served.hpp>

namespace cinnabar::group {

[[nodiscard]] Copies::Here here_of(Core& core, const std::string& key);
// Checks key and value against the limits, also what others send.
[[nodiscard]] Errc check_variable(const Core& core, const std::string& key, std::size_t bytes);
[[nodiscard]] Sent sent_from(const Copy& copy, const Version& held, TimeUs now);

// A usable copy of at least the version `asked.floor`. `patient`: tries again until the deadline, if that may help;
// otherwise one request is made for it.
[[nodiscard]] hl::Task<Result<Copy>> find_value(std::shared_ptr<Core> core, Copies::Asked asked, bool patient);
// Runs a request that Copies has handed out.
[[nodiscard]] Errc begin_flight(const std::shared_ptr<Core>& core, std::string key, std::shared_ptr<Flight> flight,
                                Copies::Here here);
// The root's: asks all members what they have, and takes over the newest value.
[[nodiscard]] hl::Task<Errc> settle_key(std::shared_ptr<Core> core, std::string key, std::shared_ptr<Flight> flight,
                                        Copies::Here here);
// The combiner of its recall: leaves the newer of two `Held`.
[[nodiscard]] Errc newer_held(const detail::Encoded& input, detail::Encoded& into, const detail::Encoded& more);
// Carries out an update at the root. again: by this process's view it is not the root.
[[nodiscard]] hl::Task<Result<Version>> update_here(std::shared_ptr<Core> core, Update update, na::Addr source);

[[nodiscard]] Result<void> serve_variables(const std::shared_ptr<Core>& core);

// Whether a failed request did nothing, and another one may succeed when the view has changed.
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
