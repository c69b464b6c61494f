// SPDX-License-Identifier: BSD-3-Clause
#include "sealed/transport.hpp"

#include "sealed/frame.hpp"
#include "sealed/pending_proofs.hpp"
#include "sealed/port.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/random.hpp>
#include <cinnabar/tls/guards_of.hpp>
#include <cinnabar/tls/sealed.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

namespace cinnabar::tls {
namespace {

// The options of CINNABAR_TLS_ADDRESS_OPTIONS, which are not passed to the transport below.
constexpr std::array<std::string_view, 8> own_options{"key", "cert", "cert_key",   "ca",
                                                      "crl", "name", "key_update", "resume"};

constexpr std::string_view after_scheme_of_endpoint = "://";

na::Uri uri_below(const na::Uri& uri, const na::PluginInfo& below) {
    na::Uri result = uri;
    result.scheme = std::string(below.scheme);
    std::erase_if(result.query, [](const auto& option) {
        return std::find(own_options.begin(), own_options.end(), option.first) != own_options.end();
    });
    return result;
}

// The transport below gets room for what sealing adds to each message. Its limit of connections has additional room for
// connections that have not proven their identity, so that these do not take the place of proven ones.
na::TransportOptions options_below(const na::TransportOptions& options) {
    na::TransportOptions result = options;
    constexpr std::size_t added = (sealed_overhead_bytes + 7) & ~std::size_t{7};
    constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
    result.message_bytes_max = options.message_bytes_max + added;
    result.connections_max =
        std::min(options.connections_max, most - PendingProofs::pending_max) + PendingProofs::pending_max;
    result.tls = {};
    return result;
}

}  // namespace

Result<std::unique_ptr<na::Transport>> open_sealed(const na::Uri& uri, const na::TransportOptions& options,
                                                   const char* scheme, const na::PluginInfo& below) {
    return SealedTransport::open(uri, options, scheme, below);
}

SealedTransport::SealedTransport(const na::TransportOptions& options, const char* scheme, std::string_view scheme_below,
                                 std::unique_ptr<na::Transport> below, std::unique_ptr<RenewedGuards> guards)
    : SessionTransport(options, below->incarnation()),
      scheme_(scheme),
      scheme_below_(scheme_below),
      below_(std::move(below)),
      guards_(std::move(guards)) {
    caps_.detects_loss = below_->caps().detects_loss;
    caps_.wait_fd = below_->caps().wait_fd;
    caps_.same_host_only = below_->caps().same_host_only;
    caps_.proves_peers = true;
    caps_.confines = caps_.admits_guests = true;
    if (below_->limits().connections_max > 0)
        limits_.connections_max = std::min(options.connections_max, below_->limits().connections_max);
    for (const std::string& endpoint : below_->endpoints()) {
        const auto at = endpoint.find(after_scheme_of_endpoint);
        CINNABAR_ASSERT(at != endpoint.npos);
        endpoints_.push_back(std::string(scheme_) + endpoint.substr(at));
    }
    guards_->tell_of_renewals(&SealedTransport::renewed, this);
}

SealedTransport::~SealedTransport() {
    guards_->tell_of_renewals(nullptr, nullptr);
    CINNABAR_ASSERT(ports_.empty());
}

void SealedTransport::renewed(void* self) {
    static_cast<SealedTransport*>(self)->ports_.each([](SealedPort& port) { port.withdrawn_credentials().renewed(); });
}

Result<std::unique_ptr<na::Transport>> SealedTransport::open(const na::Uri& uri, const na::TransportOptions& options,
                                                             const char* scheme, const na::PluginInfo& below) {
    CINNABAR_TRY(std::unique_ptr<na::StreamGuards> guards, guards_of(uri, options, {scheme, 0}));
    CINNABAR_TRY(std::unique_ptr<na::Transport> transport, below.open(uri_below(uri, below), options_below(options)));
    if (!transport->caps().ordered) {
        return Error(Errc::unsupported, "messages are sealed in order, which the transport below does not keep",
                     std::string(below.scheme));
    }
    // guards_of() returns an object of this class.
    std::unique_ptr<RenewedGuards> renewed_guards(static_cast<RenewedGuards*>(guards.release()));
    return std::unique_ptr<na::Transport>(
        new SealedTransport(options, scheme, below.scheme, std::move(transport), std::move(renewed_guards)));
}

std::string SealedTransport::below_of(std::string_view endpoint) const {
    if (!endpoint.starts_with(scheme_)) return {};
    endpoint.remove_prefix(scheme_.size());
    if (!endpoint.starts_with(after_scheme_of_endpoint)) return {};
    return std::string(scheme_below_) + std::string(endpoint);
}

bool SealedTransport::reaches(std::string_view endpoint) const noexcept {
    try {
        const std::string there = below_of(endpoint);
        return !there.empty() && below_->reaches(there);
    } catch (const std::bad_alloc&) {
        return false;
    }
}

Result<na::Addr> SealedTransport::below_of(const na::Addr& addr) const {
    const na::AddrBody& body = addr.body();
    std::vector<std::string> there;
    for (const std::string& endpoint : body.endpoints) {
        if (std::string same = below_of(std::string_view(endpoint)); !same.empty()) there.push_back(std::move(same));
    }
    if (there.empty())
        return Error(Errc::unreachable, "that address has no endpoint of this transport", addr.to_string());
    const na::Addr any = na::Addr::make(std::move(there), 0, body.incarnation);
    return body.names_context ? any.with_context(body.context) : any;
}

bool SealedTransport::is_own(const na::Addr& addr) const noexcept {
    bool own = false;
    for (const std::string& endpoint : addr.body().endpoints) {
        if (!reaches(endpoint)) continue;
        if (std::find(endpoints_.begin(), endpoints_.end(), endpoint) == endpoints_.end()) return false;
        own = true;
    }
    return own;
}

std::uint64_t SealedTransport::number_of_dial(const na::Addr& addr) noexcept {
    const std::uint64_t number = secret_u64() | 1;
    // If there is no memory to remember the number, the dial is refused as if it had been reflected.
    if (is_own(addr) && !self_dial_numbers_.add(number)) na::log_connection_dropped(*this);
    return number;
}

Result<std::unique_ptr<na::Port>> SealedTransport::open_port(na::PortHost& host) {
    auto port = std::make_unique<SealedPort>(*this, host);
    CINNABAR_TRY_VOID(port->open());
    CINNABAR_TRY_VOID(ports_.add(*port, options()));
    return std::unique_ptr<na::Port>(std::move(port));
}

Result<std::unique_ptr<na::Memory>> SealedTransport::register_memory(std::span<const na::Segment> segments,
                                                                     na::Access access) {
    CINNABAR_TRY_VOID(registrations_->admit(segments, segments_max));
    return std::unique_ptr<na::Memory>(std::make_unique<na::CountedMemory>(*this, segments, access, registrations_));
}

Errc SealedTransport::revoke(na::Lease& lease) noexcept {
    leases_.revoke(lease);
    return Errc::ok;
}

void SealedTransport::describe(const na::Lease& lease, ByteWriter& writer) const noexcept {
    na::LeaseKey{lease.slot, lease.generation, lease.key}.encode(writer);
}

std::string SealedTransport::diagnosis() const {
    return below_->diagnosis() + "; " + guards_->diagnosis() +
           "; messages and transfers by AES-128-GCM, carried out by the processes: no memory is lent to " +
           std::string(scheme_below_) + " itself";
}

}  // namespace cinnabar::tls
