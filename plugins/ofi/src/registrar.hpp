// SPDX-License-Identifier: BSD-3-Clause
// How memory is made known to a fabric, in whatever way its provider wants it: under virtual addresses or offsets, keys
// of the provider or our own, bound to the endpoint or not, with keys of any length. Owner of the context only.
#pragma once

#include "libfabric.hpp"
#include "piece.hpp"

#include <cinnabar/base/error.hpp>

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace cinnabar::ofi {

// A registration. Empty where the provider needs none.
using Registration = Fid<fid_mr>;

// Where memory of a peer begins for this side's provider.
struct RemoteKey {
    std::uint64_t address = 0;
    std::uint64_t key = 0;
};

class Registrar {
  public:
    // `reads`: fi_read goes into local memory as well. Domain and endpoint outlive every registration.
    Registrar(fid_domain& domain, fid_ep& endpoint, const fi_domain_attr& attributes, bool reads) noexcept;

    // Whether memory has to be registered before the provider may send from it or receive into it.
    [[nodiscard]] bool wants_local() const noexcept;
    // For that. Requires: wants_local().
    [[nodiscard]] Errc local(const iovec& memory, Registration& out) const noexcept;
    // Memory that peers may read, and what they have to know for it.
    [[nodiscard]] Errc readable(const iovec& memory, Registration& out, PieceName& name) const noexcept;

    // By what this side's provider reads what a peer named; given back by forget(). protocol: no provider of this kind
    // names memory so.
    [[nodiscard]] Errc learn(const PieceName& name, RemoteKey& out) const noexcept;
    void forget(const RemoteKey& learnt) const noexcept;

  private:
    [[nodiscard]] Errc add(const iovec& memory, std::uint64_t access, Registration& out) const noexcept;

    fid_domain* domain_;
    fid_ep* endpoint_;
    std::uint64_t mode_;  // FI_MR_...
    std::uint64_t keys_;  // which bits a key may have
    std::uint64_t local_access_;
};

}  // namespace cinnabar::ofi
