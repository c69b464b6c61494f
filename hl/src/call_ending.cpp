// SPDX-License-Identifier: BSD-3-Clause
#include "call_ending.hpp"

namespace cinnabar::hl {

std::optional<CallEnding> call_ending(const Error& error) {
    const auto* const detail = dynamic_cast<const CallEndingDetail*>(error.detail.get());
    return detail ? std::optional(detail->ending) : std::nullopt;
}

}  // namespace cinnabar::hl
