// SPDX-License-Identifier: BSD-3-Clause
// Registers local memory with providers that need it. Keys are random, or chosen by the provider, and are never sent to
// peers. Owner of the context only.
#pragma once

#include "libfabric.hpp"

#include <cinnabar/base/error.hpp>

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace cinnabar::ofi {

// A registration. Empty if the provider needs none.
using Registration = Fid<fid_mr>;

class Registrar {
  public:
    // Domain and endpoint must outlive every registration.
    Registrar(fid_domain& domain, fid_ep& endpoint, const fi_domain_attr& attributes) noexcept;

    // Whether memory has to be registered before it is sent from or received into.
    [[nodiscard]] bool wants_local() const noexcept;
    // Registers memory for sending and receiving. Requires: wants_local().
    [[nodiscard]] Errc local(const iovec& memory, Registration& out) const noexcept;

  private:
    fid_domain* domain_;
    fid_ep* endpoint_;
    std::uint64_t mode_;  // FI_MR_...
    std::uint64_t keys_;  // the bits that a key may have
};

}  // namespace cinnabar::ofi
