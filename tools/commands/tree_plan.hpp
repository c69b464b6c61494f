// SPDX-License-Identifier: BSD-3-Clause
// The errands of a tree, in phases: folders from the outermost in, files, links, hard links, and finally the modes and
// times of folders from the innermost out, since every new name in a folder changes the folder's time.
#pragma once

#include "commands/extraneous.hpp"
#include "commands/same_attributes.hpp"
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
    // Adds the top of a tree on the receiving side; `name` empty: the root.
    void add_base(GivenFolder base) { bases_.push_back(std::move(base)); }
    void add_folder(Errand make, Errand finish);
    void add_file(Errand errand) { files_.push_back(std::move(errand)); }
    // Adds a file that was named on the command line; `as`: its name on the receiving side.
    void add_named_file(Errand errand, std::string as);
    void add_link(Errand errand) { links_.push_back(std::move(errand)); }
    void add_hard_link(Errand errand) { hard_links_.push_back(std::move(errand)); }
    // For hard links: returns the name of the first file with the same inode. Empty: this file is the first, and the
    // plan remembers its name.
    [[nodiscard]] std::string first_of(const files::Entry& entry, const std::string& name);
    // Lists the trees on the receiving side, and removes the errands for entries that are the same on that side: files
    // of equal size, time and mode, links with equal targets, and folders with nothing left to do. With `by_content`,
    // files of equal size and mode are compared by content instead of time, up to `jobs` at once. `same` compares times
    // and modes. If an error ends the session, returns that error and removes no errand.
    using Lister = std::function<hl::Task<Result<files::Listing>>(const std::string& name)>;
    struct ByContent {
        files::Client* session;
        unsigned jobs;
    };
    [[nodiscard]] hl::Task<Result<void>> leave_out_unchanged(const Lister& list, const SameAttributes& same,
                                                             Report& report, std::optional<ByContent> by_content = {});
    // Returns the names of all planned entries on the receiving side. Call it before leave_out_unchanged(), which
    // removes some entries.
    [[nodiscard]] SourceNames names() const;
    // Checks that entries get different names on the receiving side. invalid_argument: two entries would get the same
    // name and are not both folders, so chance would decide which entry stays. `name`: the member of Report::File that
    // has the name on the receiving side; `source`: the member that tells the two entries apart.
    [[nodiscard]] Result<void> check_names(std::string Report::File::*name, std::string Report::File::*source) const;
    // Returns the plan, and adds its files and bytes to `bar`.
    [[nodiscard]] Plan take(ProgressBar& bar);

  private:
    using Inventory = std::map<std::string, files::Entry, std::less<>>;
    [[nodiscard]] hl::Task<Result<Inventory>> look(const Lister& list) const;
    // Names of files with the same content on the receiving side.
    using Names = std::set<std::string, std::less<>>;
    [[nodiscard]] hl::Task<Result<Names>> find_same_content(const Inventory& inventory, const SameAttributes& same,
                                                            ByContent how) const;
    void leave_out_folders(const Inventory& inventory, const SameAttributes& same, Report& report);

    std::vector<GivenFolder> bases_;
    std::vector<std::string> named_files_;
    std::map<std::size_t, std::vector<Errand>> folders_;  // by depth
    std::map<std::size_t, std::vector<Errand>> finishes_;
    std::vector<Errand> files_;
    std::vector<Errand> links_;
    std::vector<Errand> hard_links_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> first_names_;
};

// Returns whether a link `name` in a tree may point out of the tree: `target` is absolute, has too many "..", or has a
// ".." after another name, which may itself be a link. No side effects.
[[nodiscard]] bool leads_out(std::string_view name, std::string_view target);

// Whether a file may be saved with others in one call: it is small, and not saved by a push.
[[nodiscard]] bool may_be_packed(const Report::File& file, const SaveOptions& options) noexcept;

// A local folder to be saved.
struct SavedTree {
    std::string path;    // as on the command line
    std::string base;    // its name on the server; empty: the root
    std::string prefix;  // prepended to each path for the filter
};
// Scans the folder and adds its errands. Reports what cannot be saved.
[[nodiscard]] Result<void> plan_save(const SavedTree& saved, const SaveOptions& options, TreePlan& plan, Report& report,
                                     ProgressBar& bar);

// A folder of a server to be fetched.
struct FetchedTree {
    std::string name;    // on the server
    std::string base;    // its name below `into`; empty: `into` itself
    std::string prefix;  // prepended to each path for the filter
    std::string path;    // path of `base`, for messages
};
// Plans the fetch of a tree. `first`: the listing of the folder itself. `into` must outlive the errands; null: a dry
// run without a destination folder.
[[nodiscard]] hl::Task<Result<void>> plan_fetch(files::Client& session, const FetchedTree& fetched,
                                                files::Listing first, const FetchOptions& options,
                                                const files::Root* into, TreePlan& plan, LeftOut& left_out,
                                                ProgressBar& bar);

// A folder of a server that is copied to another server.
struct CopiedTree {
    std::string name;    // on the source server
    std::string base;    // its name on the other server; empty: the root
    std::string prefix;  // prepended to each path for the filter
    std::string path;    // for messages
};
// Plans the copy of a tree. `first`: the listing of the folder itself. Requires: `*from` is the session with the source
// server during this task, and whenever an errand runs.
[[nodiscard]] hl::Task<Result<void>> plan_copy(files::Client* const* from, const CopiedTree& copied,
                                               files::Listing first, const CopyOptions& options, TreePlan& plan,
                                               LeftOut& left_out, ProgressBar& bar);

}  // namespace cinnabar::tools
