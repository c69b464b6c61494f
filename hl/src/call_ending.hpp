// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cinnabar/base/error_detail.hpp>
#include <cinnabar/hl/call_ending.hpp>

namespace cinnabar::hl {

// The detail of an error with which a call ended.
struct CallEndingDetail final : ErrorDetail {
    CallEnding ending;
};

}  // namespace cinnabar::hl
