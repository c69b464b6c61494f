// SPDX-License-Identifier: BSD-3-Clause
#include "info_string.hpp"

#include <cinnabar/base/parse_number.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace cinnabar::mercury {
namespace {

struct Protocol {
    std::string_view name;      // Mercury's
    std::string_view of_class;  // class to use if the string names none
    std::string_view scheme;    // the core's scheme
};

// If the string names no class, the first entry with the protocol's name applies.
constexpr std::array<Protocol, 17> protocols{{
    {"sm", "na", "shm"},
    {"shm", "na", "shm"},
    {"tcp", "ofi", "tcp"},
    {"tcp;ofi_rxm", "ofi", "tcp"},
    {"sockets", "ofi", "tcp"},
    {"net", "ofi", "tcp"},
    {"tcp_rxm", "ofi", "tcp"},
    {"verbs", "ofi", "verbs"},
    {"verbs;ofi_rxm", "ofi", "verbs"},
    {"cxi", "ofi", "ofi+cxi"},
    {"efa", "ofi", "ofi+efa"},
    {"opx", "ofi", "ofi+opx"},
    {"psm3", "ofi", "ofi+psm3"},
    {"rc", "ucx", "verbs"},
    {"all", "ucx", "tcp"},
    {"self", "na", "self"},
    {"sim", "na", "sim"},
}};
constexpr std::array<std::string_view, 4> classes{"na", "ofi", "ucx", "bmi"};
// "cinnabar+" is followed by an address in the core's own form.
constexpr std::string_view own_class = "cinnabar";

struct Words {
    std::string_view name;
    std::string_view protocol;
    std::string_view address;  // after "://"
};

Words split(std::string_view text) {
    Words words;
    const auto end = text.find_first_of(":?");
    words.protocol = text.substr(0, end);
    if (end != text.npos) {
        words.address = text.substr(text[end] == ':' ? end + 1 : end);
        while (words.address.starts_with('/')) words.address.remove_prefix(1);
    }
    if (const auto plus = words.protocol.find('+'); plus != words.protocol.npos) {
        words.name = words.protocol.substr(0, plus);
        words.protocol.remove_prefix(plus + 1);
    }
    return words;
}

Result<Protocol> find(const Words& words, std::string_view text) {
    if (words.name == own_class) return Protocol{words.protocol, own_class, words.protocol};
    const bool known = words.name.empty() || std::find(classes.begin(), classes.end(), words.name) != classes.end();
    for (const Protocol& protocol : protocols) {
        if (known && protocol.name == words.protocol) return protocol;
    }
    return Error(Errc::unsupported, "write na+sm, sm, tcp, ofi+tcp, ofi+tcp;ofi_rxm, ofi+sockets or ofi+verbs;ofi_rxm",
                 std::string(text.substr(0, 128)));
}

// "mlx5_0/ib0:5000" is a device and an address; "name?x=y" ends with options.
std::string address_of(std::string_view address, const Protocol& protocol) {
    const auto query = address.find('?');
    std::string_view host = address.substr(0, query);
    if (protocol.scheme == "tcp" && protocol.of_class != own_class) {
        if (const auto slash = host.rfind('/'); slash != host.npos) host.remove_prefix(slash + 1);
    }
    std::string result(host);
    if (query != address.npos) result += address.substr(query);
    return result;
}

struct Span {
    std::string_view option;  // "deadline_ms="
    const char* variable;
    std::uint64_t least;  // in milliseconds; a value of 0 means no limit
};
constexpr Span deadline_span{"deadline_ms=", "CINNABAR_HG_DEADLINE_MS", 0};
constexpr Span patience_span{"patience_ms=", "CINNABAR_HG_PATIENCE_MS", 1};

bool parse_milliseconds(std::string_view text, std::uint64_t least, Microseconds& out) {
    const auto value = parse_number<std::uint64_t>(text);
    if (!value || *value < least || *value > 1'000'000'000) return false;
    out =
        *value == 0 ? Microseconds::max() : std::chrono::duration_cast<Microseconds>(std::chrono::milliseconds(*value));
    return true;
}

// Removes "NAME=N" from the options and reads N.
Result<void> take(std::string& uri, const Span& span, Microseconds& out) {
    auto at = uri.find(span.option);
    while (at != uri.npos && uri[at - 1] != '?' && uri[at - 1] != '&') at = uri.find(span.option, at + 1);
    if (at != uri.npos) {
        const auto end = std::min(uri.find('&', at), uri.size());
        const auto value = std::string_view(uri).substr(at + span.option.size(), end - at - span.option.size());
        if (!parse_milliseconds(value, span.least, out)) {
            return Error(Errc::bad_address,
                         "an option that ends with _ms needs a number of milliseconds, at most 11 days", uri);
        }
        const bool more = end < uri.size();
        uri.erase(more ? at : at - 1, end - at + 1);
        return {};
    }
    if (const char* set = std::getenv(span.variable); set && *set && !parse_milliseconds(set, span.least, out)) {
        return Error(Errc::invalid_argument, "the environment variable needs a number of milliseconds, at most 11 days",
                     std::string(span.variable) + "=" + set);
    }
    return {};
}

}  // namespace

Result<InfoString> InfoString::parse(std::string_view text) {
    if (text.empty() || text.size() > 1024)
        return Error(Errc::bad_address, "an info string must name a protocol, such as ofi+tcp, in at most 1024 bytes");
    const Words words = split(text);
    CINNABAR_TRY(const Protocol protocol, find(words, text));
    InfoString info;
    info.name = words.name.empty() ? protocol.of_class : words.name;
    info.protocol = words.protocol;
    info.scheme = protocol.scheme;
    info.prefix = text.substr(0, words.protocol.data() + words.protocol.size() - text.data());
    info.uri = info.scheme + "://" + address_of(words.address, protocol);
    CINNABAR_TRY_VOID(take(info.uri, deadline_span, info.deadline));
    CINNABAR_TRY_VOID(take(info.uri, patience_span, info.patience));
    return info;
}

void InfoString::opened_as(std::string_view what) {
    scheme = what;
    if (name == own_class) prefix = std::string(own_class) + "+" + scheme;
}

Result<std::string> to_core(std::string_view address) {
    std::string result;
    while (!address.empty()) {
        const auto comma = address.find(',');
        const std::string_view one = address.substr(0, comma);
        const Words words = split(one);
        if (one.find(':') == one.npos)
            return Error(Errc::bad_address, "write an address as protocol://host:port", std::string(one));
        CINNABAR_TRY(const Protocol protocol, find(words, one));
        if (!result.empty()) result += ',';
        result += std::string(protocol.scheme) + "://" + address_of(words.address, protocol);
        address = comma == address.npos ? std::string_view() : address.substr(comma + 1);
    }
    if (result.empty()) return Error(Errc::bad_address, "the address is empty: write protocol://host:port");
    return result;
}

std::string with_prefix(std::string_view address, std::string_view scheme, std::string_view prefix) {
    std::string result;
    while (!address.empty()) {
        const auto comma = address.find(',');
        std::string_view one = address.substr(0, comma);
        if (!result.empty()) result += ',';
        if (one.starts_with(scheme) && one.substr(scheme.size()).starts_with("://")) {
            result += prefix;
            one.remove_prefix(scheme.size());
        }
        result += one;
        address = comma == address.npos ? std::string_view() : address.substr(comma + 1);
    }
    return result;
}

}  // namespace cinnabar::mercury
