// SPDX-License-Identifier: BSD-3-Clause
// The base of transports whose ports are SessionPorts. Any thread.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/log.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/lease_table.hpp>
#include <cinnabar/na/registrations.hpp>
#include <cinnabar/na/session/self_dials.hpp>
#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/transport.hpp>
#include <cinnabar/na/uri.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::na {

class CINNABAR_API SessionTransport : public Transport {
  public:
    [[nodiscard]] const Caps& caps() const noexcept final { return caps_; }
    [[nodiscard]] const Limits& limits() const noexcept final { return limits_; }
    [[nodiscard]] Incarnation incarnation() const noexcept final { return incarnation_; }
    [[nodiscard]] const TransportOptions& options() const noexcept { return options_; }
    // A registration consists of its segments, at most limits().segments_max, and the key of a lease is a LeaseKey. A
    // transport that keeps more with a registration, or sends more as a key, overrides these functions.
    [[nodiscard]] Result<std::unique_ptr<Memory>> register_memory(std::span<const Segment> segments,
                                                                  Access access) override;
    void describe(const Lease& lease, ByteWriter& writer) const noexcept override;
    [[nodiscard]] std::size_t described_bytes(const Lease&) const noexcept override { return LeaseKey::wire_bytes; }
    // Logs that a peer of this transport has sent `what`, such as "malformed frame", and that its session ends. Each
    // transport has a rate limit of its own: anybody can flood the log over `tcp`, and such a flood must not suppress
    // lines about `tcps`, whose peers have proven their identity.
    void log_malformed(const Peer& from, const char* what) noexcept;

  protected:
    // Slots for leases; each transfer of the layers above uses one.
    static constexpr std::uint32_t leases_max = 256 * 1024;
    static constexpr std::size_t segments_max = 64 * 1024;
    // The largest put or get: with larger ones, cancellation and progress reports would only get coarser.
    static constexpr std::size_t rma_bytes_max = 16 * 1024 * 1024;

    // Fills in the capabilities and limits that most transports share.
    explicit SessionTransport(const TransportOptions& options);
    SessionTransport(const TransportOptions& options, Incarnation incarnation);

    // For transports that take memory for a message only when it arrives: lets the receive slots of a context grow with
    // its connections, up to sixteen times TransportOptions::receive_slots.
    void let_receive_slots_grow() noexcept;

    TransportOptions options_;
    Caps caps_;
    Limits limits_;
    const std::shared_ptr<Registrations> registrations_;

  private:
    const Incarnation incarnation_;
    LogLimit malformed_lines_;
};

// The base of transports whose contexts connect over TCP sockets, and whose leases are in a LeaseTable.
class CINNABAR_API SocketTransport : public SessionTransport {
  public:
    [[nodiscard]] std::vector<std::string> endpoints() const final { return endpoints_; }
    [[nodiscard]] Errc grant(Lease& lease) noexcept final { return leases_.grant(lease); }
    void confine(const Lease& lease, const Peer& peer) noexcept final { leases_.confine(lease, peer); }
    [[nodiscard]] Errc revoke(Lease& lease) noexcept override;

    [[nodiscard]] LeaseTable& leases() noexcept { return leases_; }
    // The address that outgoing connections are bound to; null: the kernel picks one.
    [[nodiscard]] const SocketAddress* source() const noexcept { return source_ ? &*source_ : nullptr; }
    // Negative: the transport does not listen.
    [[nodiscard]] int listener() const noexcept { return listener_.get(); }
    [[nodiscard]] SelfDials& self_dials() noexcept { return self_dials_; }

  protected:
    explicit SocketTransport(const TransportOptions& options);
    // Opens the listening socket at that address if the options ask for it; otherwise `at` becomes source().
    [[nodiscard]] Result<void> open_socket(const Uri& at);
    // For diagnosis(): "listens at ..."
    [[nodiscard]] std::string listens_at() const;

    LeaseTable leases_{leases_max};

  private:
    UniqueFd listener_;
    std::optional<SocketAddress> source_;
    std::vector<std::string> endpoints_;
    SelfDials self_dials_;
};

}  // namespace cinnabar::na
