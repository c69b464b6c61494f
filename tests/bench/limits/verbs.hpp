// SPDX-License-Identifier: BSD-3-Clause
// The limits of an RDMA device: the work of a figure done with bare verbs, from one end of a cable to the other.
#pragma once

#include "limits.hpp"

#include <filesystem>
#include <string>

namespace cinnabar::bench {

// One message in each direction, one in flight. Both ends poll; the server is at `host`. Work: round trips.
[[nodiscard]] std::unique_ptr<Subject> make_verbs_ping_pong(Cores cores, const std::string& host, FrameBytes frame);

// How a file is moved: the client writes with notification into buffers that the server grants, or the server reads the
// memory that the client has mapped. In either case several buffers are in flight, and a thread of the server writes
// them.
enum class FileMove : bool { push, pull };

// One file, saved under `target_root` by a separate process each time. The client maps and registers it. There is no
// checksum; the server does fsync and rename, and sleeps when it has nothing to do. Work: bytes of the file.
[[nodiscard]] std::unique_ptr<Subject> make_verbs_save(Cores cores, const std::string& host, FileMove move,
                                                       std::filesystem::path source,
                                                       const std::filesystem::path& target_root);

}  // namespace cinnabar::bench
