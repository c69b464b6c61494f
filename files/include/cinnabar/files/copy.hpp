// SPDX-License-Identifier: BSD-3-Clause
// Copies a file from one server to another: the data goes straight from server to server, and whoever calls this only
// conducts. Each server judges the caller by its own session: the one must let it fetch, the other must let it save and
// let it name servers to connect to (a client that has proven a key, or the own user over shm). Folders and links are
// made with the functions of Client, as for save and fetch.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/hl/task.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>

namespace cinnabar::files {

// As of SaveMode. Checksums are always computed: by the one server of what it read, by the other of what it wrote.
struct CopyMode {
    Existing existing = Existing::keep;
    bool exact = false;
    ExtendedKinds extended{};
    bool again = false;
    Sync sync = Sync::batch;
    bool whole = false;
};
static_assert(std::is_trivially_destructible_v<CopyMode>);

// `name` at the one becomes `as` at the other; an interrupted copy of it is gone on with. `announced` is called with
// its size, `progress` with the bytes that the other server has taken, both on the executor of the clients, which is
// one: both are of one node, or of nodes without threads that one thread drives. The other server must reach the first
// one by the transport that `from` uses. The errors of fetch() and save(); their text says which server they are of.
// unsupported: the windows of the first server are smaller than those of the other. unreachable: the other server does
// not reach the first one. permission: it connects to no other servers for this client.
// Requires: both were opened. Several at once. The strings must live until the task ends.
[[nodiscard]] CINNABAR_API hl::Task<Result<Moved>> copy(Client& from, const std::string& name, Client& to,
                                                        const std::string& as, CopyMode mode = {},
                                                        BytesMoved progress = {},
                                                        std::function<void(std::uint64_t bytes)> announced = {});

}  // namespace cinnabar::files
