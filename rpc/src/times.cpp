// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/rpc/times.hpp>

namespace cinnabar::rpc {

std::string_view to_string(CallPart part) noexcept {
    constexpr std::array<std::string_view, call_parts> words{"leaving", "on the wire", "waiting for the handler",
                                                             "in the handler", "waiting for the caller"};
    return words[static_cast<std::size_t>(part)];
}

}  // namespace cinnabar::rpc
