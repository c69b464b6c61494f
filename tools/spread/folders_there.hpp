// SPDX-License-Identifier: BSD-3-Clause
// The folders of saved trees on the servers of a group. A server has those in which it has an entry. They are made when
// the first entry needs them, and get their modes and times when everything is in them. One thread.
#pragma once

#include "spread/sessions.hpp"
#include "terminal/report.hpp"

#include <cinnabar/files/attributes.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/hl/task.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace cinnabar::tools::spread {

class FoldersThere {
  public:
    // `folders`: those of the trees, by name. Others, in which trees lie, have to be there.
    explicit FoldersThere(std::map<std::string, files::Attributes> folders) : folders_(std::move(folders)) {}

    // Makes the folders of the trees in which `name` lies, and `name` itself if it is one. Errors: those of
    // files::Client::make_folder.
    [[nodiscard]] hl::Task<Result<void>> make(std::size_t server, files::Client& client, std::string name);
    // The server has `name`, and so its folders: those that an interrupted save has left unfinished are finished, too.
    void are_there(std::size_t server, const std::string& name);
    // Gives the folders of the trees that a server has by now their modes and times, unless it has these already.
    // Reports those that fail.
    [[nodiscard]] hl::Task<void> finish(Sessions& sessions, Report& report);

  private:
    [[nodiscard]] hl::Task<void> finish_at(std::size_t server, files::Client& client, Report& report);

    const std::map<std::string, files::Attributes> folders_;
    // By server and name: whether make() was called for it.
    std::map<std::size_t, std::map<std::string, bool>> at_;
};

}  // namespace cinnabar::tools::spread
