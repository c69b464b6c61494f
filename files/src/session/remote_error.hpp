// SPDX-License-Identifier: BSD-3-Clause
// Carries an Error with its text to the other side: its code travels as the application's code, with the text beside
// it. Any thread.
#pragma once

#include <cinnabar/base/error.hpp>

#include <string>

namespace cinnabar::files {

// What a handler returns for `error`. The subject is left out: the client knows it.
[[nodiscard]] Error to_remote(const Error& error);
// The error that the handler meant, with a text that is safe on a terminal. An error of the call itself keeps its code
// and gets a text for people who save files.
[[nodiscard]] Error from_remote(Error error);
// The same for a call made while a file is in progress. The server was there a moment ago, so `refused` means that it
// is gone.
[[nodiscard]] Error in_the_middle(Error error);

}  // namespace cinnabar::files
