// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/parse_number.hpp>
#include <cinnabar/na/uri.hpp>

#include <algorithm>

namespace cinnabar::na {
namespace {

constexpr std::size_t uri_bytes_max = 1024;

bool scheme_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-' ||
           c == '.' || c == ';' || c == '_';
}

bool printable(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

Error malformed(std::string_view hint, std::string_view text) {
    return Error(Errc::bad_address, hint, std::string(text.substr(0, 128)));
}

std::string_view cut_before(std::string_view& rest, char separator) {
    const auto at = rest.find(separator);
    std::string_view head = rest.substr(0, at);
    rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
    return head;
}

}  // namespace

bool Uri::begins(std::string_view text) noexcept {
    const auto end = std::find_if_not(text.begin(), text.end(), scheme_character);
    return end != text.begin() && text.substr(static_cast<std::size_t>(end - text.begin())).starts_with("://");
}

std::string_view Uri::first_of(std::string_view list) noexcept {
    std::size_t comma = list.find(',');
    while (comma != list.npos && !begins(list.substr(comma + 1))) comma = list.find(',', comma + 1);
    return list.substr(0, comma);
}

std::vector<std::string_view> Uri::split(std::string_view list) {
    std::vector<std::string_view> addresses{first_of(list)};
    while (addresses.back().size() < list.size()) {
        list.remove_prefix(addresses.back().size() + 1);
        addresses.push_back(first_of(list));
    }
    return addresses;
}

Result<Uri> Uri::parse(std::string_view text) {
    if (text.size() > uri_bytes_max) return malformed("an address is at most 1024 bytes long", text);
    if (!printable(text)) return malformed("an address has only printable characters and no blanks", text);
    const auto colon = text.find("://");
    if (colon == std::string_view::npos || colon == 0) return malformed("write an address as scheme://host:port", text);

    Uri uri;
    uri.scheme = text.substr(0, colon);
    if (!std::all_of(uri.scheme.begin(), uri.scheme.end(), scheme_character)) {
        return malformed("a scheme has only letters, digits, '+', '-', '.', ';' and '_'", text);
    }
    std::transform(uri.scheme.begin(), uri.scheme.end(), uri.scheme.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });

    std::string_view query = text.substr(colon + 3);
    std::string_view path = cut_before(query, '?');
    std::string_view authority = cut_before(path, '/');
    uri.path = path;

    std::string_view port;
    if (authority.starts_with('[')) {
        const auto close = authority.find(']');
        if (close == std::string_view::npos) return malformed("an IPv6 host needs a closing bracket", text);
        uri.host = authority.substr(1, close - 1);
        port = authority.substr(close + 1);
        if (!port.empty() && port.front() != ':') return malformed("a port after ']' needs a ':' before it", text);
        if (!port.empty()) port.remove_prefix(1);
    } else {
        const auto last = authority.rfind(':');
        if (last != std::string_view::npos && authority.find(':') != last) {
            return malformed("an IPv6 host must be in brackets", text);
        }
        uri.host = authority.substr(0, last);
        if (last != std::string_view::npos) port = authority.substr(last + 1);
    }
    if (uri.host.find_first_of("[]") != std::string::npos) return malformed("brackets are only for IPv6 hosts", text);
    if (!port.empty()) {
        uri.port = parse_number<std::uint16_t>(port);
        if (!uri.port) return malformed("a port is a number from 0 to 65535", text);
    }

    while (!query.empty()) {
        std::string_view value = cut_before(query, '&');
        if (value.empty()) continue;
        std::string name(cut_before(value, '='));
        if (name.empty() && value.empty()) continue;
        if (name.empty()) return malformed("an option of an address has a name", text);
        uri.query.emplace_back(std::move(name), std::string(value));
    }
    return uri;
}

std::string Uri::to_string() const {
    std::string text = scheme + "://";
    const bool bracketed = host.find(':') != std::string::npos;
    if (bracketed) text += '[';
    text += host;
    if (bracketed) text += ']';
    if (port) text += ':' + std::to_string(*port);
    if (!path.empty()) text += '/' + path;
    char separator = '?';
    for (const auto& [name, value] : query) {
        text += separator + name;
        if (!value.empty()) text += '=' + value;
        separator = '&';
    }
    return text;
}

std::string_view Uri::option(std::string_view name) const noexcept {
    for (const auto& [key, value] : query) {
        if (key == name) return value;
    }
    return {};
}

}  // namespace cinnabar::na
