// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/rpc/guests.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::rpc {

Guests::Guests(std::optional<Callers> callers, std::vector<na::Addr> connections) noexcept
    : callers_(std::move(callers)), connections_(std::move(connections)) {}

Result<std::shared_ptr<const Guests>> Guests::of(const std::vector<std::string>& callers,
                                                 std::vector<na::Addr> connections) {
    if (callers.empty() && connections.empty())
        return Error(Errc::invalid_argument, "name who may use the memory: a caller, or a connection");
    if (callers.size() > names_max || connections.size() > names_max - callers.size())
        return Error(Errc::too_large, "at most 1,024 third parties can be named for one piece of memory");
    for (const na::Addr& each : connections) {
        if (!each.is_connection())
            return Error(Errc::invalid_argument,
                         "only a peer that has connected to this process is known by its address: name the key, the "
                         "certificate or the user of others",
                         each.empty() ? std::string() : each.to_string());
    }
    std::optional<Callers> named;
    if (!callers.empty()) {
        CINNABAR_TRY(named, Callers::of(callers));
    }
    return std::shared_ptr<const Guests>(new Guests(std::move(named), std::move(connections)));
}

bool Guests::include(const na::Addr& addr) const noexcept {
    return std::ranges::find(connections_, addr) != connections_.end() || (callers_ && callers_->include(addr));
}

}  // namespace cinnabar::rpc
