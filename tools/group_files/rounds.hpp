// SPDX-License-Identifier: BSD-3-Clause
// Processes many files, each at some of the servers of a group, in rounds. In each round, every file that is not done
// yet is tried at one server, the next server in the file's order. So a file is never tried at two servers at once: if
// the first server refuses a file, because the server has a different file of that name, no other server has received
// the file meanwhile. One thread.
#pragma once

#include "group_files/sessions.hpp"
#include "terminal/interrupt.hpp"

#include <cinnabar/base/error.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/hl/task.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace cinnabar::tools::group_files {

// A file, and its progress.
struct Placed {
    std::vector<std::size_t> order;  // servers in the order of placement_of()
    unsigned wanted = 1;             // number of servers at which it is to be done
    std::vector<std::size_t> done;   // servers at which it is done
    std::optional<Error> failed;     // the error that ended it; otherwise the first error, preferably one other than
                                     // not_found
    bool over = false;               // no other server is to be tried
    bool ended = false;              // Rounds::ended was called
    std::size_t next = 0;            // index in `order`
};

struct Rounds {
    // One attempt. `file` and `server` are indices into the files and the servers of the sessions.
    std::function<hl::Task<Result<void>>(std::size_t file, std::size_t server, files::Client& client)> attempt;
    // Whether another server may succeed after this error of a server that is not lost.
    bool (*another_may)(Errc code);
    // Called when a file has ended: as many servers as wanted have done it, or no further server can be tried.
    std::function<void(std::size_t file)> ended;
    unsigned jobs = 8;  // attempts in progress at once
    // Attempts of several files at one server, in one call.
    struct Together {
        // Returns the size of a file that may share a call with others; empty: the file has a call of its own. A call
        // has at most files::small_files_max files, and no more than fit into a window.
        std::function<std::optional<std::uint64_t>(std::size_t file)> bytes_of;
        // Returns one result per file, in order. `files` lives until the task ends.
        std::function<hl::Task<std::vector<Result<void>>>(const std::vector<std::size_t>& files, std::size_t server,
                                                          files::Client& client)>
            attempt;
    };
    std::optional<Together> together = {};  // empty: each file is tried by itself
};

// Runs all rounds. An interrupt, or an attempt that throws, ends all files that are not done; then it returns false.
bool run_rounds(const Rounds& rounds, Sessions& sessions, std::vector<Placed>& files, const Interrupt& interrupt);

}  // namespace cinnabar::tools::group_files
