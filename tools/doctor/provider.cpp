// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/provider.hpp"

namespace cinnabar::tools::doctor {

std::string_view drawback_of(std::string_view scheme) noexcept {
    const auto plus = scheme.find('+');
    if (!scheme.starts_with("ofi") || plus == scheme.npos) return {};
    const std::string_view provider = scheme.substr(plus + 1);
    if (provider == "sockets") return "it is for development, slow, and libfabric does not maintain it";
    if (provider.starts_with("udp"))
        return "it is slow, polls every millisecond, and whoever reaches its UDP port can end the process";
    return {};
}

}  // namespace cinnabar::tools::doctor
