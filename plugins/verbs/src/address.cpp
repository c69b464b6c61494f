// SPDX-License-Identifier: BSD-3-Clause
#include "address.hpp"

#include <cinnabar/base/parse_number.hpp>

#include <algorithm>
#include <string_view>

namespace cinnabar::verbs {
namespace {

// Leaves out the loopback, which has no RDMA device.
std::vector<SocketAddress> of_interfaces(std::string_view name, std::uint16_t port) {
    std::vector<SocketAddress> found = na::interface_addresses(name, port);
    std::erase_if(found, [](const SocketAddress& address) { return address.is_loopback(); });
    return found;
}

// Parses "r0:5000", the path of verbs://rxe0/r0:5000.
Result<std::uint16_t> port_of_path(std::string_view path, std::string& interface) {
    const auto colon = path.rfind(':');
    interface = path.substr(0, colon);
    if (colon == std::string_view::npos) return std::uint16_t{0};
    if (const auto port = parse_number<std::uint16_t>(path.substr(colon + 1))) return *port;
    return Error(Errc::bad_address, "write the address of a device as verbs://DEVICE/INTERFACE:PORT",
                 std::string(path));
}

}  // namespace

Result<Wanted> read_address(const na::Uri& uri, const std::vector<std::string>& devices) {
    Wanted wanted;
    std::uint16_t port = uri.port.value_or(0);
    const bool names_device = std::find(devices.begin(), devices.end(), uri.host) != devices.end();
    if (uri.host.empty() || (names_device && uri.path.empty())) {
        wanted.device = uri.host;
        wanted.addresses = of_interfaces({}, port);
        return wanted;
    }
    if (!uri.path.empty()) {
        std::string interface;
        CINNABAR_TRY(port, port_of_path(uri.path, interface));
        wanted.device = uri.host;
        wanted.addresses = of_interfaces(interface, port);
        if (wanted.addresses.empty()) {
            return Error(Errc::bad_address, "no such interface, or it is down or has no address", interface);
        }
        return wanted;
    }
    CINNABAR_TRY(wanted.addresses, na::resolve(uri, na::Purpose::listen));
    return wanted;
}

}  // namespace cinnabar::verbs
