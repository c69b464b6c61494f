// SPDX-License-Identifier: BSD-3-Clause
// The key that a server on the loopback makes if it was given none. Every user of the host can reach the loopback, so
// the key lies in a file that only the server's user can read; clients of that user find it by the server's address
// (docs/save-service.md, "Keys"). Any thread.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/files/key.hpp>

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::files {

// The key of one server. It is new at each start, and its files are removed when the server ends.
class CINNABAR_API AutomaticKey {
  public:
    [[nodiscard]] static AutomaticKey make();
    AutomaticKey(AutomaticKey&&) noexcept = default;
    AutomaticKey& operator=(AutomaticKey&&) = delete;
    ~AutomaticKey();

    [[nodiscard]] Key key() const { return Key::from(text_).value(); }
    // Writes it to where clients look for the key of `endpoint`. Replaces what another server left there.
    // permission, not_found: this user has no folder that is its own alone.
    [[nodiscard]] Result<void> publish(std::string_view endpoint);

  private:
    explicit AutomaticKey(std::string text) : text_(std::move(text)) {}
    std::string text_;
    std::vector<std::string> paths_;
};

// Removes the key file that a killed server of this user left for the endpoint.
CINNABAR_API void forget_automatic_key(std::string_view endpoint) noexcept;

// The key that a server of this user made for one of the endpoints of `server` (an address, as a server prints it).
// Empty: there is none. Errors of Key::load: there is one, and it cannot be trusted.
[[nodiscard]] CINNABAR_API Result<std::optional<Key>> find_automatic_key(std::string_view server);

}  // namespace cinnabar::files
