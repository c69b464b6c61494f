// SPDX-License-Identifier: BSD-3-Clause
// One `self` network: the contexts of one process that were opened on it. Transports of the same process reach each
// other by name. A transport with ?alone=yes, by which a node reaches itself, is reached only by its own contexts. Any
// thread.
#pragma once

#include "mailbox.hpp"

#include <cinnabar/na/session/session_transport.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cinnabar::self_ {

class SelfTransport final : public na::SessionTransport {
  public:
    // `name`: its name in the process; empty: a random one. Null: the name is taken.
    [[nodiscard]] static std::unique_ptr<SelfTransport> make(const std::string& name, bool alone,
                                                             const na::TransportOptions& options);
    ~SelfTransport() override;

    [[nodiscard]] std::string_view scheme() const noexcept override { return "self"; }
    // Always one endpoint: contexts of a process reach each other without listening.
    [[nodiscard]] std::vector<std::string> endpoints() const override { return {network_->endpoint}; }
    // "self://" without a name means this transport.
    [[nodiscard]] bool reaches(std::string_view endpoint) const noexcept override;

    [[nodiscard]] Result<std::unique_ptr<na::Port>> open_port(na::PortHost& host) override;
    [[nodiscard]] Errc grant(na::Lease& lease) noexcept override { return network_->leases.grant(lease); }
    [[nodiscard]] Errc revoke(na::Lease& lease) noexcept override;
    [[nodiscard]] std::string diagnosis() const override { return "memory of this process"; }

    // Used by the ports. find(): the mailbox of that context of the transport with that endpoint; null: there is none.
    [[nodiscard]] std::shared_ptr<Mailbox> find(std::string_view endpoint, na::ContextId context);
    [[nodiscard]] bool is_own(std::string_view endpoint) const noexcept {
        return endpoint == network_->endpoint || endpoint == "self://";
    }
    void close_port(na::ContextId context);
    [[nodiscard]] na::Addr addr_of(na::ContextId context) const;
    // The number of the next connection. Numbers grow in the order of the dials, in the whole process.
    [[nodiscard]] static std::uint64_t next_connection() noexcept;

  private:
    SelfTransport(std::shared_ptr<Network> network, bool alone, const na::TransportOptions& options);
    [[nodiscard]] std::shared_ptr<Mailbox> own_mailbox(na::ContextId context);

    const std::shared_ptr<Network> network_;
    bool alone_;
    std::mutex mutex_;  // guards mailboxes_
    std::vector<std::shared_ptr<Mailbox>> mailboxes_;
};

}  // namespace cinnabar::self_
