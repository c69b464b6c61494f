// SPDX-License-Identifier: BSD-3-Clause
#include "transport.hpp"

#include "port.hpp"

#include <cinnabar/base/clock.hpp>

#include <algorithm>

namespace cinnabar::ofi {
namespace {

constexpr std::size_t message_bytes_limit = 1024 * 1024;  // below the eager limit of every provider

}  // namespace

OfiTransport::OfiTransport(const na::TransportOptions& options, Selection selection,
                           std::unique_ptr<na::StreamGuards> guards)
    : GuardedTransport(options, std::move(guards)), selection_(std::move(selection)) {
    caps_.ordered = (selection_.info->tx_attr->msg_order & FI_ORDER_SAS) != 0;
    caps_.wait_fd = selection_.wait_fd;
    caps_.same_host_only = provider().same_host_only;
    limits_.rma_bytes_max = std::min<std::size_t>(rma_bytes_max, provider().chunk_bytes * chunks_max);
    limits_.rma_inflight_max = Origin::admitted_max;
}

Result<std::unique_ptr<na::Transport>> OfiTransport::open(const na::Uri& uri, const na::TransportOptions& options) {
    return open_guarded(uri, options, nullptr);
}

Result<std::unique_ptr<na::Transport>> OfiTransport::open_guarded(const na::Uri& uri,
                                                                  const na::TransportOptions& options,
                                                                  std::unique_ptr<na::StreamGuards> guards) {
    if (options.message_bytes_max > message_bytes_limit) {
        return Error(Errc::invalid_argument, "message_bytes_max is at most 1 MiB on a fabric");
    }
    CINNABAR_TRY(const Wanted wanted, read_address(uri));
    CINNABAR_TRY(const FabricLibrary* const library, FabricLibrary::load());
    CINNABAR_TRY(Selection selection, select(wanted));
    std::unique_ptr<OfiTransport> transport(new OfiTransport(options, std::move(selection), std::move(guards)));
    if (const std::uint32_t least = transport->staging_min(); transport->staging() < least) {
        return Error(Errc::bad_address, "staging is less than two of the largest operations need",
                     "at least " + std::to_string(least) + " with " + transport->provider().name);
    }
    fid_fabric* fabric = nullptr;
    if (const int failed = library->fabric(transport->selection_.info->fabric_attr, &fabric, nullptr)) {
        return error_of(failed, "fi_fabric", transport->selection_.why);
    }
    transport->fabric_.reset(fabric);
    CINNABAR_TRY(const na::Uri place, handshake_address(wanted));
    CINNABAR_TRY_VOID(transport->open_socket(place));
    return std::unique_ptr<na::Transport>(std::move(transport));
}

// Enough for two of the largest gets: a get needs staging memory for all its chunks at once.
std::uint32_t OfiTransport::staging_min() const noexcept {
    return 2 * chunks_of(limits().rma_bytes_max, static_cast<std::uint32_t>(provider().chunk_bytes));
}

bool OfiTransport::reaches(std::string_view endpoint) const noexcept {
    const auto colon = endpoint.find("://");
    if (colon == std::string_view::npos) return false;
    const std::string_view theirs = endpoint.substr(0, colon);
    return is_guarded(theirs) == (guards() != nullptr) && means(theirs, provider());
}

Result<std::unique_ptr<na::Port>> OfiTransport::open_port(na::PortHost& host) {
    CINNABAR_TRY(std::unique_ptr<Endpoint> endpoint, Endpoint::open(*fabric_, selection_));
    if (endpoint->address().size() > Greeting::address_bytes_max) {
        return Error(Errc::unsupported, "the provider's addresses are longer than a greeting holds", selection_.why);
    }
    auto port = std::make_unique<OfiPort>(*this, host, std::move(endpoint));
    CINNABAR_TRY_VOID(ports().add(*port, options()));
    CINNABAR_TRY_VOID(port->open());
    return std::unique_ptr<na::Port>(std::move(port));
}

Errc OfiTransport::revoke(na::Lease& lease) noexcept {
    const Errc revoked = fences_.revoke(lease, steady_clock().now_us());
    if (revoked == Errc::again) ports().each([](OfiPort& port) { port.host().wake(); });
    return revoked;
}

std::string OfiTransport::diagnosis() const {
    std::string text = listens_at() + "; " + selection_.why;
    if (const std::uint64_t strays = strays_.load(std::memory_order_relaxed); strays > 0) {
        text += "; " + std::to_string(strays) + " frames of unknown sessions";
    }
    if (guards()) text += "; " + guards()->diagnosis() + "; messages and transfers by AES-128-GCM";
    if (!provider().note.empty()) text += "; " + std::string(provider().note);
    return text;
}

}  // namespace cinnabar::ofi
