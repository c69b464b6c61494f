// SPDX-License-Identifier: BSD-3-Clause
#include "sealed/pending_proofs.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

namespace cinnabar::tls {

na::Source source_of_endpoint(std::string_view from) noexcept {
    constexpr std::string_view after_scheme = "://";
    if (const auto scheme = from.find(after_scheme); scheme != from.npos)
        from.remove_prefix(scheme + after_scheme.size());
    from = from.substr(0, from.rfind(':'));
    if (from.size() > 2 && from.front() == '[' && from.back() == ']') from = from.substr(1, from.size() - 2);
    std::array<char, INET6_ADDRSTRLEN> host{};
    if (from.size() < host.size()) {
        std::copy(from.begin(), from.end(), host.begin());
        in_addr v4{};
        in6_addr v6{};
        if (::inet_pton(AF_INET, host.data(), &v4) == 1) return v4.s_addr;
        if (::inet_pton(AF_INET6, host.data(), &v6) == 1) {
            na::Source network = 0;
            std::memcpy(&network, v6.s6_addr, sizeof network);
            return network;
        }
    }
    return std::hash<std::string_view>()(from);
}

SealedSession* PendingProofs::to_drop() const noexcept {
    const std::uint32_t most = sources_.most();
    for (const PendingProof* each = pending_.front(); each; each = decltype(pending_)::next(*each)) {
        if (sources_.beside(each->slot_index) == most) return each->session;
    }
    return nullptr;
}

PendingProof* PendingProofs::enter(SealedSession& session, na::Source source) noexcept {
    PendingProof* const taken = full() ? nullptr : pool_.acquire();
    if (!taken) return nullptr;
    taken->session = &session;
    sources_.enter(taken->slot_index, source);
    pending_.push_back(*taken);
    return taken;
}

void PendingProofs::leave(PendingProof& pending) noexcept {
    pending_.remove(pending);
    sources_.leave(pending.slot_index);
    pending.session = nullptr;
    pool_.release(pending);
}

}  // namespace cinnabar::tls
