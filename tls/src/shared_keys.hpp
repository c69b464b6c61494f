// SPDX-License-Identifier: BSD-3-Clause
// Pre-shared keys by name, from the lines NAME:HEX of a file. Immutable; any thread.
#pragma once

#include "secret_file.hpp"

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tls {

class SharedKeys {
  public:
    static constexpr std::size_t key_bytes_min = 16;
    static constexpr std::size_t key_bytes_max = 64;
    static constexpr std::size_t name_bytes_max = 128;

    struct Key {
        std::string name;
        ConstBytes bytes;
    };

    SharedKeys() = default;
    // Reads the keys in a file; skips empty lines and lines that begin with '#'. Errors of read_secret_file;
    // invalid_argument: a line is not NAME:HEX, a name has characters other than letters, digits and "-_.@" or occurs
    // twice, a key is too short or too long, or there is no key. The subject is the file and the line, without any
    // bytes of the key.
    [[nodiscard]] static Result<SharedKeys> load(const std::string& path);

    [[nodiscard]] bool empty() const noexcept { return keys_.empty(); }
    // The key that this side offers. Requires: not empty.
    [[nodiscard]] const Key& own() const noexcept { return keys_.front(); }
    // Null: unknown.
    [[nodiscard]] const Key* find(std::string_view name) const noexcept;

  private:
    [[nodiscard]] Result<void> take_line(std::string_view line, const std::string& place);

    std::vector<Key> keys_;
    SecretBytes secret_;  // the bytes of all keys
    std::size_t used_ = 0;
};

}  // namespace cinnabar::tls
