// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/exit_code.hpp"

namespace cinnabar::tools {

ExitCode exit_code(Errc code) noexcept {
    switch (code) {
        case Errc::ok:
            return ExitCode::ok;
        case Errc::refused:
        case Errc::unreachable:
        case Errc::bad_address:
        case Errc::address_in_use:
            return ExitCode::unreachable;
        case Errc::exists:
        case Errc::busy:
            return ExitCode::exists;
        case Errc::permission:
            return ExitCode::permission;
        case Errc::no_space:
            return ExitCode::no_space;
        case Errc::bad_checksum:
            return ExitCode::damaged;
        case Errc::peer_lost:
            return ExitCode::peer_lost;
        case Errc::timed_out:
            return ExitCode::timed_out;
        case Errc::canceled:
        case Errc::closed:
        case Errc::shutting_down:
            return ExitCode::interrupted;
        case Errc::not_found:
            return ExitCode::not_found;
        case Errc::invalid_argument:
        case Errc::too_large:
            return ExitCode::unsuitable;
        case Errc::io:
            return ExitCode::io;
        case Errc::again:
        case Errc::overloaded:
        case Errc::out_of_memory:
            return ExitCode::overloaded;
        case Errc::no_such_rpc:
        case Errc::bad_signature:
        case Errc::protocol:
        case Errc::unsupported:
            return ExitCode::protocol;
        case Errc::would_deadlock:
        case Errc::application:
        case Errc::handler_failed:
            return ExitCode::internal;
    }
    return ExitCode::internal;
}

}  // namespace cinnabar::tools
