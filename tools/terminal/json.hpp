// SPDX-License-Identifier: BSD-3-Clause
// One line of JSON, built field by field: what --json prints. Always valid JSON, whatever bytes a name has.
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
    // A name: where its bytes are not UTF-8 they become U+FFFD, and `key`_hex has all of them.
    JsonObject& name(std::string_view key, std::string_view value);
    JsonObject& number(std::string_view key, std::uint64_t value);
    JsonObject& number(std::string_view key, double value);  // null when it is not finite
    JsonObject& flag(std::string_view key, bool value);
    // An array or object that is JSON already.
    JsonObject& raw(std::string_view key, std::string_view json);
    // "error": {"code", "text", "exit"}
    JsonObject& failure(const Error& error);

    [[nodiscard]] std::string line() const { return body_ + "}"; }

  private:
    void key(std::string_view key);
    std::string body_ = "{";
};

// The name in the enumeration, for example "not_found", for scripts.
[[nodiscard]] std::string code_word(Errc code);

// With its quotes.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace cinnabar::tools
