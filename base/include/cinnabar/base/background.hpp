// SPDX-License-Identifier: BSD-3-Clause
// Threads for what may block: writing to stderr, asking a name server. No thread that drives a context does either.
#pragma once

#include <cinnabar/base/export.hpp>

namespace cinnabar {

// Starts a thread that is never joined, so that nobody waits for what blocks it, with all signals blocked: those are
// the program's. What it touches must live until the process ends. False when the system has no thread for it.
[[nodiscard]] CINNABAR_API bool run_in_background(void* (*body)(void* user), void* user) noexcept;

}  // namespace cinnabar
