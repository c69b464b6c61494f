// SPDX-License-Identifier: BSD-3-Clause
// Memory of a peer where it is, for reading without a copy: what the peer's library allocated (Region::allocate on that
// transport) and lent, on a transport that can map it. One thread at a time.
#pragma once

#include <cinnabar/base/bytes.hpp>

namespace cinnabar::na {

// Outlives the session, the context and the transport that it came from, and can be read for as long as it lives: what
// the owner gave back to its system reads as zeros. The owner may write there at any time.
class View {
  public:
    virtual ~View() = default;
    View(const View&) = delete;
    View& operator=(const View&) = delete;

    [[nodiscard]] ConstBytes bytes() const noexcept { return bytes_; }
    // Whether the lease still stands. Ask after reading: what was read counts only if it does. The lease of a peer that
    // died stands.
    [[nodiscard]] virtual bool valid() const noexcept = 0;

  protected:
    explicit View(ConstBytes bytes) noexcept : bytes_(bytes) {}

  private:
    ConstBytes bytes_;
};

}  // namespace cinnabar::na
