// SPDX-License-Identifier: BSD-3-Clause
// One line of JSON, built field by field, as printed by --json. Always valid JSON, whatever bytes a string has.
#pragma once

#include <cinnabar/base/error.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace cinnabar::tools {

class JsonObject {
  public:
    JsonObject& text(std::string_view key, std::string_view value);
    // Adds a file name. If it is not UTF-8, invalid bytes become U+FFFD, and a field `key`_hex has all bytes in hex.
    JsonObject& name(std::string_view key, std::string_view value);
    JsonObject& number(std::string_view key, std::uint64_t value);
    JsonObject& number(std::string_view key, double value);  // null when it is not finite
    JsonObject& flag(std::string_view key, bool value);
    // Adds a value that is already JSON.
    JsonObject& raw(std::string_view key, std::string_view json);
    // Adds "error": {"code", "text", "exit"}.
    JsonObject& failure(const Error& error);

    [[nodiscard]] std::string line() const { return body_ + "}"; }

  private:
    void key(std::string_view key);
    std::string body_ = "{";
};

// The name of the enumerator, for example "not_found", for scripts.
[[nodiscard]] std::string code_word(Errc code);

// A JSON string literal, including quotes.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace cinnabar::tools
