// SPDX-License-Identifier: BSD-3-Clause
// Sends an Error to the other side: its code as the application's code, with its text. Any thread.
#pragma once

#include <cinnabar/base/error.hpp>

#include <string>

namespace cinnabar::files {

// The error that a handler returns to report `error`. The subject is left out, because the client knows it.
[[nodiscard]] Error to_remote(const Error& error);
// Decodes a call's error into the one that the handler reported, with a text that is safe to print on a terminal. An
// error of the call itself keeps its code and gets a text for users of the save service.
[[nodiscard]] Error from_remote(Error error);
// As from_remote(), for a call while a file is in progress: `refused` becomes peer_lost, since the server was reachable
// before.
[[nodiscard]] Error in_the_middle(Error error);
// Whether the error comes from the connection, the caller, or a server that has no room for the call, and so says
// nothing about the file.
[[nodiscard]] bool leaves_unknown(Errc code) noexcept;

}  // namespace cinnabar::files
