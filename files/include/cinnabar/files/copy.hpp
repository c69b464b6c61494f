// SPDX-License-Identifier: BSD-3-Clause
// Copies a file from one server to another. The data goes straight from server to server; the caller only directs the
// copy. Each server checks the caller by its own session. The source server must allow the fetch. The destination
// server must allow the save, and must allow the client to name a server to connect to. Only a client that has proven a
// key or its identity, or that runs as the server's user (shm), may name a server. Folders and links are made with the
// functions of Client, as for save and fetch.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/hl/task.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace cinnabar::files {

// Like SaveMode. Checksums are always computed: the source server hashes the data it reads, the destination server the
// data it writes.
struct CopyMode {
    Existing existing = Existing::keep;
    bool exact = false;
    ExtendedKinds extended{};
    bool again = false;
    Sync sync = Sync::batch;
    bool whole = false;
};
static_assert(std::is_trivially_destructible_v<CopyMode>);

// Copies `name` at `from` to `as` at `to`; continues an interrupted copy. Calls `announced` with the size, and
// `progress` with the bytes that `to` has taken, both on the executor of the clients. Both clients must have the same
// executor: they belong to one node, or to nodes without threads that one thread drives. The server `to` must be able
// to reach the server `from` by the transport that `from` uses. Errors: those of fetch() and save(); the text says
// which server failed. unsupported: the windows of `from` are smaller than those of `to`. unreachable: `to` cannot
// reach `from`. permission: `to` connects to no other servers for this client. Requires: both clients were opened.
// Several copies may run at once. The strings must live until the task ends.
[[nodiscard]] CINNABAR_API hl::Task<Result<Moved>> copy(Client& from, const std::string& name, Client& to,
                                                        const std::string& as, CopyMode mode = {},
                                                        BytesMoved progress = {},
                                                        std::function<void(std::uint64_t bytes)> announced = {});

// A file for copy_small().
struct CopiedFile {
    std::string name;         // at `from`
    std::string as;           // at `to`
    std::uint64_t bytes = 0;  // the size that `from` listed
};

// Copies up to small_files_max files in one call to each server; their total size should not exceed the window_bytes()
// of either client. Files that do not fit, that are sparse, or whose size has changed since they were listed, are
// copied one by one. Returns one result per file, in order, as for copy(). Requires: as for copy(); `files` must live
// until the task ends.
[[nodiscard]] CINNABAR_API hl::Task<std::vector<Result<Moved>>> copy_small(Client& from,
                                                                           const std::vector<CopiedFile>& files,
                                                                           Client& to, CopyMode mode = {});

}  // namespace cinnabar::files
