// SPDX-License-Identifier: BSD-3-Clause
#include "group_files/placement.hpp"

#include <cinnabar/base/siphash.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace cinnabar::tools::group_files {

std::uint64_t weight_of(std::string_view server, std::string_view name) noexcept {
    const std::uint64_t of_server = siphash({}, as_bytes(server));
    return siphash({of_server, 0}, as_bytes(name));
}

std::vector<std::size_t> placement_of(std::string_view name, std::span<const std::string> servers) {
    std::vector<std::uint64_t> weights;
    for (const auto& server : servers) weights.push_back(weight_of(server, name));
    std::vector<std::size_t> order(servers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        return std::pair(weights[b], std::string_view(servers[a])) <
               std::pair(weights[a], std::string_view(servers[b]));
    });
    return order;
}

}  // namespace cinnabar::tools::group_files
