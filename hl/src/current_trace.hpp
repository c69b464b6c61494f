// SPDX-License-Identifier: BSD-3-Clause
// The trace of the handler that runs on this thread, for the code that reads it at each call.
#pragma once

#include <cinnabar/hl/trace.hpp>

namespace cinnabar::hl::detail {

extern constinit thread_local TraceContext current;

}  // namespace cinnabar::hl::detail
