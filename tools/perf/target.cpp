// SPDX-License-Identifier: BSD-3-Clause
#include "perf/target.hpp"

#include "commands/address.hpp"
#include "commands/reach.hpp"
#include "terminal/interrupt.hpp"

#include <utility>

namespace cinnabar::tools::perf {
namespace {

constexpr std::chrono::milliseconds retry_gap{20};
constexpr std::chrono::seconds about_time{5};

Result<Target> ask_once(Target target) {
    CINNABAR_TRY(const auto connected, connect_to(target, 1));
    target.way = connected.node.transport_to(connected.peer);
    auto about = connected.node.call(about_rpc, connected.peer, about_time).wait();
    if (!about) {
        Error error = std::move(about).error();
        if (error.code == Errc::no_such_rpc)
            error.hint = "that server has no perf service: start one with `cinnabar perf serve`";
        return error;
    }
    if (about->version != protocol_version)
        return Error{Errc::protocol, "other perf version: update one side", about->release};
    target.about = *std::move(about);
    return target;
}

}  // namespace

Result<hl::Connected> connect_to(const Target& target, unsigned contexts) {
    return reach(target.uri, target.transport, contexts, target.tls);
}

Result<Target> find_target(const std::string& uri, const std::string& transport, std::chrono::duration<double> wait,
                           const std::stop_token& stop, const na::TlsOptions& tls) {
    CINNABAR_TRY(const auto remote, parse_remote_path(uri));
    const Target target{remote.server, transport, tls, {}, {}};
    const auto end = std::chrono::steady_clock::now() + wait;
    for (;;) {
        auto found = ask_once(target);
        // no_such_rpc: the server listens but does not serve yet.
        const bool absent = !found && (found.code() == Errc::refused || found.code() == Errc::unreachable ||
                                       found.code() == Errc::no_such_rpc);
        if (!absent || std::chrono::steady_clock::now() >= end) return found;
        if (wait_for(stop, retry_gap)) return Error{Errc::canceled, "interrupted before the server answered"};
    }
}

}  // namespace cinnabar::tools::perf
