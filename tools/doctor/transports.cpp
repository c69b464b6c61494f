// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/transports.hpp"

#include "doctor/provider.hpp"

#include <cinnabar/na/transport.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace cinnabar::tools::doctor {
namespace {

void judge_open(const std::string& id, const na::PluginInfo& plugin, const na::Transport& transport, Findings& found) {
    const std::string by = transport.diagnosis();
    const std::string what =
        fmt::format("{}://: {}{}{}", plugin.scheme, plugin.description, by.empty() ? "" : "; ", by);
    const na::Caps& caps = transport.caps();
    if (caps.guessable_keys) {
        return found.warning(id, ExitCode::unsuitable, what,
                             "keep peers that you do not trust off this fabric, or let them use tcps://, ofis:// or "
                             "verbss:// only");
    }
    // Processes of one user share their memory anyway, so a transport of one host needs no note.
    if (caps.confines || caps.same_host_only) return found.good(id, what);
    found.note(
        id, what + "; every connected peer can use the key of memory that was lent to another one",
        "where peers must not use what is lent to others: verbss://, ofis:// or tcps://, which authenticate the peer");
}

void judge_provider(const na::PluginInfo& plugin, const na::Transport& transport, Findings& found) {
    const std::string_view drawback = drawback_of(transport.scheme());
    if (drawback.empty()) return;
    found.warning(
        "ofi-provider", ExitCode::unsuitable,
        fmt::format("{}:// takes the provider of {}://: {}", plugin.scheme, transport.scheme(), drawback),
        "have libfabric offer tcp;ofi_rxm (unset FI_PROVIDER; fi_info -l lists what it has), or use tcp:// or "
        "verbs://");
}

}  // namespace

void check_transports(const na::Registry& registry, bool devices, Findings& found) {
    std::size_t open = 0;
    for (const auto& plugin : registry.plugins()) {
        const std::string scheme(plugin.scheme);
        const std::string id = "transport-" + scheme;
        if (scheme == "sim" || scheme == "self") continue;  // these have no requirements
        auto opened = registry.open(scheme + "://", {});
        if (opened.code() == Errc::bad_address) opened = registry.open(scheme + "://doctor", {});  // needs a name
        if (opened) {
            ++open;
            judge_open(id, plugin, **opened, found);
            judge_provider(plugin, **opened, found);
            continue;
        }
        const Error& error = opened.error();
        const std::string what = fmt::format("{}:// does not open: {}", scheme, to_string(error.code));
        const std::string remedy(error.hint.empty() ? advice(error.code) : error.hint);
        const bool needs_devices = scheme == "verbs" || scheme == "verbss";
        if (needs_devices && !devices)
            found.note(id, what, remedy);
        else
            found.problem(id, exit_code(opened.code()), what, remedy);
    }
    if (open == 0)
        found.problem("transports", ExitCode::unreachable, "no transport opens on this host",
                      "build with plugins/tcp at least, which needs nothing");
    const bool has_verbs =
        std::ranges::any_of(registry.plugins(), [](const auto& plugin) { return plugin.scheme == "verbs"; });
    if (devices && !has_verbs)
        found.warning("transport-verbs", ExitCode::unsuitable,
                      "there are RDMA devices, but this build has no verbs transport",
                      "build with librdmacm-dev and libibverbs-dev installed");
}

}  // namespace cinnabar::tools::doctor
