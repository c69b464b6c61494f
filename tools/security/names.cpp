// SPDX-License-Identifier: BSD-3-Clause
#include "security/names.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <string>

namespace cinnabar::tools::security {
namespace {

constexpr std::size_t name_bytes_max = 64;
constexpr std::size_t host_bytes_max = 253;

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

}  // namespace

Result<void> check_name(std::string_view name) {
    const auto allowed = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.' || c == '@'; };
    if (name.empty() || name.size() > name_bytes_max || !is_letter_or_digit(name.front()) ||
        !std::ranges::all_of(name, allowed))
        return Error(Errc::invalid_argument,
                     "a name has at most 64 letters, digits and -_.@, and begins with a letter or digit",
                     std::string(name));
    return {};
}

Result<void> check_host(std::string_view host) {
    if (is_ip(host)) return {};
    const std::string_view rest = host.starts_with("*.") ? host.substr(2) : host;
    const auto allowed = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_'; };
    if (rest.empty() || host.size() > host_bytes_max || !std::ranges::all_of(rest, allowed))
        return Error(Errc::invalid_argument, "a host is an IP address or a name", std::string(host));
    return {};
}

bool is_ip(std::string_view host) {
    in6_addr bytes{};
    const std::string text(host);
    return ::inet_pton(AF_INET, text.c_str(), &bytes) == 1 || ::inet_pton(AF_INET6, text.c_str(), &bytes) == 1;
}

}  // namespace cinnabar::tools::security
