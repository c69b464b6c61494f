// SPDX-License-Identifier: BSD-3-Clause
// The addresses of the command line: where a server listens, and URI/NAME, which names a file on one. Pure.
#pragma once

#include <cinnabar/base/result.hpp>

#include <string>
#include <string_view>

namespace cinnabar::tools {

// "tcp://127.0.0.1:7000/logs/a.txt": a server and a path on it. The path is what follows the first '/' behind the
// authority, byte for byte: it is not decoded, since names are bytes and '%' or '?' may be part of one. The server may
// be a list, as a server prints it: "tcp://127.0.0.1:7000,shm://files/logs/a.txt".
struct Place {
    std::string server;  // "tcp://127.0.0.1:7000"
    std::string path;    // "logs/a.txt"; may be empty
};

// bad_address: no scheme.
[[nodiscard]] Result<Place> parse_place(std::string_view text);

// The endpoints of the server `from` whose transport `to` has too: those by which the one server can reach the other.
// All of them if there are none.
[[nodiscard]] std::string reachable_from(std::string_view from, std::string_view to);

// The name that a saved file gets: folder and leaf, with one '/' between them.
[[nodiscard]] std::string join_name(std::string_view folder, std::string_view leaf);

// What is below a folder of this host, which may be "/" or ".".
[[nodiscard]] std::string join_path(std::string_view folder, std::string_view below);

// Whether only this machine can reach a server that listens there: a literal loopback address, "localhost", or a
// transport that does not leave the host and is not open to a group. bad_address: it cannot be parsed.
[[nodiscard]] Result<bool> stays_on_host(std::string_view uri);
// Whether the kernel refuses all other users of the host there. On the loopback it does not.
[[nodiscard]] bool admits_own_user_only(std::string_view uri);

}  // namespace cinnabar::tools
