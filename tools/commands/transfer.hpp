// SPDX-License-Identifier: BSD-3-Clause
// Transfers many files over one session, several at once; common to save, fetch and copy.
#pragma once

#include "commands/session.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/report.hpp"

#include <cinnabar/files/batch.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/files/copy.hpp>
#include <cinnabar/files/entry.hpp>
#include <cinnabar/hl/node.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::tools {

// An entry that is removed on a server. Below the folder `given` no symbolic link is followed.
struct RemovedEntry {
    std::string name;
    std::string given;
};

// One file to transfer, or another step for an entry of a tree.
struct Errand {
    Report::File file;
    // `again`: an earlier session tried it, and the server may have completed it.
    std::function<hl::Task<Result<files::Moved>>(files::Client& session, bool again)> move;
    // The entry that the errand makes on the receiving side, with its name on that side. Set for all entries of trees.
    // For a hard link, Entry::target is the name of the first file.
    std::optional<files::Entry> result = {};
    // Set for a small file, which may share a call with other small files that are saved with the same `mode`.
    std::optional<files::SmallFile> small = {};
    files::SaveMode mode = {};
    // Set for a small file that may share a call with others: the file is fetched `into` a folder by `fetch_mode`.
    std::optional<files::ListedFile> listed = {};
    files::FetchMode fetch_mode = {};
    const files::Root* into = nullptr;
    // The same for a file that is copied by `copy_mode` from another server, with which `*copied_from` is the session.
    std::optional<files::CopiedFile> copied = {};
    files::CopyMode copy_mode = {};
    files::Client* const* copied_from = nullptr;
    // Set for a folder or a link that is made on the server (`made`), and for an entry that is removed on the server
    // (`removed`). Several such errands may share a call.
    std::optional<files::NewEntry> made = {};
    std::optional<RemovedEntry> removed = {};
    // For a file of a tree: returns whether the receiving side already has the same content under the file's name.
    std::function<hl::Task<Result<bool>>(files::Client& session)> is_there = {};
    // For a file named on the command line: returns whether the file that already has its name is the same; if so, the
    // errand is reported as unchanged. Called if the name is taken.
    std::function<hl::Task<Result<bool>>(files::Client& session)> is_same = {};
    // Whether `is_same` is called before the file is transferred. Set if the file replaces another file, because then a
    // taken name is no error.
    bool ask_first = false;
    bool over = false;               // done, or failed and reported
    std::optional<Error> lost = {};  // the error that ended the session during this errand
};

// Entries that a planner leaves out. These entries are reported only when planning has ended, with a plan or without,
// because after a lost session the planner starts over in the next session.
class LeftOut {
  public:
    void failed(Report::File file, Error why) { failed_.emplace_back(std::move(file), std::move(why)); }
    void filtered() noexcept { ++filtered_; }
    void report_to(Report& report) const;

  private:
    std::vector<std::pair<Report::File, Error>> failed_;
    std::uint64_t filtered_ = 0;
};

// Phases, processed one after another; the errands within a phase are processed in any order.
using Plan = std::vector<std::vector<Errand>>;
// Makes the plan, asking the server where necessary.
using Planner = std::function<hl::Task<Result<Plan>>(files::Client& session, LeftOut& left_out)>;

// Opening opens sessions, runs `work` with the session to the receiving server, and closes the sessions. Ended::server
// names the server that the error came from.
struct Ended {
    Result<void> result;
    std::string server;
};
using Opening = std::function<Ended(const SessionWork& work)>;

// Processes all errands, at most `options.jobs` at once, and reports each errand, and errors that concern all files. A
// failed errand does not stop the others; an interrupt ends all. If the server is lost, opens a new session and
// continues; gives up when no further errand has ended for `options.wait_seconds`. Also waits that long if an errand
// fails with `busy` in the new session, because the server has not yet ended the attempt of the old session.
void move_all(const std::string& server, const TransferOptions& options, const Planner& planner, Report& report,
              ProgressBar& bar, const Interrupt& interrupt);
// As move_all(), with sessions that `open` opens.
void move_over(const Opening& open, const TransferOptions& options, const Planner& planner, Report& report,
               ProgressBar& bar, const Interrupt& interrupt);

[[nodiscard]] Report::Style style_of(const TransferOptions& options) noexcept;

}  // namespace cinnabar::tools
