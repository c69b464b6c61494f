// SPDX-License-Identifier: BSD-3-Clause
// The folders of saved trees on the servers of a group. A server gets only the folders in which it has an entry. A
// folder is made when its first entry needs it, and gets its mode and time when all its entries are there. One thread.
#pragma once

#include "group_files/sessions.hpp"
#include "terminal/report.hpp"

#include <cinnabar/files/attributes.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/hl/task.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace cinnabar::tools::group_files {

class ServerFolders {
  public:
    // `folders`: the folders of the trees, by name. Folders above the trees must exist already.
    explicit ServerFolders(std::map<std::string, files::Attributes> folders) : folders_(std::move(folders)) {}

    // Makes the folders of the trees that contain `name`, and `name` itself if it is a folder of a tree. Errors: those
    // of files::Client::make_folder.
    [[nodiscard]] hl::Task<Result<void>> make(std::size_t server, files::Client& client, std::string name);
    // Like make() for each name, but makes many folders of one depth in one call. Returns a result for each name, in
    // order. `names` must live until the task ends.
    [[nodiscard]] hl::Task<std::vector<Result<void>>> make_all(std::size_t server, files::Client& client,
                                                               const std::vector<std::string>& names);
    // Records that the server has `name`, and so has the folders above `name`. finish() then also finishes those
    // folders that an interrupted save has left unfinished.
    void are_there(std::size_t server, const std::string& name);
    // Sets the modes and times of the folders of the trees, at each server that has folders. Skips folders that make()
    // did not make and that have the right mode and time already. Reports failures.
    [[nodiscard]] hl::Task<void> finish(Sessions& sessions, Report& report);

  private:
    // Whether make() has to make the folder.
    [[nodiscard]] bool is_missing(std::size_t server, const std::string& folder) const;
    // Sets the modes and times of the folders that the server has, many in one call.
    [[nodiscard]] hl::Task<void> finish_at(std::size_t server, files::Client& client, Report& report);

    const std::map<std::string, files::Attributes> folders_;
    // By server and name: whether make() was called for the folder.
    std::map<std::size_t, std::map<std::string, bool>> at_;
};

}  // namespace cinnabar::tools::group_files
