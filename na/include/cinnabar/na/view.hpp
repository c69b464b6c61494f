// SPDX-License-Identifier: BSD-3-Clause
// A mapping of a peer's memory, for reading it in place without a copy. The peer's library must have allocated the
// memory (Region::allocate on that transport) and lent it, and the transport must be able to map it. One thread at a
// time.
#pragma once

#include <cinnabar/base/bytes.hpp>

namespace cinnabar::na {

// A view outlives the session, the context and the transport that it came from; the mapping stays readable as long as
// the view lives. Pages that the owner has freed read as zeros. The owner may write to the memory at any time.
class View {
  public:
    virtual ~View() = default;
    View(const View&) = delete;
    View& operator=(const View&) = delete;

    [[nodiscard]] ConstBytes bytes() const noexcept { return bytes_; }
    // Whether the lease is still granted. Call it after reading, and use the bytes read only if valid() returns true.
    // It also returns true after the peer has died.
    [[nodiscard]] virtual bool valid() const noexcept = 0;

  protected:
    explicit View(ConstBytes bytes) noexcept : bytes_(bytes) {}

  private:
    ConstBytes bytes_;
};

}  // namespace cinnabar::na
