// SPDX-License-Identifier: BSD-3-Clause
// How local memory is made known to a fabric, where its provider wants that: under keys of the provider or our own,
// bound to the endpoint or not. Peers get no keys. Owner of the context only.
#pragma once

#include "libfabric.hpp"

#include <cinnabar/base/error.hpp>

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace cinnabar::ofi {

// A registration. Empty where the provider needs none.
using Registration = Fid<fid_mr>;

class Registrar {
  public:
    // Domain and endpoint outlive every registration.
    Registrar(fid_domain& domain, fid_ep& endpoint, const fi_domain_attr& attributes) noexcept;

    // Whether memory has to be registered before the provider may send from it or receive into it.
    [[nodiscard]] bool wants_local() const noexcept;
    // For that. Requires: wants_local().
    [[nodiscard]] Errc local(const iovec& memory, Registration& out) const noexcept;

  private:
    fid_domain* domain_;
    fid_ep* endpoint_;
    std::uint64_t mode_;  // FI_MR_...
    std::uint64_t keys_;  // which bits a key may have
};

}  // namespace cinnabar::ofi
