// SPDX-License-Identifier: BSD-3-Clause
// Makes the folders and links of a tree that is fetched from a group, and lists the files to fetch. Everything is made
// below the target folder, whatever names the servers send. One thread.
#pragma once

#include "commands/commands.hpp"
#include "commands/same_attributes.hpp"
#include "group_files/group_tree.hpp"
#include "terminal/report.hpp"

#include <cinnabar/files/entry.hpp>
#include <cinnabar/files/root.hpp>

#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::tools::group_files {

// A file to be fetched.
struct Wanted {
    Report::File file;
    std::string as;                                  // its name below the target folder
    std::optional<files::Entry> entry = {};          // as the servers list it, in a tree
    std::optional<std::uint64_t> listed_bytes = {};  // FetchMode::listed_bytes
    bool unchanged = false;                          // the local file has the same content
    bool may_be_folder = false;                      // a server has something other than a file by this name
};

class FetchedTree {
  public:
    // Makes nothing yet. `into`: the target folder; null for a dry run without one. The references must outlive the
    // FetchedTree. After `stop`, nothing more is made.
    FetchedTree(const FetchOptions& options, const files::Root* into, Report& report, std::stop_token stop = {})
        : options_(options), into_(into), same_(SameAttributes::in(into)), report_(report), stop_(std::move(stop)) {}

    // Makes the folders of the tree, and returns the files to fetch. Reports unchanged entries, and entries that cannot
    // be made. In a dry run, only reports what would be done.
    [[nodiscard]] std::vector<Wanted> make(const GroupTree& tree);
    // Returns whether the local file has the size, mode and time of the entry; with by_content, only size and mode are
    // compared.
    [[nodiscard]] bool looks_same(const Wanted& wanted) const;
    // Reserves a name below the target folder. False: another entry of this command has it, and not both are folders.
    [[nodiscard]] bool claim(const std::string& as, files::EntryKind kind);
    // Makes the links of all trees, then sets the modes and times of the folders.
    void finish();

  private:
    // False: the entry failed, which was reported, and nothing may be made in it.
    [[nodiscard]] bool make_one(const GroupTree& tree, const std::string& below, const Found& found,
                                std::vector<Wanted>& files);
    [[nodiscard]] bool make_folder(const Report::File& file, const std::string& as,
                                   const files::Attributes& attributes);
    void add_link(const Report::File& file, const std::string& as, const files::Entry& entry);
    // Empty: the entry does not exist.
    [[nodiscard]] std::optional<files::Entry> look(const std::string& as) const;
    void tell(const Report::File& file, const Result<void>& made);

    const FetchOptions& options_;
    const files::Root* into_;
    const SameAttributes same_;
    Report& report_;
    const std::stop_token stop_;
    struct Folder {
        std::string as;
        files::Attributes attributes;
    };
    std::vector<Folder> folders_;  // outer folders before inner ones
    struct Link {
        Report::File file;
        std::string as;
        files::Entry entry;
    };
    std::vector<Link> links_;
    std::map<std::string, files::EntryKind> claimed_;  // by name below the target folder
};

}  // namespace cinnabar::tools::group_files
