// SPDX-License-Identifier: BSD-3-Clause
// Guests: decides which other peers may use a lease that is confined to one peer (Lease::guests). A guest has a
// connection of its own to the owner of the memory, and is recognized by the address of that connection.
#pragma once

#include <cinnabar/na/addr.hpp>

namespace cinnabar::na {

class Guests {
  public:
    virtual ~Guests() = default;
    Guests(const Guests&) = delete;
    Guests& operator=(const Guests&) = delete;

    // `addr`: the address of the peer that sent the key. Any thread; must not block.
    [[nodiscard]] virtual bool include(const Addr& addr) const noexcept = 0;

  protected:
    Guests() = default;
};

}  // namespace cinnabar::na
