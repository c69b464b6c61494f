// SPDX-License-Identifier: BSD-3-Clause
// Errors that cross the wire with their words: the code of an Error travels as the application's code, the text beside
// it. The other side gets both back, so that "the disk is full" says whose disk. Any thread.
#pragma once

#include <cinnabar/base/error.hpp>

#include <string>

namespace cinnabar::tools {

// What a handler returns instead of `error`; its subject, which the client knows, is left out.
[[nodiscard]] Error to_remote(const Error& error);
// What a call failed with, as the handler meant it, its text fit for a terminal; errors of the way there keep their
// code, and say what a person who saves files can use.
[[nodiscard]] Error from_remote(Error error);

}  // namespace cinnabar::tools
