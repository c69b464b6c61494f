// SPDX-License-Identifier: BSD-3-Clause
// Detached threads for calls that may block, such as writing to stderr or resolving a host name. Threads that drive a
// context make no such calls.
#pragma once

#include <cinnabar/base/export.hpp>

namespace cinnabar {

// Starts a thread that runs body(user) and is never joined, so that nothing waits for the thread while it blocks.
// Signals are blocked in the thread, because signals belong to the program's own threads. Everything that the thread
// uses must live until the process ends. False: the system cannot create a thread.
[[nodiscard]] CINNABAR_API bool run_in_background(void* (*body)(void* user), void* user) noexcept;

}  // namespace cinnabar
