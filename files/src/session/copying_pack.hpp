// SPDX-License-Identifier: BSD-3-Clause
// Many small files that are copied to another server in one call. The source server reads them and lends their contents
// to the client, which forwards them to the destination server. The destination server reports when it has pulled the
// contents, so the source server lends them only until they have arrived, and not until they are synced.
#pragma once

#include "session/client_session.hpp"
#include "session/protocol.hpp"
#include "session/waiting.hpp"

#include <cinnabar/files/copy.hpp>
#include <cinnabar/hl/request.hpp>
#include <cinnabar/hl/task.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

namespace cinnabar::files {

// Shared by the task of the copy and the calls of both servers; belongs to their executor. `files` is used by the task
// only.
struct ClientSession::CopyingPack {
    ClientSession& client;  // session with the source server
    ClientSession& to;
    const std::vector<CopiedFile>& files;
    CopyMode mode;
    LendPackIn asked{};
    std::vector<std::size_t> numbers{};    // index of each entry of asked.files in `files`
    std::vector<Result<Moved>> results{};  // one per file of `files`
    PackIn pack{};                         // what the source server has lent
    std::vector<std::size_t> lent{};       // index of each entry of pack.files in `files`
    bool taken = false;
    bool pulled = false;
    Sequence taking{};   // at 1: the pack was lent
    Sequence pulling{};  // at 1: the destination server no longer uses the memory
    std::optional<Error> failure{};
    std::stop_source stop{};  // stops the pack call when the source no longer lends the memory

    // Serve the calls of the source server, and of the destination server.
    [[nodiscard]] static hl::Task<Result<void>> serve_take(ClientSession& session, hl::Request<TakePackIn> request);
    [[nodiscard]] static Result<void> serve_pulled(ClientSession& session, const hl::Request<PulledIn>& request);

    // Puts the files that fit into the call.
    void choose();
    // Makes the calls to both servers.
    [[nodiscard]] static hl::Task<void> run(std::shared_ptr<CopyingPack> self);
    [[nodiscard]] hl::Task<void> lend();
    [[nodiscard]] hl::Task<void> hand_on();
    // Checks what the source server has lent. Puts the files that the source server could read into `pack`, with the
    // sizes and the names of the request, and the errors of the others into `results`. protocol: the answer does not
    // match the request.
    [[nodiscard]] Result<void> take(const TakePackIn& in);
    void settle(const PackOut& out);
    void let_go();
    void fail(Error why);
    [[nodiscard]] hl::Task<Result<Moved>> copy_alone(std::size_t index) const;
};

}  // namespace cinnabar::files
