// SPDX-License-Identifier: BSD-3-Clause
// The key of a server that was given none and that only its own host can reach. The loopback is open to every user of
// the host, so the server makes a key, in a file that only its user can read, and clients of that user find it there by
// the server's address (docs/save-service.md, "Keys"). Any thread.
#pragma once

#include "session/key.hpp"

#include <cinnabar/base/result.hpp>

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tools {

// A server's: new for each start, and gone with it.
class AutomaticKey {
  public:
    [[nodiscard]] static AutomaticKey make();
    AutomaticKey(AutomaticKey&&) noexcept = default;
    AutomaticKey& operator=(AutomaticKey&&) = delete;
    ~AutomaticKey();

    [[nodiscard]] Key key() const { return Key::from(text_).value(); }
    // Puts it where clients look for the server that listens there. What another server left there is replaced.
    // permission, not_found: this user has no folder that is its own alone.
    [[nodiscard]] Result<void> publish(std::string_view endpoint);

  private:
    explicit AutomaticKey(std::string text) : text_(std::move(text)) {}
    std::string text_;
    std::vector<std::string> paths_;
};

// Removes what a killed server of this user left for that endpoint: who listens there now has another key, or none.
void forget_automatic_key(std::string_view endpoint) noexcept;

// The key that a server of this user made for one of the endpoints of `server` (an address, as a server prints it).
// Nothing: there is none. Errors of Key::load: there is one that cannot be trusted.
[[nodiscard]] Result<std::optional<Key>> find_automatic_key(std::string_view server);

}  // namespace cinnabar::tools
