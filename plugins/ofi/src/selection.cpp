// SPDX-License-Identifier: BSD-3-Clause
#include "selection.hpp"

#include <cinnabar/na/session/socket_address.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace cinnabar::ofi {
namespace {

using na::SocketAddress;

// The plugin uses nothing of later versions.
constexpr std::uint32_t api_version = FI_VERSION(1, 14);

constexpr std::uint32_t staging_min = 64;
constexpr std::uint32_t staging_limit = 64 * 1024;

Info make_hints(const Provider& provider, const Wanted& wanted) {
    Info hints(fabric_library().dupinfo(nullptr));
    if (!hints) return hints;
    hints->caps = FI_MSG | FI_TAGGED | (provider.tells_source ? FI_SOURCE : 0);
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    // Registrations are local, so the provider may use any kind of key.
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR | FI_MR_ENDPOINT | FI_MR_RAW;
    // Each port has its own domain, used by one thread at a time.
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    const fi_progress progress = provider.own_progress ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
    hints->domain_attr->control_progress = progress;
    hints->domain_attr->data_progress = progress;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->fabric_attr->prov_name = ::strdup(provider.name);
    if (!wanted.domain.empty()) hints->domain_attr->name = ::strdup(wanted.domain.c_str());
    return hints;
}

// A subnet, in network byte order.
struct Subnet {
    int family = AF_UNSPEC;  // any
    std::array<std::uint8_t, 16> network{};
    unsigned bits = 0;

    [[nodiscard]] bool holds(const fi_info& info) const noexcept {
        if (family == AF_UNSPEC) return true;
        const auto* address = static_cast<const sockaddr*>(info.src_addr);
        if (!address || address->sa_family != family) return false;
        const void* bytes = family == AF_INET
                                ? static_cast<const void*>(&static_cast<const sockaddr_in*>(info.src_addr)->sin_addr)
                                : &static_cast<const sockaddr_in6*>(info.src_addr)->sin6_addr;
        const auto* at = static_cast<const std::uint8_t*>(bytes);
        const unsigned whole = bits / 8;
        if (!std::equal(at, at + whole, network.begin())) return false;
        const auto mask = static_cast<std::uint8_t>(0xff00u >> bits % 8);
        return mask == 0 || ((at[whole] ^ network[whole]) & mask) == 0;
    }
};

Result<Subnet> parse_subnet(const std::string& text) {
    Subnet subnet;
    if (text.empty()) return subnet;
    const auto slash = text.find('/');
    const std::string network = text.substr(0, slash);
    subnet.family = network.find(':') == std::string::npos ? AF_INET : AF_INET6;
    const unsigned bits_max = subnet.family == AF_INET ? 32 : 128;
    const char* const end = text.data() + text.size();
    const bool fits = slash != std::string::npos &&
                      ::inet_pton(subnet.family, network.c_str(), subnet.network.data()) == 1 &&
                      std::from_chars(text.data() + slash + 1, end, subnet.bits).ptr == end &&
                      slash + 1 < text.size() && subnet.bits >= 1 && subnet.bits <= bits_max;
    if (!fits) return Error(Errc::bad_address, "write a subnet as 10.1.0.0/16 or fd00:1::/32", text);
    return subnet;
}

Result<std::uint32_t> read_staging(const std::string& text) {
    std::uint32_t chunks = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, wrong] = std::from_chars(text.data(), end, chunks);
    if (wrong == std::errc() && stopped == end && chunks >= staging_min && chunks <= staging_limit) return chunks;
    return Error(Errc::bad_address, "staging is a number of chunks from 64 to 65536", text);
}

// Ranks an address by how well others can connect to it; 0 is best. The loopback is used only if there is nothing else.
int rank(const fi_info& info) noexcept {
    if (!info.src_addr || (info.addr_format != FI_SOCKADDR_IN && info.addr_format != FI_SOCKADDR_IN6)) return 1;
    const SocketAddress address(static_cast<const sockaddr*>(info.src_addr));
    if (address.is_loopback()) return 3;
    if (info.addr_format == FI_SOCKADDR_IN) return 0;
    const auto* v6 = static_cast<const sockaddr_in6*>(info.src_addr);
    return IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) ? 4 : 2;
}

std::string text_of(const fi_info& info) {
    std::string text = info.fabric_attr->prov_name;
    text += ", domain ";
    text += info.domain_attr->name ? info.domain_attr->name : "?";
    if (info.src_addr && (info.addr_format == FI_SOCKADDR_IN || info.addr_format == FI_SOCKADDR_IN6)) {
        text += ", " + SocketAddress(static_cast<const sockaddr*>(info.src_addr)).endpoint("address").substr(10);
    }
    return text;
}

std::string asked_of(const Provider& provider, const Wanted& wanted) {
    std::string text = provider.name;
    if (!wanted.domain.empty()) text += ", domain " + wanted.domain;
    if (!wanted.interface.empty()) text += ", interface " + wanted.interface;
    if (!wanted.subnet.empty()) text += ", subnet " + wanted.subnet;
    return text;
}

// The first address of an interface or a host, as text.
Result<std::string> numeric(const Wanted& wanted) {
    na::Uri uri;
    uri.scheme = "tcp";
    uri.host = wanted.interface;
    CINNABAR_TRY(const std::vector<SocketAddress> found, na::resolve(uri, na::Purpose::listen));
    return found.front().host();
}

Result<Selection> select_from(const Provider& provider, const Wanted& wanted) {
    CINNABAR_TRY(const Subnet subnet, parse_subnet(wanted.subnet));
    if (const Setting* low = setting_too_low(provider)) {
        return Error(Errc::unsupported, "an environment variable of libfabric is too low: unset it",
                     low->variable + ("=" + std::string(std::getenv(low->variable))) + ", at least " +
                         std::to_string(low->at_least));
    }
    const Info hints = make_hints(provider, wanted);
    if (!hints) return Error(Errc::out_of_memory);
    std::string node;
    if (provider.ip && !wanted.interface.empty()) {
        CINNABAR_TRY(node, numeric(wanted));
    }
    fi_info* found = nullptr;
    int failed = 0;
    {
        const SignalDispositions keep;  // getinfo() initializes providers
        failed = fabric_library().getinfo(api_version, node.empty() ? nullptr : node.c_str(), nullptr,
                                          node.empty() ? 0 : FI_SOURCE | FI_NUMERICHOST, hints.get(), &found);
    }
    const Info list(found);
    if (failed != 0) {
        return error_of(failed, "libfabric has no provider here that fits", asked_of(provider, wanted));
    }
    const fi_info* best = nullptr;
    unsigned count = 0;
    for (const fi_info* info = list.get(); info; info = info->next) {
        // libfabric also returns providers that are layered on the one asked for.
        if (std::string_view(info->fabric_attr->prov_name) != provider.name || !subnet.holds(*info)) continue;
        // Not every provider honours the domain of the hints.
        if (!wanted.domain.empty() && (!info->domain_attr->name || wanted.domain != info->domain_attr->name)) continue;
        ++count;
        if (!best || rank(*info) < rank(*best)) best = info;
    }
    if (!best) {
        return Error(Errc::unsupported, "libfabric has no provider here that fits", asked_of(provider, wanted));
    }
    Selection selection{
        Info(fabric_library().dupinfo(best)), &provider, provider.wait_fd && !wanted.busy, {}, wanted.staging};
    if (!selection.info) return Error(Errc::out_of_memory);
    selection.why = text_of(*best) + "; the best of " + std::to_string(count) + " for " + asked_of(provider, wanted);
    if (wanted.busy) selection.why += "; busy: nothing to sleep on";
    if (provider.standing == Standing::untested) selection.why += "; UNTESTED";
    return selection;
}

}  // namespace

Result<Wanted> read_address(const na::Uri& uri) {
    Wanted wanted;
    wanted.uri = &uri;
    wanted.interface = uri.host;
    for (const auto& [name, value] : uri.query) {
        if (name == "domain") {
            wanted.domain = value;
        } else if (name == "interface") {
            wanted.interface = value;
        } else if (name == "subnet") {
            wanted.subnet = value;
        } else if (name == "busy" && value == "yes") {
            wanted.busy = true;
        } else if (name == "untested" && value == "yes") {
            wanted.untested = true;
        } else if (name == "staging") {
            CINNABAR_TRY(wanted.staging, read_staging(value));
        } else if (name == "busy" || name == "untested") {
            return Error(Errc::bad_address, "busy and untested are set by =yes", name + "=" + value);
        }
    }
    if (!uri.path.empty()) {
        wanted.domain = uri.host;
        wanted.interface = uri.path.substr(0, uri.path.find(':'));
    }
    return wanted;
}

Result<na::Uri> handshake_address(const Wanted& wanted) {
    na::Uri place;
    place.scheme = wanted.uri->scheme;
    place.host = wanted.interface;
    place.port = wanted.uri->port;
    if (const auto colon = wanted.uri->path.find(':'); colon != std::string::npos) {
        CINNABAR_TRY(const na::Uri parsed, na::Uri::parse("tcp://x" + wanted.uri->path.substr(colon)));
        place.port = parsed.port;
    }
    return place;
}

std::string survey() {
    std::string text;
    for (const Provider& provider : providers()) {
        Wanted anything;
        text.append(text.empty() ? "" : ", ").append(provider.name);
        if (provider.standing == Standing::untested) text += " (UNTESTED)";
        if (!select_from(provider, anything)) text += " (not here)";
    }
    return text;
}

Result<Selection> select(const Wanted& wanted) {
    apply_settings();
    std::string known;
    Error why(Errc::bad_address, "no such provider is known");
    bool any = false;
    for (const Provider& provider : providers()) {
        known.append(known.empty() ? "" : ", ").append(provider.scheme);
        if (provider.standing == Standing::untested) known += " (UNTESTED)";
        if (!means(wanted.uri->scheme, provider)) continue;
        if (provider.on_request && !wanted.untested) {
            return Error(Errc::unsupported, "this provider is off: add ?untested=yes to use it",
                         provider.name + (": " + std::string(provider.note)));
        }
        auto selection = select_from(provider, wanted);
        if (selection && wanted.uri->scheme.find('+') == std::string::npos)
            selection->why += "; providers: " + survey();
        if (selection) return selection;
        any = true;
        why = std::move(selection).error();
    }
    if (!any) return Error(Errc::bad_address, "no such provider; known", wanted.uri->scheme + "; " + known);
    return why;
}

}  // namespace cinnabar::ofi
