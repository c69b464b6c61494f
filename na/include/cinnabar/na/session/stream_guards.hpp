// SPDX-License-Identifier: BSD-3-Clause
// The guards of all connections of one transport. Any thread.
#pragma once

#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/session/stream.hpp>

#include <string>
#include <string_view>

namespace cinnabar::na {

// Creates the guards that protect a transport's connections. The guards may outlive this object.
class StreamGuards {
  public:
    virtual ~StreamGuards() = default;
    // Create the guard of a connection. out_of_memory.
    [[nodiscard]] virtual Errc protect_accepted(Stream& stream) const noexcept = 0;
    [[nodiscard]] virtual Errc protect_dialled(Stream& stream, const Addr& peer) const noexcept = 0;
    // Whether the key or certificate that the other side of an established connection has proven is still valid.
    // `guard` was created by this object.
    [[nodiscard]] virtual bool knows(const StreamGuard& guard) const noexcept = 0;
    // Sets a function that is called, on any thread, each time the valid keys and certificates have changed. Null:
    // none. When tell_of_renewals() returns, the previous function is not running and will not be called.
    virtual void tell_of_renewals(void (*renewed)(void* user), void* user) noexcept = 0;
    // For `cinnabar info`.
    [[nodiscard]] virtual std::string diagnosis() const = 0;
};

// Logs, for a connection over `scheme` whose socket is `fd`, that the peer refused a dial without a guard, because it
// must be dialled by `protected_scheme`.
CINNABAR_API void log_refused_without_guard(std::string_view scheme, int fd, const char* protected_scheme) noexcept;

}  // namespace cinnabar::na
