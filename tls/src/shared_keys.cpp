// SPDX-License-Identifier: BSD-3-Clause
#include "shared_keys.hpp"

#include <algorithm>
#include <utility>

namespace cinnabar::tls {
namespace {

bool is_name_character(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == '@';
}

bool is_name(std::string_view text) noexcept {
    return !text.empty() && text.size() <= SharedKeys::name_bytes_max && std::ranges::all_of(text, is_name_character);
}

// Negative: not a hexadecimal digit.
int digit_of(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool decode_hex(std::string_view text, Bytes out) noexcept {
    for (std::size_t i = 0; i < out.size(); ++i) {
        const int high = digit_of(text[2 * i]);
        const int low = digit_of(text[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out[i] = static_cast<std::byte>(high << 4 | low);
    }
    return true;
}

}  // namespace

Result<SharedKeys> SharedKeys::load(const std::string& path) {
    CINNABAR_TRY(const SecretBytes file, read_secret_file(path));
    SharedKeys keys;
    CINNABAR_TRY(keys.secret_, SecretBytes::make(file.bytes().size() / 2));
    std::string_view rest = file.text();
    for (std::size_t number = 1; !rest.empty(); ++number) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        CINNABAR_TRY_VOID(keys.take_line(rest.substr(0, end), path + ":" + std::to_string(number)));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (keys.empty())
        return Error(Errc::invalid_argument, "the file has no key: make one with `cinnabar key new`", path);
    return keys;
}

Result<void> SharedKeys::take_line(std::string_view line, const std::string& place) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) return {};
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == line.npos || !is_name(name))
        return Error(Errc::invalid_argument, "a key is a line NAME:HEX: make one with `cinnabar key new`", place);
    const std::string_view hex = line.substr(colon + 1);
    if (hex.size() % 2 != 0 || hex.size() / 2 < key_bytes_min || hex.size() / 2 > key_bytes_max)
        return Error(Errc::invalid_argument, "a key has 16 to 64 bytes in hexadecimal digits", place);
    if (find(name)) return Error(Errc::invalid_argument, "two keys have the same name", place);
    const Bytes bytes = secret_.bytes().subspan(used_, hex.size() / 2);
    if (!decode_hex(hex, bytes))
        return Error(Errc::invalid_argument, "a key has 16 to 64 bytes in hexadecimal digits", place);
    used_ += bytes.size();
    keys_.push_back({std::string(name), bytes});
    return {};
}

const SharedKeys::Key* SharedKeys::find(std::string_view name) const noexcept {
    const auto at = std::ranges::find_if(keys_, [&](const Key& key) { return key.name == name; });
    return at == keys_.end() ? nullptr : &*at;
}

}  // namespace cinnabar::tls
