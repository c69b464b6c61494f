// SPDX-License-Identifier: BSD-3-Clause
#include "transport.hpp"

#include "port.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/base/random.hpp>
#include <cinnabar/na/session/socket.hpp>

#include <algorithm>

namespace cinnabar::ofi {
namespace {

// Lease slots; a transfer of the layers above takes one.
constexpr std::uint32_t leases_max = 256 * 1024;
constexpr std::size_t segments_max = 64 * 1024;
// Of one operation: more would only make its cancellation and the report of its progress coarse.
constexpr std::size_t rma_bytes_max = 16 * 1024 * 1024;
constexpr std::size_t message_bytes_limit = 1024 * 1024;  // below what goes eagerly everywhere

}  // namespace

OfiTransport::OfiTransport(const na::TransportOptions& options, Selection selection)
    : options_(options), incarnation_(secret_u64()), selection_(std::move(selection)), leases_(leases_max) {
    caps_.ordered = (selection_.info->tx_attr->msg_order & FI_ORDER_SAS) != 0;
    caps_.put_notify = true;
    caps_.atomics = true;
    caps_.offset_addressing = true;
    caps_.revocable = true;
    caps_.detects_loss = true;
    caps_.wait_fd = selection_.wait_fd;
    caps_.same_host_only = provider().same_host_only;
    limits_.message_bytes_max = options.message_bytes_max;
    limits_.rma_bytes_max = std::min<std::size_t>(rma_bytes_max, provider().chunk_bytes * chunks_max);
    limits_.segments_max = segments_max;
    limits_.op_segments_max = segments_max;
    limits_.lease_key_bytes_max = na::LeaseKey::wire_bytes;
    limits_.rma_inflight_max = Session::admitted_max;
    limits_.receive_slots = options.receive_slots;
    limits_.send_slots = options.send_slots_max;
    limits_.connections_max = options.connections_max;
}

OfiTransport::~OfiTransport() { CINNABAR_ASSERT(ports_.empty()); }

Result<std::unique_ptr<na::Transport>> OfiTransport::open(const na::Uri& uri, const na::TransportOptions& options) {
    if (options.message_bytes_max > message_bytes_limit) {
        return Error(Errc::invalid_argument, "message_bytes_max is at most 1 MiB on a fabric");
    }
    CINNABAR_TRY(const Wanted wanted, read_address(uri));
    CINNABAR_TRY(const FabricLibrary* const library, FabricLibrary::load());
    CINNABAR_TRY(Selection selection, select(wanted));
    std::unique_ptr<OfiTransport> transport(new OfiTransport(options, std::move(selection)));
    fid_fabric* fabric = nullptr;
    if (const int failed = library->fabric(transport->selection_.info->fabric_attr, &fabric, nullptr)) {
        return error_of(failed, "fi_fabric", transport->selection_.why);
    }
    transport->fabric_.reset(fabric);
    CINNABAR_TRY(const na::Uri place, meeting_place(wanted));
    if (options.listen) {
        CINNABAR_TRY(const std::vector<na::SocketAddress> addresses, na::resolve(place, na::Purpose::listen));
        CINNABAR_TRY(transport->listener_, na::listen_at(addresses));
        const auto bound = na::SocketAddress::local_of(transport->listener_.get());
        transport->endpoints_ = na::reachable_endpoints(bound, transport->scheme());
    } else if (!place.host.empty()) {
        CINNABAR_TRY(const std::vector<na::SocketAddress> addresses, na::resolve(place, na::Purpose::listen));
        transport->source_ = addresses.front();
        transport->source_->set_port(0);
    }
    return std::unique_ptr<na::Transport>(std::move(transport));
}

bool OfiTransport::reaches(std::string_view endpoint) const noexcept {
    const auto colon = endpoint.find("://");
    return colon != std::string_view::npos && means(endpoint.substr(0, colon), provider());
}

Result<std::unique_ptr<na::Port>> OfiTransport::open_port(na::PortHost& host) {
    CINNABAR_TRY(std::unique_ptr<Endpoint> endpoint, Endpoint::open(*fabric_, selection_));
    if (endpoint->address().size() > Card::address_bytes_max) {
        return Error(Errc::unsupported, "the provider's addresses are longer than a greeting holds", selection_.why);
    }
    auto port = std::make_unique<OfiPort>(*this, host, std::move(endpoint));
    {
        const std::lock_guard lock(mutex_);
        if (ports_.contains(host.context_id())) return Error(Errc::exists, "that context id is open already");
        if (ports_.size() >= options_.contexts_max) return Error(Errc::too_large, "contexts_max are open already");
        ports_.emplace(host.context_id(), port.get());
    }
    CINNABAR_TRY_VOID(port->open());
    return std::unique_ptr<na::Port>(std::move(port));
}

void OfiTransport::port_closed(const OfiPort& port, na::ContextId context) noexcept {
    const std::lock_guard lock(mutex_);
    // A port that was never let in is closed as well.
    if (const auto at = ports_.find(context); at != ports_.end() && at->second == &port) ports_.erase(at);
}

Errc OfiTransport::hand_over(Caller& caller) noexcept {
    const std::lock_guard lock(mutex_);
    const auto at = ports_.find(caller.card.hello.peer_context);
    if (at == ports_.end()) return Errc::unreachable;
    if (at->second->inbox().full()) return Errc::overloaded;
    at->second->inbox().put(std::move(caller));
    at->second->host().wake();
    return Errc::ok;
}

Result<std::unique_ptr<na::Memory>> OfiTransport::register_memory(std::span<const na::Segment> segments,
                                                                  na::Access access) {
    CINNABAR_TRY_VOID(registrations_->admit(segments, segments_max));
    return std::unique_ptr<na::Memory>(std::make_unique<na::CountedMemory>(*this, segments, access, registrations_));
}

Errc OfiTransport::revoke(na::Lease& lease) noexcept {
    const Errc revoked = fences_.revoke(lease, steady_clock().now_us());
    if (revoked == Errc::again) {
        const std::lock_guard lock(mutex_);
        for (const auto& [context, port] : ports_) port->host().wake();
    }
    return revoked;
}

void OfiTransport::describe(const na::Lease& lease, Writer& writer) const noexcept {
    na::LeaseKey{lease.slot, lease.generation, lease.key}.encode(writer);
}

std::string OfiTransport::diagnosis() const {
    std::string text = endpoints_.empty() ? "does not listen" : "listens at";
    for (const std::string& endpoint : endpoints_) text += " " + endpoint;
    text += "; " + selection_.why;
    if (const std::uint64_t strays = strays_.load(std::memory_order_relaxed); strays > 0) {
        text += "; " + std::to_string(strays) + " frames came that name no session";
    }
    if (!provider().note.empty()) text += "; " + std::string(provider().note);
    return text;
}

}  // namespace cinnabar::ofi
