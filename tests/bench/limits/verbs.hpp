// SPDX-License-Identifier: BSD-3-Clause
// The limits of an RDMA device: the work of a figure done by bare verbs, from one end of a cable to the other.
#pragma once

#include "limits.hpp"

#include <filesystem>
#include <string>

namespace cinnabar::bench {

// One message each way, one in flight, both ends polling; the server is at `host`. Work: round trips.
[[nodiscard]] std::unique_ptr<Subject> make_verbs_ping_pong(Cores cores, const std::string& host, FrameBytes frame);

// How a file gets there: the client writes, with notification, into buffers that the server grants, or the server reads
// what the client has mapped. Several buffers are in flight either way, and a thread of the server writes them.
enum class FileMove : bool { push, pull };

// One file, saved under `target_root`, by a process of its own each time: mapped and registered at the client; without
// a sum; fsync and rename at the server, which sleeps when there is nothing to do. Work: bytes of the file.
[[nodiscard]] std::unique_ptr<Subject> make_verbs_save(Cores cores, const std::string& host, FileMove move,
                                                       std::filesystem::path source,
                                                       const std::filesystem::path& target_root);

}  // namespace cinnabar::bench
