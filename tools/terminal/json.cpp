// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/json.hpp"

#include "terminal/exit_code.hpp"

#include <cinnabar/base/utf8.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cinnabar::tools {

std::string json_string(std::string_view text) {
    std::string json = "\"";
    while (!text.empty()) {
        const auto length = utf8_sequence_bytes(text);
        const auto first = static_cast<unsigned char>(text[0]);
        if (length == 0) {
            json += "\\ufffd";
        } else if (first == '"' || first == '\\') {
            json.append(1, '\\').append(1, text[0]);
        } else if (first < 0x20 || first == 0x7f) {
            json += fmt::format("\\u{:04x}", first);
        } else {
            json += text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return json += '"';
}

void JsonObject::key(std::string_view key) {
    if (body_.size() > 1) body_ += ", ";
    body_.append(json_string(key)).append(": ");
}

JsonObject& JsonObject::text(std::string_view key, std::string_view value) {
    this->key(key);
    body_ += json_string(value);
    return *this;
}

JsonObject& JsonObject::name(std::string_view key, std::string_view value) {
    text(key, value);
    bool utf8 = true;
    for (auto rest = value; !rest.empty() && utf8;) {
        const auto length = utf8_sequence_bytes(rest);
        utf8 = length != 0;
        rest.remove_prefix(length);
    }
    if (utf8) return *this;
    std::string hex;
    for (const char byte : value) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return text(std::string(key) + "_hex", hex);
}

JsonObject& JsonObject::number(std::string_view key, std::uint64_t value) {
    this->key(key);
    body_ += fmt::format("{}", value);
    return *this;
}

JsonObject& JsonObject::number(std::string_view key, double value) {
    this->key(key);
    body_ += std::isfinite(value) ? fmt::format("{:.6g}", value) : "null";
    return *this;
}

JsonObject& JsonObject::flag(std::string_view key, bool value) {
    this->key(key);
    body_ += value ? "true" : "false";
    return *this;
}

JsonObject& JsonObject::raw(std::string_view key, std::string_view json) {
    this->key(key);
    body_ += json;
    return *this;
}

std::string code_word(Errc code) {
    std::string word(to_string(code));
    std::ranges::replace(word, ' ', '_');
    return word;
}

JsonObject& JsonObject::failure(const Error& error) {
    JsonObject object;
    object.text("code", code_word(error.code)).text("text", error.message());
    object.number("exit", static_cast<std::uint64_t>(exit_code(error.code)));
    return raw("error", object.line());
}

}  // namespace cinnabar::tools
