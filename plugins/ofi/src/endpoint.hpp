// SPDX-License-Identifier: BSD-3-Clause
// One endpoint of the fabric with its completion queue and address table, in a domain of its own. Owner of the context
// only. Nothing here blocks.
#pragma once

#include "address_book.hpp"
#include "libfabric.hpp"
#include "registrar.hpp"
#include "selection.hpp"

#include <cinnabar/base/bytes.hpp>

#include <sys/uio.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::ofi {

// How a posted operation ended.
struct Done {
    Errc result = Errc::ok;
    std::size_t bytes = 0;        // received
    const char* words = nullptr;  // the provider's text for a failure; valid until `done` returns
    // Of a message: its sender, if the provider reports it and its address was inserted.
    fi_addr_t source = FI_ADDR_NOTAVAIL;
};

// A posted operation. libfabric uses it until Endpoint::poll calls `done`, once.
struct FabricOp {
    fi_context2 context{};  // first member, because libfabric returns its address
    void (*done)(FabricOp& self, const Done& done) noexcept = nullptr;
};

class Endpoint {
  public:
    [[nodiscard]] static Result<std::unique_ptr<Endpoint>> open(fid_fabric& fabric, const Selection& selection);

    // The address for others to insert, in the provider's format.
    [[nodiscard]] ConstBytes address() const noexcept { return address_; }
    // Inserts a peer's address for one session; call remove() when the session ends. Errors: as AddressBook::insert;
    // protocol: `address` is not one of this provider; permission: `address` names memory that other users can write
    // to.
    [[nodiscard]] Errc insert(ConstBytes address, fi_addr_t& out) noexcept;
    void remove(fi_addr_t address) noexcept { addresses_->remove(address); }

    // Calls `done` of completed operations, about `most` at a time; returns how many. Must not be called from a `done`.
    unsigned poll(unsigned most) noexcept;
    // Readable when poll() has something to do; -1 if the provider has no descriptor.
    [[nodiscard]] int wait_fd() const noexcept { return wait_fd_; }
    // Must be called before sleeping on wait_fd(). False: poll() may have something to do.
    [[nodiscard]] bool may_sleep() noexcept;

    // ok: `done` will be called once; again: the provider has no room, or is connecting; otherwise the operation failed
    // for good.
    [[nodiscard]] Errc send(const std::byte* from, std::size_t bytes, const Registration& memory, fi_addr_t to,
                            FabricOp& op) noexcept;
    // Sends bytes that the provider copies at once; no `done` runs. Requires: at most inject_bytes_max() bytes. The
    // limit is 0 for a provider that may lose a send, because only `done` would report the loss.
    [[nodiscard]] Errc inject(const std::byte* from, std::size_t bytes, fi_addr_t to) noexcept;
    [[nodiscard]] Errc receive(std::byte* to, std::size_t bytes, const Registration& memory, FabricOp& op) noexcept;
    [[nodiscard]] Errc send_tagged(const iovec* pieces, std::size_t count, const Registration& memory,
                                   std::uint64_t tag, fi_addr_t to, FabricOp& op) noexcept;
    // Receives from `from` only, if the provider can tell.
    [[nodiscard]] Errc receive_tagged(const iovec* pieces, std::size_t count, const Registration& memory,
                                      std::uint64_t tag, fi_addr_t from, FabricOp& op) noexcept;
    // `done` is still called, once.
    void cancel(FabricOp& op) noexcept;

    // Ends all posted operations without calling `done`.
    void close() noexcept;

    // Whether Done::source is set for messages from all addresses that were inserted.
    [[nodiscard]] bool tells_source() const noexcept { return tells_source_; }
    [[nodiscard]] std::size_t inject_bytes_max() const noexcept { return inject_bytes_max_; }
    // How many operations the provider has room for, all peers together.
    [[nodiscard]] std::size_t sends_max() const noexcept { return sends_max_; }
    // How many receives the provider says it has room for, messages and chunks together; some providers have more.
    [[nodiscard]] std::size_t receives_max() const noexcept { return receives_max_; }
    [[nodiscard]] std::size_t pieces_max() const noexcept { return pieces_max_; }
    [[nodiscard]] const Registrar& registrar() const noexcept { return *registrar_; }
    // Whether chunks must be copied through staging memory, because the provider cannot use an op's memory.
    [[nodiscard]] bool stages() const noexcept { return stages_; }
    // Whether chunks may be sent directly from leased memory.
    [[nodiscard]] bool sends_leased() const noexcept { return sends_leased_; }

  private:
    Endpoint() = default;
    [[nodiscard]] Result<void> enable(fi_info& info);
    [[nodiscard]] bool hand_out_failure() noexcept;
    [[nodiscard]] Errc sent(ssize_t outcome) noexcept;
    // Call when an operation with these flags has completed.
    void completed(std::uint64_t flags) noexcept;
    // rxd of 1.17 drops a send for which it has no room, and reports success (rxd_ep_generic_sendmsg).
    [[nodiscard]] bool has_send_room() const noexcept { return !counts_sends_ || sends_out_ < sends_max_; }

    // In the order of creation, because they must be closed in reverse.
    fid_fabric* fabric_ = nullptr;
    Fid<fid_domain> domain_;
    std::optional<AddressBook> addresses_;
    Fid<fid_cq> queue_;
    Fid<fid_ep> endpoint_;
    std::vector<std::byte> address_;
    std::size_t inject_bytes_max_ = 0;
    std::size_t sends_max_ = 0;
    std::size_t sends_out_ = 0;  // only if counts_sends_
    std::size_t receives_max_ = 0;
    std::size_t pieces_max_ = 1;
    int wait_fd_ = -1;
    bool sent_since_poll_ = false;
    bool stages_ = false;
    bool sends_leased_ = false;
    bool counts_sends_ = false;
    bool tags_messages_ = false;
    bool tells_source_ = false;
    bool maps_names_ = false;
    std::optional<Registrar> registrar_;
};

}  // namespace cinnabar::ofi
