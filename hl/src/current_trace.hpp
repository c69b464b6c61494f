// SPDX-License-Identifier: BSD-3-Clause
// The trace of the handler that runs on this thread; read directly on the call path.
#pragma once

#include <cinnabar/hl/trace.hpp>

namespace cinnabar::hl::detail {

extern constinit thread_local TraceContext thread_trace;

}  // namespace cinnabar::hl::detail
