// SPDX-License-Identifier: BSD-3-Clause
// Does something with each of many files at some of the servers of a group, in rounds. A round has one server for each
// file that is not done yet: the next one in the file's order. So a file is at one server at a time, and the copies of
// a file that differs from what the first server has are not made behind its back. One thread.
#pragma once

#include "spread/sessions.hpp"
#include "terminal/interrupt.hpp"

#include <cinnabar/base/error.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/hl/task.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace cinnabar::tools::spread {

// A file, and what became of it.
struct Placed {
    std::vector<std::size_t> order;  // of servers, as placement_of() returns it
    unsigned wanted = 1;             // at how many servers it is to be done
    std::vector<std::size_t> done;   // servers that did it
    std::optional<Error> failed;     // what ended it, or the first failure: one other than not_found, if there is one
    bool over = false;               // no other server is to be tried
    bool ended = false;              // Rounds::ended was called
    std::size_t next = 0;            // in `order`
};

struct Rounds {
    // Does it once. `file` and `server` are indices into the files and the servers of the sessions.
    std::function<hl::Task<Result<void>>(std::size_t file, std::size_t server, files::Client& client)> attempt;
    // Whether another server may succeed after this error of a server that is not lost.
    bool (*another_may)(Errc code);
    // A file has ended: it is done at as many servers as wanted, or no further one can be tried.
    std::function<void(std::size_t file)> ended;
    unsigned jobs = 8;  // attempts under way at once
};

// Runs all rounds. An interrupt ends all files that are not done, and so does an attempt that throws; then it returns
// false.
bool run_rounds(const Rounds& rounds, Sessions& sessions, std::vector<Placed>& files, const Interrupt& interrupt);

}  // namespace cinnabar::tools::spread
