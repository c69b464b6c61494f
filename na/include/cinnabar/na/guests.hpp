// SPDX-License-Identifier: BSD-3-Clause
// Guests: who may use a lease besides the peer that it is confined to (Lease::guests). Their connections to the owner
// of the memory are peers of their own, so they are named by what is known of a connection.
#pragma once

#include <cinnabar/na/addr.hpp>

namespace cinnabar::na {

class Guests {
  public:
    virtual ~Guests() = default;
    Guests(const Guests&) = delete;
    Guests& operator=(const Guests&) = delete;

    // `addr`: of the peer that sent the key. Any thread; must not block.
    [[nodiscard]] virtual bool include(const Addr& addr) const noexcept = 0;

  protected:
    Guests() = default;
};

}  // namespace cinnabar::na
