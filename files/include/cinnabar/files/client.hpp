// SPDX-License-Identifier: BSD-3-Clause
// The client's side of a session with one server of the file save service: it logs in, saves and fetches files. Several
// windows of a file are under way at once. Its buffers bound its memory, at 64 MiB whatever the server says.
//
// Threads: it belongs to its node's loop. Run its tasks there (NodeRef::spawn), or give it a node without a progress
// thread of its own, which sync_wait drives.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/files/key.hpp>
#include <cinnabar/files/root.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/task.hpp>
#include <cinnabar/na/addr.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace cinnabar::files {

struct Moved {
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> checksum;  // XXH3, if one was computed
};

// How a file is saved. `push`: the client writes into buffers that the server grants; otherwise the server reads the
// client's memory. `checked`: both sides compute a checksum, and the server compares the two.
struct SaveMode {
    Existing existing = Existing::keep;
    bool push = false;
    bool checked = true;
};

// Called with the number of bytes that the server (or, in a fetch, the own disk) has taken, on the session's executor.
using BytesMoved = std::function<void(std::uint64_t bytes)>;

class ClientSession;

class CINNABAR_API Client {
  public:
    // `key` may be null; it must outlive the client, as the node must.
    Client(const hl::NodeRef& node, na::Addr server, const Key* key);
    // Requires: it was closed, or never opened.
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // Logs in and holds the session. permission: a key is missing, wrong, or the server could not prove it.
    // unsupported, protocol, no_such_rpc: no save service of this version. And what calls fail with.
    [[nodiscard]] hl::Task<Result<void>> open();
    // Ends the session; the server removes unfinished files. Also needed after open() has failed.
    [[nodiscard]] hl::Task<void> close();

    // Saves a file under a name. The errors of the server's Root and of SourceFile; bad_checksum: it changed meanwhile.
    // unsupported: a push over a transport that cannot notify. Requires: open() was ok. Several at once. The strings
    // must live until the task ends.
    [[nodiscard]] hl::Task<Result<Moved>> save(const std::string& path, const std::string& name, SaveMode mode = {},
                                               BytesMoved progress = {});
    // Fetches a file into a directory, under the last component of its name; `announced` is called with its size.
    // Errors as above, from both sides.
    [[nodiscard]] hl::Task<Result<Moved>> fetch(const std::string& name, const Root& into,
                                                Existing existing = Existing::keep, BytesMoved progress = {},
                                                std::function<void(std::uint64_t)> announced = {});

  private:
    std::unique_ptr<ClientSession> session_;
};

}  // namespace cinnabar::files
