// SPDX-License-Identifier: BSD-3-Clause
// Addresses on the command line: the address at which a server listens, and URI/NAME, which names a file on a server.
// Functions without side effects.
#pragma once

#include <cinnabar/base/result.hpp>

#include <string>
#include <string_view>

namespace cinnabar::tools {

// A server and a path on it, for example "tcp://127.0.0.1:7000/logs/a.txt". The path is everything after the first '/'
// that follows the authority. The path is not percent-decoded, because names are bytes and may contain '%' or '?'. The
// server may be a list of endpoints, as servers print it: "tcp://127.0.0.1:7000,shm://files/logs/a.txt".
struct RemotePath {
    std::string server;  // "tcp://127.0.0.1:7000"
    std::string path;    // "logs/a.txt"; may be empty
};

// bad_address: an endpoint has no scheme.
[[nodiscard]] Result<RemotePath> parse_remote_path(std::string_view text);

// Returns the endpoints of the server `from` whose transport the server `to` has as well, so that `to` can reach
// `from`; all endpoints of `from` if no transport is common.
[[nodiscard]] std::string reachable_from(std::string_view from, std::string_view to);

// Joins a folder and a file name with one '/', to the name of a saved file.
[[nodiscard]] std::string join_name(std::string_view folder, std::string_view leaf);

// Joins the path of a local folder, which may be "/" or ".", and a path below it.
[[nodiscard]] std::string join_path(std::string_view folder, std::string_view below);

// Whether the path means the contents of a folder ("folder/", ".") rather than the folder itself ("folder").
[[nodiscard]] bool means_contents(std::string_view path);

// Whether a server that listens at `uri` can be reached only from this machine: `uri` has a numeric loopback address or
// "localhost", or is of a local transport that is not open to a group. bad_address: `uri` cannot be parsed.
[[nodiscard]] Result<bool> stays_on_host(std::string_view uri);
// Whether the kernel lets only this user connect to `uri` (self, and shm without a group). False for the loopback, to
// which any user of the host can connect.
[[nodiscard]] bool admits_own_user_only(std::string_view uri);
// Whether a connection to `uri` may go over the loopback of this host. Looks host names up, so it may block.
[[nodiscard]] bool dials_loopback(std::string_view uri);

}  // namespace cinnabar::tools
