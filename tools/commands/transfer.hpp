// SPDX-License-Identifier: BSD-3-Clause
// What save and fetch have in common: they move many files over one session, several at once.
#pragma once

#include "commands/session.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/report.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/entry.hpp>
#include <cinnabar/hl/node.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::tools {

// One file to be moved, and how.
struct Errand {
    Report::File file;
    // `again`: it was tried before, and a lost server may have done it.
    std::function<hl::Task<Result<files::Moved>>(files::Client& session, bool again)> move;
    // Of trees, and so of what is hidden: what there will be, with its name on the side that gets it. The target of a
    // further name of a file is the first one.
    std::optional<files::Entry> result = {};
    // A file that may be saved together with others of the same mode.
    std::optional<files::SmallFile> small = {};
    files::SaveMode mode = {};
    // For a file of a tree: whether the receiving side already has this content under that name.
    std::function<hl::Task<Result<bool>>(files::Client& session)> is_there = {};
    bool over = false;               // done, or failed and told
    std::optional<Error> lost = {};  // the server was lost meanwhile
};

// One after another; the errands of one phase are done in any order.
using Plan = std::vector<std::vector<Errand>>;
// Makes the plan, with what the server says.
using Planner = std::function<hl::Task<Result<Plan>>(files::Client& session)>;

// Opens sessions, runs `work` over the one with the receiving server, and closes them. `server` is the server that an
// error came from.
struct Ended {
    Result<void> result;
    std::string server;
};
using Opening = std::function<Ended(const SessionWork& work)>;

// Does all errands, at most `options.jobs` at once, and reports each. A failed one does not stop the others; an
// interrupt ends all, and so does a lost server, unless it comes back while `options.wait_seconds` last. Errors that
// concern all files are reported as well.
void move_all(const std::string& server, const TransferOptions& options, const Planner& planner, Report& report,
              ProgressBar& bar, const Interrupt& interrupt);
// The same over sessions that `open` opens.
void move_over(const Opening& open, const TransferOptions& options, const Planner& planner, Report& report,
               ProgressBar& bar, const Interrupt& interrupt);

[[nodiscard]] Report::Style style_of(const TransferOptions& options) noexcept;

}  // namespace cinnabar::tools
