// SPDX-License-Identifier: BSD-3-Clause
// Makes the folders and links of a tree that is fetched from a group, and says which files are to be fetched.
// Everything is made below the target folder, whatever names the servers send. One thread.
#pragma once

#include "commands/commands.hpp"
#include "spread/group_tree.hpp"
#include "terminal/report.hpp"

#include <cinnabar/files/entry.hpp>
#include <cinnabar/files/root.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cinnabar::tools::spread {

// A file to be fetched.
struct Wanted {
    Report::File file;
    std::string as;                          // its name below the target folder
    std::optional<files::Entry> entry = {};  // as the servers list it, in a tree
    bool unchanged = false;                  // what is here has the same content
    bool may_be_folder = false;              // a server has no file by this name, but something else
};

class TreeHere {
  public:
    // `into`: null for a dry run without a target folder. The references must outlive this object.
    TreeHere(const FetchOptions& options, const files::Root* into, Report& report)
        : options_(options), into_(into), report_(report) {}

    // Makes folders and links, and returns the files. Reports what is unchanged, and what cannot be made. In a dry run
    // it makes nothing, and reports what would be done.
    [[nodiscard]] std::vector<Wanted> make(const GroupTree& tree);
    // Whether the file here looks like the entry: by size, mode and time, or, to be compared by content, by size and
    // mode.
    [[nodiscard]] bool looks_same(const Wanted& wanted) const;
    // Gives their modes and times to the folders of all trees.
    void finish();

  private:
    void make_one(const GroupTree& tree, const std::string& below, const Found& found, std::vector<Wanted>& files);
    void make_folder(const Report::File& file, const std::string& as, const files::Attributes& attributes);
    void make_link(const Report::File& file, const std::string& as, const files::Entry& entry);
    // Empty: it does not exist.
    [[nodiscard]] std::optional<files::Entry> look(const std::string& as) const;
    void tell(const Report::File& file, const Result<void>& made);

    const FetchOptions& options_;
    const files::Root* into_;
    Report& report_;
    struct Folder {
        std::string as;
        files::Attributes attributes;
    };
    std::vector<Folder> folders_;  // outer ones before those in them
};

}  // namespace cinnabar::tools::spread
