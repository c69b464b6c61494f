// SPDX-License-Identifier: BSD-3-Clause
// Address strings: scheme://host:port?name=value&... Parses only, looks nothing up; the text is hostile input. The
// grammar is in docs/wire-format.md, "Address strings".
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cinnabar::na {

// The part of a scheme that names the plugin: "ofi" of "ofi+tcp".
[[nodiscard]] constexpr std::string_view family_of(std::string_view scheme) noexcept {
    return scheme.substr(0, scheme.find('+'));
}

struct Uri {
    std::string scheme;  // "tcp", "ofi+verbs"; lower case
    std::string host;    // without the brackets of IPv6; empty means any interface, or this host
    std::optional<std::uint16_t> port;
    std::string path;  // what follows the first '/' after the authority, without that '/'
    std::vector<std::pair<std::string, std::string>> query;

    // Parses one address. bad_address: no "://", an empty scheme or unknown characters in it, a port above 65535, an
    // unclosed bracket, text after a closing bracket, IPv6 without brackets, an option without a name, characters that
    // cannot be printed, over 1024 bytes.
    [[nodiscard]] CINNABAR_API static Result<Uri> parse(std::string_view text);
    // Whether `text` begins with a scheme and "://".
    [[nodiscard]] CINNABAR_API static bool begins(std::string_view text) noexcept;
    // The first address of a comma-separated list. A comma that no address follows is part of the address before it.
    [[nodiscard]] CINNABAR_API static std::string_view first_of(std::string_view list) noexcept;
    // All addresses of a list, at least one, which may be empty.
    [[nodiscard]] CINNABAR_API static std::vector<std::string_view> split(std::string_view list);
    // The shortest text that parses to the same uri; IPv6 hosts are in brackets.
    [[nodiscard]] CINNABAR_API std::string to_string() const;
    [[nodiscard]] CINNABAR_API std::string_view option(std::string_view name) const noexcept;

    friend bool operator==(const Uri&, const Uri&) = default;
};

}  // namespace cinnabar::na
