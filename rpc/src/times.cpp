// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/rpc/times.hpp>

namespace cinnabar::rpc {

std::string_view to_string(CallPart part) noexcept {
    constexpr std::array<std::string_view, call_parts> words{
        "connecting",        "waiting for a credit",    "waiting to be sent",
        "on the wire there", "waiting for the handler", "in the handler",
        "in its transfers",  "on the wire back",        "waiting for the caller"};
    return words[static_cast<std::size_t>(part)];
}

}  // namespace cinnabar::rpc
