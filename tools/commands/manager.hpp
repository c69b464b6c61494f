// SPDX-License-Identifier: BSD-3-Clause
// Applies one operation, such as remove or verify, to names on a server, and prints the results. One thread.
#pragma once

#include "commands/commands.hpp"
#include "terminal/json.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/hl/task.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::tools {

class Manager;

// `name` stays valid until the task ends.
using Step = hl::Task<Result<void>> (*)(Manager& manager, files::Client& session, const std::string& name);
// All that a command does at one server. `names` stay valid until the task ends.
using ManageWork = hl::Task<Result<void>> (*)(Manager& manager, files::Client& session,
                                              const std::vector<std::string>& names);

// For example "xxh3:00c0ffee00c0ffee".
[[nodiscard]] std::string checksum_text(std::uint64_t checksum);

class Manager {
  public:
    // `server`: name of a group's server, for the output; empty: no group. `options` must outlive this object.
    explicit Manager(const ManageOptions& options, std::string server = {});

    // Applies `step` to each name. Reports the error of a name and continues with the other names, unless the error
    // ends the session. At a server of a group, a missing name is no error.
    [[nodiscard]] hl::Task<Result<void>> each(files::Client& session, const std::vector<std::string>& names, Step step);

    void print(const std::string& text, JsonObject object) const;
    void fail(const std::string& name, const Error& error);
    // Remembers a file for a later pass over all files.
    void add_file(std::string name) { files_.push_back(std::move(name)); }
    [[nodiscard]] std::vector<std::string> take_files() { return std::exchange(files_, {}); }
    // Records the checksum of a file, for at most a million files, to be compared with the checksums at other servers
    // of the group.
    void note_checksum(const std::string& name, std::uint64_t checksum);

    [[nodiscard]] const ManageOptions& options() const noexcept { return options_; }
    [[nodiscard]] const std::string& server() const noexcept { return server_; }
    // The exit code of the first failure.
    [[nodiscard]] ExitCode exit() const noexcept { return exit_; }
    // The names that a server of a group does not have.
    [[nodiscard]] const std::set<std::string>& missing() const noexcept { return missing_; }
    // Whether the session ended before all names were tried.
    [[nodiscard]] bool was_lost() const noexcept { return lost_; }
    [[nodiscard]] const std::map<std::string, std::uint64_t>& checksums() const noexcept { return checksums_; }

  private:
    const ManageOptions& options_;
    const std::string server_;
    ExitCode exit_ = ExitCode::ok;
    bool lost_ = false;
    std::set<std::string> missing_;
    std::vector<std::string> files_;
    std::map<std::string, std::uint64_t> checksums_;
};

}  // namespace cinnabar::tools
