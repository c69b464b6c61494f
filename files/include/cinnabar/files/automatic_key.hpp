// SPDX-License-Identifier: BSD-3-Clause
// The key that a server on the loopback interface generates if none was configured. Every user of the host can connect
// to the loopback, so the key is stored in a file that only the server's user can read. Clients of the same user find
// the file by the server's address (docs/save-service.md, "Keys"). Any thread.
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

// The key of one running server. It is generated at each start; the destructor removes its files.
class CINNABAR_API AutomaticKey {
  public:
    [[nodiscard]] static AutomaticKey make();
    AutomaticKey(AutomaticKey&&) noexcept = default;
    AutomaticKey& operator=(AutomaticKey&&) = delete;
    ~AutomaticKey();

    [[nodiscard]] Key key() const { return Key::from(text_).value(); }
    // Writes the key file for `endpoint` to the place where clients look for it, replacing the file of an earlier
    // server. not_found: this user has no suitable folder. permission: the folder for keys is accessible to other
    // users. bad_address: `endpoint` cannot be parsed. Also the errors of creating and writing a file.
    [[nodiscard]] Result<void> publish(std::string_view endpoint);

  private:
    explicit AutomaticKey(std::string text) : text_(std::move(text)) {}
    std::string text_;
    std::vector<std::string> paths_;
};

// Removes this user's key file for `endpoint`, if there is one. Requires: no running server uses that file, for example
// because the caller listens on the endpoint itself.
CINNABAR_API void forget_automatic_key(std::string_view endpoint) noexcept;

// Looks for a key that a server of this user published for one of the endpoints of `server` (an address as a server
// prints it). Empty if there is none. Errors: those of Key::load(), if a key file exists but cannot be trusted; those
// of na::Addr::parse().
[[nodiscard]] CINNABAR_API Result<std::optional<Key>> find_automatic_key(std::string_view server);

}  // namespace cinnabar::files
