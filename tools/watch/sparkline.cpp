// SPDX-License-Identifier: BSD-3-Clause
#include "watch/sparkline.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace cinnabar::tools::watch {

std::string sparkline(const std::vector<double>& values, std::size_t width) {
    constexpr std::array<std::string_view, 8> blocks{"\u2581", "\u2582", "\u2583", "\u2584",
                                                     "\u2585", "\u2586", "\u2587", "\u2588"};
    const std::size_t count = std::min(width, values.size());
    const auto first = values.end() - static_cast<std::ptrdiff_t>(count);
    const double most = count == 0 ? 0 : *std::max_element(first, values.end());
    std::string line;
    for (auto value = first; value != values.end(); ++value) {
        const double height = most > 0 ? *value / most * 7 : 0;
        line += blocks[std::min<std::size_t>(static_cast<std::size_t>(height + 0.5), 7)];
    }
    return line;
}

}  // namespace cinnabar::tools::watch
