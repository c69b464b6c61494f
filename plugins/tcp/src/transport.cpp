// SPDX-License-Identifier: BSD-3-Clause
#include "transport.hpp"

#include "port.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/na/session/socket.hpp>

#include <sys/resource.h>

namespace cinnabar::tcp {
namespace {

// Lease slots; a transfer of the layers above takes one.
constexpr std::uint32_t leases_max = 256 * 1024;
constexpr std::size_t segments_max = 64 * 1024;
// Of one operation: more would only make its cancellation and the report of its progress coarse.
constexpr std::size_t rma_bytes_max = 16 * 1024 * 1024;

}  // namespace

TcpTransport::TcpTransport(const na::TransportOptions& options)
    : options_(options), incarnation_(secret_u64()), leases_(leases_max) {
    caps_.ordered = true;
    caps_.put_notify = true;
    caps_.atomics = true;
    caps_.offset_addressing = true;
    caps_.revocable = true;
    caps_.detects_loss = true;
    caps_.wait_fd = true;
    limits_.message_bytes_max = options.message_bytes_max;
    limits_.rma_bytes_max = rma_bytes_max;
    limits_.segments_max = segments_max;
    limits_.op_segments_max = segments_max;
    limits_.lease_key_bytes_max = na::LeaseKey::wire_bytes;
    limits_.rma_inflight_max = na::AccessPools::admitted_max;
    limits_.receive_slots = options.receive_slots;
    limits_.send_slots = options.send_slots_max;
    limits_.connections_max = options.connections_max;
}

TcpTransport::~TcpTransport() { CINNABAR_ASSERT(ports_.empty()); }

Result<std::unique_ptr<na::Transport>> TcpTransport::open(const na::Uri& uri, const na::TransportOptions& options) {
    constexpr std::size_t message_bytes_limit = 64 * 1024 * 1024;
    if (options.message_bytes_max > message_bytes_limit) {
        return Error(Errc::invalid_argument, "message_bytes_max is at most 64 MiB");
    }
    std::unique_ptr<TcpTransport> transport(new TcpTransport(options));
    if (options.listen) {
        CINNABAR_TRY(const std::vector<SocketAddress> addresses, na::resolve(uri, na::Purpose::listen));
        CINNABAR_TRY(transport->listener_, na::listen_at(addresses));
        transport->endpoints_ = na::reachable_endpoints(SocketAddress::local_of(transport->listener_.get()), "tcp");
    } else if (!uri.host.empty()) {
        CINNABAR_TRY(const std::vector<SocketAddress> addresses, na::resolve(uri, na::Purpose::listen));
        transport->source_ = addresses.front();
    }
    return std::unique_ptr<na::Transport>(std::move(transport));
}

bool TcpTransport::reaches(std::string_view endpoint) const noexcept { return endpoint.starts_with("tcp://"); }

Result<std::unique_ptr<na::Port>> TcpTransport::open_port(na::PortHost& host) {
    auto port = std::make_unique<TcpPort>(*this, host);
    {
        const std::lock_guard lock(mutex_);
        if (ports_.contains(host.context_id())) return Error(Errc::exists, "that context id is open already");
        if (ports_.size() >= options_.contexts_max) return Error(Errc::too_large, "contexts_max are open already");
        ports_.emplace(host.context_id(), port.get());
    }
    if (!port->newcomers().watch(listener_.get())) {
        return Error(errc_from_errno(errno), "watching the listening socket", {}, errno);
    }
    return std::unique_ptr<na::Port>(std::move(port));
}

void TcpTransport::port_closed(const TcpPort& port, na::ContextId context) noexcept {
    const std::lock_guard lock(mutex_);
    // A port that was never let in is closed as well.
    if (const auto at = ports_.find(context); at != ports_.end() && at->second == &port) ports_.erase(at);
}

Errc TcpTransport::hand_over(Handover& newcomer) noexcept {
    const std::lock_guard lock(mutex_);
    const auto at = ports_.find(newcomer.greeting.hello.peer_context);
    if (at == ports_.end()) return Errc::unreachable;
    if (at->second->inbox().full()) return Errc::overloaded;
    at->second->inbox().put(std::move(newcomer));
    at->second->host().wake();
    return Errc::ok;
}

Result<std::unique_ptr<na::Memory>> TcpTransport::register_memory(std::span<const na::Segment> segments,
                                                                  na::Access access) {
    CINNABAR_TRY_VOID(registrations_->admit(segments, segments_max));
    return std::unique_ptr<na::Memory>(std::make_unique<na::CountedMemory>(*this, segments, access, registrations_));
}

Errc TcpTransport::revoke(na::Lease& lease) noexcept {
    leases_.revoke(lease);
    return Errc::ok;
}

void TcpTransport::describe(const na::Lease& lease, Writer& writer) const noexcept {
    na::LeaseKey{lease.slot, lease.generation, lease.key}.encode(writer);
}

std::string TcpTransport::diagnosis() const {
    rlimit files{};
    (void)::getrlimit(RLIMIT_NOFILE, &files);
    std::string text = endpoints_.empty() ? "does not listen" : "listens at";
    for (const std::string& endpoint : endpoints_) text += " " + endpoint;
    return text + "; at most " + std::to_string(files.rlim_cur) + " open files";
}

}  // namespace cinnabar::tcp
