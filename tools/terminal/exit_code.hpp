// SPDX-License-Identifier: BSD-3-Clause
// The exit codes of the command. They are documented in docs/save-service.md and never change their meaning.
#pragma once

#include <cinnabar/base/error.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace cinnabar::tools {

enum class ExitCode : std::uint8_t {
    ok = 0,
    usage = 1,         // invalid command line
    unreachable = 2,   // nobody listens there, no route, or an invalid address
    exists = 3,        // the name exists, or another client is saving it at this moment
    permission = 4,    // wrong or missing key, a name that leaves the root, no access to a file
    no_space = 5,      // disk full, quota, size limit
    damaged = 6,       // the checksums differ, or the file was changed while it was read
    peer_lost = 7,     // the connection was lost
    timed_out = 8,     // the other side is alive, but did not answer in time
    interrupted = 9,   // SIGINT, SIGTERM, or canceled by the other side
    not_found = 10,    // no such file or directory, on the side that the message names
    unsuitable = 11,   // a directory, a device, a name that the other side does not accept
    io = 12,           // I/O error of the operating system
    overloaded = 13,   // the server or a local limit cannot take more
    protocol = 14,     // the other side is not a save service of this version
    internal = 15,     // a bug in this program
    not_deleted = 16,  // --max-delete: more was to be deleted
};

[[nodiscard]] ExitCode exit_code(Errc code) noexcept;

// How --help and man pages describe each code, in numerical order. Static storage.
struct ExitMeaning {
    ExitCode code;
    std::string_view word;  // "no space"
    std::string_view means;
};
[[nodiscard]] std::span<const ExitMeaning> exit_meanings() noexcept;

}  // namespace cinnabar::tools
