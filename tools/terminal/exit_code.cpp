// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/exit_code.hpp"

#include <array>

namespace cinnabar::tools {
namespace {

constexpr std::array<ExitMeaning, 17> meanings{{
    {ExitCode::ok, "done", "all of it"},
    {ExitCode::usage, "usage", "an invalid command line"},
    {ExitCode::unreachable, "unreachable",
     "nothing listens there, no route, an address that cannot be resolved or that is in use"},
    {ExitCode::exists, "exists", "the name is taken, or somebody else is saving it; the root has a server already"},
    {ExitCode::permission, "permission",
     "a wrong or missing key, a name that leaves the root, a file without permission, a key file that others may read"},
    {ExitCode::no_space, "no space", "disk full, quota, size limit"},
    {ExitCode::damaged, "damaged", "the checksums differ, or the file was changed while it was read"},
    {ExitCode::peer_lost, "peer lost", "the connection to the other side broke"},
    {ExitCode::timed_out, "timed out", "the other side is alive, but did not answer in time"},
    {ExitCode::interrupted, "interrupted", "SIGINT or SIGTERM, or the server is shutting down"},
    {ExitCode::not_found, "not found", "no such file or directory, on the side that the message names"},
    {ExitCode::unsuitable, "unsuitable",
     "something that the other side does not accept: a device, a name, a key file that is too short"},
    {ExitCode::io, "i/o", "the operating system failed to read or write"},
    {ExitCode::overloaded, "overloaded", "the server, or a limit on this side, cannot take more"},
    {ExitCode::protocol, "protocol", "the other side is not a service of this version"},
    {ExitCode::internal, "internal", "a bug of this program"},
    {ExitCode::not_deleted, "not deleted", "all else is done, and more would be deleted than --max-delete allows"},
}};

}  // namespace

std::span<const ExitMeaning> exit_meanings() noexcept { return meanings; }

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
        case Errc::stale:
            return ExitCode::internal;
    }
    return ExitCode::internal;
}

}  // namespace cinnabar::tools
