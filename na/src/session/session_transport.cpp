// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/random.hpp>
#include <cinnabar/na/session/remote_access.hpp>
#include <cinnabar/na/session/session_transport.hpp>
#include <cinnabar/na/session/socket.hpp>

#include <algorithm>

namespace cinnabar::na {

SessionTransport::SessionTransport(const TransportOptions& options) : SessionTransport(options, secret_u64()) {}

SessionTransport::SessionTransport(const TransportOptions& options, Incarnation incarnation)
    : options_(options), registrations_(std::make_shared<Registrations>(options)), incarnation_(incarnation) {
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
    limits_.lease_key_bytes_max = LeaseKey::wire_bytes;
    limits_.rma_inflight_max = AccessPools::admitted_max;
    limits_.receive_slots = options.receive_slots;
    limits_.send_slots = options.send_slots_max;
    limits_.connections_max = options.connections_max;
}

void SessionTransport::let_receive_slots_grow() noexcept {
    constexpr std::uint64_t growth = 16;
    constexpr std::uint64_t most = ~std::uint32_t{0};
    limits_.receive_slots_max = static_cast<std::uint32_t>(std::min(growth * limits_.receive_slots, most));
}

Result<std::unique_ptr<Memory>> SessionTransport::register_memory(std::span<const Segment> segments, Access access) {
    CINNABAR_TRY_VOID(registrations_->admit(segments, limits_.segments_max));
    return std::unique_ptr<Memory>(std::make_unique<CountedMemory>(*this, segments, access, registrations_));
}

void SessionTransport::describe(const Lease& lease, ByteWriter& writer) const noexcept {
    LeaseKey{lease.slot, lease.generation, lease.key}.encode(writer);
}

SocketTransport::SocketTransport(const TransportOptions& options) : SessionTransport(options) {
    caps_.confines = caps_.admits_guests = true;
}

Result<void> SocketTransport::open_socket(const Uri& at) {
    if (options_.listen) {
        CINNABAR_TRY(const std::vector<SocketAddress> addresses, resolve(at, Purpose::listen));
        CINNABAR_TRY(listener_, listen_at(addresses));
        endpoints_ = reachable_endpoints(SocketAddress::local_of(listener_.get()), scheme());
    } else if (!at.host.empty()) {
        CINNABAR_TRY(const std::vector<SocketAddress> addresses, resolve(at, Purpose::listen));
        source_ = addresses.front();
        source_->set_port(0);
    }
    return {};
}

std::string SocketTransport::listens_at() const {
    std::string text = endpoints_.empty() ? "does not listen" : "listens at";
    for (const std::string& endpoint : endpoints_) text += " " + endpoint;
    return text;
}

Errc SocketTransport::revoke(Lease& lease) noexcept {
    leases_.revoke(lease);
    return Errc::ok;
}

void SessionTransport::log_malformed(const Peer& from, const char* what) noexcept {
    log_limited(malformed_lines_, LogLevel::warning, LogModule::named(scheme()),
                {peer_field(from.addr()), transport_field(scheme()), error_field(Errc::protocol)},
                "%s from %s: its session is closed", what, from.addr().log_name().c_str());
}

}  // namespace cinnabar::na
