// SPDX-License-Identifier: BSD-3-Clause
// The errands of a tree, in phases: folders from the outermost in, files, links, further names of files, and at last
// the modes and times of folders from the innermost out, since every name in a folder changes its time.
#pragma once

#include "commands/transfer.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/entry.hpp>
#include <cinnabar/files/root.hpp>
#include <cinnabar/files/source_tree.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cinnabar::tools {

// Collects errands and puts them into phases.
class TreePlan {
  public:
    // Where a tree begins on the side that gets it; empty: its root.
    void add_base(const std::string& name) { bases_.push_back(name); }
    void add_folder(Errand make, Errand finish);
    void add_file(Errand errand) { files_.push_back(std::move(errand)); }
    void add_link(Errand errand) { links_.push_back(std::move(errand)); }
    void add_hard_link(Errand errand) { hard_links_.push_back(std::move(errand)); }
    // The name of the first file of that inode, or empty: this one is the first, and `name` is kept.
    [[nodiscard]] std::string first_of(const files::Entry& entry, const std::string& name);
    // Asks the receiving side what it has of the trees, and removes what is the same there: files of equal size, time
    // and mode, links with equal targets, and folders with nothing left to do. `by_content`: files of equal size, mode
    // and content, up to `jobs` comparisons at a time. An error that ends the session is returned, and nothing is
    // removed.
    using Lister = std::function<hl::Task<Result<files::Listing>>(const std::string& name)>;
    struct ByContent {
        files::Client* session;
        unsigned jobs;
    };
    [[nodiscard]] hl::Task<Result<void>> leave_out_unchanged(const Lister& list, Report& report,
                                                             std::optional<ByContent> by_content = {});
    // Tells `bar` how many files and bytes these are.
    [[nodiscard]] Plan take(ProgressBar& bar);

  private:
    using Inventory = std::map<std::string, files::Entry, std::less<>>;
    [[nodiscard]] hl::Task<Result<Inventory>> look(const Lister& list) const;
    // The names of the files that have the same content at the receiver.
    using Names = std::set<std::string, std::less<>>;
    [[nodiscard]] hl::Task<Result<Names>> find_same_content(const Inventory& inventory, ByContent how) const;
    void leave_out_folders(const Inventory& inventory, Report& report);

    std::vector<std::string> bases_;
    std::map<std::size_t, std::vector<Errand>> folders_;  // by depth
    std::map<std::size_t, std::vector<Errand>> finishes_;
    std::vector<Errand> files_;
    std::vector<Errand> links_;
    std::vector<Errand> hard_links_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> first_names_;
};

// Whether a link called `name`, below a tree, leads out of the tree: by an absolute path, or by too many "..". Pure.
[[nodiscard]] bool leads_out(std::string_view name, std::string_view target);

// Whether a file is small enough to be saved with others in one call. A push moves each by itself.
[[nodiscard]] bool may_be_packed(const Report::File& file, const SaveOptions& options) noexcept;

// What is saved of one folder of this host.
struct SavedTree {
    std::string path;    // as on the command line
    std::string base;    // the name that the folder gets on the server; empty: its root
    std::string prefix;  // what the filter sees before each path
};
// Scans it and adds its errands; tells `report` what cannot be saved.
[[nodiscard]] Result<void> plan_save(const SavedTree& saved, const SaveOptions& options, TreePlan& plan, Report& report,
                                     ProgressBar& bar);

// What is fetched of one folder of a server.
struct FetchedTree {
    std::string name;    // on the server
    std::string base;    // its name below `into`; empty: `into` itself
    std::string prefix;  // what the filter sees before each path
    std::string path;    // of `base`, for messages
};
// `first` is the listing of the folder itself. `into` must outlive the errands; null: a dry run, and there is none.
[[nodiscard]] hl::Task<Result<void>> plan_fetch(files::Client& session, const FetchedTree& fetched,
                                                files::Listing first, const FetchOptions& options,
                                                const files::Root* into, TreePlan& plan, Report& report,
                                                ProgressBar& bar);

// A folder of a server that is copied to another server.
struct CopiedTree {
    std::string name;    // on the source server
    std::string base;    // its name on the other server; empty: the root
    std::string prefix;  // prepended to each path for the filter
    std::string path;    // for messages
};
// `first` is the listing of the folder itself. `*from` is the session with the source server, now and while errands
// run.
[[nodiscard]] hl::Task<Result<void>> plan_copy(files::Client* const* from, const CopiedTree& copied,
                                               files::Listing first, const CopyOptions& options, TreePlan& plan,
                                               Report& report, ProgressBar& bar);

}  // namespace cinnabar::tools
